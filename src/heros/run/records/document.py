"""The fields of ``record.json``, their checks when a record is read, and the id of a run.

A record may have been edited. All values that tables and reports use are checked here, once; an error message
names the path of the invalid value.
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from heros._base.errors import DataError
from heros._base.lazy import metadata
from heros._base.registry import variant_id
from heros.drift.changes import Change, ClassChange, FeatureChange, ModelChange
from heros.ensemble import Heros
from heros.ensemble.importance import Importance
from heros.ensemble.settings import is_default, parts_written
from heros.measures import Confusion
from heros.measures.base import Caption
from heros.meters import Carbon, Energy
from heros.run.curves import Curves
from heros.run.records.provenance import provenance
from heros.run.result import Price, Reading, Run
from heros.streams import BadRow, BadRows, DriftPoint
from heros.streams.live import Source

FORMAT = 1
RESULTS = ("gamma_spent", "reward", "diverged")
"""The names in the results of a record that are not measures."""
PER_MODEL = ("trained", "scores", "invested")
"""The curves with one column per model: about 90 % of a record's size, omitted from compact records."""
PACKAGES = ("heros-learn", "numpy", "pyarrow")
LARGEST = 1e100  # a larger value would break the axis of a chart
LONGEST = 200  # maximum number of bytes of a stream's name in an id
LONGEST_SHOWN = 40  # maximum number of letters of an invalid value in an error message


# -- kinds of values ---------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of field, with a check of its JSON value and the conversion of this value for a `Run`."""

    fits: Callable[[Any], bool]
    read: Callable[[Any], Any] = lambda value: value


ANYTHING = Kind(lambda value: True)
TEXT = Kind(lambda value: isinstance(value, str))
TRUTH = Kind(lambda value: isinstance(value, bool))
MAPPING = Kind(lambda value: isinstance(value, dict))
WHOLE = Kind(lambda value: type(value) is int and 0 <= value < 1 << 62)
POSITIVE = Kind(lambda value: WHOLE.fits(value) and value > 0)
NUMBER = Kind(lambda value: type(value) in (int, float) and -LARGEST < value < LARGEST)
AMOUNT = Kind(lambda value: NUMBER.fits(value) and value >= 0)


def _optional(kind: Kind, missing: Any = None) -> Kind:
    return Kind(
        lambda value: value is None or kind.fits(value),
        lambda value: missing if value is None else kind.read(value),
    )


FIGURE = _optional(NUMBER, math.nan)
BY_TYPE = {
    **{"str": TEXT, "int": WHOLE, "float": FIGURE, "bool": TRUTH},
    **{"str | None": _optional(TEXT), "int | None": _optional(WHOLE)},
}
"""The kind of a dataclass field, by the annotation of the field."""


def _each(kind: Kind) -> Kind:
    return Kind(
        lambda value: isinstance(value, list) and all(map(kind.fits, value)),
        lambda value: tuple(map(kind.read, value)),
    )


def _by_name(kind: Kind) -> Kind:
    return Kind(lambda value: isinstance(value, dict) and all(map(kind.fits, value.values())))


def _array(kind: Kind, dtype: type) -> Kind:
    return Kind(_each(kind).fits, lambda value: np.array(value, dtype=dtype))


def _dataclass_kind(cls: Any, **special: Kind) -> Kind:
    """Return the kind for a dataclass, which is stored as a mapping of its fields."""
    kinds = {one.name: BY_TYPE.get(str(one.type), ANYTHING) for one in fields(cls)} | special
    optional = {one.name: (one.default, one.default_factory) != (MISSING, MISSING) for one in fields(cls)}
    return Kind(
        lambda value: (
            isinstance(value, dict)
            and value.keys() <= optional.keys()
            and all(name in value or optional[name] for name in optional)
            and all(kind.fits(value[name]) for name, kind in kinds.items() if name in value)
        ),
        lambda value: cls(**{name: kinds[name].read(one) for name, one in value.items()}),
    )


def _is_importance(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"columns", "values", "end", "history"}:
        return False
    columns, optional_amounts = value["columns"], _each(_optional(AMOUNT))
    return (
        _each(TEXT).fits(columns)
        and _each(WHOLE).fits(value["end"])
        and _each(optional_amounts).fits(value["history"])
        and len(value["end"]) == len(value["history"])
        and optional_amounts.fits(value["values"])
        and all(len(point) == len(columns) for point in [value["values"], *value["history"]])
    )


# -- the fields --------------------------------------------------------------------------------------------

_CHANGE = _dataclass_kind(
    Change,
    kind=TEXT,
    classes=_each(_dataclass_kind(ClassChange)),
    models=_each(_dataclass_kind(ModelChange)),
    features=_each(_dataclass_kind(FeatureChange)),
)
_BETTER = Kind(lambda way: way in ("higher", "lower"))
_SQUARE = Kind(
    lambda value: _each(_each(WHOLE)).fits(value) and all(len(row) == len(value) for row in value),
    lambda counts: Confusion(np.array(counts, np.int64)),
)
_CARBON = _dataclass_kind(Carbon, grams_per_kwh=AMOUNT)
_BAD_ROWS = _dataclass_kind(BadRows, first=_each(_dataclass_kind(BadRow)), columns=_by_name(_by_name(WHOLE)))
_COSTS = dict.fromkeys(("kwh", "cpu_seconds", "wall_seconds"), AMOUNT)

OF_A_RUN: dict[str, tuple[str, Kind]] = {
    "stream/name": ("stream", TEXT),
    "stream/drifts": ("drifts", _each(_dataclass_kind(DriftPoint, width=POSITIVE))),
    "stream/bad_rows": ("bad_rows", _BAD_ROWS),
    "changes": ("changes", _each(_CHANGE)),
    "importance": ("importance", _optional(Kind(_is_importance, Importance.from_plain))),
    "classes": ("classes", _each(TEXT)),
    "reading": ("reading", _optional(_dataclass_kind(Reading, ignored=_each(TEXT), words=_each(TEXT)))),
    "model": ("model", TEXT),
    "settings": ("settings", MAPPING),
    "n_instances": ("n_instances", POSITIVE),
    "window": ("window", POSITIVE),
    "interrupted": ("interrupted", TRUTH),
    "measures": ("measures", _each(_dataclass_kind(Caption, better=_BETTER))),
    "results/gamma_spent": ("gamma_spent", AMOUNT),
    "results/reward": ("reward", FIGURE),
    "results/diverged": ("diverged", WHOLE),
    "confusion": ("confusion", _optional(_SQUARE)),
    "baselines": ("baselines", _by_name(_by_name(NUMBER))),
    "looked": ("evaluated", _array(WHOLE, np.int64)),
    "trained": ("trained", _array(WHOLE, np.int64)),
    "invested": ("invested", _array(NUMBER, np.float64)),
    "price": ("price", _optional(_dataclass_kind(Price, looking=AMOUNT, training=AMOUNT))),
    "cpu": ("cpu", _by_name(AMOUNT)),
    "energy": (
        "energy",
        _dataclass_kind(Energy, by_phase=_by_name(NUMBER), carbon=_optional(_CARBON), **_COSTS),
    ),
}
"""The fields that are attributes of a `Run`: path in the document, attribute and kind."""
OTHERS: dict[str, Kind] = {
    **dict.fromkeys(("id", "written", "commit", "machine/cpu", "machine/system", "machine/isa"), TEXT),
    "versions": _by_name(TEXT),
    "machine/cores": _optional(WHOLE),
    **dict.fromkeys(("settings/pool", "settings/pool_as_written", "settings/answer"), TEXT),
    **dict.fromkeys(("settings/policy", "settings/policy_as_written"), TEXT),
    "settings/k": POSITIVE,
    "settings/seed": _optional(WHOLE),
    "settings/models": Kind(lambda value: _each(MAPPING).fits(value) and value != []),
    "settings/costs": _each(AMOUNT),
    **{f"settings/{name}": ANYTHING for name in ("score", "warmup", "watch")},
    "results": _by_name(FIGURE),
    "energy/wall_seconds": AMOUNT,
    "co2e_kg": _optional(NUMBER),
}
MAY_LACK = ("baselines", "changes", "classes", "importance", "reading")
"""Optional fields, which some of the paper's records do not have."""


def document(run: Run, id: str | None = None) -> dict[str, Any]:
    """Return the content of `record.json` for a run."""
    versions = {name: metadata.version(name) for name in PACKAGES}
    content: dict[str, Any] = {
        "format": FORMAT,
        "id": run_id(run) if id is None else id,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **versions},
        **provenance(),
        "co2e_kg": run.energy.co2e_kg,
        "results": dict(run.figures),
    }
    for path, (attribute, _) in OF_A_RUN.items():
        group, _, name = path.rpartition("/")
        (content.setdefault(group, {}) if group else content)[name] = getattr(run, attribute)
    plain: dict[str, Any] = _plain(content)
    return plain


def run_from(document: Mapping[str, Any], curves: Curves) -> Run:
    """Return the run that a document and its curves describe."""
    attributes = {
        attribute: kind.read(at(document, path))
        for path, (attribute, kind) in OF_A_RUN.items()
        if path in document or path not in MAY_LACK
    }
    figures = {name: FIGURE.read(document["results"][name]) for name in figures_in(document)}
    return Run(figures=figures, curves=curves, searched="changes" in document, **attributes)


def figures_in(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the measures in a document, in order."""
    return [name for name in document["results"] if name not in RESULTS]


def at(document: Any, path: str) -> Any:
    """Return the value at a path like ``settings/k``."""
    for name in path.split("/"):
        document = document[name]
    return document


def _plain(value: Any) -> Any:
    """Convert arrays, tuples, dataclasses, NaN and strings that are not valid UTF-8 to JSON values."""
    if isinstance(value, Confusion):
        value = value.counts
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {_plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str) and not value.isascii():  # a file name need not be UTF-8
        return value.encode("utf-8", "backslashreplace").decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- checks ------------------------------------------------------------------------------------------------


def expect_valid(document: Mapping[str, Any], label: str) -> None:
    """Raise an error if a document lacks a field or has an invalid value."""
    for path, kind in ({path: kind for path, (_, kind) in OF_A_RUN.items()} | OTHERS).items():
        try:
            value = at(document, path)
        except (KeyError, TypeError, IndexError):
            if path in MAY_LACK:
                continue
            raise _damaged(label, f"no {path!r}") from None
        if not kind.fits(value):
            text = repr(value)
            short = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
            raise _damaged(label, f"an invalid {path!r}: {short}")
    models = len(document["settings"]["models"])
    for path in ("settings/costs", "looked", "trained", "invested"):
        if len(at(document, path)) != models:
            raise _damaged(label, f"{len(at(document, path))} values in {path!r} for {models} models")
    named = {caption["name"] for caption in document["measures"]}
    if named - document["results"].keys():
        raise _damaged(label, f"no value of {min(named - document['results'].keys())!r}")


def expect_curves(curves: Curves, document: Mapping[str, Any], label: str) -> None:
    """Raise an error if the curves of a record are not consistent with its document."""
    end, models = curves.end, len(document["settings"]["models"])
    if end.ndim != 1 or end.dtype.kind not in "iu" or not len(end):
        raise _damaged(label, "curves without windows")
    if (np.diff(end, prepend=0) <= 0).any() or end[-1] > document["n_instances"]:
        raise _damaged(label, "curves whose windows are not in order")
    for name, values in curves.columns().items():
        wide = {"cpu": (curves.cpu.shape[-1],), **dict.fromkeys(PER_MODEL, (models,))}.get(name, ())
        fits = values.shape == (len(end), *wide) or (name in PER_MODEL and values.shape == (len(end), 0))
        if name in curves.figures and values.dtype.kind == "f":
            values = values[~np.isnan(values)]  # noqa: PLW2901  a measure may be undefined in a window
        if not (fits and values.dtype.kind in "iuf" and (np.abs(values.astype(np.float64)) < LARGEST).all()):
            raise _damaged(label, f"an invalid curve {name!r}")


def _damaged(label: str, got: str) -> DataError:
    return DataError(f"{label} is damaged: it has {got}.")


# -- ids ---------------------------------------------------------------------------------------------------


def run_id(run: Run) -> str:
    """Return the id of a run: stream, pool, policy, k and seed, e.g. ``agr_a/mlp50/zeta_0.05_0.2/k30/seed1``.

    Settings of `watch`, `burst`, `warmup`, `budget`, `class_weight` and `answer` that differ from the paper
    are appended to k: ``agr_a/mlp50/cand/k10-watch_8-top_5_60/seed1``. A run of ``Heros()`` has a short id:
    ``agr_a/default/seed1``, or ``agr_a/default-budget_0.4_mj/seed1`` with a budget.
    """
    return id_from(run.stream, run.settings)


def id_from(stream: str, settings: Mapping[str, Any]) -> str:
    """Return the `run_id` of a run with these settings on a stream with this name.

    Examples
    --------
    >>> id_from("agr_a", {"pool": "mlp50", "policy": "cand", "k": 30, "seed": 1})
    'agr_a/mlp50/cand/k30/seed1'
    """
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in stream).lstrip(".") or "stream"
    if len(name.encode()) > LONGEST:  # the name is too long for a directory
        name = f"{name[: LONGEST // 4]}-{hashlib.sha256(stream.encode(errors='replace')).hexdigest()[:12]}"
    pool, policy, k, seed = (settings[part] for part in ("pool", "policy", "k", "seed"))
    if is_default(settings):
        return f"{name}/default{variant_id('all', 'best', budget=settings.get('budget'))}/seed{seed}"
    varied = ("watch", "answer", "burst", "warmup", "budget", "class_weight")
    given = {"watch": "all", "answer": "best"} | {one: settings[one] for one in varied if one in settings}
    return f"{name}/{pool}/{policy}/k{k}{variant_id(**given)}/seed{seed}"


def id_of(model: Heros, stream: Source) -> str:
    """Return the `run_id` of a future run of this model on this stream.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> from heros.run import records
    >>> records.id_of(Heros(pools.Paper(), k=30, seed=1), streams.load("agr_a"))
    'agr_a/mlp50/zeta_0.05_0.2/k30/seed1'
    >>> records.id_of(Heros(seed=1), streams.load("agr_a"))
    'agr_a/default/seed1'
    """
    return id_from(stream.name, parts_written(model))
