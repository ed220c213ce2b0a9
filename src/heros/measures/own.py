"""A measure of the user's own: any object with a name, an update and a value."""

from __future__ import annotations

import copy
import inspect
import numbers
import re
from typing import Any

from numpy.typing import NDArray

from heros.errors import DataError, ParameterError
from heros.measures.base import Better, Measure, State, expect_same

__all__ = ["Own", "expect_measure"]

RULE = "a measure: an object with a 'name' like 'my_cost', an 'update(y, output)' and a 'value'"
NAME = re.compile(r"[a-z][a-z0-9_]*")


def expect_measure(measure: object, name: str, owner: str) -> Measure:
    """The measure, if it is one, or can be used as one.

    Besides `name`, `update` and `value` an object may have a `label`, `better` ("higher" or "lower") and the
    other methods of `Measure`: `state` and `restore`, which checkpoints need; `merge`; `fresh`. One without
    `fresh` is copied as it is, so it should be empty.

    Examples
    --------
    >>> expect_measure("auroc", "measures", "evaluate")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'measures' parameter of evaluate must be a measure: an object with a
    'name' like 'my_cost', an 'update(y, output)' and a 'value'. Got 'auroc' instead.
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
    """Without asking for it: of nothing it may not be defined."""
    try:
        return not callable(inspect.getattr_static(measure, "value"))
    except AttributeError:
        return False


def _copied(measure: Any) -> Any:
    """An empty one: as the object makes it, or a copy."""
    make = getattr(measure, "fresh", None)
    if callable(make):
        return make()
    try:
        return copy.deepcopy(measure)
    except Exception as error:
        rule = f"measures that can be copied or have a method 'fresh' (got: {error})"
        raise ParameterError.of("measures", "evaluate", rule, measure) from None


class Own(Measure):
    """The user's object as a measure."""

    def __init__(self, measure: Any, empty: Any = None) -> None:
        self.measure = measure
        self._empty = _copied(measure) if empty is None else empty
        self.name: str = measure.name  # type: ignore[misc]
        self.label: str = str(getattr(measure, "label", measure.name))  # type: ignore[misc]
        self.better: Better = getattr(measure, "better", "higher")  # type: ignore[misc]
        self.note = str(getattr(measure, "note", ""))

    def update(self, y: NDArray[Any], output: NDArray[Any]) -> None:
        """Count targets and what was answered."""
        self.measure.update(y, output)

    def add(self, y: NDArray[Any], output: NDArray[Any]) -> float:
        """Count a stretch; one that cannot be merged counts it twice, alone and with all the others."""
        if hasattr(self.measure, "merge"):
            return super().add(y, output)
        part = self.fresh()
        part.update(y, output)
        self.update(y, output)
        return part.value

    @property
    def value(self) -> float:
        """The object's."""
        value = self.measure.value
        if not isinstance(value, numbers.Real):
            raise DataError(
                f"The value of the measure {self.name!r} must be a number. Got {value!r} instead."
            )
        return float(value)

    @property
    def resumable(self) -> bool:
        """Whether it gives its state and takes it back."""
        return all(callable(getattr(self.measure, method, None)) for method in ("state", "restore"))

    def state(self) -> dict[str, NDArray[Any]]:
        """The object's."""
        return dict(self.measure.state())

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        self.measure.restore(state)

    def merge(self, other: Own) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        self.measure.merge(other.measure)

    def fresh(self) -> Own:
        """An empty one."""
        return Own(_copied(self._empty), self._empty)

    def __repr__(self) -> str:
        return repr(self.measure)
