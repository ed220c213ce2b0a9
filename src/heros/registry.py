"""What a model is made of, as JSON knows it, and back: for files that hold no code.

Only the built-in pools, policies and scores are made from a description. One of the user's own is described
by the name of its class: whoever opens the file has to bring it along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from heros import policies, scores, task
from heros.errors import DataError, HerosError, ParameterError
from heros.policies import Explore, Policy
from heros.pools import MLP, Hoeffding, HoeffdingGrid, MLPGrid, Pool
from heros.schema import Feature, Schema

__all__ = ["described", "generator", "generator_state", "own_policy", "rebuilt", "schema_of", "schema_plain"]

POOLS: dict[str, tuple[type[Pool], Any, tuple[str, ...]]] = {
    "MLP": (MLP, MLP, ("costs", "scale", "isa")),
    "MLPGrid": (MLPGrid, MLP, ("costs", "scale", "isa")),
    "Hoeffding": (Hoeffding, Hoeffding, ("costs",)),
    "HoeffdingGrid": (HoeffdingGrid, Hoeffding, ("costs",)),
}
"""The class, the one that takes a list of configurations, and its other parameters."""

PARTS: dict[str, Any] = {
    name: part
    for module in (policies, scores, task)
    for name in module.__all__
    if is_dataclass(part := getattr(module, name)) and name != "Task"
}
BITS = 128


def described(part: object) -> dict[str, Any]:
    """A pool, policy or score as plain data.

    Examples
    --------
    >>> described(policies.Explore(policies.Zeta(0.05), 0.2))
    {'kind': 'Explore', 'policy': {'kind': 'Zeta', 'zeta': 0.05}, 'epsilon': 0.2}
    """
    kind = type(part)
    name = kind.__name__
    if name in POOLS and POOLS[name][0] is kind:
        assert isinstance(part, Pool)
        configurations = [dict(configuration) for configuration in part.configurations]
        rest = {parameter: _value(getattr(part, parameter)) for parameter in POOLS[name][2]}
        return {"kind": name, "configurations": configurations, **rest}
    if PARTS.get(name) is kind:
        return {
            "kind": name,
            **{field.name: _value(getattr(part, field.name)) for field in fields(PARTS[name])},
        }
    return {"own": f"{kind.__module__}.{kind.__qualname__}"}


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str) else described(value)


def rebuilt(description: object, role: str, given: Any = None) -> Any:
    """The pool, policy or score that a description describes; the `given` one, if it is the same.

    Examples
    --------
    >>> rebuilt({"kind": "Zeta", "zeta": 0.05}, "policy")
    Zeta(zeta=0.05)
    >>> rebuilt({"own": "shop.Fair"}, "policy")
    Traceback (most recent call last):
        ...
    heros.errors.HerosError: The policy shop.Fair is not one of HEROS's own: pass policy= to bring it along.
    """
    if given is not None:
        if described(given) != description:
            raise ParameterError.of(role, "load", f"the one in the file, {description}", described(given))
        return given
    own = _own(description)
    if own is not None:
        text = f"The {role} {own} is not one of HEROS's own: pass {role}= to bring it along."
        raise HerosError(text)
    return _built(description)


def _own(description: object) -> str | None:
    """The name of the user's own class in a description, if there is one."""
    while isinstance(description, Mapping):
        if "own" in description:
            return str(description["own"])
        description = description.get("policy")
    return None


def _built(description: object) -> Any:
    if not isinstance(description, dict):
        raise DataError(f"A description must be a mapping. Got {type(description).__name__} instead.")
    settings = dict(description)
    name = settings.pop("kind", None)
    try:
        if name in POOLS:
            kind, base, _ = POOLS[name]
            pool = kind.__new__(kind)
            base.__init__(pool, settings.pop("configurations"), **settings)
            return pool
        if name in PARTS:
            nested = {key: _built(value) for key, value in settings.items() if isinstance(value, dict)}
            return PARTS[name](**{**settings, **nested})
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise DataError(f"A description of {name} must have its parameters. Got: {error}.") from None
    raise DataError(f"A description must name a class of HEROS. Got {name!r} instead.")


def own_policy(policy: Policy) -> Any:
    """The user's own policy, perhaps inside `Explore`, if it gives and takes back its state; else None.

    It does so with ``state()``, a mapping of names to arrays of numbers, and ``restore(state)``.
    """
    while isinstance(policy, Explore):
        policy = policy.policy
    if "own" not in described(policy):
        return None
    return policy if hasattr(policy, "state") and hasattr(policy, "restore") else None


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
