"""What learns behind a service: one model, or one model per key."""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from heros.data import Encoder, Schema
from heros.ensemble import Block, Heros
from heros.ensemble.keyed import Keyed
from heros.ensemble.task import Task
from heros.errors import ParameterError
from heros.pools import Pool

__all__ = ["Labelled", "Learner", "Learnt", "ModelPerKey", "OneModel"]

Id = str | int
T = TypeVar("T")


class Labelled(NamedTuple):
    """A labelled instance to learn from."""

    key: Id | None
    row: list[float]
    label: float  # the index of its class, or a number
    predicted: NDArray[np.float64] | None  # when the instance came; None: it came with its label
    known: int | None = None  # how many labels the model had learnt from when it predicted


Output = tuple[tuple[str, ...], NDArray[np.float64]]
"""Classes and their probabilities; or no classes, and a number with its interval; or nothing at all."""
NOTHING: Output = ((), np.zeros(0))
Learnt = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]
"""Labels (n,), the predictions given (n, width), which models were trained (n, M), their costs Σγ (n,)."""


class Learner(ABC):
    """What learns and predicts. One thread learns; others may ask for predictions meanwhile."""

    keyed = False
    chunk = 64  # instances that are learnt at a time: whoever waits for the model waits no longer

    @property
    @abstractmethod
    def model(self) -> Heros:
        """The model, or the one that every key starts as; for the thread that learns."""

    @property
    @abstractmethod
    def seen(self) -> int:
        """How many instances were learnt from."""

    @property
    def pool(self) -> Pool:
        """The models that there are to train."""
        return self.model.pool

    @property
    def task(self) -> Task:
        """What is learnt."""
        return self.model.task

    @property
    def schema(self) -> Schema | None:
        """What is known of the instances."""
        return self.model.schema

    @abstractmethod
    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""

    @abstractmethod
    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[Output]:
        """Predict instances, given with their keys; raise `Refused` if one cannot be read."""

    def known(self) -> int | None:
        """How many labels the model that predicts has learnt from; None if there is one model per key."""
        return None

    @abstractmethod
    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        """Learn from instances, one after the other."""

    @abstractmethod
    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        """Look at the model that predicts, or at that of a key, in any thread; None if no model has it."""

    def publish(self) -> None:  # noqa: B027
        """Predict from what is known now."""

    def close(self) -> None:  # noqa: B027
        """Close the files."""


class OneModel(Learner):
    """One model. Predictions come from a copy, which `publish` brings up to date."""

    def __init__(self, model: Heros) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "OneModel", "a Heros", model)
        self._looking = threading.Lock()  # held while the copy is read
        self.take_over(model)

    def take_over(self, model: Heros) -> None:
        """Put another model in the place of the one given, before any request."""
        self._model = model
        self._shown, self._spare = copy.deepcopy(model), copy.deepcopy(model)
        self._reader: tuple[Schema, Encoder] | None = None  # how rows are read, by which schema
        self._delay = 0  # how many labels came between the prediction and the label of the last one learnt

    @property
    def model(self) -> Heros:
        """The model; for the thread that learns."""
        return self._model

    @property
    def seen(self) -> int:
        """How many instances were learnt from."""
        return 0 if self._model.schema is None else self._model.instances

    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""
        if schema.n_features > 0 and schema.n_outputs > 0:
            self._model.bind(schema)

    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[Output]:
        """Predict instances."""
        with self._looking:
            if self._reader is None:
                return [NOTHING] * len(asked)
            schema, encoder = self._reader
            block = np.array([encoder.row(x) for _, x in asked], dtype=np.float64)
            return [(schema.classes, p) for p in self._shown.outputs(block, self._delay)]

    def known(self) -> int:
        """How many labels the model that predicts has learnt from."""
        with self._looking:
            return 0 if self._shown.schema is None else self._shown.instances

    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        """Learn from instances, one after the other."""
        now = self.seen
        delays = [0 if one.known is None else max(0, now + at - one.known) for at, one in enumerate(block)]
        yield _learnt(partial(self._model.test_then_train, delay=delays), block, self.task)
        self._delay = delays[-1]

    def publish(self) -> None:
        """Predict from what is known now."""
        self._spare.follow(self._model)
        schema, reader = self._model.schema, self._reader
        if schema is not None and (reader is None or reader[0] is not schema):
            reader = schema, Encoder(schema, seen=self.seen)
        with self._looking:
            self._shown, self._spare, self._reader = self._spare, self._shown, reader

    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        """Look at the copy that predicts, in any thread."""
        with self._looking:
            return what(self._shown) if key is None else None


class ModelPerKey(Learner):
    """A model per key. A prediction waits while its key, or another one, learns a few rows."""

    keyed = True
    chunk = 1024  # the rows of a key go together: its model may have to be read from the file for them

    def __init__(self, keyed: Keyed) -> None:
        self.models = keyed

    @property
    def model(self) -> Heros:
        """The model that every key starts as."""
        return self.models.template

    @property
    def seen(self) -> int:
        """How many instances were learnt from, over all keys."""
        return self.models.seen

    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""
        if schema.n_features > 0 and schema.n_outputs > 0:
            self.models.bind(schema)

    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[Output]:
        """Predict instances, each by the model of its key."""
        if self.schema is None:
            return [NOTHING] * len(asked)
        predicted: list[Output] = []
        for key, group in groupby(asked, key=lambda pair: pair[0]):
            assert key is not None
            outputs = self.models.outputs(key, [x for _, x in group])
            predicted += [(self.schema.classes[: len(p)], p) for p in outputs]  # others may have come since
        return predicted

    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        """Learn from instances; those of a key in their order."""
        by_key: dict[Id, list[Labelled]] = {}
        for one in block:
            assert one.key is not None
            by_key.setdefault(one.key, []).append(one)
        for key, rows in by_key.items():
            yield _learnt(partial(self.models.test_then_train, key), rows, self.task)

    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        """Look at the model of a key, in any thread; without a key, at the one that every key starts as.

        A key that is a number may be written as text.
        """
        if key is None:
            return what(self.model)
        names: list[Id] = [key, *([int(key)] if key.isdecimal() and len(key) < 19 else [])]
        known = next((name for name in names if name in self.models), None)
        return None if known is None else what(self.models[known])

    def close(self) -> None:
        """Close the file of the models."""
        self.models.close()


def _learnt(test_then_train: Callable[..., Block], block: list[Labelled], task: Task) -> Learnt:
    width = len(block[-1].row)  # a block never spans a growth
    X = np.array([one.row for one in block], dtype=np.float64).reshape(len(block), width)
    y = np.array([one.label for one in block], dtype=np.float64 if task.numeric else np.int64)
    done = test_then_train(X, y)
    outputs = done.outputs
    for at, one in enumerate(block):
        if one.predicted is not None:  # the prediction that was given counts, not that of now
            outputs[at] = 0.0
            outputs[at, : len(one.predicted)] = one.predicted
    return y, outputs, done.chosen, done.spent
