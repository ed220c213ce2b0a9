"""What an instance looks like: its features and its classes, or a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from heros.errors import DataError, ParameterError

__all__ = ["Feature", "Schema", "schema_of", "schema_plain"]


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of a stream.

    Parameters
    ----------
    name
        Its name, unique in its schema.
    values
        None for a numeric feature; for a nominal one the names of its values. In a block a nominal
        value is its 0-based code.
    missing
        Whether values may be missing. A missing value is NaN in a block; where `missing` is False a
        NaN is refused.
    written
        How numbers were written where they came from: what stood before decimals, then what may have stood
        between thousands (``",."``); empty for the plain way. It says how text is read, and nothing else:
        features that differ in it alone are equal.

    Examples
    --------
    >>> Feature("age").nominal, Feature("colour", ("red", "green")).nominal
    (False, True)
    """

    name: str
    values: tuple[str, ...] | None = None
    missing: bool = False
    written: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ParameterError.of("name", "Feature", "a string", self.name)
        if not isinstance(self.missing, bool):
            raise ParameterError.of("missing", "Feature", "True or False", self.missing)
        if not isinstance(self.written, str):
            raise ParameterError.of("written", "Feature", "a string", self.written)
        if self.values is not None:
            _expect_names(self.values, "values", "Feature")

    @property
    def nominal(self) -> bool:
        """Whether the feature is nominal."""
        return self.values is not None


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a stream, and its classes or that its target is a number.

    Parameters
    ----------
    features
        One per column.
    classes
        The names of the classes; none if the target is a number.
    numeric
        Whether the target is a number.
    words
        What stood for a missing value in the text that instances came from; None for the usual words. Like
        how numbers were written, it says how text is read, and nothing else.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green", "blue")], classes=["no", "yes"])
    >>> schema.n_features, schema.n_classes, schema.features[1].values
    (2, 2, ('red', 'green', 'blue'))
    >>> Schema.of(["age"]).numeric
    True

    A schema may grow while a stream runs: features, values and classes are only ever appended.

    >>> schema.extends(Schema.of(["age"], classes=["no", "yes"]))
    True
    """

    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    numeric: bool = False
    words: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.features, tuple) or not all(isinstance(f, Feature) for f in self.features):
            raise ParameterError.of("features", "Schema", "a tuple of features", self.features)
        _expect_names(self.classes, "classes", "Schema")
        if not isinstance(self.numeric, bool):
            raise ParameterError.of("numeric", "Schema", "True or False", self.numeric)
        if self.numeric and self.classes:
            raise ParameterError.of("classes", "Schema", "empty where the target is a number", self.classes)
        if self.words is not None:
            _expect_names(self.words, "words", "Schema")
        names = [feature.name for feature in self.features]
        if len(set(names)) != len(names):
            raise ParameterError.of("features", "Schema", "features with distinct names", names)

    @classmethod
    def of(
        cls, features: Iterable[str | tuple[str, ...] | Feature], classes: Iterable[str] | None = None
    ) -> Self:
        """A schema from short forms: a name for a numeric feature, (name, value, ...) for a nominal one.

        Without classes the target is a number.
        """
        found = tuple(_feature(feature) for feature in features)
        return cls(found, (), numeric=True) if classes is None else cls(found, tuple(classes))

    @property
    def n_features(self) -> int:
        """How many features an instance has."""
        return len(self.features)

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 if the target is a number."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """How many numbers a model says of an instance: a probability per class, or what the target is."""
        return 1 if self.numeric else len(self.classes)

    def extends(self, older: Schema) -> bool:
        """Whether this schema is `older` with features, values or classes appended (or nothing)."""
        return (
            self.numeric == older.numeric
            and self.classes[: older.n_classes] == older.classes
            and self.n_features >= older.n_features
            and all(_extends(new, old) for new, old in zip(self.features, older.features, strict=False))
        )


def _expect_names(names: object, parameter: str, owner: str) -> None:
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ParameterError.of(parameter, owner, "a tuple of strings", names)
    if len(set(names)) != len(names):
        raise ParameterError.of(parameter, owner, "distinct", names)


def _feature(short: str | tuple[str, ...] | Feature) -> Feature:
    if isinstance(short, Feature):
        return short
    if isinstance(short, str):
        return Feature(short)
    if not isinstance(short, tuple | list) or len(short) == 0:
        rule = "made of names, (name, value, ...) tuples and features"
        raise ParameterError.of("features", "Schema", rule, short)
    return Feature(short[0], tuple(short[1:]))


def _extends(new: Feature, old: Feature) -> bool:
    if new.name != old.name or new.nominal != old.nominal or (old.missing and not new.missing):
        return False
    return old.values is None or (new.values or ())[: len(old.values)] == old.values


def schema_plain(schema: Schema) -> dict[str, Any]:
    """A schema as plain data."""
    plain: dict[str, Any] = {
        "features": [[feature.name, feature.values, feature.missing] for feature in schema.features],
        "classes": list(schema.classes),
    }
    if schema.numeric:
        plain["numeric"] = True
    if written := {feature.name: feature.written for feature in schema.features if feature.written}:
        plain["written"] = written
    if schema.words is not None:
        plain["words"] = list(schema.words)
    return plain


def schema_of(plain: object) -> Schema:
    """The schema that `schema_plain` described.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> schema_of(schema_plain(schema)) == schema
    True
    """
    match plain:
        case {"features": list(features), "classes": list(classes), **rest} if _strings(classes):
            numeric = rest.get("numeric", False)
            if not isinstance(numeric, bool) or (numeric and classes):
                raise DataError("A schema must have classes, or a number as its target. Got something else.")
            written = rest.get("written", {})
            if not isinstance(written, dict) or not _strings(list(written.values())):
                raise DataError("A schema must say how numbers are written in text. Got something else.")
            words = rest.get("words")
            if words is not None and not (isinstance(words, list) and _strings(words)):
                raise DataError(
                    "A schema must say which words stand for a missing value. Got something else."
                )
            found = tuple(_feature_of(feature, written) for feature in features)
            return Schema(found, tuple(map(str, classes)), numeric, None if words is None else tuple(words))
    raise DataError("A schema must have features and classes. Got something else.")


def _feature_of(plain: object, written: Mapping[str, str]) -> Feature:
    match plain:
        case [str(name), None, bool(missing)]:
            return Feature(name, None, missing, written.get(name, ""))
        case [str(name), [*values], bool(missing)] if _strings(values):
            return Feature(name, tuple(map(str, values)), missing)
    raise DataError("A feature must have a name, values and whether they may be missing. Got something else.")


def _strings(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
