"""Streams with concept drift."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import DataError, ParameterError
from heros._base.parameters import seed as seed_of
from heros._base.parameters import whole
from heros.streams.bad_rows import BadRows
from heros.streams.base import Block, DriftPoint, Stream, at_position_of, too_many
from heros.streams.live.base import passed

__all__ = ["Drift"]


class Drift(Stream):
    r"""A stream that changes from one stream to another, as in MOA's ConceptDriftStream.

    Instance n, counted from 1, comes from `after` with probability

    .. math:: P = 1 / (1 + \exp(-4 (n - position) / width))

    and otherwise from `before`. Each of the two streams advances only when one of its own instances is
    drawn. For several drifts, pass a Drift as `before`: ``Drift(Drift(a, b, 1000), c, 2000)``.

    Parameters
    ----------
    before, after
        The two streams, with the same schema. The Drift reads copies, so the original streams do not advance.
    position
        The instance at which both streams are equally likely.
    width
        The number of instances that the change takes; 1 for an abrupt change.
    seed
        Seed of the random choice between the two streams.

    Examples
    --------
    >>> from heros import streams
    >>> stream = Drift(streams.LED(drift=1), streams.LED(drift=3), position=500, width=100)
    >>> stream.drifts
    (DriftPoint(position=500, width=100),)
    >>> Drift(streams.LED(), streams.Agrawal(), position=500)
    Traceback (most recent call last):
        ...
    heros.ParameterError: The 'after' parameter of Drift must be a stream with the same schema as 'before'.
    Got <Agrawal 'Agrawal(function=1)' at 0> instead.
    """

    def __init__(self, before: Stream, after: Stream, position: int, width: int = 1, seed: int = 1) -> None:
        if not isinstance(before, Stream):
            raise ParameterError.of("before", "Drift", "a stream", before)
        if not isinstance(after, Stream) or after.schema != before.schema:
            raise ParameterError.of("after", "Drift", "a stream with the same schema as 'before'", after)
        self.at = whole(position, "position", "Drift", 0, 1 << 62)
        self.width = whole(width, "width", "Drift", 1, 1 << 62)
        self.seed = seed_of(seed, "seed", "Drift")
        self.name = f"{before.name} → {after.name}"
        later = (DriftPoint(self.at + point.position, point.width) for point in after._drifts_ahead())
        self._drifts = (*before._drifts_ahead(), DriftPoint(self.at, self.width), *later)
        self._before, self._after = before._copy_for_stream(), after._copy_for_stream()
        self._origins = self._before._copy_for_stream(), self._after._copy_for_stream()
        self._begin()

    schema = passed("schema", "_before")
    target = passed("target", "_before")
    drifts = passed("_drifts")

    @property
    def endless(self) -> bool:  # type: ignore[override]
        """Whether neither of the two streams ends."""
        return self._before.endless and self._after.endless

    @property
    def bad_rows(self) -> BadRows:
        """The rows skipped so far in the two streams."""
        return self._before.bad_rows + self._after.bad_rows

    def _restart(self) -> None:
        self._before = at_position_of(self._origins[0], self._before)
        self._after = at_position_of(self._origins[1], self._after)
        self._begin()

    def _begin(self) -> None:
        self._choice_rng = _core.Drift(self.at, self.width, self.seed)
        self._ended = False
        self._fault: DataError | None = None  # the error of the next instance

    def _draw(self, n: int) -> Block:
        X, y = self._nothing() if self._ended else self._mixed(n)
        if self._fault is not None and n and not len(y):
            raise type(self._fault)(str(self._fault))
        return X, y

    def _mixed(self, n: int) -> Block:
        try:
            from_after = np.empty(n, dtype=np.bool_)
        except (MemoryError, ValueError):
            raise too_many(n) from None
        self._choice_rng.fill(from_after)
        n_after = int(np.count_nonzero(from_after))
        before, before_fault = _drawn(self._before, n - n_after)
        after, after_fault = _drawn(self._after, n_after)
        if self._before.schema != self._after.schema:
            self._ended = True
            self._fault = DataError(f"The two streams of {self.name} no longer have the same schema.")
            return self._nothing()
        X, y = before if n_after == 0 else after if n_after == n else _interleave(before, after, from_after)
        if len(y) < n:  # the stream ends before the first unavailable instance
            self._ended = True
            self._fault = after_fault if from_after[len(y)] else before_fault
        return X, y


def _drawn(side: Stream, n: int) -> tuple[Block, DataError | None]:
    """Return up to n instances of one stream, and the error if the stream stopped with an error."""
    block = side._nothing()
    try:
        block = side.draw(n)
        if len(block[1]) < n:
            side.draw(1)  # this call raises the error, unless the stream has ended
    except DataError as error:
        return block, error
    return block, None


def _interleave(before: Block, after: Block, after_drawn: NDArray[np.bool_]) -> Block:
    """Merge both streams in the order that `after_drawn` gives, up to the first unavailable instance."""
    sides, n = ((before, ~after_drawn), (after, after_drawn)), len(after_drawn)
    for (_, targets), drawn in sides:
        if len(targets) < np.count_nonzero(drawn):
            n = min(n, int(np.flatnonzero(drawn)[len(targets)]))
    X, y = np.empty((n, before[0].shape[1])), np.empty(n, dtype=before[1].dtype)
    for block, drawn in sides:
        available = np.flatnonzero(drawn[:n])
        X[available], y[available] = block[0][: len(available)], block[1][: len(available)]
    return X, y
