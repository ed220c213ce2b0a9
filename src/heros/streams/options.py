"""How the columns of a table become features and classes, as a user says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from heros._base.parameters import expect_list, whole
from heros.data.values import checked_task, label_of
from heros.errors import DataError, ParameterError
from heros.streams.live.bad_rows import checked_skip

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How the columns of a table become features and classes. See `streams.read` for each."""

    owner: str
    target: str | int | None = None
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = ()
    numeric: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[object] | None = None
    on_bad_row: str = "skip"
    dates: Sequence[str] | Mapping[str, str | None] = ()
    most_values: int | None = None
    task: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        checked_skip(self.on_bad_row, self.owner)
        if checked_task(self.task, self.owner) == "regression" and self.classes is not None:
            raise ParameterError.of(
                "classes", self.owner, "left out where the target is a number", self.classes
            )
        if self.most_values is not None:
            whole(self.most_values, "most_values", self.owner, 2)
        for name in ("nominal", "numeric", "ignore", "dates"):
            given = getattr(self, name)
            listed = isinstance(given, Sequence | Mapping | Set) and not isinstance(given, str)
            if not listed or not all(isinstance(column, str) for column in given):
                raise ParameterError.of(name, self.owner, "a list of column names", given)
        if self.weights is not None and not isinstance(self.weights, str):
            raise ParameterError.of("weights", self.owner, "the name of a column", self.weights)
        if self.classes is not None:
            _expect_distinct(self.classes, "classes", self.owner)
        for column, values in self.nominal.items() if isinstance(self.nominal, Mapping) else ():
            if values is not None:
                _expect_distinct(values, f"nominal[{column!r}]", self.owner)

    def target_among(self, names: Sequence[str]) -> str:
        """The name of the target column: the last one if none was named."""
        if not names:
            raise DataError(
                f"The table of {self.owner} must have a target and a feature. Got no columns instead."
            )
        if self.target is None:
            return names[-2] if len(names) > 1 and names[-1] == self.weights else names[-1]
        if isinstance(self.target, str):
            if self.target in names:
                return self.target
        elif isinstance(self.target, int) and -len(names) <= self.target < len(names):
            return names[self.target]
        raise ParameterError.of("target", self.owner, f"one of the columns {list(names)}", self.target, names)

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that are no columns, twice-named columns, and a table without features."""
        for parameter in ("nominal", "numeric", "ignore", "dates"):
            for name in getattr(self, parameter):
                if name not in names:
                    rule = f"made of the columns {list(names)}"
                    raise ParameterError.of(parameter, self.owner, rule, name, names)
        for one, other in (("numeric", "nominal"), ("dates", "nominal"), ("dates", "numeric")):
            both = set(getattr(self, one)) & set(getattr(self, other))
            if both:
                rule = f"without columns named in {other!r}"
                raise ParameterError.of(one, self.owner, rule, sorted(both))
        target = self.target_among(names)
        if target in self.ignore:
            raise ParameterError.of("ignore", self.owner, "without the target", list(self.ignore))
        if self.weights is not None:
            self._check_weights(names, target)
        if len(names) - len(self.ignore) < 2 + (self.weights is not None):
            kept = [name for name in names if name not in self.ignore]
            raise DataError(
                f"The table of {self.owner} must have a target and a feature. Got {kept} instead."
            )

    def _check_weights(self, names: Sequence[str], target: str) -> None:
        """Refuse a column of weights that is not there, or that is said to be something else."""
        if self.weights == target:
            raise ParameterError.of("weights", self.owner, "another column than the target", self.weights)
        if self.weights not in names:
            rule = f"one of the columns {list(names)}"
            raise ParameterError.of("weights", self.owner, rule, self.weights, names)
        for other in ("nominal", "dates", "ignore"):
            if self.weights in getattr(self, other):
                raise ParameterError.of("weights", self.owner, f"no column of {other!r}", self.weights)


def _expect_distinct(values: object, parameter: str, owner: str) -> None:
    names = [label_of(value) for value in expect_list(values, parameter, owner)]
    if len(set(names)) < len(names):
        raise ParameterError.of(parameter, owner, "a list of distinct names", values)
