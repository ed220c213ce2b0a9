"""Calls from the core to models of other libraries; the calls check outputs and handle exceptions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import HerosError
from heros._base.notices import notice
from heros.data.schema import Schema
from heros.pools.adapters import Instance, Member
from heros.pools.base import Floats

OnError = Literal["set_aside", "raise"]


class MemberClock:
    """The CPU seconds and the number of calls of each member.

    Examples
    --------
    >>> clock = MemberClock(2)
    >>> with clock.of(0):
    ...     total = sum(range(100_000))
    >>> bool(clock.means()[0] > 0), bool(clock.means()[1] == clock.means()[0])
    (True, True)
    """

    def __init__(self, members: int) -> None:
        self.seconds, self.times = [0.0] * members, [0] * members

    @contextmanager
    def of(self, i: int) -> Iterator[None]:
        """Return a context manager that adds the CPU time of its block to the time of member i."""
        since = time.thread_time()
        try:
            yield
        finally:
            self.seconds[i] += time.thread_time() - since
            self.times[i] += 1

    def means(self) -> Floats:
        """Return the mean seconds per call of each member.

        A member without calls gets the mean of the other members.
        """
        times = np.array(self.times)
        known = np.divide(self.seconds, times, where=times > 0, out=np.zeros(len(times)))
        return np.where(times > 0, known, known[times > 0].mean() if times.any() else 0.0)


class MemberCalls:
    """The callbacks with which the core evaluates and trains the members.

    The core's pool refers to this object. A reference back to the pool would form a reference cycle.
    """

    def __init__(self, names: tuple[str, ...], members: list[Member], on_error: OnError) -> None:
        self.names, self.members, self.on_error = names, members, on_error
        self.faults: dict[str, str] = {}
        self.look_clock, self.train_clock = MemberClock(len(members)), MemberClock(len(members))

    def fit(self, schema: Schema) -> tuple[Floats, NDArray[np.int32], NDArray[np.uint8]]:
        """Allocate the output arrays of the members for this schema."""
        models = len(self.members)
        self.schema = schema
        self.outputs = np.full((models, schema.n_outputs), self._nothing)
        self.favoured = np.zeros(models, dtype=np.int32)
        self.active = np.ones(models, dtype=np.uint8)
        for i, name in enumerate(self.names):
            if name in self.faults:
                self._set_aside(i)
        return self.outputs, self.favoured, self.active

    def grow(self, schema: Schema) -> None:
        """Extend all members to a schema with additional features, values or classes."""
        for i in self._usable():
            self._call(i, partial(self.members[i].bind, schema), "adapt to an extended schema")

    def look(self, row: Floats, watched: NDArray[np.uint8] | None) -> None:
        """Predict this instance with the given members (None: all), and store the instance for training."""
        self.instance = Instance(self.schema, row)
        for i in self._usable(watched):
            with self.look_clock.of(i):
                self._call(i, partial(self._ask, i, self.instance), "predict")

    def train(self, target: float, chosen: NDArray[np.uint8]) -> None:
        """Train all chosen members, then raise the first exception, if any."""
        y = target if self.schema.numeric else int(target)
        first: HerosError | None = None
        for i in self._usable(chosen):
            try:
                with self.train_clock.of(i):
                    self._call(i, partial(self.members[i].learn, self.instance, y), "learn")
            except HerosError as error:
                first = first or error
        if first is not None:
            raise first

    def answer(self, i: int, row: Floats) -> None:
        """Predict an instance with one member."""
        if self.active[i]:
            self._call(i, partial(self._ask, i, Instance(self.schema, row)), "predict")

    def _usable(self, requested: NDArray[np.uint8] | None = None) -> list[int]:
        able: list[int] = np.flatnonzero(
            self.active if requested is None else self.active & requested
        ).tolist()
        return able

    def _ask(self, i: int, instance: Instance) -> None:
        member = self.members[i]
        if self.schema.numeric:
            self.outputs[i], self.favoured[i] = _number(member.predict(instance))
        else:
            output, favoured = _checked(member.predict_proba(instance), self.schema.n_classes)
            self.outputs[i], self.favoured[i] = output, favoured

    @property
    def _nothing(self) -> float:
        """The default value of every output of a member that makes no prediction."""
        return 0.0 if self.schema.numeric else 1 / self.schema.n_classes

    def _call(self, i: int, act: Callable[[], None], what: str) -> None:
        try:
            act()
        except Exception as error:
            text = fault(self.names[i], i, what, error)
            if self.on_error == "raise":
                raise HerosError(text) from error
            self.faults[self.names[i]] = text
            self._set_aside(i)
            notice(f"{text}. The model is excluded.", RuntimeWarning)

    def _set_aside(self, i: int) -> None:
        self.active[i], self.favoured[i] = 0, -1
        self.outputs[i] = self._nothing


def _number(answer: Any) -> tuple[float, int]:
    """Return ``(number, 0)``, or ``(0.0, -1)`` if the predicted number is not finite.

    A prediction of None counts as the number 0.
    """
    if answer is None:
        return 0.0, 0
    try:
        value = float(answer)
    except (TypeError, ValueError):
        raise ValueError(f"expected a number, got {answer!r}") from None
    return (value, 0) if math.isfinite(value) else (0.0, -1)


def _checked(answer: ArrayLike | None, classes: int) -> tuple[Floats | float, int]:
    """Return probabilities that sum to 1, and the most probable class (-1 if a value is not finite)."""
    if answer is None:
        return 1 / classes, 0
    p = np.asarray(answer, dtype=np.float64)
    if p.shape != (classes,):
        raise ValueError(f"expected {classes} probabilities, got an array of shape {p.shape}")
    values = p.tolist()  # for a few numbers, a list is faster than an array
    total = sum(values)
    if not math.isfinite(total):
        return 1 / classes, -1
    if min(values) < 0:
        raise ValueError(f"a probability is negative: {min(values)}")
    return (p / total, values.index(max(values))) if total > 0 else (1 / classes, 0)


def fault(name: str, i: int, what: str, error: Exception) -> str:
    """Return the error message for a model that failed; `what` is the failed step, e.g. "predict"."""
    return f"The model {name!r} ({i}) failed to {what}. The error was {type(error).__name__}: {error}"
