"""What a stream consists of: a row of the paper's Table I, counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heros.data.schema import Schema
from heros.streams.base import Stream

__all__ = ["Summary", "summarise"]


@dataclass(frozen=True)
class Summary:
    """How many instances a stream has, of what kind, in which classes."""

    schema: Schema
    class_counts: tuple[int, ...]

    @property
    def n_instances(self) -> int:
        """How many instances there are."""
        return sum(self.class_counts)

    @property
    def n_nominal(self) -> int:
        """How many features are nominal."""
        return sum(feature.nominal for feature in self.schema.features)

    @property
    def n_numeric(self) -> int:
        """How many features are numeric."""
        return self.schema.n_features - self.n_nominal

    @property
    def shares(self) -> tuple[float, ...]:
        """Each class's share of the instances, in percent."""
        return tuple(100 * count / max(1, self.n_instances) for count in self.class_counts)


def summarise(stream: Stream) -> Summary:
    """Read a stream to its end and count.

    Examples
    --------
    >>> from heros import streams
    >>> summary = summarise(streams.Agrawal(function=1).take(10_000))
    >>> summary.n_nominal, summary.n_numeric, summary.class_counts
    (3, 6, (6754, 3246))
    """
    counts = np.zeros(stream.schema.n_classes, dtype=np.int64)
    for _, y in stream.blocks(1 << 14):
        found = np.bincount(y, minlength=stream.schema.n_classes)
        counts = found + np.pad(counts, (0, len(found) - len(counts)))
    return Summary(stream.schema, tuple(counts.tolist()))
