"""Streams: the eleven streams of the paper, MOA's generators, arrays, data frames, files and iterators."""

from heros.streams.bad_rows import BadRow, BadRows, TooManyBadRows
from heros.streams.base import DriftPoint, Stream
from heros.streams.drift import Drift
from heros.streams.files import read
from heros.streams.generators import LED, Agrawal, Friedman, Hyperplane, RandomRBF, Wave
from heros.streams.memory import from_arrays, from_frame
from heros.streams.named import EXAMPLES, NAMES, load
from heros.streams.pairs import from_iter
from heros.streams.preview import look

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
