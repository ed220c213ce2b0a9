"""A schema and a generator as JSON knows them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from heros.errors import DataError, HerosError
from heros.schema import Feature, Schema

__all__ = ["generator", "generator_state", "schema_of", "schema_plain"]

BITS = 128


def schema_plain(schema: Schema) -> dict[str, Any]:
    """A schema as plain data."""
    return {
        "features": [[feature.name, feature.values, feature.missing] for feature in schema.features],
        "classes": list(schema.classes),
    }


def schema_of(plain: object) -> Schema:
    """The schema that `schema_plain` described.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> schema_of(schema_plain(schema)) == schema
    True
    """
    match plain:
        case {"features": list(features), "classes": list(classes)} if _strings(classes):
            return Schema(tuple(_feature(feature) for feature in features), tuple(map(str, classes)))
    raise DataError("A schema must have features and classes. Got something else.")


def _feature(plain: object) -> Feature:
    match plain:
        case [str(name), None, bool(missing)]:
            return Feature(name, None, missing)
        case [str(name), [*values], bool(missing)] if _strings(values):
            return Feature(name, tuple(map(str, values)), missing)
    raise DataError("A feature must have a name, values and whether they may be missing. Got something else.")


def _strings(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where a generator stands, as plain data."""
    bits = rng.bit_generator
    if type(bits) is not np.random.PCG64:
        name = type(bits).__name__
        raise HerosError(f"The generator must be NumPy's PCG64, as default_rng gives it. Got {name} instead.")
    state: dict[str, Any] = dict(bits.state)
    return state


def generator(state: object) -> np.random.Generator:
    """A generator that stands where `generator_state` says.

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
    raise DataError("A generator must be NumPy's PCG64 at some place. Got something else.")
