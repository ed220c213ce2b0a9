"""The learners of a service: one model, or one model per key."""

from __future__ import annotations

import copy
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError, ParameterError
from heros.data import Encoder, Schema
from heros.data.check import delay_of
from heros.ensemble import Block, Heros
from heros.ensemble.explain import Contributions, contributions
from heros.ensemble.keyed import Keyed
from heros.ensemble.task import Task
from heros.serve.limits import Refusal
from heros.storage.keystore import FILE, NotKept, StoreDamaged

LOG = logging.getLogger("heros.serve")
Id = str | int
T = TypeVar("T")
AT_ONCE = 16  # predictions for an explanation that are made while other threads wait


class Labelled(NamedTuple):
    """A labelled training instance."""

    key: Id | None
    row: list[float]
    label: float  # class index, or numeric target
    predicted: NDArray[np.float64] | None  # earlier prediction; None if the label came with the row
    known: int | None = None  # number of labels the model was trained on when it predicted


class ServedOutput(NamedTuple):
    """A prediction: the classes and their probabilities, or a number without classes.

    Before the model is trained, `classes` and `predicted` are empty.
    """

    classes: tuple[str, ...]
    predicted: NDArray[np.float64]  # probabilities, or a number with its interval
    limit: float | None = None  # the prediction set contains the classes with 1 - probability <= limit


NOTHING = ServedOutput((), np.zeros(0))
Learnt = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]
"""Labels (n,), the predictions that clients got (n, width), trained models (n, M) and training costs (n,)."""


class NotLearnt(HerosError):
    """Raised if some models cannot be stored: training failed on `rows` and succeeded on all other rows."""

    def __init__(self, why: str, rows: list[Labelled]) -> None:
        super().__init__(why)
        self.rows = rows


class ServedLearner(ABC):
    """Base class of learners. One thread trains; other threads may predict at the same time."""

    keyed = False
    chunk = 64  # maximum number of instances per training block; a block may delay predictions
    damaged: Mapping[Id, str] = MappingProxyType({})  # keys whose models cannot be read, with the reason
    store_error: str | None = None  # why the last prediction could not read any model
    lost: str | None = None  # why the models are older than the last checkpoint

    @property
    @abstractmethod
    def model(self) -> Heros:
        """The model, or the template of the models per key, for use by the training thread only."""

    @property
    @abstractmethod
    def seen(self) -> int:
        """The number of training instances so far."""

    @property
    def task(self) -> Task:
        """The task: classification or regression."""
        return self.model.task

    @property
    def schema(self) -> Schema | None:
        """The schema of the instances; None before the first instance."""
        return self.model.schema

    @abstractmethod
    def open(self, schema: Schema) -> None:
        """Use an extended schema from now on."""

    @abstractmethod
    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[ServedOutput]:
        """Predict instances, given as (key, instance) pairs; raise `Refused` for unreadable instances."""

    def known(self) -> int | None:
        """Return the number of labels on which the predicting model was trained; None for models per key."""
        return None

    @abstractmethod
    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        """Train on instances in order; at the end, raise `NotLearnt` if some models cannot be stored."""

    @abstractmethod
    def explain(self, x: Any, of: str | None, key: Id | None) -> Contributions:
        """Explain the prediction for an instance. Thread-safe; does not block predictions."""

    @abstractmethod
    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        """Apply the function `what` to the model that predicts, or to the model of a key. Thread-safe.

        Return the result, or None if the key is unknown. A numeric key may be given as a string.
        """

    def publish(self) -> None:  # noqa: B027
        """Make predictions use the current state of the model."""

    def close(self) -> None:  # noqa: B027
        """Close open files."""


class OneModel(ServedLearner):
    """A learner with one model. Predictions come from a copy of the model, which `publish` updates.

    With `explainable`, the model becomes explainable even if explanations were off when it was saved.
    """

    def __init__(self, model: Heros, *, explainable: bool = False) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "OneModel", "a Heros model", model)
        self._explainable = explainable
        self._looking = threading.Lock()  # held while the copy is read
        self.take_over(model)

    def take_over(self, model: Heros) -> None:
        """Replace the model; call this only before the first request."""
        model.explainable = model.explainable or self._explainable
        self._model = model
        self._shown, self._spare = copy.deepcopy(model), copy.deepcopy(model)
        self._reader: tuple[Schema, Encoder] | None = None  # the schema and the encoder that reads rows
        self._limit: float | None = None  # threshold of the prediction sets
        self._delay = 0  # number of labels between the prediction and the label of the last training instance

    @property
    def model(self) -> Heros:
        return self._model

    @property
    def seen(self) -> int:
        return 0 if self._model.schema is None else self._model.instances

    def open(self, schema: Schema) -> None:
        if schema.n_features > 0 and schema.n_outputs > 0:
            self._model.bind(schema)

    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[ServedOutput]:
        with self._looking:
            if self._reader is None:
                return [NOTHING] * len(asked)
            schema, encoder = self._reader
            block = np.array([encoder.row_to_predict(x) for _, x in asked], dtype=np.float64)
            outputs = self._shown.outputs(block, self._delay)
            return [ServedOutput(schema.classes, p, self._limit) for p in outputs]

    def explain(self, x: Any, of: str | None, key: Id | None) -> Contributions:
        with self._looking:
            if self._reader is None:
                raise Refusal("The model has not been trained yet.", 409)
            schema, encoder = self._reader
            row, rows = np.array(encoder.row_to_predict(x), dtype=np.float64), self._shown.sample

        def predict(X: NDArray[np.float64]) -> NDArray[np.float64]:
            outputs = []
            for at in range(0, len(X), AT_ONCE):  # other threads may take the lock between two steps
                with self._looking:
                    if self._reader is None or self._reader[0] is not schema:
                        raise Refusal("The schema has just been extended. Send the request again.", 409)
                    some = X[at : at + AT_ONCE]
                    outputs.append(self._shown.outputs(some, np.full(len(some), self._delay)))
            return np.concatenate(outputs)

        return contributions(row, rows, predict, schema, of, x)

    def known(self) -> int:
        with self._looking:
            return 0 if self._shown.schema is None else self._shown.instances

    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        now = self.seen
        delays = [0 if one.known is None else delay_of(now + at - one.known) for at, one in enumerate(block)]
        yield _learnt(partial(self._model.test_then_train, delay=delays), block, self.task)
        self._delay = delays[-1]

    def publish(self) -> None:
        self._spare.follow(self._model)
        schema, reader = self._model.schema, self._reader
        if schema is not None and (reader is None or reader[0] is not schema):
            reader = schema, Encoder(schema, seen=self.seen)
        limit = self._spare.set_limit
        with self._looking:
            self._shown, self._spare, self._reader = self._spare, self._shown, reader
            self._limit = limit

    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        with self._looking:
            return what(self._shown) if key is None else None


class ModelPerKey(ServedLearner):
    """A learner with one model per key. A prediction may wait until training on a few rows is finished."""

    keyed = True
    chunk = 1024  # larger than for one model, to group the rows of a key, whose model may be on disk

    def __init__(self, keyed: Keyed) -> None:
        self.models = keyed
        self._damaged: dict[Id, str] = {}
        self.damaged = MappingProxyType(self._damaged)
        if keyed.lost:
            why = "The file or its write-ahead log is damaged, was removed or was replaced by an older copy"
            self.lost = f"Number of newest checkpoints that are missing in {FILE}: {keyed.lost:,}. {why}."

    @property
    def model(self) -> Heros:
        return self.models.template

    @property
    def seen(self) -> int:
        return self.models.seen

    def open(self, schema: Schema) -> None:
        if schema.n_features > 0 and schema.n_outputs > 0:
            self.models.bind(schema)

    def predict(self, asked: list[tuple[Id | None, Any]]) -> list[ServedOutput]:
        if self.schema is None:
            return [NOTHING] * len(asked)
        predicted: list[ServedOutput] = []
        try:
            for key, group in groupby(asked, key=lambda pair: pair[0]):
                assert key is not None
                outputs = self.models.outputs(key, [x for _, x in group])
                if self.task.numeric and not self.models.has_learnt(key):
                    outputs = outputs[:, :0]
                limit = None if self.task.numeric else self.models.set_limit(key)
                classes = self.schema.classes  # a key's model may lack the newest classes
                predicted += [ServedOutput(classes[: len(p)], p, limit) for p in outputs]
        except StoreDamaged as error:
            self.store_error = str(error)
            raise
        self.store_error = None
        return predicted

    def explain(self, x: Any, of: str | None, key: Id | None) -> Contributions:
        if key is None or key not in self.models:
            raise Refusal("No model has this key.", 409)
        return self.models[key].explain(x, of=of)

    def learn(self, block: list[Labelled]) -> Iterator[Learnt]:
        by_key: dict[Id, list[Labelled]] = {}
        for one in block:
            assert one.key is not None
            by_key.setdefault(one.key, []).append(one)
        why, left, failed = "", list[Labelled](), None
        for key, rows in by_key.items():
            try:
                learnt = _learnt(partial(self.models.test_then_train, key), rows, self.task)
            except NotKept as error:
                why = str(error)
                left += rows
            except Exception as error:  # an error of this key's model or file; other keys are not affected
                failed = error
                LOG.error("%d accepted instances of the key %r are lost: %s", len(rows), key, error)  # noqa: TRY400
                if isinstance(error, DataError):
                    self._damaged[key] = str(error)
            else:
                yield learnt
        if left:
            raise NotLearnt(why, left)
        if failed is not None:
            raise failed

    def look(self, what: Callable[[Heros], T], key: str | None = None) -> T | None:
        if key is None:
            return what(self.model)
        is_number = key.removeprefix("-").isdecimal() and len(key) <= 20  # at most 64 bits
        names: list[Id] = [key, *([int(key)] if is_number else [])]
        known = next((name for name in names if name in self.models), None)
        return None if known is None else what(self.models[known])

    def close(self) -> None:
        self.models.close()


def _learnt(test_then_train: Callable[..., Block], block: list[Labelled], task: Task) -> Learnt:
    width = len(block[-1].row)  # the schema is the same within a block
    X = np.array([one.row for one in block], dtype=np.float64).reshape(len(block), width)
    y = np.array([one.label for one in block], dtype=np.float64 if task.numeric else np.int64)
    done = test_then_train(X, y)
    outputs = done.outputs
    for at, one in enumerate(block):
        if one.predicted is not None:  # measures use the prediction that the client got, not the current one
            untrained = len(one.predicted) == 0 and not task.numeric
            outputs[at] = 1 / outputs.shape[1] if untrained else 0.0
            outputs[at, : len(one.predicted)] = one.predicted
    return y, outputs, done.chosen, done.spent
