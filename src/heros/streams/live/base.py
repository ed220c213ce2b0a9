"""The base class of sources, whose instances may arrive over time, and a wrapper for other sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros.data.encoder import widened
from heros.data.schema import Schema
from heros.streams.bad_rows import BadRows

__all__ = [
    "END",
    "IDLE",
    "Block",
    "DriftPoint",
    "Polled",
    "Signal",
    "Source",
    "expect_source",
    "joined",
    "passed",
]

Block = tuple[NDArray[np.float64], NDArray[Any]]
"""X (n, n_features): numbers and 0-based codes of nominal values, NaN if missing; y (n,): targets."""


class Signal(Enum):
    """A signal that a source returns instead of instances."""

    IDLE = "idle"  # no instances now; more may arrive
    END = "end"  # no more instances


IDLE: Final = Signal.IDLE
END: Final = Signal.END

Polled = Block | Literal[Signal.IDLE, Signal.END]


@dataclass(frozen=True, slots=True)
class DriftPoint:
    """A concept drift.

    Parameters
    ----------
    position
        The instance, counted from the start of the stream, at which both concepts are equally likely.
    width
        The number of instances that the drift takes; 1 for an abrupt drift.
    """

    position: int
    width: int


def joined(parts: Sequence[Block]) -> Block:
    """Concatenate blocks; features that first appear in a later block get missing values before it."""
    if len(parts) == 1:
        return parts[0]
    width = parts[-1][0].shape[1]
    return np.concatenate([widened(X, width) for X, _ in parts]), np.concatenate([y for _, y in parts])


def passed(name: str, owner: str = "") -> Any:
    """Return a property that forwards to the attribute or method `name` of the attribute `owner`."""
    return property(attrgetter(f"{owner}.{name}" if owner else name))


class Source(ABC):
    """A source of instances in order; each poll returns instances, IDLE or END.

    The instances depend only on the rows, not on arrival times or calls of `poll`. If a row extends the
    schema, the block ends before this row. A model that is bound to `schema` after each poll is therefore
    extended at the same rows in every run.

    Attributes
    ----------
    name : str
        The name in tables and figures.
    target : str, optional
        The name of the target column or field; None if the target has no name.
    """

    name: str
    target: str | None = None
    _position: int = 0

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The schema that the instances so far need; it never shrinks."""

    @abstractmethod
    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return up to `most` instances within `timeout` seconds.

        Return IDLE if no instance arrives in time. Return END, in this and all later calls, if no more
        instances will arrive. Without a timeout, wait for `most` instances or the end. If an instance is bad,
        the instances before it are returned first; the next call raises the error.
        """

    @property
    def position(self) -> int:
        """The number of instances returned since the start."""
        return self._position

    @property
    def n_instances(self) -> int | None:
        """The total number of instances; None if unknown or infinite."""
        return None

    @property
    def drifts(self) -> tuple[DriftPoint, ...]:
        """The known drift points."""
        return ()

    @property
    def bad_rows(self) -> BadRows:
        """The number of rows skipped so far, and the first skipped rows."""
        return BadRows()

    def where(self) -> Mapping[str, Any] | None:
        """Return the position after the last returned instance as JSON data, for a checkpoint.

        None means that a resumed run reads the source again from its start, like a finite stream. Reading
        again takes little time compared with training, and verifies that the instances are unchanged.
        """
        return None

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to a position returned by `where`, and restore the schema of that position."""
        raise NotImplementedError(f"{type(self).__name__} does not support seek")

    def acknowledge(self, where: Mapping[str, Any]) -> None:  # noqa: B027 - optional
        """Release the rows up to the position `where`, because a written checkpoint covers these rows."""

    def hold(self) -> None:  # noqa: B027 - optional
        """While no instances are read, receive messages that a broker would otherwise drop."""

    def read_as(self, schema: Schema, seen: int) -> None:  # noqa: B027 - optional
        """Start with the schema of a model that was trained on `seen` instances.

        The call has an effect only before the source has returned any instances.
        """

    def meet(self, model: Any) -> None:  # noqa: B027 - optional
        """Set the model that predicts instances before their labels arrive."""

    def answers(self) -> Sequence[NDArray[np.float64] | None] | None:
        """Return the predictions made on arrival of the last polled instances; None if no label is late."""
        return None

    def delays(self) -> NDArray[np.int64] | None:
        """Return the label delay of each instance of the last poll; None if no label is late.

        A delay is the number of labels that arrived between the prediction and the label of an instance.
        """
        return None

    @property
    def weighed(self) -> str | None:
        """The column with the weights of instances; None if all weights are equal."""
        return None

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weights of the instances of the last poll; None if all weights are equal."""
        return None

    def close(self) -> None:  # noqa: B027 - optional
        """Close connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def expect_source(source: Any, parameter: str, owner: str) -> Source:
    """Return a source unchanged; wrap an object with `schema` and `poll`; otherwise raise a ParameterError.

    Examples
    --------
    >>> from heros import streams
    >>> expect_source(streams.LED(), "stream", "evaluate")
    <LED 'LED(drift=0)' at 0>
    """
    if isinstance(source, Source):
        return source
    polled = hasattr(source, "schema") and callable(getattr(source, "poll", None))
    if isinstance(source, type) or not polled:
        known = "a stream, e.g. heros.streams.load('agr_a') or read('data.csv')"
        raise ParameterError.of(parameter, owner, f"{known}, or a source with 'schema' and 'poll'", source)
    if hasattr(source, "where") != hasattr(source, "seek"):
        raise ParameterError.of(
            parameter, owner, "a source that has both 'where' and 'seek' or neither of these methods", source
        )
    return OwnSource(source)


class OwnSource(Source):
    """A wrapper that adds missing methods to a user-defined source and validates the results."""

    def __init__(self, own: Any) -> None:
        self._own, self._kind = own, type(own).__name__
        self.name = str(getattr(own, "name", self._kind))

    @property
    def schema(self) -> Schema:
        schema = self._own.schema
        if not isinstance(schema, Schema):
            raise DataError(f"The 'schema' of {self._kind} must be a heros.Schema. Got {schema!r} instead.")
        return schema

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        got = self._own.poll(most, timeout)
        if isinstance(got, Signal):
            return got
        rule = f"The 'poll' of {self._kind} must return a block (X, y), IDLE or END."
        if not (isinstance(got, tuple) and len(got) == 2):
            raise DataError(f"{rule} Got {got!r} instead.")
        try:
            X, y = np.asarray(got[0], dtype=np.float64), np.asarray(got[1])
        except (TypeError, ValueError) as error:
            raise DataError(f"{rule} The error was: {error}") from None
        if X.ndim != 2 or y.shape != X.shape[:1] or y.dtype.kind not in "biuf":
            what = f"{X.dtype} {X.shape} and {y.dtype} {y.shape} arrays"
            raise DataError(f"{rule} Got {what} instead.")
        if not 0 < len(y) <= most:
            rule = f"return 1 to {most} instances, IDLE or END"
            raise DataError(f"The 'poll' of {self._kind} must {rule}. Got {len(y)} instances instead.")
        self._position += len(y)
        return X, y

    def where(self) -> Mapping[str, Any] | None:
        return self._own.where() if hasattr(self._own, "where") else None

    seek = passed("seek", "_own")

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        if hasattr(self._own, "acknowledge"):
            self._own.acknowledge(where)

    def __repr__(self) -> str:
        return repr(self._own)
