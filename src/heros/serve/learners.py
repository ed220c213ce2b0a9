"""What learns behind a service: one model, or one per key."""

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

__all__ = ["Brain", "Given", "Learnt", "Many", "One"]

Id = str | int
T = TypeVar("T")


class Given(NamedTuple):
    """A labelled instance to learn from."""

    key: Id | None
    row: list[float]
    label: float  # the index of its class, or a number
    answer: NDArray[np.float64] | None  # what it was answered when it came; None: with its label
    known: int | None = None  # how many labels the model that answered had learnt from


Told = tuple[tuple[str, ...], NDArray[np.float64]]
"""The classes, and their probabilities; none, and a number with its interval; nothing if nothing is known."""
NOTHING: Told = ((), np.zeros(0))
Learnt = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]
"""Labels (n,), the answers that were given (n, width), who was trained (n, M), Σγ (n,)."""


class Brain(ABC):
    """What learns and answers. One thread learns; answers may be asked for in another."""

    keyed = False
    chunk = 64  # instances that are learnt at a time: whoever waits for the model waits no longer

    @property
    @abstractmethod
    def pool(self) -> Pool:
        """The models that there are to train."""

    @property
    @abstractmethod
    def task(self) -> Task:
        """What is learnt."""

    @property
    @abstractmethod
    def schema(self) -> Schema | None:
        """What is known of the instances."""

    @property
    @abstractmethod
    def seen(self) -> int:
        """How many instances were learnt from."""

    @abstractmethod
    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""

    @abstractmethod
    def answer(self, asked: list[tuple[Id | None, Any]]) -> list[Told]:
        """What is said of instances, given with their keys; `Refused` if one cannot be read."""

    def known(self) -> int | None:
        """How many labels the model that answers has learnt from; None if there is one model per key."""
        return None

    @abstractmethod
    def learn(self, block: list[Given]) -> Iterator[Learnt]:
        """Learn from instances, one after the other."""

    @abstractmethod
    def publish(self) -> None:
        """Answer from what is known now."""

    @abstractmethod
    def face(self) -> Heros:
        """A model that stands for what is known; for the thread that learns."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more will come."""


class One(Brain):
    """One model. Answers come from a copy, which is brought up to date by `publish`."""

    def __init__(self, model: Heros) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "One", "a Heros", model)
        self._looking = threading.Lock()  # while somebody reads from the copy
        self.take_over(model)

    def take_over(self, model: Heros) -> None:
        """Another model takes the place of the one given, before anybody has asked."""
        self.model = model
        self._face, self._spare = copy.deepcopy(model), copy.deepcopy(model)
        self._reader: tuple[Schema, Encoder] | None = None  # how rows are read, by which schema
        self._delay = 0  # how many labels came between the prediction and the label of the last one learnt

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

    @property
    def seen(self) -> int:
        """How many instances were learnt from."""
        return 0 if self.model.schema is None else self.model.instances

    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""
        if schema.n_features > 0 and schema.n_outputs > 0:
            self.model.bind(schema)
            self.publish()

    def answer(self, asked: list[tuple[Id | None, Any]]) -> list[Told]:
        """What is said of instances."""
        with self._looking:
            if self._reader is None:
                return [NOTHING] * len(asked)
            schema, encoder = self._reader
            block = np.array([encoder.row(x) for _, x in asked], dtype=np.float64)
            return [(schema.classes, p) for p in self._face.outputs(block, self._delay)]

    def known(self) -> int:
        """How many labels the model that answers has learnt from."""
        with self._looking:
            return 0 if self._face.schema is None else self._face.instances

    def learn(self, block: list[Given]) -> Iterator[Learnt]:
        """Learn from instances, one after the other."""
        now = self.seen
        delays = [0 if one.known is None else max(0, now + at - one.known) for at, one in enumerate(block)]
        yield _learnt(partial(self.model.test_then_train, delay=delays), block, self.task)
        self._delay = delays[-1]

    def publish(self) -> None:
        """Answer from what is known now."""
        self._spare.follow(self.model)
        schema, reader = self.model.schema, self._reader
        if schema is not None and (reader is None or reader[0] is not schema):
            reader = schema, Encoder(schema, seen=self.seen)
        with self._looking:
            self._face, self._spare, self._reader = self._spare, self._face, reader

    def face(self) -> Heros:
        """The model; for the thread that learns."""
        return self.model

    def look(self, what: Callable[[Heros], T]) -> T:
        """Look at the copy that answers, in whatever thread."""
        with self._looking:
            return what(self._face)

    def close(self) -> None:
        """Nothing more will come."""


class Many(Brain):
    """A model per key. What is asked of a key waits while that key, or another, learns a few rows."""

    keyed = True
    chunk = 1024  # those of a key go together: its model may have to be fetched from the file for them

    def __init__(self, keyed: Keyed) -> None:
        self.models = keyed

    @property
    def pool(self) -> Pool:
        """The models that every key has."""
        return self.models.template.pool

    @property
    def task(self) -> Task:
        """What is learnt."""
        return self.models.template.task

    @property
    def schema(self) -> Schema | None:
        """What is known of the instances."""
        return self.models.template.schema

    @property
    def seen(self) -> int:
        """How many instances were learnt from, over all keys."""
        return self.models.seen

    def open(self, schema: Schema) -> None:
        """Know this schema from now on, which has grown."""
        if schema.n_features > 0 and schema.n_outputs > 0:
            self.models.bind(schema)

    def answer(self, asked: list[tuple[Id | None, Any]]) -> list[Told]:
        """What is said of instances, each by the model of its key."""
        if self.schema is None:
            return [NOTHING] * len(asked)
        told: list[Told] = []
        for key, group in groupby(asked, key=lambda pair: pair[0]):
            assert key is not None
            said = self.models.outputs(key, [x for _, x in group])
            told += [(self.schema.classes[: len(p)], p) for p in said]  # others may have come since
        return told

    def learn(self, block: list[Given]) -> Iterator[Learnt]:
        """Learn from instances; those of a key in their order."""
        by_key: dict[Id, list[Given]] = {}
        for given in block:
            assert given.key is not None
            by_key.setdefault(given.key, []).append(given)
        for key, rows in by_key.items():
            learn = partial(self.models.test_then_train, key)
            yield _learnt(learn, rows, self.task)

    def publish(self) -> None:
        """There is no other state than what is."""

    def face(self) -> Heros:
        """What every key starts as."""
        return self.models.template

    def look(self, key: str | None, what: Callable[[Heros], T]) -> T | None:
        """Look at the model of a key, in whatever thread; without one, at what every key starts as.

        A key that is a number may be written as text.
        """
        if key is None:
            return what(self.models.template)
        names: list[Id] = [key, *([int(key)] if key.isdecimal() and len(key) < 19 else [])]
        known = next((name for name in names if name in self.models), None)
        return None if known is None else what(self.models[known])

    def close(self) -> None:
        """Close the file of the models."""
        self.models.close()


def _learnt(test_then_train: Callable[..., Block], block: list[Given], task: Task) -> Learnt:
    X = _rows_of(block)
    y = np.array([given.label for given in block], dtype=np.float64 if task.numeric else np.int64)
    done = test_then_train(X, y)
    answers = done.outputs
    for at, given in enumerate(block):
        if given.answer is not None:  # what was said at the time counts, not what would be said now
            answers[at] = 0.0
            answers[at, : len(given.answer)] = given.answer
    return y, answers, done.chosen, done.spent


def _rows_of(block: list[Given]) -> NDArray[np.float64]:
    width = len(block[-1].row)  # a block never spans a growth
    return np.array([given.row for given in block], dtype=np.float64).reshape(len(block), width)
