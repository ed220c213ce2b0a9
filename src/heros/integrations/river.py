"""HEROS as a classifier and a regressor for River."""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError, MissingExtra
from heros._base.lazy import LazyModule
from heros.data.codes import MOST_VALUES, checked_most_values
from heros.data.encoder import Batch, Encoder
from heros.data.schema import Feature, Schema, schema_of, schema_plain
from heros.data.values import BLANKS, Refused, enum_value, label_of, name_of
from heros.data.weights import ClassWeight
from heros.ensemble import Heros, serialization
from heros.ensemble.settings import SETTINGS, ModelSettings, heros_of
from heros.integrations.river_late import LateClassifier, LateRegressor
from heros.scores import Score
from heros.storage import archive

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name != "river":  # River is installed, but one of its dependencies is missing
        raise
    raise MissingExtra.of("heros.integrations.river", "river") from None

if TYPE_CHECKING:
    import pandas as pd
else:  # River works without pandas
    pd = LazyModule("pandas")

__all__ = ["HerosClassifier", "HerosRegressor", "LateClassifier", "LateRegressor"]

KIND = "river model"


@dataclass(eq=False, repr=False)
class _Model(ModelSettings):
    """The base class of the classifier and the regressor: an `Encoder` of rows and a `Heros`."""

    _numeric: ClassVar[bool]

    _: KW_ONLY
    score: Score | None = None
    features: Iterable[str | tuple[str, ...] | Feature] | None = None
    most_values: int | None = MOST_VALUES
    seed: int | None = None
    heros: Heros = field(init=False)
    _encoder: Encoder = field(init=False)
    _first: Schema = field(init=False)  # the schema known at the start

    def __post_init__(self) -> None:
        checked_most_values(self.most_values)
        self.features = None if self.features is None else list(self.features)
        self.heros = heros_of(self, task="regression" if self._numeric else "classification")
        self._first = self._known_from_the_start()
        self._start()

    def _known_from_the_start(self) -> Schema:
        return replace(Schema.of(self.features or ()), numeric=self._numeric)

    def _start(self) -> None:
        """Create the encoder from the schema of the models, or from the initial schema."""
        bound = self.heros.schema is not None
        seen = self.heros.instances if bound else 0
        schema = self.heros.schema or self._first
        self._encoder = Encoder(schema, most_values=self.most_values, seen=seen)
        if not bound and schema.n_features and schema.n_outputs:
            self.heros.bind(schema)

    @property
    def _raw_memory_usage(self) -> int:
        """The memory in bytes, including the compiled core, which River cannot measure."""
        seen: int = super()._raw_memory_usage  # type: ignore[misc]
        return seen + len(pickle.dumps(self.heros))

    def _row(self, x: Mapping[Hashable, Any]) -> NDArray[np.float64]:
        try:
            return np.array([self._encoder.row(x)], dtype=np.float64)
        except Refused as why:
            raise why.error() from None

    def _rows(self, X: pd.DataFrame) -> NDArray[np.float64]:
        if any(map(self._encoder.has_column, X.columns)):
            return self._encoder.read(X)
        return np.full((len(X), self._encoder.schema.n_features), np.nan)

    def _learn_row(self, row: list[float], target: float) -> None:
        X, y = np.array([row], dtype=np.float64), np.array([target], dtype=np.float64)
        self._learn_all([Batch(X, y, self._encoder.schema)])

    def _learn_all(self, batches: Iterable[Batch]) -> None:
        """Learn from batches; batches without features are skipped."""
        try:
            for batch in batches:
                if batch.schema.n_features:
                    self.heros.learn_batch(batch)
                else:
                    self._encoder.seen = 0
        except Exception:
            self._start()  # the encoder's schema must not be larger than that of the models
            raise

    def _learn_frame(self, X: pd.DataFrame, targets: list[Any]) -> None:
        """Learn from the rows of a frame, with the same results as learning one row at a time."""
        if self._encoder.schema.n_features:
            batches = self._encoder.learn(X, targets)
        else:  # the encoder would use the whole frame to infer columns
            batches = self._encoder.batches(zip(X.to_dict("records"), targets, strict=True))
        self._learn_all(batches)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `load` opens; the file contains data only, no code.

        Labels must be strings, numbers or booleans.

        Examples
        --------
        >>> import os, tempfile
        >>> model = HerosClassifier(k=3, seed=1)
        >>> for i in range(200):
        ...     model.learn_one({"size": i % 7}, i % 2 == 0)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     model.save(os.path.join(directory, "model.heros"))
        ...     again = HerosClassifier.load(os.path.join(directory, "model.heros"))
        >>> again.predict_proba_one({"size": 3}) == model.predict_proba_one({"size": 3})
        True
        """
        labels = self._saved_labels()
        document, arrays = serialization.pack(self.heros)
        known = {
            "labels": labels,
            "known": schema_plain(self._encoder.schema),
            "most_values": self.most_values,
        }
        archive.write(path, KIND, {"model": document, **known}, archive.grouped({"model": arrays}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Self:
        """Load a model written by `save`, by `Heros.save` or by ``heros run --save``.

        The loaded model reads rows in the same way as the saved model. If the file was written by
        `Heros.save`, the labels are the class names. Pass user-defined parts as arguments, as for
        `Heros.load`.
        """
        kind, document, arrays = archive.read_one_of(path, (KIND, "model", "checkpoint"))
        try:
            if kind == KIND:
                heros = serialization.unpack(Heros, document["model"], archive.subset(arrays, "model"), **own)
                return cls._of(
                    heros, document["labels"], document["most_values"], schema_of(document["known"])
                )
            return cls._of(Heros.load(path, **own))
        except (DataError, KeyError, TypeError, ValueError) as error:
            place = os.fspath(path)
            raise DataError(f"The file {place} must hold a complete {cls.__name__}. {error}") from None

    @classmethod
    def _of(
        cls,
        heros: Heros,
        labels: list[Any] | None = None,
        most_values: int | None = MOST_VALUES,
        known: Schema | None = None,
    ) -> Self:
        if heros.task.numeric != cls._numeric:
            raise DataError(f"{cls.__name__} does not support the task {type(heros.task).__name__}.")
        if known is not None and heros.schema not in (None, known):
            raise DataError("The schema of the models differs from the schema of the encoder.")
        taken = [name for name in SETTINGS if name in inspect.signature(cls).parameters]
        make: Any = cls  # the classifier or the regressor, which accept these settings
        model: Self = make(**{name: getattr(heros, name) for name in taken}, most_values=most_values)
        model.heros, model._first = heros, known or model._first
        model._take_labels(labels)
        model._start()
        return model

    def _saved_labels(self) -> list[Any] | None:
        return None

    def _take_labels(self, labels: list[Any] | None) -> None:
        """Set the labels loaded from a file."""


@dataclass(eq=False, repr=False)
class HerosClassifier(_Model, base.MiniBatchClassifier):
    """A heterogeneous online ensemble that trains k of its M models at each step, for River.

    Instances are dictionaries. Their values may be numbers, numeric strings, category names, booleans or
    dates. New features, values and labels may appear at any time; the models are then extended. A feature
    that is absent, None or NaN is a missing value. A label is any hashable object.

    Predicting does not change the model; unknown features and values are ignored.

    Parameters
    ----------
    pool, policy, k, score, answer, watch, burst, warmup, budget, explainable, class_weight
        As for `heros.Heros`.
    features
        The features known at the start: a name for a numeric feature, (name, value, ...) for a nominal
        feature, or a `heros.Feature`. Other features are appended when they appear.
    classes
        The labels known at the start.
    most_values
        The maximum number of codes (model inputs) of a nominal feature. If there are more values, new values
        share the last quarter of the codes, and a `heros.DataNotice` is issued. None means no limit.
    seed
        The seed of the initial weights and the policy.

    Attributes
    ----------
    heros : Heros
        The ensemble, with `leaderboard()`, `explain_choice()` and its other methods.

    Examples
    --------
    >>> from heros import pools
    >>> model = HerosClassifier(pools.MLPGrid(hidden=[16]), k=5, seed=1)
    >>> for i in range(300):
    ...     model.learn_one({"size": float(i % 7), "colour": "red" if i % 2 else "blue"}, i % 2 == 0)
    >>> model.predict_one({"size": 3.0, "colour": "blue"})
    True
    >>> sorted(model.predict_proba_one({"colour": "green", "weight": 5}))
    [False, True]
    """

    _numeric = False

    _: KW_ONLY
    class_weight: ClassWeight = None
    classes: Iterable[Hashable] | None = None

    def __post_init__(self) -> None:
        self.classes = None if self.classes is None else [*map(_plain, self.classes)]
        self._labels: dict[Hashable, str] | None = {}  # class names; None if the labels are class names
        for label in self.classes or ():
            self._labels[label] = self._name(label)
        super().__post_init__()

    def _known_from_the_start(self) -> Schema:
        return replace(super()._known_from_the_start(), classes=tuple((self._labels or {}).values()))

    @property
    def _multiclass(self) -> bool:
        return True

    # -- one at a time --------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Learn from one labelled instance."""
        y = _plain(y)
        name = self._name(y)
        row, index = self._encoder.encode_for_training(x, name)
        if self._labels is not None:
            self._labels.setdefault(y, name)
        self._learn_row(row, index)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each known label; empty before the first label."""
        if self.heros.schema is None:
            return {}
        return dict(zip(self._known, self.heros.outputs(self._row(x))[0].tolist(), strict=True))

    # -- many at a time, with the same results ----------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows, in order."""
        labels = [*map(_plain, y.tolist())]
        if self._labels is None:
            self._learn_frame(X, labels)
            return
        for label in dict.fromkeys(labels):
            self._labels.setdefault(label, self._name(label))
        try:
            self._learn_frame(X, [self._labels[label] for label in labels])
        finally:  # drop labels of rows that were not learnt
            classes = {*self._encoder.schema.classes}
            self._labels = {label: name for label, name in self._labels.items() if name in classes}

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each label (columns) for each row."""
        if self.heros.schema is None:
            return pd.DataFrame(index=X.index)
        p = self.heros.outputs(self._rows(X), 0)  # delay 0: each row is predicted independently
        return pd.DataFrame(p, index=X.index, columns=pd.Index(self._known, tupleize_cols=False))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the most probable label for each row; None before the first label."""
        values = np.full(len(X), None, dtype=object)
        if self.heros.schema is not None:
            known = self._known
            values[:] = [known[index] for index in self.heros.outputs(self._rows(X), 0).argmax(axis=1)]
        return pd.Series(values, index=X.index).infer_objects()

    # -- labels --------------------------------------------------------------------------------------------

    @property
    def _known(self) -> list[Any]:
        """The labels in the order of their classes."""
        return [*(self._encoder.schema.classes if self._labels is None else self._labels)]

    def _name(self, label: Hashable) -> Any:
        """Return the unique class name of a label; 1 and "1" are different labels."""
        if self._labels is None:
            return label
        name = self._labels.get(label)
        if name is not None:
            return name
        if label_of(label) is None:
            raise DataError(f"The label must have a value. Got {label!r} instead.")
        taken = {*map(name_of, self._labels.values())}
        names = chain((str(label), repr(label)), (f"{label!r} ({i})" for i in count(len(taken))))
        return next(name.strip(BLANKS) for name in names if name_of(name) not in taken)

    def _saved_labels(self) -> list[Any] | None:
        for label in self._labels or ():
            if type(label) not in (str, int, float, bool):
                raise HerosError(f"Labels must be text, numbers or booleans to be saved. Got {label!r}.")
        return None if self._labels is None else [*self._labels]

    def _take_labels(self, labels: list[Any] | None) -> None:
        self._labels = None if labels is None else dict(zip(labels, self._first.classes, strict=True))
        if labels is not None and len(self._labels or ()) != len(labels):
            raise DataError(f"The labels must be distinct. Got {labels!r}.")


def _plain(label: Hashable) -> Any:
    """Return a label as a plain Python value if it is a NumPy scalar, an enum member or similar."""
    if isinstance(label, np.timedelta64):  # NumPy treats this type as a signed integer
        return label
    if isinstance(label, np.bool_ | np.integer | np.floating | np.str_):
        return label.item()
    return enum_value(label)


class HerosRegressor(_Model, base.MiniBatchRegressor):
    """A heterogeneous online ensemble for regression, with the parameters of `HerosClassifier`.

    Examples
    --------
    >>> from heros import pools
    >>> model = HerosRegressor(pools.Linear([{}, {"optimizer": "pa"}]), k=2, seed=1)
    >>> for i in range(500):
    ...     x = {"size": float(i % 7), "colour": "red" if i % 2 else "blue"}
    ...     model.learn_one(x, 3.0 * (i % 7) + i % 2)
    >>> bool(abs(model.predict_one({"size": 3.0, "colour": "red"}) - 10) < 1)
    True
    """

    _numeric = True

    def learn_one(self, x: Mapping[Hashable, Any], y: float) -> None:
        """Learn from one instance and its target."""
        self._learn_row(*self._encoder.encode_for_training(x, y))

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> float:
        """Return the predicted value; 0 before the first target."""
        return 0.0 if self.heros.schema is None else float(self.heros.outputs(self._row(x))[0, 0])

    def predict_interval_one(self, x: Mapping[Hashable, Any]) -> tuple[float, float]:
        """Return the lower and upper bounds of the prediction interval."""
        if self.heros.schema is None:
            return 0.0, 0.0
        _, low, high, *_ = self.heros.outputs(self._row(x))[0].tolist()
        return low, high

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows, in order."""
        self._learn_frame(X, y.tolist())

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predicted value for each row; 0 before the first target."""
        found = 0.0 if self.heros.schema is None else self.heros.outputs(self._rows(X), 0)[:, 0]
        return pd.Series(found, index=X.index, dtype=float)
