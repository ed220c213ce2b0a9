"""What an instance looks like: its features and its classes, or a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

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
        How the text of its column is read. Of numbers: the decimal mark, then the marks between thousands
        (``",."``); empty for the plain way. Of dates: the order (``"month first"``) or a format of
        `strptime`; a ``?`` at the end means that the values so far allow another order as well.
    column, part
        The column that the feature was made from, if one column gives several features, and which part of
        its values the feature holds: ``"day"``, ``"weekday"``, ``"day of year"``, ``"hour"`` of dates;
        ``"number"`` or ``"name"`` of a column that was first taken for something else.

    The last three say how values are read, and nothing else: features that differ in them alone are equal.

    Examples
    --------
    >>> Feature("age").nominal, Feature("colour", ("red", "green")).nominal
    (False, True)
    """

    name: str
    values: tuple[str, ...] | None = None
    missing: bool = False
    written: str = field(default="", compare=False, repr=False)
    column: str = field(default="", compare=False, repr=False)
    part: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ParameterError.of("name", "Feature", "a string", self.name)
        if not isinstance(self.missing, bool):
            raise ParameterError.of("missing", "Feature", "True or False", self.missing)
        for name in ("written", "column", "part"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError.of(name, "Feature", "a string", getattr(self, name))
        if self.values is not None:
            _expect_names(self.values, "values", "Feature")

    @property
    def nominal(self) -> bool:
        """Whether the feature is nominal."""
        return self.values is not None

    @property
    def source(self) -> str:
        """The name of the column that the feature is made from."""
        return self.column or self.name


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
        Words that stand for a missing value in text, beside the usual ones (`heros.data.values.MISSING`).
    ignored
        Columns that are left out, such as identifiers. Like `words`, it says how rows are read, and nothing
        else: schemas that differ in these two alone are equal.

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
    words: tuple[str, ...] = field(default=(), compare=False, repr=False)
    ignored: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.features, tuple) or not all(isinstance(f, Feature) for f in self.features):
            raise ParameterError.of("features", "Schema", "a tuple of features", self.features)
        _expect_names(self.classes, "classes", "Schema")
        if not isinstance(self.numeric, bool):
            raise ParameterError.of("numeric", "Schema", "True or False", self.numeric)
        if self.numeric and self.classes:
            raise ParameterError.of("classes", "Schema", "empty where the target is a number", self.classes)
        _expect_names(self.words, "words", "Schema")
        _expect_names(self.ignored, "ignored", "Schema")
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
    """Return a schema as plain data."""
    plain: dict[str, Any] = {
        "features": [[feature.name, feature.values, feature.missing] for feature in schema.features],
        "classes": list(schema.classes),
    }
    if schema.numeric:
        plain["numeric"] = True
    reading = {f.name: [f.written, f.column, f.part] for f in schema.features if f.written or f.column}
    if reading:
        plain["reading"] = reading
    for name in ("words", "ignored"):
        if found := getattr(schema, name):
            plain[name] = list(found)
    return plain


def schema_of(plain: object) -> Schema:
    """Return the schema that `schema_plain` described.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> schema_of(schema_plain(schema)) == schema
    True
    """
    match plain:
        case {"features": list(features), "classes": list(classes), **rest} if _strings(classes):
            numeric, reading = rest.get("numeric", False), rest.get("reading", {})
            words, ignored = (cast(Any, rest.get(name, [])) for name in ("words", "ignored"))
            if not isinstance(numeric, bool) or (numeric and classes):
                raise DataError("A schema must have classes, or a number as its target. Got something else.")
            if not isinstance(reading, dict) or not all(_strings(how, 3) for how in reading.values()):
                raise DataError("A schema must say how its columns are read. Got something else.")
            if not _strings(words) or not _strings(ignored):
                raise DataError(
                    "A schema must list words for missing values and ignored columns. Got something else."
                )
            found = tuple(_feature_of(feature, reading) for feature in features)
            return Schema(found, tuple(map(str, classes)), numeric, tuple(words), tuple(ignored))
    raise DataError("A schema must have features and classes. Got something else.")


def _feature_of(plain: object, reading: Mapping[str, list[str]]) -> Feature:
    match plain:
        case [str(name), None, bool(missing)]:
            return Feature(name, None, missing, *reading.get(name, ()))
        case [str(name), [*values], bool(missing)] if _strings(values):
            return Feature(name, tuple(map(str, values)), missing, *reading.get(name, ()))
    raise DataError("A feature must have a name, values and whether they may be missing. Got something else.")


def _strings(values: Any, n: int | None = None) -> bool:
    """Whether it is a list of strings, of so many if that is said."""
    fits = isinstance(values, list) and (n is None or len(values) == n)
    return fits and all(isinstance(value, str) for value in values)
