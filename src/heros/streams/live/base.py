"""What every source is: instances in order, some of which may still have to come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from heros.data.schema import Schema
from heros.streams.live.bad_rows import BadRows

__all__ = ["END", "IDLE", "Block", "DriftPoint", "Polled", "Signal", "Source", "passed"]

Block = tuple[NDArray[np.float64], NDArray[Any]]
"""X (n, n_features): numbers, 0-based codes of nominal values, NaN = missing. y (n,): targets."""


class Signal(Enum):
    """What a source gives instead of instances."""

    IDLE = "idle"  # nothing now; more may come
    END = "end"  # nothing any more


IDLE: Final = Signal.IDLE
END: Final = Signal.END

Polled = Block | Literal[Signal.IDLE, Signal.END]


@dataclass(frozen=True, slots=True)
class DriftPoint:
    """A change of concept.

    Parameters
    ----------
    position
        The instance, counted from the start of the stream, at which old and new are equally likely.
    width
        Over how many instances it spreads; 1 is abrupt.
    """

    position: int
    width: int


def passed(name: str, owner: str = "") -> Any:
    """An attribute, or a method, of another object that this one holds as its attribute `owner`."""
    return property(attrgetter(f"{owner}.{name}" if owner else name))


class Source(ABC):
    """Where instances come from, in order: rows now, nothing now, or nothing any more.

    What a source gives depends on its rows alone, never on when they came or how they were asked for: a
    block ends before the first row for which the schema has to grow, so a model that is bound to `schema`
    after each poll grows at the same rows whatever happened in between.

    Attributes
    ----------
    name : str
        What tables and figures call it.
    """

    name: str
    _position: int = 0

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What an instance looks like, as far as those given so far need it. It only ever grows."""

    @abstractmethod
    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Up to `most` instances, at the latest after `timeout` seconds.

        IDLE if there is none by then, END if none will come any more (then it stays END). Without a
        timeout it waits until there are `most`, or as many as there can be. What is wrong with an instance
        is raised when it is the next one: those before it are given first.
        """

    @property
    def position(self) -> int:
        """How many instances have been given since the start."""
        return self._position

    @property
    def n_instances(self) -> int | None:
        """How many instances there are from start to end; None if unknown or without end."""
        return None

    @property
    def drifts(self) -> tuple[DriftPoint, ...]:
        """Where the concept is known to change."""
        return ()

    @property
    def bad_rows(self) -> BadRows:
        """The rows skipped so far, counted, and the first ten."""
        return BadRows()

    def where(self) -> Mapping[str, Any] | None:
        """Where it stands behind the last instance given, as JSON knows it, for a checkpoint.

        None: it has to be read over from its start, as finite streams are. That costs little beside
        learning, and shows that the instances are still the same.
        """
        return None

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to where `where` said it stood, and know the schema it knew there."""
        raise NotImplementedError(f"{type(self).__name__} has no position to go to")

    def acknowledge(self, where: Mapping[str, Any]) -> None:  # noqa: B027 - few have anybody to tell
        """A checkpoint holds everything up to `where`: nothing before it will be asked for again."""

    def read_as(self, schema: Schema, seen: int) -> None:  # noqa: B027 - those with rows to read do
        """Read rows as a model does that knows this schema and has learnt from so many instances.

        For a source that has given nothing yet; what it looks like is known from then on.
        """

    def meet(self, model: Any) -> None:  # noqa: B027 - few want to know
        """Know what learns from it, if answers are wanted before labels come."""

    def answers(self) -> Sequence[NDArray[np.float64] | None] | None:
        """What was answered earlier of each instance given last; None if that is to be asked only now."""
        return None

    def delays(self) -> NDArray[np.int64] | None:
        """How many labels came between the prediction and the label of each instance given last.

        None if no label is late.
        """
        return None

    @property
    def weighed(self) -> str | None:
        """What says how much instances count, such as a column; None if all count the same."""
        return None

    def weights(self) -> NDArray[np.float64] | None:
        """What each instance given last counts; None if all count the same."""
        return None

    def close(self) -> None:  # noqa: B027 - few hold anything
        """Let go of connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
