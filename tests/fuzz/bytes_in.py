"""Derive decisions from bytes: fuzz targets that need more than a file make hostile values from their input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

NUMBERS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 3.0, 255.0, 1e-3, 1e6, 5e-324, -5e-324, 1e-310, 1e300, -1e300, 1.8e308),
    *(
        math.nan,
        -math.nan,
        math.inf,
        -math.inf,
        2.0**31,
        2.0**53,
        2.0**63,
        -(2.0**63),
        1e15,
        1e-15,
        1 + 1e-12,
    ),
)
WHOLES = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 255, 256, 1000, -1, -2, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32),
    *(2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), -(2**63) - 1, 10**30),
)
STRANGE: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        "x",
        "1",
        b"1",
        "\udc80",
        (),
        [],
        {},
        [1, [2]],
        {1: 2},
        object(),
        1j,
        range(3),
        10**400,
    ),
    *(
        np.float32(0.5),
        np.int8(-3),
        np.bool_(True),
        np.array([1]),
        np.array([1, 2]),
        np.array([]),
        np.nan,
        "nan",
    ),
    *(
        np.datetime64("2020-01-01"),
        np.array("a"),
        np.array(None),
        lambda: 1,
        Ellipsis,
        NotImplemented,
        set(),
        type,
    ),
)
DTYPES = [
    "f8",
    "f4",
    "f2",
    "i8",
    "i4",
    "i1",
    "u8",
    "u1",
    "?",
    "c16",
    "U3",
    "S3",
    "O",
    "M8[s]",
    "m8[s]",
    "V4",
    "g",
    ">f8",
    ">i4",
]


class BytesIn:
    """Decisions taken from bytes; after the last byte, every decision is the first option."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        """Return the next byte."""
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def below(self, n: int) -> int:
        """Return a number in 0..n-1."""
        return (self.byte() if n <= 256 else self.byte() << 8 | self.byte()) % n

    def one_of(self, choices: Sequence[T]) -> T:
        """Return one of these options."""
        return choices[self.below(len(choices))]

    def maybe(self) -> bool:
        """Return False most of the time: cases with many errors at once reveal little."""
        return self.byte() >= 236

    def number(self) -> float:
        """Return a float, which is sometimes hostile."""
        return self.one_of(NUMBERS) if self.maybe() else (self.byte() - 128) / 16

    def whole(self, usual: int) -> Any:
        """Return a whole number in 1..usual, sometimes another number or a value that is not a number."""
        if not self.maybe():
            return 1 + self.below(max(1, usual))
        return self.one_of(WHOLES) if self.byte() & 1 else self.anything()

    def real(self) -> Any:
        """Return a number, or sometimes a value that is not a number."""
        return self.anything() if self.maybe() else self.number()

    def share(self) -> Any:
        """Return a number in [0, 1], or sometimes another number or no number."""
        return self.real() if self.maybe() else self.byte() / 255

    def anything(self) -> Any:
        """Return a value of an unexpected type."""
        return self.one_of(STRANGE)

    def instances(self, columns: int, codes: Sequence[int]) -> Any:
        """Return a block of instances, sometimes of another type, shape or layout."""
        rows = self.below(6)
        width = self.below(7) if self.maybe() else columns
        X = np.array([self.number() for _ in range(rows * width)], dtype=np.float64).reshape(rows, width)
        for j, values in enumerate(codes):
            if j < width and values and not self.maybe():
                X[:, j] = [self.below(values) for _ in range(rows)]
        if not self.maybe():
            X = np.where(np.isfinite(X), X, 0.0)
        return self.disguised(X)

    def labels(self, n: int, classes: int) -> Any:
        """Return labels, which are sometimes invalid."""
        if self.maybe():
            n = self.below(8)
        y = np.array([self.below(classes + 1) if self.maybe() else self.below(classes) for _ in range(n)])
        return self.disguised(y.astype(np.int64))

    def disguised(self, array: Any) -> Any:
        """Return the array, sometimes with another type, order, stride or kind."""
        if not self.maybe():
            return array
        return DISGUISES[self.below(len(DISGUISES))](array, self)


def _retyped(array: Any, source: BytesIn) -> Any:
    try:
        with np.errstate(all="ignore"):
            return array.astype(source.one_of(DTYPES))
    except (TypeError, ValueError):
        return array


def _read_only(array: Any, source: BytesIn) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def _ragged(array: Any, source: BytesIn) -> Any:
    return [[1.0], [1.0, 2.0]]


def _structured(array: Any, source: BytesIn) -> Any:
    return np.zeros(len(array), dtype=[("a", "f8"), ("b", "i4")])


def _huge(array: Any, source: BytesIn) -> Any:
    shape = source.one_of([(2**40,), (2**40, 2), (2**58, 0), (0, 2**40), (1, 2**36)])
    return np.broadcast_to(np.float64(0), shape)


def _unaligned(array: Any, source: BytesIn) -> Any:
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = raw[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def _masked(array: Any, source: BytesIn) -> Any:
    return np.ma.masked_array(array, mask=np.ones(array.shape, dtype=bool))


DISGUISES = (
    _retyped,
    _read_only,
    _ragged,
    _structured,
    _huge,
    _unaligned,
    _masked,
    lambda array, source: np.asfortranarray(array),
    lambda array, source: np.repeat(array, 2, axis=0)[::2],
    lambda array, source: array[::-1],
    lambda array, source: array.tolist(),
    lambda array, source: array.astype(object),
    lambda array, source: array[np.newaxis],
    lambda array, source: array.ravel(),
    lambda array, source: source.anything(),
    lambda array, source: iter(array.tolist()),
    lambda array, source: np.array(array.tolist(), dtype=object) if array.size else [None],
)
