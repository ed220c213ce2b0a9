"""Late labels: predict now, learn when the label arrives."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.interrupts import DeferredInterrupts
from heros._base.parameters import expect_list, identifier, whole
from heros._base.pending import Counts, Id, Pending, bytes_of
from heros.data.check import delay_of, one_row
from heros.data.frames import form_of, row_of
from heros.data.values import plain_value, value_of
from heros.ensemble import Heros, serialization
from heros.measures import Measure
from heros.storage import archive

__all__ = ["Counts", "LateLabels", "Pending"]

Instance = NDArray[np.float64] | dict[str, Any]
Expired = Callable[[Id, Any], object]
KIND = "late labels"
OVERHEAD = 400  # bytes of a waiting instance, besides its values and its prediction


@dataclass(slots=True)
class _Waiting:
    """An instance whose label has not arrived."""

    x: Instance
    answer: NDArray[np.float64]  # empty if the model had no schema yet
    known: int  # number of labels learnt before the model predicted the instance

    def bytes(self) -> int:
        """The approximate memory size of the instance in bytes."""
        return OVERHEAD + bytes_of(self.x) + self.answer.nbytes


class LateLabels:
    """A model that predicts an instance at once and learns from it when its label arrives.

    The methods may be called from several threads; a lock serialises the calls.

    Instances wait in a bounded store. The oldest instances are evicted when the store is full or when they
    have waited too long. The measures use the original predictions, not predictions of the current model.

    Parameters
    ----------
    model
        The Heros that predicts and learns. For instances that are arrays, the Heros must have a schema.
    most
        The maximum number of instances that wait for their labels.
    longest
        The maximum waiting time in seconds; None means no limit.
    memory
        The maximum memory of the waiting instances in bytes. One instance may use at most a quarter of this
        memory.
    expired
        A function called with the id and the instance of each evicted instance.
    measures
        The measures, computed in bounded memory; by default the measures of the task.
    clock
        A function that returns the time in seconds since 1970. A saved file contains such times, so the
        function must count from the same date after loading. To replay earlier data, return the time of the
        data.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema), most=100)
    >>> X, y = stream.draw(150)
    >>> for order, x in enumerate(X):
    ...     probabilities = late.answer(order, x)
    >>> late.learn(149, y[149]), late.learn(0, y[0])  # the first fifty were evicted
    (True, False)
    >>> late.waiting, late.counts
    (99, Counts(answered=150, learnt=1, expired=50, unknown=1))

    Instances may be dictionaries. New features, values and classes are added when the label arrives:

    >>> late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1))
    >>> late.answer("order 7", {"amount": 12.5, "city": "Bonn"}), late.learn("order 7", "paid")
    (array([], dtype=float64), True)
    >>> late.answer("order 8", {"amount": 7, "city": "Ulm"}), late.learn("order 8", "unpaid")
    (array([1.]), True)
    >>> late.model.schema.classes
    ('paid', 'unpaid')
    """

    def __init__(
        self,
        model: Heros,
        *,
        most: int = 100_000,
        longest: float | None = None,
        memory: int = 256_000_000,
        expired: Expired | None = None,
        measures: Iterable[Measure] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "LateLabels", "a Heros", model)
        if expired is not None and not callable(expired):
            raise ParameterError.of("expired", "LateLabels", "a function of an id and an instance", expired)
        self.model = model
        self._waiting: Pending[_Waiting] = Pending(
            most,
            longest,
            self._gone,
            clock,
            "LateLabels",
            whole(memory, "memory", "LateLabels", 1),
            _Waiting.bytes,
        )
        self._given = None if measures is None else _checked(measures)
        self._measure()
        self.counts = Counts()
        self._expired = expired
        self._lock = threading.RLock()
        self._delay = 0  # labels learnt between the prediction and the label of the last instance learnt

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy of the state, which other threads do not change while it is pickled or copied."""
        with self._lock:
            state = {name: value for name, value in vars(self).items() if name != "_lock"}
            return copy.deepcopy(state, {id(self): self})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def _measure(self) -> None:
        """Create the measures; called again after the first label, which may determine the task."""
        given = self.model.task.measures() if self._given is None else self._given
        self.measures = tuple(measure.bounded() for measure in given)

    def answer(self, id: Id, x: Any) -> NDArray[np.float64]:
        """Return the prediction for an instance; store the instance under this id until its label arrives.

        The instance is an array or a dictionary. The output is that of `Heros.answers`: a probability per
        class, in the order of ``model.schema.classes``, or a number with its interval. The output is empty if
        the model has no schema yet. A repeated call with the same id and instance, e.g. after a lost reply,
        returns the first prediction.
        """
        _expect_id(id)
        with self._lock:
            return self._answer(id, x)

    def _answer(self, id: Id, x: Any) -> NDArray[np.float64]:
        self._waiting.enforce_limits()
        row = _kept(x)
        known = self._waiting.get(id)
        if known is not None:
            if not _is_same(known.x, row):
                raise DataError(f"The id {id!r} must be new. Another instance with this id is waiting.")
            return known.answer.copy()
        if isinstance(row, np.ndarray) and row.ndim != 1:
            raise ParameterError.of("x", "answer", "one instance", x)
        unknown = self.model.schema is None and isinstance(row, dict)
        answer = np.zeros(0) if unknown else self.model.answers(row, self._delay)
        waiting = _Waiting(row, answer, self._learnt)
        if self._waiting.too_large(id, waiting):
            rule = f"at most a quarter of the memory limit ({self.memory:,} bytes)"
            size = self._waiting.size_of(id, waiting)
            raise DataError(f"A waiting instance must take {rule}. Got {size:,} bytes.")
        with DeferredInterrupts():
            self._waiting.arrive(id, waiting)
            self.counts.answered += 1
        self._waiting.enforce_limits()
        return answer.copy()

    def learn(self, id: Id, y: Any) -> bool:
        """Learn from a waiting instance and its label; return False if no instance has this id.

        If the instance is an array, the label is a class index or the name of a known class. If the instance
        is a dictionary, the label is a name, which may be new, as for `Heros.learn`.
        """
        _expect_id(id)
        with self._lock:
            return self._learn_label(id, y)

    def _learn_label(self, id: Id, y: Any) -> bool:
        self._waiting.enforce_limits()
        waiting = self._waiting.get(id)
        if waiting is None:
            self.counts.unknown += 1
            return False
        with DeferredInterrupts():  # the model, the waiting instances and the measures change together
            delay = delay_of(self._learnt - waiting.known)
            target = self._learn(waiting.x, y, delay)  # after an invalid label, the instance remains
            self._waiting.take(id)
            self._delay = delay
            self.counts.learnt += 1
            if self.counts.learnt == 1:
                self._measure()
            answer = _wide(waiting.answer, self._outputs, 0.0)  # classes added since then get probability 0
            if not self.model.task.numeric and not answer.any():  # no class was known at that time
                answer = np.full_like(answer, 1 / len(answer))
            for measure in self.measures:
                measure.update(target, answer[np.newaxis])
        return True

    @property
    def _learnt(self) -> int:
        """The number of labels the model has learnt from."""
        return 0 if self.model.schema is None else self.model.instances

    def _learn(self, x: Instance, y: Any, delay: int) -> NDArray[Any]:
        """Learn from an instance, and return its class index or numeric target as an array."""
        if isinstance(x, dict):
            self.model.learn(x, y, delay=delay)
            target = self.model.encoder().targets([y])
        else:
            assert self.model.schema is not None, "the model has predicted"
            target = self.model.task.targets(one_row(y), 1, self.model.schema)
            self.model.learn(_wide(x, self.model.schema.n_features), y, delay=delay)
        return target if self.model.task.numeric else target.astype(np.int64)

    def forget(self, id: Id) -> bool:
        """Drop a waiting instance whose label will not arrive; return False if no instance has this id."""
        _expect_id(id)
        with self._lock:
            return self._waiting.evict(id)

    @property
    def most(self) -> int:
        """The maximum number of instances that wait for their labels."""
        return self._waiting.most

    @property
    def longest(self) -> float | None:
        """The maximum waiting time in seconds; None means no limit."""
        return self._waiting.longest

    @property
    def memory(self) -> int:
        """The maximum memory of the waiting instances in bytes."""
        return self._waiting.most_bytes or 0

    @property
    def waiting(self) -> int:
        """The number of instances that wait for their labels."""
        return len(self._waiting)

    @property
    def figures(self) -> dict[str, float]:
        """The values of the measures over the predictions whose labels have arrived."""
        return {measure.name: measure.value for measure in self.measures}

    @property
    def _outputs(self) -> int:
        """The number of values in a prediction; 0 if the model has no schema yet."""
        return 0 if self.model.schema is None else self.model.task.width(self.model.schema)

    def _gone(self, id: Id, waiting: _Waiting) -> None:
        self.counts.expired += 1
        if self._expired is not None:
            self._expired(id, waiting.x)

    def _take_back(self, ids: list[Any], rows: list[Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        x, answers, since = (arrays[name] for name in ("x", "answers", "since"))
        known = arrays.get("known", np.full(len(ids), self._learnt))  # old files lack this array
        lengths = {len(ids), len(rows), len(x), len(answers), len(known), len(since)}
        if len(lengths) > 1 or len(set(map(_expect_id, ids))) != len(ids):
            raise DataError("the number of instances differs from the number of distinct ids")
        features = 0 if self.model.schema is None else self.model.schema.n_features
        shapes = (len(ids), features), (len(ids), self._outputs)
        if (x.shape, answers.shape) != shapes or x.dtype != np.float64 or answers.dtype != np.float64:
            raise DataError(
                f"the waiting instances must have the shapes {shapes}, not {x.shape, answers.shape}"
            )
        for id, row, numbers, answer, at, then in zip(ids, rows, x, answers, known, since, strict=True):
            instance = numbers if row is None else dict(value_of(row))
            given = answer if answer.any() else answer[:0]
            self._waiting.hold(id, _Waiting(instance, given, int(at)), float(then))

    # -- on disk ------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, the waiting instances, the counts and the measures to one file.

        `heros.data.values.plain_value` converts values that JSON cannot represent.
        """
        with self._lock:
            self._save(path)

    def _save(self, path: str | os.PathLike[str]) -> None:
        model, learnt = serialization.pack(self.model)
        held = self._waiting.all()
        counted = {f"measures/{measure.name}": measure.state() for measure in self.measures}
        document = {
            "model": model,
            "ids": list(self._waiting),
            "rows": [plain_value(one.x) if isinstance(one.x, dict) else None for _, one, _ in held],
            "counts": asdict(self.counts),
            "most": self.most,
            "longest": self.longest,
            "memory": self.memory,
            "delay": self._delay,
            "measures": [measure.name for measure in self.measures],
            "chosen": self._given is not None or self.counts.learnt > 0,  # otherwise measures may change
        }
        archive.write(
            path, KIND, document, archive.grouped({"model": learnt, "waiting": self._stored(), **counted})
        )

    def _stored(self) -> dict[str, NDArray[Any]]:
        """Return the waiting instances, padded to the current schema; a dictionary becomes an all-NaN row."""
        held = self._waiting.all()
        waiting = [one for _, one, _ in held]
        width, outputs = 0 if self.model.schema is None else self.model.schema.n_features, self._outputs
        arrays = [np.zeros(0) if isinstance(one.x, dict) else one.x for one in waiting]
        return {
            "x": np.array([_wide(x, width) for x in arrays]).reshape(len(waiting), width),
            "answers": np.array([_wide(one.answer, outputs, 0.0) for one in waiting]).reshape(
                len(waiting), outputs
            ),
            "known": np.array([one.known for one in waiting], dtype=np.int64),
            "since": np.array([since for _, _, since in held], dtype=np.float64),
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        expired: Expired | None = None,
        measures: Iterable[Measure] | None = None,
        clock: Callable[[], float] = time.time,
        **own: Any,
    ) -> Self:
        """Load a file that `save` wrote. Pass user-defined measures and parts: see `Heros.load`."""
        document, arrays = archive.read(path, KIND)
        try:
            model = serialization.unpack(Heros, document["model"], archive.subset(arrays, "model"), **own)
            given = map(Measure.of, document["measures"]) if document["chosen"] else None
            late = cls(
                model,
                most=document["most"],
                longest=document["longest"],
                memory=document["memory"],
                expired=expired,
                measures=given if measures is None else measures,
                clock=clock,
            )
            late.counts = Counts(**document["counts"])
            late._delay = whole(document.get("delay", 0), "delay", "LateLabels", 0, 1 << 40)
            for measure in late.measures:
                measure.restore(archive.subset(arrays, f"measures/{measure.name}"))
            ids = document["ids"]
            rows = document.get("rows", [None] * len(ids))  # old files have only arrays
            late._take_back(ids, rows, archive.subset(arrays, "waiting"))
        except (DataError, KeyError, TypeError, ValueError) as error:
            rule = f"The file {os.fspath(path)} does not contain a complete LateLabels object."
            raise DataError(f"{rule} The error was: {error}") from None
        return late


def _checked(measures: Iterable[Measure]) -> list[Measure]:
    given = expect_list(measures, "measures", "LateLabels")
    if not all(isinstance(one, Measure) for one in given):
        raise ParameterError.of("measures", "LateLabels", "a list of measures, e.g. [Accuracy()]", given)
    return given


def _expect_id(id: Any) -> Id:
    return identifier(id, "id", "LateLabels")


def _kept(x: Any) -> Instance:
    """Return a copy of an instance, in the form used in memory and in files."""
    if form_of(x) == "row":
        row: dict[str, Any] = value_of(plain_value(row_of(x)))
        return row
    try:
        return np.array(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError.of("x", "answer", "a dictionary or an array of numbers", x) from None


def _is_same(known: Instance, asked: Instance) -> bool:
    if isinstance(known, dict) or isinstance(asked, dict):
        return (
            isinstance(known, dict) and isinstance(asked, dict) and plain_value(known) == plain_value(asked)
        )
    return np.array_equal(_wide(known, len(asked)), asked, equal_nan=True)


def _wide(values: NDArray[np.float64], width: int, fill: float = np.nan) -> NDArray[np.float64]:
    """Return the values, padded to `width` with `fill`."""
    missing = width - len(values)
    return values if missing <= 0 else np.concatenate([values, np.full(missing, fill)])
