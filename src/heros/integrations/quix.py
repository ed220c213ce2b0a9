"""HEROS in a Quix Streams application: a model per message key, stored in Quix's state."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol

from heros._base.errors import ParameterError
from heros.data.values import is_missing
from heros.ensemble import Heros, serialization
from heros.storage import archive

__all__ = ["QuixModel", "State"]


class State(Protocol):
    """The methods of Quix's state object that are used here."""

    def get_bytes(self, key: str) -> bytes | None:
        """Return the bytes stored under `key` for the current message key, or None."""
        ...

    def set_bytes(self, key: str, value: bytes) -> None:
        """Store bytes under `key` for the current message key."""
        ...


class QuixModel:
    """A function for ``StreamingDataFrame.apply(..., stateful=True)`` that predicts, then learns.

    Each message key has a separate model, stored as bytes in Quix's state store. Quix handles changelog
    topics, recovery and rebalances, and commits the models together with the offsets.

    Parameters
    ----------
    model
        The initial model of each key; its pool must not contain Python models.
    target
        The name of the label field; rows may lack this field.
    ignore
        The names of fields that are not features.
    name
        The key of the model in Quix's state, and the name of the prediction field in the row.

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

    For regression the prediction is ``{"answer": 3.5, "interval": [2.0, 5.0]}``.

    In an application: ``frame = app.dataframe(topic).apply(learn, stateful=True)``.
    """

    def __init__(
        self, model: Heros, target: str, *, ignore: tuple[str, ...] = (), name: str = "heros"
    ) -> None:
        if not isinstance(model, Heros) or not model.pool.plain:
            raise ParameterError.of("model", "QuixModel", "a Heros without Python models in its pool", model)
        self.model, self.target, self.name = copy.deepcopy(model), target, name
        self._not_features = {target, name, *ignore}

    def __call__(self, row: Mapping[str, Any], state: State) -> dict[str, Any]:
        """Return the row with the prediction made before learning; an untrained model predicts None."""
        model = self._opened(state.get_bytes(self.name))
        features = {field: value for field, value in row.items() if field not in self._not_features}
        answer = None if model.schema is None else _prediction(model, features)
        label = row.get(self.target)
        if not is_missing(label):
            model.learn(features, label)
            state.set_bytes(
                self.name, b"".join(archive.encoded("model", *serialization.pack(model), "Quix's state"))
            )
        return {**row, self.name: answer}

    def _opened(self, kept: bytes | None) -> Heros:
        if kept is None:
            return copy.deepcopy(self.model)
        document, arrays = archive.decoded(kept, "model", "Quix's state")
        return serialization.unpack(Heros, document, arrays)


def _prediction(model: Heros, features: Mapping[str, Any]) -> Any:
    if not model.task.numeric:
        return model.predict_proba(features)
    return {"answer": model.predict(features), "interval": model.predict_interval(features).tolist()}
