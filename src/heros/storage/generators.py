"""Conversion of the state of a random generator to JSON and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from heros._base.errors import DataError, HerosError

BITS = 128


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a NumPy generator as plain data; only PCG64 is supported."""
    bits = rng.bit_generator
    if type(bits) is not np.random.PCG64:
        name = type(bits).__name__
        raise HerosError(
            f"The generator must be NumPy's PCG64, as returned by default_rng. Got {name} instead."
        )
    state: dict[str, Any] = dict(bits.state)
    return state


def generator(state: object) -> np.random.Generator:
    """Return a generator with a state that `generator_state` returned.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> _ = rng.random(7)
    >>> generator(generator_state(rng)).random() == rng.random()
    True
    """
    match state:
        case {
            "bit_generator": "PCG64",
            "state": {"state": int(at), "inc": int(step)},
            "has_uint32": 0 | 1 as kept,
            "uinteger": int(half),
        } if 0 <= at < 1 << BITS and 0 <= step < 1 << BITS and step % 2 == 1 and 0 <= half < 1 << 32:
            bits = np.random.PCG64(0)
            bits.state = {
                "bit_generator": "PCG64",
                "state": {"state": at, "inc": step},
                "has_uint32": int(kept),
                "uinteger": half,
            }
            return np.random.Generator(bits)
    raise DataError("The stored state of the random generator must be a valid state of NumPy's PCG64.")
