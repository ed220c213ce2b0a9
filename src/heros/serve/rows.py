"""Instances as they are sent, names and values, as the models take them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from heros.data.schema import Schema
from heros.serve.limits import Limits, Wrong
from heros.data.values import LARGEST_TARGET, Refused, label_of
from heros.vocabulary import Vocabulary

__all__ = ["Rows", "expect_name", "open_schema"]

SCALARS = (float, int, str, bool, type(None))  # by their exact types: what JSON has


class Rows:
    """The features, values and classes so far, which grow as they appear, up to a limit.

    A number with decimals is no class: JSON has text for names.

    Examples
    --------
    >>> rows = Rows(Schema((), ()), Limits(values=2))
    >>> rows.encode({"size": 2.5, "colour": "red"}, "good")  # features come in the order of their names
    ([0, 2.5], 0)
    >>> rows.encode({"colour": "blue"}, "bad")
    ([1, nan], 1)
    >>> rows.encode({"colour": "green"}, "bad")
    Traceback (most recent call last):
        ...
    heros.serve.limits.Wrong: The feature 'colour' must have at most 2 values. Got another one: 'green'.
    """

    def __init__(self, schema: Schema, limits: Limits, nominal: Iterable[str] = ()) -> None:
        self._vocabulary = Vocabulary(schema, nominal, grows=True, fractions=False)
        self._limits = limits

    @property
    def schema(self) -> Schema:
        """What is known so far; the same object as long as nothing is new."""
        return self._vocabulary.schema

    def look_up(self, x: Any) -> list[float]:
        """An instance as far as it is known."""
        self._expect_instance(x)
        try:
            return self._vocabulary.look_up(x)[0]
        except Refused as why:
            raise _wrong(why) from None

    def encode(self, x: Any, y: Any) -> tuple[list[float], float]:
        """An instance and the index of its class, or a number. What is new in them is known from now on."""
        self._expect_instance(x)
        self._expect_label(y)
        try:
            coded = self._vocabulary.encode(x, y, started=True, grow=False)
            if coded is None:
                self._expect_room(x, y)
                ordered = {name: x[name] for name in sorted(x)}
                coded = self._vocabulary.encode(ordered, y, started=True)
        except Refused as why:
            raise _wrong(why) from None
        assert coded is not None
        return coded

    def _expect_label(self, y: Any) -> None:
        if not self._vocabulary.numeric:
            if type(y) not in SCALARS:
                raise Wrong(f"The label must be a text, a number or true or false. Got {_shown(y)}.")
        elif (type(y) is not float and type(y) is not int) or not abs(y) <= LARGEST_TARGET:
            rule = f"a finite number, {LARGEST_TARGET:g} at most"
            raise Wrong(f"The label must be {rule}. Got {_shown(y)} instead.")

    def _expect_instance(self, x: Any) -> None:
        if type(x) is not dict:
            raise Wrong(f"An instance must be an object of names and values. Got {_shown(x)}.")
        if len(x) > self._limits.features:
            raise Wrong(f"An instance must have at most {self._limits.features:,} features. Got {len(x):,}.")
        for name, value in x.items():
            kind = type(value)
            if kind is float or kind is int:
                continue
            if kind not in SCALARS:
                raise Wrong(f"The feature {_cut(name)!r} must be a number or a text. Got {_shown(value)}.")
            if kind is str and len(value) > self._limits.text:
                expect_name(value, f"The value of {_cut(name)!r}", self._limits)

    def _expect_room(self, x: dict[str, Any], y: Any) -> None:
        """Refuse what is new if there is enough of its kind already."""
        limits, place = self._limits, self._vocabulary.place
        known = self.schema
        new = [name for name, value in x.items() if place(name) is None and value is not None]
        for name in new:
            expect_name(name, "The name of a feature", limits)
        if known.n_features + len(new) > limits.features:
            raise Wrong(f"There must be at most {limits.features:,} features. Got another one: {new[0]!r}.")
        if known.n_features + len(new) == 0:
            raise Wrong("The first instance must have a feature. Got one without.")
        for name, value in x.items():
            found = place(name)
            codes = None if found is None else found[1]
            if codes is not None and len(codes) >= limits.values:
                text = label_of(value)
                if text is not None and text not in codes:
                    rule = f"The feature {_cut(name)!r} must have at most {limits.values:,} values."
                    raise Wrong(f"{rule} Got another one: {text!r}.")
        label = None if known.numeric else label_of(y)
        if label is not None:
            expect_name(label, "The label", limits)
            if known.n_classes >= limits.classes and label not in known.classes:
                raise Wrong(f"There must be at most {limits.classes} classes. Got another one: {label!r}.")


def open_schema(schema: Schema | None, numeric: bool = False) -> Schema:
    """A schema in which every value may be missing, as in what people send."""
    if schema is None:
        return Schema((), (), numeric)
    features = tuple(replace(one, missing=True) for one in schema.features)
    return replace(schema, features=features)


def expect_name(text: str, what: str, limits: Limits) -> str:
    """A text that is short enough."""
    if len(text) > limits.text:
        raise Wrong(f"{what} must have at most {limits.text} characters. Got {len(text):,}.")
    return text


def _wrong(why: Refused) -> Wrong:
    what = "label" if why.column == "label" else f"feature {_cut(str(why.column))!r}"
    return Wrong(f"The {what} must {why.rule}. Got {_cut(why.value)} instead.")


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _shown(value: Any) -> str:
    return _cut(repr(value)) if isinstance(value, str | float | int | None) else f"a {type(value).__name__}"
