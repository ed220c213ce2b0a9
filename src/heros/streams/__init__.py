"""Streams: the paper's eleven, MOA's generators, arrays and files, each one a `Stream` with a `Schema`."""

from heros.streams.arrays import from_arrays
from heros.streams.base import DriftPoint, Stream
from heros.streams.catalogue import EXAMPLES, NAMES, load
from heros.streams.drift import Drift
from heros.streams.files import read
from heros.streams.frames import from_frame
from heros.streams.iterators import from_iter
from heros.streams.live.bad_rows import BadRow, BadRows, TooManyBadRows
from heros.streams.looking import look
from heros.streams.numbers import Friedman, Hyperplane, Wave
from heros.streams.synthetic import LED, Agrawal, RandomRBF

__all__ = [
    "EXAMPLES",
    "LED",
    "NAMES",
    "Agrawal",
    "BadRow",
    "BadRows",
    "Drift",
    "DriftPoint",
    "Friedman",
    "Hyperplane",
    "RandomRBF",
    "Stream",
    "TooManyBadRows",
    "Wave",
    "from_arrays",
    "from_frame",
    "from_iter",
    "load",
    "look",
    "read",
]
