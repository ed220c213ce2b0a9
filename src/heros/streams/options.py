"""Options that a user sets for the columns of a table."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, ParameterError, did_you_mean
from heros._base.lazy import tomllib
from heros._base.parameters import expect_list
from heros.data.codes import MOST_VALUES, checked_most_values
from heros.data.values import checked_task, label_of
from heros.streams.bad_rows import checked_skip

__all__ = ["Columns", "Options"]

Columns = str | os.PathLike[str] | Mapping[str, Any]
"""A mapping of columns to kinds, or a TOML, JSON or CSV file with such a mapping."""

KINDS = ("numeric", "nominal", "date", "ignore", "target", "weights")
RULE = f"one of {', '.join(KINDS)}, 'date' followed by a strptime format, or a list of all values"


@dataclass(frozen=True)
class Options:
    """Options for the columns of a table. See `heros.streams.read` for each option.

    Examples
    --------
    >>> said = {"age": "numeric", "colour": ["red", "blue"], "born": "date %d.%m.%Y", "late": "target"}
    >>> options = Options("read", ignore=["id"]).with_columns(said)
    >>> options.target, options.numeric, options.nominal, options.dates, options.ignore
    ('late', ['age'], {'colour': ['red', 'blue']}, {'born': '%d.%m.%Y'}, ['id'])
    """

    owner: str
    target: str | int | None = None
    nominal: Any = ()  # converted to a dictionary, like `dates`
    numeric: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[object] | None = None
    on_bad_row: str = "skip"
    dates: Any = ()
    most_values: int | None = MOST_VALUES
    task: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        checked_skip(self.on_bad_row, self.owner)
        if checked_task(self.task, self.owner) == "regression" and self.classes is not None:
            raise self._error("classes", "None if the target is a number", self.classes)
        checked_most_values(self.most_values, self.owner)
        for name in ("nominal", "numeric", "ignore", "dates"):
            given = getattr(self, name)
            is_list = isinstance(given, Sequence | Mapping | Set) and not isinstance(given, str)
            if not is_list or not all(isinstance(column, str) for column in given):
                raise self._error(name, "a list of column names", given)
        if self.weights is not None and not isinstance(self.weights, str):
            raise self._error("weights", "the name of a column", self.weights)
        for name in ("nominal", "dates"):
            given = getattr(self, name)
            object.__setattr__(
                self, name, dict(given if isinstance(given, Mapping) else dict.fromkeys(given))
            )
        named = {f"nominal[{column!r}]": given for column, given in self.nominal.items()}
        for parameter, given in {"classes": self.classes, **named}.items():
            names = list(map(label_of, expect_list(() if given is None else given, parameter, self.owner)))
            if len(set(names)) < len(names):
                raise self._error(parameter, "a list of distinct names", given)

    @classmethod
    def of(cls, owner: str, settings: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
        """Split the user's settings into column options and other settings."""
        known = {field.name for field in fields(cls)} & settings.keys()
        options = cls(owner, **{name: settings[name] for name in known}).with_columns(settings.get("columns"))
        return options, {name: value for name, value in settings.items() if name not in {*known, "columns"}}

    def with_columns(self, columns: Columns | None) -> Options:
        """Return the options, extended with the column kinds in `columns`."""
        if columns is None:
            return self
        kinds: dict[str, Any] = {"nominal": {**self.nominal}, "date": {**self.dates}}
        kinds |= {"numeric": [*self.numeric], "ignore": [*self.ignore]}
        kinds |= {"target": self.target, "weights": self.weights}
        roles = dict[str, str]()
        for name, kind in _kinds(columns).items():
            if isinstance(kind, Sequence) and not isinstance(kind, str):
                kinds["nominal"][name] = kind
                continue
            word, _, rest = str(kind).strip().partition(" ")
            if word not in KINDS or (rest and word != "date"):
                text = f"The kind of the column {name!r} must be {RULE}. Got {kind!r} instead."
                raise DataError(f"{text}{did_you_mean(word, KINDS)}")
            if word in ("nominal", "date"):
                kinds[word][name] = rest.strip() or None
            elif word in ("numeric", "ignore"):
                kinds[word].append(name)
            elif word in roles:
                rule = f"At most one column may have the kind {word!r}"
                raise DataError(f"{rule}. Got {roles[word]!r} and {name!r}.")
            else:
                roles[word] = name
        kinds |= {word: name for word, name in roles.items() if kinds[word] is None}
        return replace(self, dates=kinds.pop("date"), **kinds)

    def listed_values(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return a mapping from columns to the values that `nominal` and `classes` list."""
        listed = {name: values for name, values in self.nominal.items() if values is not None}
        if self.classes is not None:
            listed[self.target_among(names)] = self.classes
        return {name: [str(label_of(value)) for value in values] for name, values in listed.items()}

    def target_among(self, names: Sequence[str]) -> str:
        """Return the name of the target column: by default the last column."""
        if not names:
            raise self._too_small("no columns")
        if self.target is None:
            return names[-2] if len(names) > 1 and names[-1] == self.weights else names[-1]
        if isinstance(self.target, str):
            if self.target in names:
                return self.target
        elif isinstance(self.target, int) and -len(names) <= self.target < len(names):
            return names[self.target]
        raise self._error("target", f"one of the columns {list(names)}", self.target, names)

    def stream_name(self, file: str, names: Sequence[str]) -> str:
        """Return the name of a stream: the file name, followed by the target if it is not the default."""
        # The name shows the target, so that runs on different targets are not compared.
        target = self.target_among(names)
        return file if target == replace(self, target=None).target_among(names) else f"{file}-{target}"

    def check(self, names: Sequence[str]) -> None:
        """Raise an error for unknown columns, columns with two kinds, and a table without features."""
        for parameter in ("nominal", "numeric", "ignore", "dates"):
            for name in getattr(self, parameter):
                if name not in names:
                    raise self._error(parameter, f"a list of columns among {list(names)}", name, names)
        for one, other in (("numeric", "nominal"), ("dates", "nominal"), ("dates", "numeric")):
            both = set(getattr(self, one)) & set(getattr(self, other))
            if both:
                raise self._error(one, f"a list without the columns in {other!r}", sorted(both))
        target = self.target_among(names)
        if target in self.ignore:
            raise self._error("ignore", "a list without the target column", list(self.ignore))
        if (weights := self.weights) is not None:
            if weights == target:
                raise self._error("weights", "a column other than the target", weights)
            if weights not in names:
                raise self._error("weights", f"one of the columns {list(names)}", weights, names)
            for other in ("nominal", "dates", "ignore"):
                if weights in getattr(self, other):
                    raise self._error("weights", f"a column that is not in {other!r}", weights)
        if len(names) - len(self.ignore) < 2 + (weights is not None):
            raise self._too_small(f"{[name for name in names if name not in self.ignore]}")

    def _too_small(self, got: str) -> DataError:
        return DataError(
            f"The table of {self.owner} must have a target column and a feature column. Got {got} instead."
        )

    def _error(self, parameter: str, rule: str, given: object, known: Sequence[str] = ()) -> ParameterError:
        return ParameterError.of(parameter, self.owner, rule, given, known)


def _kinds(columns: Columns) -> Mapping[str, Any]:
    if isinstance(columns, Mapping):
        return columns
    if not isinstance(columns, str | os.PathLike):
        raise ParameterError.of("columns", "read", "a mapping from columns to kinds, or a file", columns)
    path = Path(columns)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":  # the file may have a header
            rows = [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
            if any(len(row) != 2 for row in rows):
                raise ValueError("each row must have two cells: a column and its kind")  # noqa: TRY301
            return _distinct((name, kind) for name, kind in rows if (name, kind) != ("column", "kind"))
        is_json = path.suffix.lower() == ".json"
        found = json.loads(text, object_pairs_hook=_distinct) if is_json else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        must = f"The columns file {path} must be readable as TOML, JSON or CSV."
        raise DataError(f"{must} The error was: {error}") from None
    inner = found.get("columns", found) if isinstance(found, dict) else None
    if not isinstance(inner, dict):
        raise DataError(
            f"The columns file {path} must map columns to kinds. Got the type {type(found).__name__}."
        )
    return inner


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dictionary; raise a ValueError if a name occurs twice."""
    found = dict[str, Any]()
    for name, kind in pairs:
        if name in found:
            raise ValueError(f"the column {name!r} must be listed only once")
        found[name] = kind
    return found
