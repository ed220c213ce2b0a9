"""Copies of one model that share all immutable parts."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from heros._base.registry import described
from heros.data.schema import schema_plain
from heros.ensemble import Heros, serialization

OWN = '"own"'  # marks a user-defined part in a description, because a file stores only its name
STANDING = ("rng", "schema")  # entries of a document that are neither parts nor settings


class Copies:
    """A factory for copies of one model, either new or restored from the output of `serialization.pack`.

    The model must not change afterwards. Built-in parts are immutable, so all copies share them; user-defined
    parts are copied.

    Examples
    --------
    >>> from heros import pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> copies = Copies(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema))
    >>> one, other = copies.fresh(), copies.fresh()
    >>> one.learn(*stream.draw(10)).instances, other.instances, one.pool is other.pool
    (10, 0, True)
    >>> copies.opened(*serialization.pack(one)).instances
    10
    """

    def __init__(self, model: Heros) -> None:
        self.model = model
        self._state = model.__getstate__()
        self._arrays = self._state["learnt"].arrays if "learnt" in self._state else {}
        parts = [getattr(model, role) for role in serialization.PARTS]
        built_in = [part for part in parts if OWN not in json.dumps(described(part))]
        self._all_built_in = len(built_in) == len(parts)
        whole = [model.schema, self._arrays, model.answer, *built_in]
        self._shared = whole + ([self._state["_given"], self._state["_parts"]] if self._all_built_in else [])
        self._document = json.loads(json.dumps(serialization.description(model)))
        self._schema = None if model.schema is None else schema_plain(model.schema)

    @property
    def size(self) -> int:
        """The size in bytes of the learnt arrays of a fresh copy."""
        return sum(array.nbytes for group in self._arrays.values() for array in group.values())

    def fresh(self) -> Heros:
        """Return a copy of the model."""
        return self._new_copy(self._state)

    def opened(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Heros:
        """Return a copy with this packed state; raise a DataError if the state does not fit the model."""
        creation = {name: value for name, value in document.items() if name not in STANDING}
        if not self._all_built_in or creation != self._document:
            own = [role for role in serialization.PARTS if OWN in json.dumps(document.get(role))]
            parts = {role: copy.deepcopy(getattr(self.model, role)) for role in own}
            return serialization.unpack(Heros, document, arrays, **parts)
        blank = {name: value for name, value in self._state.items() if name != "learnt"}
        model = self._new_copy(blank)
        known = self.model.schema if document.get("schema") == self._schema else None
        return serialization.fill(model, document, arrays, known)

    def _new_copy(self, state: dict[str, Any]) -> Heros:
        model = Heros.__new__(Heros)
        model.__setstate__(copy.deepcopy(state, {id(part): part for part in self._shared}))
        return model
