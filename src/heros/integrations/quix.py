"""HEROS in a Quix Streams application: a model per message key, in Quix's own state."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol

from heros.data.values import is_missing
from heros.ensemble import Heros, packing
from heros.errors import ParameterError
from heros.storage import archive

__all__ = ["QuixModel", "State"]


class State(Protocol):
    """What Quix Streams hands to a stateful function, as far as it is needed here."""

    def get_bytes(self, key: str) -> bytes | None:
        """What was set under this name, for the key of the message at hand."""
        ...

    def set_bytes(self, key: str, value: bytes) -> None:
        """Keep it."""
        ...


class QuixModel:
    """A function for ``StreamingDataFrame.apply(..., stateful=True)``: answer, then learn from the label.

    Every message key has a model of its own, whose bytes are in Quix's state store. So Quix does with them
    what it does with all state: changelog topics, recovery, rebalances, commits with the offsets.

    Parameters
    ----------
    model
        What every key starts as; its pool must be plain data.
    target
        The name under which a row has its label, if it has one.
    ignore
        Names of fields that are no features.
    name
        Under which name the model is in the state, and the answer in the row.

    Examples
    --------
    >>> from heros import pools
    >>> class Memory(dict):
    ...     get_bytes, set_bytes = dict.get, dict.__setitem__
    >>> learn = QuixModel(Heros(pools.MLPGrid(hidden=[8]), k=2, seed=1), target="late")
    >>> state = Memory()
    >>> learn({"size": 3.0, "late": "no"}, state)
    {'size': 3.0, 'late': 'no', 'heros': None}
    >>> learn({"size": 4.0}, state)["heros"]
    {'no': 1.0}

    Of a model of numbers the answer is ``{"answer": 3.5, "interval": [2.0, 5.0]}``.

    In an application: ``frame = app.dataframe(topic).apply(learn, stateful=True)``.
    """

    def __init__(
        self, model: Heros, target: str, *, ignore: tuple[str, ...] = (), name: str = "heros"
    ) -> None:
        if not isinstance(model, Heros) or not model.pool.plain:
            raise ParameterError.of("model", "QuixModel", "a Heros whose pool is plain data", model)
        self.model, self.target, self.name = copy.deepcopy(model), target, name
        self._besides = {target, name, *ignore}

    def __call__(self, row: Mapping[str, Any], state: State) -> dict[str, Any]:
        """The row with what the model said of it before it saw the label; None if it knew nothing yet."""
        model = self._opened(state.get_bytes(self.name))
        features = {field: value for field, value in row.items() if field not in self._besides}
        answer = None if model.schema is None else _said(model, features)
        label = row.get(self.target)
        if not is_missing(label):
            model.learn(features, label)
            state.set_bytes(
                self.name, b"".join(archive.encoded("model", *packing.pack(model), "Quix's state"))
            )
        return {**row, self.name: answer}

    def _opened(self, kept: bytes | None) -> Heros:
        if kept is None:
            return copy.deepcopy(self.model)
        document, arrays = archive.decoded(kept, "model", "Quix's state")
        return packing.unpack(Heros, document, arrays)


def _said(model: Heros, features: Mapping[str, Any]) -> Any:
    """The probabilities of classes, or a number and its interval."""
    if not model.task.numeric:
        return model.predict_proba(features)
    return {"answer": model.predict(features), "interval": model.predict_interval(features).tolist()}
