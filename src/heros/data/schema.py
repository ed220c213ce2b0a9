"""The schema of a stream: its features, and its classes or a numeric target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from heros._base.errors import DataError, ParameterError
from heros.data.values import enum_value

__all__ = ["Feature", "Schema", "distinct", "schema_of", "schema_plain"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a stream. Each feature is one column of the blocks of instances.

    Parameters
    ----------
    name
        The name, unique in its schema.
    values
        The names of the values of a nominal feature; None for a numeric feature. A block holds the 0-based
        codes of nominal values.
    missing
        Whether values may be missing. A missing value is NaN in a block; if `missing` is False, a NaN
        raises an error.
    written
        The text format of the column. For numbers: the decimal mark, then the thousands separators
        (``",."``); empty for the default format. For dates: the order (``"month first"``) or a format for
        `strptime`; a trailing ``?`` means that the values so far also match another order. For names:
        ``"names"`` if the user declared the column; such a column is never left out as an identifier.
    column, part
        The name of the source column, if this column provides several features, and the part of its values
        that the feature contains: ``"day"``, ``"weekday"``, ``"day of year"`` or ``"hour"`` of a date;
        ``"number"`` or ``"name"`` if the kind of the column changed, or if an earlier feature already has the
        name of the column.
    shared
        The number of codes that new names share. The labels of these codes are the last items of `values`.
        0 means that each new name gets its own code.

    `written`, `column`, `part` and `shared` only define how values are read; they are ignored in comparisons.

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
    shared: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("name", "written", "column", "part"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError.of(name, "Feature", "a string", getattr(self, name))
        if not isinstance(self.missing, bool):
            raise ParameterError.of("missing", "Feature", "True or False", self.missing)
        if self.values is not None:
            _expect_names(self.values, "values", "Feature")
        if type(self.shared) is not int or not 0 <= self.shared <= len(self.values or ()):
            raise ParameterError.of("shared", "Feature", "between 0 and the number of values", self.shared)

    @property
    def nominal(self) -> bool:
        """Whether the feature is nominal."""
        return self.values is not None

    @property
    def source(self) -> str:
        """The name of the feature's source column."""
        return self.column if self.part else self.name


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a stream, and its classes or a numeric target.

    Parameters
    ----------
    features
        One feature per column.
    classes
        The names of the classes; empty if the target is a number.
    numeric
        Whether the target is a number.
    words
        Strings that are read as missing values, in addition to `heros.data.values.MISSING`.
    ignored
        Columns that are ignored, such as identifiers. `words` and `ignored` only define how rows are read;
        they are ignored in comparisons.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green", "blue")], classes=["no", "yes"])
    >>> schema.n_features, schema.n_classes, schema.features[1].values
    (2, 2, ('red', 'green', 'blue'))
    >>> Schema.of(["age"]).numeric
    True

    A schema may grow while a stream is read: features, values and classes are appended, never removed.

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
        if any(name.endswith("\0") for name in self.classes):
            raise ParameterError.of("classes", "Schema", "names that do not end with \\0", self.classes)
        if not isinstance(self.numeric, bool):
            raise ParameterError.of("numeric", "Schema", "True or False", self.numeric)
        if self.numeric and self.classes:
            raise ParameterError.of("classes", "Schema", "empty if the target is a number", self.classes)
        _expect_names(self.words, "words", "Schema")
        _expect_names(self.ignored, "ignored", "Schema")
        names = [feature.name for feature in self.features]
        if len(set(names)) != len(names):
            raise ParameterError.of("features", "Schema", "features with distinct names", names)

    @classmethod
    def of(
        cls, features: Iterable[str | tuple[str, ...] | Feature], classes: Iterable[str] | None = None
    ) -> Self:
        """Create a schema from names of numeric features and (name, value, ...) tuples of nominal features.

        Without classes, the target is a number.
        """
        found = tuple(_feature(feature) for feature in features)
        if classes is None:
            return cls(found, (), numeric=True)
        return cls(found, tuple(map(enum_value, classes)))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.features)

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 if the target is a number."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """The number of outputs of a model: one probability per class, or 1 for a numeric target."""
        return 1 if self.numeric else len(self.classes)

    def extends(self, older: Schema) -> bool:
        """Return whether this schema equals `older`, or extends it with features, values or classes."""
        return (
            self.numeric == older.numeric
            and self.classes[: older.n_classes] == older.classes
            and self.n_features >= older.n_features
            and all(map(_extends, self.features, older.features))
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a schema object never changes


def _expect_names(names: object, parameter: str, owner: str) -> None:
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ParameterError.of(parameter, owner, "a tuple of strings", names)
    if len(set(names)) != len(names):
        raise ParameterError.of(parameter, owner, "distinct", names)


def _feature(short: str | tuple[str, ...] | Feature) -> Feature:
    if isinstance(short, Feature | str):
        return short if isinstance(short, Feature) else Feature(enum_value(short))
    if not isinstance(short, tuple | list) or len(short) == 0:
        rule = "a list of names, (name, value, ...) tuples and features"
        raise ParameterError.of("features", "Schema", rule, short)
    name, *values = map(enum_value, short)
    return Feature(name, tuple(values))


def _extends(new: Feature, old: Feature) -> bool:
    if new.name != old.name or new.nominal != old.nominal or (old.missing and not new.missing):
        return False
    return old.values is None or (new.values or ())[: len(old.values)] == old.values


def distinct(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Make feature names distinct: add a prime to each name that an earlier feature already has.

    Examples
    --------
    >>> date = Feature("sent (day)", column="sent", part="day")
    >>> [(one.name, one.source) for one in distinct([date, Feature("sent (day)")])]
    [('sent (day)', 'sent'), ("sent (day)'", 'sent (day)')]
    """
    found: dict[str, Feature] = {}
    for one in features:
        name = one.name
        while name in found:
            name += "'"
        if name != one.name:
            part = one.part or ("name" if one.nominal else "number")
            one = replace(one, name=name, column=one.source, part=part)  # noqa: PLW2901
        found[name] = one
    return tuple(found.values())


def schema_plain(schema: Schema) -> dict[str, Any]:
    """Convert a schema to plain data, which can be stored as JSON."""
    features = []
    for one in schema.features:
        reading = one.written, one.column, one.part, one.shared
        features.append([one.name, one.values, one.missing, *(reading if any(reading) else ())])
    plain: dict[str, Any] = {"features": features, "classes": list(schema.classes)}
    if schema.numeric:
        plain["numeric"] = True
    return plain | {name: list(found) for name in ("words", "ignored") if (found := getattr(schema, name))}


def schema_of(plain: object) -> Schema:
    """Create a schema from the result of `schema_plain`."""
    match plain:
        case {"features": list(features), "classes": list(classes), **rest}:
            words, ignored = (_tuple(rest.get(name, [])) for name in ("words", "ignored"))
            try:
                found = tuple(map(_feature_of, features))
                return Schema(found, tuple(classes), cast(Any, rest.get("numeric", False)), words, ignored)
            except ParameterError as error:
                raise DataError(str(error)) from None
    raise DataError(f"A schema must have features and classes. Got {plain!r:.80} instead.")


def _feature_of(plain: object) -> Feature:
    match plain:
        case [name, values, missing, *reading] if len(reading) in (0, 4):
            return Feature(cast(Any, name), _tuple(values), cast(Any, missing), *cast(Any, reading))
    rule = "A feature must be a list [name, values or null, missing, ...]."
    raise DataError(f"{rule} Got {plain!r:.80} instead.")


def _tuple(value: Any) -> Any:
    """Convert a list to a tuple; return other values unchanged."""
    return tuple(value) if isinstance(value, list) else value
