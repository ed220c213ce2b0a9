"""The encoder of a service's training instances, and the options that fix nominal columns and classes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any

from heros._base.errors import DataError, HerosError
from heros.data.encoder import YOUNG, Encoder
from heros.data.row_encoder import Step
from heros.data.schema import Schema
from heros.data.values import label_of, listed

MOST_HINTS = 10  # new columns of an instance whose names are compared with the names of known columns
ALIKE = 0.75  # minimum share of a name, at its beginning and end, that matches a known name


@dataclass(frozen=True, slots=True)
class Reading:
    """The user's options for reading values: the nominal columns, and all classes (None if not given).

    Examples
    --------
    >>> Reading(["zip"], ["no", "yes"]).applied_to(Schema.of(["size"], classes=["yes"])).classes
    ('yes', 'no')
    """

    nominal: list[str]
    classes: list[str] | None

    @classmethod
    def of(cls, nominal: Iterable[str], classes: Iterable[object] | None) -> Reading:
        """Return a `Reading` with the user's options."""
        return cls(sorted(nominal), None if classes is None else [str(label_of(one)) for one in classes])

    @classmethod
    def restored(cls, plain: Any, schema: Schema | None) -> Reading:
        """Return the options stored in a checkpoint; raise a DataError if the model contradicts them."""
        kept = cls(plain["nominal"], plain["classes"])
        for names in (kept.nominal, [] if kept.classes is None else kept.classes):
            if type(names) is not list or not all(type(name) is str for name in names):
                raise DataError(f"names must be strings. Got {names!r:.60} instead.")
        try:
            kept.applied_to(schema)
        except HerosError as error:
            raise DataError(str(error)) from None
        return kept

    def continued(self, kept: Reading) -> Reading:
        """Add these options to those of a checkpoint (`kept`); raise an error if the classes differ."""
        if self.classes is not None and kept.classes is not None and {*self.classes} != {*kept.classes}:
            raise HerosError(
                f"The classes must be the same as in the checkpoint: {listed(kept.classes)}. Got "
                f"{listed(self.classes)}. Leave out the classes, or use another directory."
            )
        return Reading(sorted({*self.nominal, *kept.nominal}), kept.classes or self.classes)

    def applied_to(self, schema: Schema | None) -> Schema | None:
        """Return the schema with all classes added; raise an error if the schema contradicts the options."""
        if schema is None:
            return None
        numbers = {one.source for one in schema.features if not one.nominal}
        wrong = sorted(numbers.intersection(self.nominal))
        if wrong:
            rule = "not name columns that the model reads as numbers or dates"
            raise HerosError(f"The option --nominal must {rule}. Got {wrong[0]!r}.")
        if self.classes is None:
            return schema
        others = [name for name in schema.classes if name not in self.classes]
        if others or schema.numeric:
            got = "a numeric target" if schema.numeric else listed(others)
            raise HerosError(
                f"The option --classes must name all classes of the model. The model also has {got}."
            )
        return replace(schema, classes=tuple(dict.fromkeys((*schema.classes, *self.classes))))


class TrainingEncoder(Encoder):
    """An encoder that stores its notices, and reports columns and classes that first appear late.

    A column or class that first appears after many instances may be a mistake of the client.
    """

    def __init__(self, *known: Any, **settings: Any) -> None:
        self.notices: list[str] = []
        self.quiet = False
        super().__init__(*known, **settings)

    def notify(self, text: str) -> None:
        """Store a notice and issue it as a warning; ignore errors in issuing it, such as a full disk."""
        if self.quiet:
            return
        self.notices.append(text)
        with suppress(Exception):
            super().notify(text)

    def _grow(self, plan: list[Step], label: str | None) -> None:
        before = list(self.known)
        if self.seen < YOUNG:
            super()._grow(plan, label)
            return
        if label is not None:
            classes = listed(list(self.classes))
            self.notify(f"New class {label!r} at instance {self.seen + 1:,}. Known classes: {classes}.")
        super()._grow(plan, label)
        known = {name.casefold(): name for name in reversed(before)}
        for number, name in enumerate(list(self.known)[len(before) :]):
            close = _closest(name.casefold(), known) if number < MOST_HINTS else None
            hint = "" if close is None else f" Did you mean {known[close]!r}?"
            self.notify(f"New column {name!r} at instance {self.seen + 1:,}.{hint}")


def _closest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None if no known name is similar.

    This function blocks the event loop, so it compares only the beginnings and ends of names. `difflib` would
    take minutes for hundreds of long names.

    Examples
    --------
    >>> _closest("temprature", ["size", "temperature"]), _closest("weight", ["size", "temperature"])
    ('temperature', None)
    """
    likeness, closest = max(((_likeness(name, other), other) for other in known), default=(0.0, ""))
    return closest if likeness >= ALIKE else None


def _likeness(name: str, other: str) -> float:
    start = len(commonprefix([name, other]))  # noqa: RUF071  names, not paths
    end = len(commonprefix([name[start:][::-1], other[start:][::-1]]))  # noqa: RUF071
    return 2 * (start + end) / (len(name) + len(other))
