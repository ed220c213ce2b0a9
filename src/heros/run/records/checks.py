"""Whether a record is whole: all that tables and reports rely on, checked when it is read.

A record is a file that anyone can have changed. What it says is checked here once, so that nobody who works
with it need ask again; a value that is not what it must be is named by its path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from heros.errors import DataError
from heros.measures.base import Caption
from heros.meters import Carbon, Energy
from heros.run.records.curves import PER_MODEL
from heros.run.result import Curves, Price
from heros.streams import BadRow, DriftPoint

__all__ = ["expect_curves", "expect_whole"]

LARGEST = 1e100
"""No figure, second or joule is larger, and no axis that has to show it breaks."""

Check = Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _positive(value: object) -> bool:
    return _whole(value) and value != 0


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def _amount(value: object) -> bool:
    return _number(value) and value >= 0  # type: ignore[operator]


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _by_name(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _made(kind: Any, **checks: Check) -> Check:
    """Whether a mapping has what a dataclass is made of, and nothing else."""
    known = {one.name: (one.default, one.default_factory) != (MISSING, MISSING) for one in fields(kind)}

    def check(value: object) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() <= known.keys()
            and all(name in value or optional for name, optional in known.items())
            and all(checks[name](value[name]) for name in value if name in checks)
        )

    return check


def _configuration(value: object) -> bool:
    return isinstance(value, dict)


def _square(value: object) -> bool:
    return _each(_each(_whole))(value) and all(len(row) == len(value) for row in value)  # type: ignore[attr-defined,arg-type]


_CARBON = _made(Carbon, grams_per_kwh=_amount, source=_text)
_CAPTION = _made(Caption, name=_text, label=_text, better=lambda way: way in ("higher", "lower"), note=_text)

REQUIRED: dict[str, Check] = {
    "id": _text,
    "written": _text,
    "versions": _by_name(_text),
    **{f"machine/{name}": _text for name in ("cpu", "system", "isa")},
    "machine/cores": _optional(_whole),
    "stream/name": _text,
    "stream/drifts": _each(_made(DriftPoint, position=_whole, width=_positive)),
    "stream/bad_rows/count": _whole,
    "stream/bad_rows/first": _each(
        _made(BadRow, source=_text, place=_text, column=_optional(_text), value=_text, rule=_text)
    ),
    "model": _text,
    **{
        f"settings/{name}": _text
        for name in ("pool", "policy", "pool_as_written", "policy_as_written", "answer")
    },
    "settings/k": _positive,
    "settings/seed": _optional(_whole),
    "settings/models": lambda value: _each(_configuration)(value) and value != [],
    "settings/costs": _each(_amount),
    **{f"settings/{name}": lambda value: True for name in ("score", "warmup")},
    "n_instances": _positive,
    "window": _positive,
    "commit": _text,
    "interrupted": lambda value: isinstance(value, bool),
    "measures": _each(_CAPTION),
    "looked": _each(_whole),
    "price": _optional(_made(Price, looking=_amount, training=_amount)),
    "results": _by_name(_optional(_number)),
    "results/gamma_spent": _amount,
    "results/reward": _optional(_number),
    "results/diverged": _whole,
    "confusion": _optional(_square),
    "trained": _each(_whole),
    "invested": _each(_number),
    "cpu": _by_name(_amount),
    "energy": _made(
        Energy,
        kwh=_amount,
        by_phase=_by_name(_number),
        source=_text,
        detail=_text,
        carbon=_optional(_CARBON),
        cpu_seconds=_amount,
        wall_seconds=_amount,
    ),
    "energy/carbon": _optional(_CARBON),
    "energy/wall_seconds": _amount,
    "co2e_kg": _optional(_number),
}
OPTIONAL: dict[str, Check] = {"classes": _each(_text)}
"""What some of the records in `paper/records` do not have."""


def expect_whole(document: Mapping[str, Any], label: str) -> None:
    """Refuse what a `record.json` says if anything that is relied on is not there, or is something else.

    Examples
    --------
    >>> expect_whole({"id": 5}, "The record runs/one")
    Traceback (most recent call last):
        ...
    heros.errors.DataError: The record runs/one must be whole. Got another 'id': 5.
    """
    for path, check in REQUIRED.items():
        _expect(document, path, check, label)
    for path, check in OPTIONAL.items():
        if path in document:
            _expect(document, path, check, label)
    models = len(document["settings"]["models"])
    for path in ("settings/costs", "looked", "trained", "invested"):
        if len(_at(document, path)) != models:
            raise _broken(label, f"{len(_at(document, path))} in {path!r} of {models} models")
    named = {caption["name"] for caption in document["measures"]}
    if named - document["results"].keys():
        raise _broken(label, f"no figure of {min(named - document['results'].keys())!r}")


def expect_curves(curves: Curves, document: Mapping[str, Any], label: str) -> None:
    """Refuse curves that are not those of a run of which `record.json` says this."""
    end, models = curves.end, len(document["settings"]["models"])
    if end.ndim != 1 or end.dtype.kind not in "iu" or not len(end):
        raise _broken(label, "curves without windows")
    if (np.diff(end, prepend=0) <= 0).any() or end[-1] > document["n_instances"]:
        raise _broken(label, "curves whose windows do not follow each other")
    for name, values in curves.columns().items():
        wide = {"cpu": (curves.cpu.shape[-1],), **dict.fromkeys(PER_MODEL, (models,))}.get(name, ())
        fits = values.shape == (len(end), *wide) or (name in PER_MODEL and values.shape == (len(end), 0))
        if not fits or values.dtype.kind not in "iuf" or not _drawable(values, name in curves.figures):
            raise _broken(label, f"another curve {name!r}")


def _drawable(values: np.ndarray[Any, Any], may_be_missing: bool) -> bool:
    known = values[~np.isnan(values)] if may_be_missing and values.dtype.kind == "f" else values
    return bool((np.abs(known.astype(np.float64)) < LARGEST).all())


def _expect(document: Mapping[str, Any], path: str, check: Check, label: str) -> None:
    try:
        value = _at(document, path)
    except (KeyError, TypeError, IndexError):
        raise _broken(label, f"no {path!r}") from None
    if not check(value):
        raise _broken(label, f"another {path!r}: {_short(value)}")


def _at(document: Any, path: str) -> Any:
    for name in path.split("/"):
        document = document[name]
    return document


def _short(value: object, most: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"


def _broken(label: str, got: str) -> DataError:
    return DataError(f"{label} must be whole. Got {got}.")
