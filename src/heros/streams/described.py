"""What the columns of a table are, said in a small file or a mapping."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heros._base.lazy import tomllib
from heros.errors import DataError, ParameterError, did_you_mean
from heros.streams.options import Options

__all__ = ["Columns", "with_columns"]

Columns = str | os.PathLike[str] | Mapping[str, Any]
"""A kind for each column that is named, or a TOML, JSON or CSV file with that."""

KINDS = ("numeric", "nominal", "date", "ignore", "target", "weights")
RULE = f"one of {', '.join(KINDS)}, 'date' with a format of strptime behind it, or a list of all values"


def with_columns(options: Options, columns: Columns | None) -> Options:
    """The options, and what is said of columns besides.

    Examples
    --------
    >>> said = {"age": "numeric", "colour": ["red", "blue"], "born": "date %d.%m.%Y", "late": "target"}
    >>> options = with_columns(Options("read", ignore=["id"]), said)
    >>> options.target, options.numeric, options.nominal, options.dates, options.ignore
    ('late', ['age'], {'colour': ['red', 'blue']}, {'born': '%d.%m.%Y'}, ['id'])
    """
    if columns is None:
        return options
    nominal, dates = _mapping(options.nominal), _mapping(options.dates)
    numeric, ignore = [*options.numeric], [*options.ignore]
    target, weights = options.target, options.weights
    for name, kind in _kinds(columns).items():
        if isinstance(kind, Sequence) and not isinstance(kind, str):
            nominal[name] = kind
            continue
        word, _, rest = str(kind).strip().partition(" ")
        if word not in KINDS or (rest and word != "date"):
            text = f"The kind of the column {name!r} must be {RULE}. Got {kind!r} instead."
            raise DataError(f"{text}{did_you_mean(word, KINDS)}")
        if word == "nominal":
            nominal[name] = None
        elif word == "date":
            dates[name] = rest.strip() or None
        elif word == "target":
            target = name if target is None else target
        elif word == "weights":
            weights = name if weights is None else weights
        else:
            (numeric if word == "numeric" else ignore).append(name)
    return replace(
        options,
        nominal=nominal,
        dates=dates,
        numeric=numeric,
        ignore=ignore,
        target=target,
        weights=weights,
    )


def _mapping(given: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)


def _kinds(columns: Columns) -> Mapping[str, Any]:
    if isinstance(columns, Mapping):
        return columns
    if not isinstance(columns, str | os.PathLike):
        raise ParameterError.of("columns", "read", "a mapping from columns to kinds, or a file", columns)
    path = Path(columns)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            return _pairs(text)
        found = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"The file of columns {path} must be readable TOML, JSON or CSV. Got: {error}"
        ) from None
    inner = found.get("columns", found) if isinstance(found, dict) else None
    if not isinstance(inner, dict):
        raise DataError(f"The file of columns {path} must have a kind for each column. Got something else.")
    return inner


def _pairs(text: str) -> dict[str, str]:
    """The lines of a CSV file: a column and its kind, perhaps below a heading."""
    rows = [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    if any(len(row) != 2 for row in rows):
        raise ValueError("a row must have two cells: a column and its kind")
    return {name: kind for name, kind in rows if (name, kind) != ("column", "kind")}
