"""Parsing of parts in command-line notation or in a TOML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, ParameterError, did_you_mean
from heros._base.lazy import tomllib
from heros._base.registry.descriptions import DEEPEST
from heros._base.registry.part import name_of, plain_parts

NUMBERS: dict[Any, Callable[[str], float]] = {"float": float, "int": int}
"""The annotations of fields that hold numbers, with the functions that parse them."""

EXAMPLES = {"policy": "zeta:0.05@0.2", "answer": "top:5:60"}


def written_parts(role: str) -> dict[str, type[Any]]:
    """Return the classes of the parts that have a command-line notation, by name.

    Examples
    --------
    >>> written_parts("pool")["mlp"].__name__, notation_of(written_parts("policy")["zeta"])
    ('MLPGrid', 'zeta:ZETA')
    """
    kinds = (kind for kind in plain_parts(role).values() if not kind.suffix and _needs_only_numbers(kind))
    return dict(sorted((_name(kind), kind) for kind in kinds))


def _name(kind: type[Any]) -> str:
    return name_of(kind).replace("_", "-")


def _needs_only_numbers(kind: type[Any]) -> bool:
    if kind.role == "pool":
        return bool(kind.grid)
    required = (one for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING)
    return all(one.type in NUMBERS for one in required)


def _numeric(kind: type[Any]) -> list[Field[Any]]:
    return [] if kind.role == "pool" else [field for field in fields(kind) if field.type in NUMBERS]


def notation_of(kind: type[Any]) -> str:
    """Return the command-line notation of a part, with the names of the numeric parameters in capitals."""
    return ":".join([_name(kind), *(field.name.upper() for field in _numeric(kind))])


def policy_of(text: str, epsilon: float | None = None, owner: str = "heros") -> Any:
    """Parse a policy, ``name[:numbers][@epsilon][+surprise[:numbers]]``, with a default for `epsilon`.

    Error messages name `owner`, the class or program that has the parameter `policy`.

    Examples
    --------
    >>> print(policy_of("zeta:0.05@0.2"), policy_of("cheapest"), policy_of("zeta:0.1", epsilon=0.3))
    Explore(Zeta(0.05), 0.2) Cheapest() Explore(Zeta(0.1), 0.3)
    >>> print(policy_of("cand+surprise:0.9"))
    Surprise(Cand(), 0.9, 0.1, 0.25, 1, 25000)
    """
    wrapping = (kind for kind in plain_parts("policy").values() if kind.suffix)
    wrappers = sorted(wrapping, key=lambda kind: kind.layer)
    explore = wrappers[0]
    inner, outer = text, []
    for wrapper in reversed(wrappers):
        inner, suffix, numbers = inner.partition(wrapper.suffix)
        outer.append((wrapper, suffix, numbers))
    name, _, numbers = inner.partition(":")
    policies = written_parts("policy")
    kind = policies.get(name.replace("_", "-"))
    if kind is None:
        error = ParameterError.of("policy", owner, f"one of {', '.join(policies)}", text)
        raise ParameterError(f"{error}{did_you_mean(name, policies)}")
    form = notation_of(kind)
    try:
        policy = kind(*_numbers(kind, numbers, text, owner))
        for wrapper, suffix, numbers in reversed(outer):
            if suffix:
                form += wrapper_notation(wrapper)
                policy = wrapper(policy, *_numbers(wrapper, numbers.removeprefix(":"), text, owner))
            elif wrapper is explore and epsilon is not None and policy.explorable:
                policy = explore(policy, epsilon)
    except TypeError:
        raise ParameterError.of("policy", owner, f"written as {form}", text) from None
    return policy


def wrapper_notation(kind: type[Any]) -> str:
    """Return the notation of a policy that wraps another policy, e.g. ``@EPSILON``."""
    numbers = ":".join(field.name.upper() for field in _numeric(kind))
    suffix: str = kind.suffix
    return suffix + (f":{numbers}" if suffix[-1].isalpha() else numbers)


def _numbers(kind: type[Any], text: str, whole: str, owner: str) -> list[float]:
    """Parse the numbers of a part; raise a TypeError if there are too many."""
    texts, expected = [part for part in text.split(":") if part], _numeric(kind)
    if len(texts) > len(expected):
        raise TypeError
    rule = f"a name with numbers, e.g. {EXAMPLES[kind.role]}"
    try:
        return [NUMBERS[field.type](part) for part, field in zip(texts, expected, strict=False)]
    except ValueError:
        raise ParameterError.of(kind.role, owner, rule, whole) from None


def answer_of(text: str, owner: str = "heros") -> Any:
    """Parse an `answer`: a name such as ``best``, or a part with numbers such as ``top:5:60``.

    Examples
    --------
    >>> answer_of("weighted"), answer_of("top"), answer_of("top:3")
    ('weighted', Top(n=5, sharpness=60.0), Top(n=3, sharpness=60.0))
    """
    name, _, numbers = text.partition(":")
    kind = written_parts("answer").get(name)
    if kind is None:
        return text
    try:
        return kind(*_numbers(kind, numbers, text, owner))
    except TypeError:
        raise ParameterError.of("answer", owner, f"written as {notation_of(kind)}", text) from None


def pool_of(text: str) -> Any:
    """Return the pool that a name (``mlp`` or ``trees``, as in the paper) or a TOML file describes.

    The file has a ``kind``, and optionally ``costs`` and other arguments of that kind. It also has either a
    table ``[grid]`` with the arguments of the grid, or tables ``[[models]]`` with the settings of each model.
    To join several pools, the file has one table ``[[pools]]`` per pool.
    """
    pools = written_parts("pool")
    if text in pools:
        return pools[text]()
    path = Path(text)
    if path.suffix != ".toml":
        raise ParameterError.of("pool", "heros", f"one of {', '.join(pools)} or a .toml file", text, pools)
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"The pool file {path} must be readable TOML. The error was: {error}") from None
    return _pool_of(settings, path, DEEPEST)


def _pool_of(settings: Mapping[str, Any], path: Path, depth: int) -> Any:
    kinds = [kind for kind in plain_parts("pool").values() if _name(kind) == settings.get("kind")]
    grids = any(kind.grid for kind in kinds)
    kind = next((kind for kind in kinds if kind.grid == ("grid" in settings)), None)
    if kind is None or depth == 0 or (grids and ("grid" in settings) == ("models" in settings)):
        names = " or ".join(f'"{name}"' for name in written_parts("pool"))
        rule = f"have kind = {names}, optionally costs, and either [grid] or [[models]]"
        raise DataError(f"The pool file {path} must {rule}. Got {sorted(settings)} instead.")
    rest = {
        name: _pools_of(value, path, depth - 1)
        for name, value in settings.items()
        if name not in {"kind", "grid", "models"}
    }
    listed = {"configurations": settings["models"]} if "models" in settings else {}
    try:
        return kind.from_settings(**listed, **settings.get("grid", {}), **rest)
    except TypeError as error:
        rule = f"The pool file {path} must have valid settings for its kind."
        raise DataError(f"{rule} The error was: {error}") from None


def _pools_of(value: Any, path: Path, depth: int) -> Any:
    """Convert a list of tables that describe pools to a list of pools; return other values unchanged."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "kind" in one for one in value):
        return [_pool_of(one, path, depth) for one in value]
    return value
