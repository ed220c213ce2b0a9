"""Many models like one: what never changes is there once for all of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from heros._base.registry import described
from heros.data.schema import schema_plain
from heros.ensemble import Heros, files

__all__ = ["Copies"]

STANDING = ("rng", "schema")  # what a document says beside what a model is made of


class Copies:
    """Makes models like one that is not to change meanwhile, by `fresh` or from what `files.pack` gave.

    Parts of HEROS's own are frozen, so all copies have the same; a part of the user's own is copied.

    Examples
    --------
    >>> from heros import pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> copies = Copies(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema))
    >>> one, other = copies.fresh(), copies.fresh()
    >>> one.learn(*stream.draw(10)).instances, other.instances, one.pool is other.pool
    (10, 0, True)
    >>> copies.opened(*files.pack(one)).instances
    10
    """

    def __init__(self, model: Heros) -> None:
        self.model = model
        self._state = model.__getstate__()
        self._arrays = self._state["learnt"].arrays if "learnt" in self._state else {}
        parts = [getattr(model, role) for role in files.PARTS]
        ours = [part for part in parts if _is_ours(part)]
        self._all_ours = len(ours) == len(parts)
        whole = [model.schema, self._arrays, model.answer, *ours]
        self._shared = whole + ([self._state["_given"], self._state["_parts"]] if self._all_ours else [])
        self._document = json.loads(json.dumps(files.description(model)))
        self._schema = None if model.schema is None else schema_plain(model.schema)

    @property
    def size(self) -> int:
        """Bytes of what a fresh one has learnt."""
        return sum(array.nbytes for group in self._arrays.values() for array in group.values())

    def fresh(self) -> Heros:
        """A copy of the model."""
        return self._made(self._state)

    def opened(self, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Heros:
        """A copy that knows what was packed; a DataError if it cannot."""
        made_of = {name: value for name, value in document.items() if name not in STANDING}
        if not self._all_ours or made_of != self._document:
            return files.unpack(Heros, document, arrays, **self._own_parts(document))
        blank = {name: value for name, value in self._state.items() if name != "learnt"}
        model = self._made(blank)
        known = self.model.schema if document.get("schema") == self._schema else None
        return files.fill(model, document, arrays, known)

    def _made(self, state: dict[str, Any]) -> Heros:
        model = Heros.__new__(Heros)
        model.__setstate__(copy.deepcopy(state, {id(part): part for part in self._shared}))
        return model

    def _own_parts(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of the parts of the user's own, which files only name."""
        own = [role for role in files.PARTS if '"own"' in json.dumps(document.get(role))]
        return {role: copy.deepcopy(getattr(self.model, role)) for role in own}


def _is_ours(part: object) -> bool:
    return '"own"' not in json.dumps(described(part))
