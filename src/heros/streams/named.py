"""Streams by name: the eleven streams of the paper, and an example from the package."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from heros._base.errors import DataNotice, ParameterError
from heros._base.parameters import whole
from heros.streams.base import Stream
from heros.streams.drift import Drift
from heros.streams.files import read
from heros.streams.generators import LED, Agrawal, RandomRBF
from heros.streams.paper_datasets import REAL, open_real

__all__ = ["EXAMPLES", "NAMES", "class_counts", "load"]


def load(name: str, *, length: int | None = None) -> Stream:
    """Open one of the paper's eleven streams, or an example.

    The synthetic streams (``agr_a``, ``agr_g``, ``led_a``, ``led_g``, ``rbf_f``, ``rbf_m``: one million
    instances; a = abrupt drifts, g = gradual, f = fast, m = moderate) are generated while reading. The real
    streams (``airlines``, ``electricity``, ``wisdm``, ``covtype``, ``nomao``) are downloaded once to the
    data directory. The environment variable HEROS_DATA sets this directory; by default it is the user's cache
    directory. ``deliveries`` (6,000 orders, some of them late) is included in the package.

    Parameters
    ----------
    name
        One of `NAMES` or `EXAMPLES`.
    length
        The number of instances. The three drifts of an ``agr`` or ``led`` stream are after one, two and three
        quarters of the instances. A gradual drift takes `length` / 20 instances. A real stream ends after its
        first `length` instances.

    Examples
    --------
    >>> stream = load("agr_g")
    >>> stream.n_instances, [(drift.position, drift.width) for drift in stream.drifts]
    (1000000, [(250000, 50000), (500000, 50000), (750000, 50000)])
    >>> [drift.position for drift in load("agr_a", length=100_000).drifts]
    [25000, 50000, 75000]
    """
    if length is not None:
        length = whole(length, "length", "load", 1)
    if name in _SYNTHETIC:
        n = 1_000_000 if length is None else length
        stream: Stream = _SYNTHETIC[name](n).take(n)
        stream.name = name
        return stream
    if name in REAL:
        stream = open_real(REAL[name])
    elif name in EXAMPLES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)  # the examples need no notices
            stream = read(EXAMPLES[name], target="late")
    else:
        names = (*NAMES, *EXAMPLES)
        raise ParameterError.of("name", "load", f"one of {', '.join(names)}", name, names)
    return stream if length is None else stream.take(length)


def _drifting(concept: Callable[[int], Stream], settings: Sequence[int], gradual: bool, n: int) -> Stream:
    """Return a stream of n instances with evenly spaced drifts."""
    stream = concept(settings[0])
    width = max(1, n // 20) if gradual else 1
    for i, setting in enumerate(settings[1:], start=1):
        stream = Drift(stream, concept(setting), position=i * n // len(settings), width=width)
    return stream


_SYNTHETIC: dict[str, Callable[[int], Stream]] = {
    "agr_a": partial(_drifting, Agrawal, (2, 4, 6, 8), False),
    "agr_g": partial(_drifting, Agrawal, (2, 4, 6, 8), True),
    "led_a": partial(_drifting, LED, (1, 3, 5, 7), False),
    "led_g": partial(_drifting, LED, (1, 3, 5, 7), True),
    "rbf_f": lambda n: RandomRBF(classes=5, speed=0.001),  # centroids move with every instance, for any n
    "rbf_m": lambda n: RandomRBF(classes=5, speed=0.0001),
}

NAMES: tuple[str, ...] = (*_SYNTHETIC, *REAL)
"""The names of the paper's streams in `load`."""

EXAMPLES = {"deliveries": Path(__file__).parent / "examples" / "deliveries.csv.gz"}
"""Example files of the package, by their names in `load`; ``heros example`` copies one."""


def class_counts(stream: Stream) -> list[int]:
    """Read a stream to its end and count the instances of each class."""
    counts: Counter[int] = Counter()
    for _, y in stream.blocks(1 << 14):
        counts.update(dict(enumerate(np.bincount(y).tolist())))
    return [counts[label] for label in range(stream.schema.n_classes)]
