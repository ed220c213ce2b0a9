"""Mutate seeds slightly: a case is derived from a corpus and a number, reproducibly."""

from __future__ import annotations

import random
from collections.abc import Sequence

TOKENS = (
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"1e999",
        b"-1e-999",
        b"0x10",
        b"?",
        b"NA",
        b"",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
    ),
    *(
        b'"',
        b'""',
        b"'",
        b",",
        b",,",
        b";",
        b"|",
        b"\\",
        b"\\'",
        b"%",
        b"{",
        b"}",
        b"{0 1}",
        b"{999 1}",
        b"\x00",
    ),
    *(
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        "é∞".encode(),
        b"@data",
        b"@attribute a numeric",
        b"@attribute",
    ),
    *(b"99999999999999999999", b"-1", b"null", b"NaN", b"Infinity", b"[]", b"{}", b"true", b'"format": 2'),
    *(b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xff" * 8, b"PAR1", b"ARROW1"),
)


def case(seeds: Sequence[bytes], number: int) -> bytes:
    """Return case `number` of a corpus: one in eight is random bytes, the others are a seed with 1 to 8 changes."""
    rng = random.Random(number)
    if not seeds or rng.random() < 0.125:
        return rng.randbytes(rng.choice((0, 1, 8, 64, 256)))
    data = bytearray(rng.choice(seeds))
    for _ in range(1 << rng.randrange(4)):
        CHANGES[rng.randrange(len(CHANGES))](data, rng, seeds)
    return bytes(data[: 1 << 16])


def _span(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + (1 << rng.randrange(7)))


def _flip(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _put(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))


def _insert(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(TOKENS)


def _overwrite(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    token = rng.choice(TOKENS)
    at = rng.randrange(len(data) + 1)
    data[at : at + len(token)] = token


def _delete(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    start, stop = _span(data, rng)
    del data[start:stop]


def _repeat(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    start, stop = _span(data, rng)
    data[stop:stop] = data[start:stop] * rng.choice((1, 2, 20))


def _cut(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _splice(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    other = rng.choice(seeds)
    start, stop = _span(data, rng)
    at = rng.randrange(len(other) + 1)
    data[start:stop] = other[at : at + 64]


def _noise(data: bytearray, rng: random.Random, seeds: Sequence[bytes]) -> None:
    start, stop = _span(data, rng)
    data[start:stop] = rng.randbytes(stop - start)


CHANGES = (_flip, _flip, _put, _put, _insert, _insert, _overwrite, _delete, _repeat, _cut, _splice, _noise)
