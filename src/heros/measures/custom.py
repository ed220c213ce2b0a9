"""User-defined measures: any object with `name`, `update` and `value`."""

from __future__ import annotations

import copy
import inspect
import numbers
import re
from typing import Any

from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros.measures.base import Better, Measure, State, expect_same

RULE = "a measure: an object with a 'name' like 'my_cost', a method 'update(y, output)' and a 'value'"
NAME = re.compile(r"[a-z][a-z0-9_]*")


def expect_measure(measure: object, name: str, owner: str) -> Measure:
    """Return the object as a measure, or raise an error.

    Besides `name`, `update` and `value`, an object may have a `label`, `better` ("higher" or "lower") and the
    other methods of `Measure`: `state` and `restore`, which checkpoints need; `merge`; `fresh`. An object
    without `fresh` is copied, so the object should not have any data yet.
    """
    own = getattr(measure, "name", None)
    if isinstance(measure, type) or not isinstance(own, str) or NAME.fullmatch(own) is None:
        raise ParameterError.of(name, owner, RULE, measure)
    if isinstance(measure, Measure):
        return measure
    if not callable(getattr(measure, "update", None)) or not _has_value(measure):
        raise ParameterError.of(name, owner, RULE, measure)
    if getattr(measure, "better", "higher") not in {"higher", "lower"}:
        rule = f"a measure whose 'better' is 'higher' or 'lower' ({own!r})"
        raise ParameterError.of(name, owner, rule, measure.better)  # type: ignore[attr-defined]
    return Own(measure)


def _has_value(measure: object) -> bool:
    """Return whether the object has a value. The value is not computed, as it may be undefined at first."""
    try:
        return not callable(inspect.getattr_static(measure, "value"))
    except AttributeError:
        return False


def _copied(measure: Any) -> Any:
    """Return an empty measure, made by the method `fresh` of the object or by copying the object."""
    make = getattr(measure, "fresh", None)
    if callable(make):
        return make()
    try:
        return copy.deepcopy(measure)
    except Exception as error:
        rule = f"measures that can be copied or have a method 'fresh' (the error was: {error})"
        raise ParameterError.of("measures", "evaluate", rule, measure) from None


class Own(Measure):
    """A measure that wraps a user-defined object."""

    def __init__(self, measure: Any, empty: Any = None) -> None:
        self.measure = measure
        self._empty = _copied(measure) if empty is None else empty
        self.name: str = measure.name  # type: ignore[misc]
        self.label: str = str(getattr(measure, "label", measure.name))  # type: ignore[misc]
        self.better: Better = getattr(measure, "better", "higher")  # type: ignore[misc]
        self.note = str(getattr(measure, "note", ""))

    def update(self, y: NDArray[Any], output: NDArray[Any]) -> None:
        self.measure.update(y, output)

    def add(self, y: NDArray[Any], output: NDArray[Any]) -> float:
        if hasattr(self.measure, "merge"):
            return super().add(y, output)
        part = self.fresh()  # a copy measures this part; the object itself measures the whole stream
        part.update(y, output)
        self.update(y, output)
        return part.value

    @property
    def value(self) -> float:
        value = self.measure.value
        if not isinstance(value, numbers.Real):
            raise DataError(
                f"The value of the measure {self.name!r} must be a number. Got {value!r} instead."
            )
        return float(value)

    @property
    def resumable(self) -> bool:
        return all(callable(getattr(self.measure, method, None)) for method in ("state", "restore"))

    def state(self) -> dict[str, NDArray[Any]]:
        return dict(self.measure.state())

    def restore(self, state: State) -> None:
        self.measure.restore(state)

    def merge(self, other: Own) -> None:
        expect_same(self, other)
        self.measure.merge(other.measure)

    def fresh(self) -> Own:
        return Own(_copied(self._empty), self._empty)

    def __repr__(self) -> str:
        return repr(self.measure)
