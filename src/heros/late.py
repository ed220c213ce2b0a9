"""Labels that come late: an answer now, the label whenever it is known."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros.ensemble import Heros
from heros.errors import DataError, HerosError, ParameterError
from heros.measures import Measure
from heros.parameters import expect_list, identifier, whole
from heros.schema import Schema
from heros.sources.pending import Counts, Id, Pending
from heros.storage import archive, models

__all__ = ["Counts", "LateLabels", "Pending"]

Expired = Callable[[Id, NDArray[np.float64]], object]
KIND = "late labels"


@dataclass(slots=True)
class _Waiting:
    """An instance whose label has not come."""

    x: NDArray[np.float64]
    answer: NDArray[np.float64]
    known: int  # how many labels the model had learnt from when it predicted


class LateLabels:
    """A model that answers at once and learns when the label comes, if it does.

    Instances wait in a store that is bounded: the oldest go when there are too many, or when they have
    waited too long. The measures count the answers that were given at the time, not what the model would say
    now.

    Parameters
    ----------
    model
        What answers and learns: a Heros that knows its schema.
    most
        How many instances may wait for their labels.
    longest
        For how many seconds one may wait; None: for as long as there is room.
    expired
        A function of the id and the instance that is called for each one given up; all of them are counted.
    measures
        What is measured, each in bounded memory; those of the task by default.
    clock
        What tells the time, in seconds since the epoch: what is saved is opened at another time.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1, schema=stream.schema), most=100)
    >>> X, y = stream.draw(150)
    >>> for order, x in enumerate(X):
    ...     probabilities = late.answer(order, x)
    >>> late.learn(149, y[149]), late.learn(0, y[0])  # the first fifty had to go
    (True, False)
    >>> late.waiting, late.counts
    (99, Counts(answered=150, learnt=1, expired=50, unknown=1))
    """

    def __init__(
        self,
        model: Heros,
        *,
        most: int = 100_000,
        longest: float | None = None,
        expired: Expired | None = None,
        measures: Iterable[Measure] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(model, Heros):
            raise ParameterError.of("model", "LateLabels", "a Heros", model)
        self.model = model
        self._waiting: Pending[_Waiting] = Pending(most, longest, self._gone, clock, "LateLabels")
        given = model.task.measures() if measures is None else expect_list(measures, "measures", "LateLabels")
        self.measures = tuple(measure.bounded() for measure in given)
        self.counts = Counts()
        self._expired = expired
        self._delay = 0  # how many labels came between the prediction and the label of the last one learnt

    def answer(self, id: Id, x: ArrayLike) -> NDArray[np.float64]:
        """What the model says of an instance, which waits for its label under this id from now on.

        If the same is asked again, as after a lost reply, the answer is the one that was given.
        """
        _expect_id(id)
        self._waiting.let_go()
        row = np.array(x, dtype=np.float64)
        known = self._waiting.get(id)
        if known is not None:
            if not np.array_equal(_wide(known.x, len(row)), row, equal_nan=True):
                raise DataError(f"The id {id!r} must be a new one. Got that of another instance that waits.")
            return known.answer.copy()
        if row.ndim != 1:
            raise ParameterError.of("x", "answer", "one instance", x)
        answer = self.model.answers(row, self._delay)
        self.counts.answered += 1
        self._waiting.put(id, _Waiting(row, answer, self.model.instances))
        return answer.copy()

    def learn(self, id: Id, y: Any) -> bool:
        """Learn from an instance that waits, now that its label is known; False if none has this id."""
        _expect_id(id)
        self._waiting.let_go()
        waiting = self._waiting.get(id)
        if waiting is None:
            self.counts.unknown += 1
            return False
        schema = self._schema
        label = np.array([y])
        target = self.model.task.targets(label, 1, schema)  # one that will not do leaves the instance here
        label = target.astype(np.int64) if label.dtype.kind in "UO" else label
        delay = max(0, self.model.instances - waiting.known)
        self.model.learn(_wide(waiting.x, schema.n_features), y, delay=delay)
        self._waiting.take(id)
        self._delay = delay
        answer = _wide(waiting.answer, self.model.task.width(schema), 0.0)  # of a class nobody knew then
        for measure in self.measures:
            measure.update(label, answer[np.newaxis])
        self.counts.learnt += 1
        return True

    def forget(self, id: Id) -> bool:
        """Give an instance up: its label will not come. False if none waits under this id."""
        _expect_id(id)
        return self._waiting.give_up(id)

    @property
    def most(self) -> int:
        """How many instances may wait for their labels."""
        return self._waiting.most

    @property
    def longest(self) -> float | None:
        """For how many seconds one may wait."""
        return self._waiting.longest

    @property
    def waiting(self) -> int:
        """How many instances wait for their labels."""
        return len(self._waiting)

    @property
    def figures(self) -> dict[str, float]:
        """The figures of the measures over the answers whose labels have come."""
        return {measure.name: measure.value for measure in self.measures}

    @property
    def _schema(self) -> Schema:
        if self.model.schema is None:
            raise HerosError("This Heros does not know its instances yet: call bind(schema) or pass schema=.")
        return self.model.schema

    def _gone(self, id: Id, waiting: _Waiting) -> None:
        self.counts.expired += 1
        if self._expired is not None:
            self._expired(id, waiting.x)

    def _take_back(self, ids: list[Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        x, answers, known, since = (arrays[name] for name in ("x", "answers", "known", "since"))
        counts = {len(ids), len(x), len(answers), len(known), len(since)}
        if len(counts) > 1 or len(set(map(_expect_id, ids))) != len(ids):
            raise DataError("as many instances as ids are needed")
        for id, row, answer, then, at in zip(ids, x, answers, since.tolist(), known.tolist(), strict=True):
            self._waiting.hold(id, _Waiting(row, answer, int(at)), then)

    # -- on disk ------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to one file: the model, the instances that wait, the counts and the measures."""
        model, learnt = models.pack(self.model)
        counted = {f"measures/{measure.name}": measure.state() for measure in self.measures}
        document = {
            "model": model,
            "ids": list(self._waiting),
            "counts": asdict(self.counts),
            "most": self.most,
            "longest": self.longest,
            "delay": self._delay,
            "measures": [measure.name for measure in self.measures],
        }
        archive.write(
            path, KIND, document, archive.grouped({"model": learnt, "waiting": self._stored(), **counted})
        )

    def _stored(self) -> dict[str, NDArray[Any]]:
        """The instances that wait, as wide as the schema is now."""
        held = self._waiting.all()
        waiting = [one for _, one, _ in held]
        width = self._schema.n_features if waiting else 0
        outputs = self.model.task.width(self._schema) if waiting else 0
        return {
            "x": np.array([_wide(one.x, width) for one in waiting]).reshape(len(waiting), width),
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
        """What `save` wrote. Measures and parts of your own have to be brought along, as for `Heros.load`."""
        document, arrays = archive.read(path, KIND)
        try:
            model = models.unpack(Heros, document["model"], archive.subset(arrays, "model"), **own)
            given = map(Measure.of, document["measures"]) if measures is None else measures
            late = cls(
                model,
                most=document["most"],
                longest=document["longest"],
                expired=expired,
                measures=given,
                clock=clock,
            )
            late.counts = Counts(**document["counts"])
            late._delay = whole(document["delay"], "delay", "LateLabels", 0, 1 << 40)
            for measure in late.measures:
                measure.restore(archive.subset(arrays, f"measures/{measure.name}"))
            late._take_back(document["ids"], archive.subset(arrays, "waiting"))
        except (DataError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The file {os.fspath(path)} must hold whole late labels. Got: {error}."
            ) from None
        return late


def _expect_id(id: Any) -> Id:
    return identifier(id, "id", "LateLabels")


def _wide(values: NDArray[np.float64], width: int, fill: float = np.nan) -> NDArray[np.float64]:
    """The values, with others behind them if the schema has grown since."""
    missing = width - len(values)
    return values if missing <= 0 else np.concatenate([values, np.full(missing, fill)])
