"""The eleven streams of the paper, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from heros.errors import ParameterError
from heros.streams.base import Stream
from heros.streams.drift import Drift
from heros.streams.real import REAL, open_real
from heros.streams.synthetic import LED, Agrawal, RandomRBF

__all__ = ["NAMES", "load"]

LENGTH = 1_000_000
DRIFT_EVERY = 250_000


def load(name: str) -> Stream:
    """One of the paper's eleven streams.

    The synthetic ones (``agr_a``, ``agr_g``, ``led_a``, ``led_g``, ``rbf_f``, ``rbf_m``: one million
    instances; a = abrupt drifts, g = gradual, f = fast, m = moderate) are made as they are read. The real
    ones (``airlines``, ``electricity``, ``wisdm``, ``covtype``, ``nomao``) come from the data directory
    (the environment variable HEROS_DATA, by default a cache directory of the user's) and are
    downloaded to it once.

    Examples
    --------
    >>> stream = load("agr_g")
    >>> stream.n_instances, [(drift.position, drift.width) for drift in stream.drifts]
    (1000000, [(250000, 50000), (500000, 50000), (750000, 50000)])
    """
    if name in _SYNTHETIC:
        stream: Stream = _SYNTHETIC[name]().take(LENGTH)
        stream.name = name
        return stream
    if name in REAL:
        return open_real(REAL[name])
    raise ParameterError.of("name", "load", f"one of {', '.join(NAMES)}", name)


def _drifting(concept: Callable[[int], Stream], settings: Sequence[int], width: int) -> Stream:
    stream = concept(settings[0])
    for i, setting in enumerate(settings[1:], start=1):
        stream = Drift(stream, concept(setting), position=i * DRIFT_EVERY, width=width)
    return stream


_SYNTHETIC: dict[str, Callable[[], Stream]] = {
    "agr_a": partial(_drifting, Agrawal, (2, 4, 6, 8), width=1),
    "agr_g": partial(_drifting, Agrawal, (2, 4, 6, 8), width=50_000),
    "led_a": partial(_drifting, LED, (1, 3, 5, 7), width=1),
    "led_g": partial(_drifting, LED, (1, 3, 5, 7), width=50_000),
    "rbf_f": partial(RandomRBF, classes=5, speed=0.001),
    "rbf_m": partial(RandomRBF, classes=5, speed=0.0001),
}

NAMES: tuple[str, ...] = (*_SYNTHETIC, *REAL)
"""The names `load` knows."""
