"""HEROS as a classifier and a regressor of River."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from heros.ensemble import Heros
from heros.errors import DataError, HerosError, MissingExtra
from heros.integrations.river_late import LateClassifier, LateRegressor
from heros.policies import Policy
from heros.pools import Pool
from heros.data.schema import Feature, Schema, schema_of, schema_plain
from heros.scores import Score
from heros.storage import archive, models
from heros.data.values import Refused, target_of
from heros.vocabulary import MOST_VALUES, Vocabulary, cell_of, checked_most_values
from heros.watch import Answer, Watch

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name != "river":  # it is there, but something it needs is not
        raise
    raise MissingExtra.of("heros.integrations.river", "river") from None

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HerosClassifier", "HerosRegressor", "LateClassifier", "LateRegressor"]

KIND = "river model"


class _Known:
    """What a classifier and a regressor share: from dictionaries and frames to what the core takes."""

    heros: Heros
    most_values: int | None
    _vocabulary: Vocabulary
    _labels: dict[Hashable, int]  # label -> class index

    @property
    def _raw_memory_usage(self) -> int:
        """In bytes, with what the compiled core holds, which River does not see."""
        seen: int = super()._raw_memory_usage  # type: ignore[misc]
        return seen + len(pickle.dumps(self.heros))

    def _row(self, x: Mapping[Hashable, Any]) -> tuple[list[float], bool]:
        """The instance as the core takes it, and whether all of it is known."""
        try:
            return self._vocabulary.look_up(x)
        except Refused as why:
            raise _data_error(why) from None

    def _block(self, X: pd.DataFrame) -> tuple[NDArray[np.float64], bool]:
        """The rows as the core takes them, and whether all in them is known."""
        block, known = np.full((len(X), self._vocabulary.schema.n_features), math.nan), True
        for name in X.columns:
            place = self._vocabulary.place(name)
            if place is None:
                known = False
                continue
            j, codes = place
            column = X[name]
            if codes is None and column.dtype.kind in "fiu":
                block[:, j] = column.to_numpy(dtype=np.float64, na_value=math.nan)
                continue
            try:
                cells = [
                    math.nan if absent else cell_of(name, value, codes)
                    for value, absent in zip(column.tolist(), column.isna(), strict=True)
                ]
            except Refused as why:
                raise _data_error(why) from None
            known = known and None not in cells
            block[:, j] = [math.nan if cell is None else cell for cell in cells]
        return block, known

    def _bind(self) -> None:
        schema = self._vocabulary.schema
        if schema.n_features > 0 and schema.n_outputs > 0:
            self.heros.bind(schema)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, which `load` opens: data, no code. Labels are text, numbers or booleans.

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
        for label in self._labels:
            if type(label) not in (str, int, float, bool):
                raise HerosError(f"Labels must be text, numbers or booleans to be saved. Got {label!r}.")
        document, arrays = models.pack(self.heros)
        known = {
            "labels": list(self._labels),
            "known": schema_plain(self._vocabulary.schema),
            "most_values": self.most_values,
        }
        archive.write(path, KIND, {"model": document, **known}, archive.grouped({"model": arrays}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Self:
        """What `save` wrote; parts of your own are brought along, as for `Heros.load`."""
        document, arrays = archive.read(path, KIND)
        try:
            heros = models.unpack(Heros, document["model"], archive.subset(arrays, "model"), **own)
            known = schema_of(document["known"])
            labels = dict(zip(document["labels"], range(known.n_classes), strict=True))
            make: Any = cls  # the classes that this is for take all of it
            loaded: Self = make(
                heros.pool,
                heros.policy,
                heros.k,
                score=heros.score,
                answer=heros.answer,
                watch=heros.watch,
                warmup=heros.warmup,
                most_values=document.get("most_values", MOST_VALUES),
                seed=heros.seed,
            )
            loaded._expect_same(heros, known)
        except (DataError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"The file {os.fspath(path)} must hold a whole {cls.__name__}. {error}") from None
        loaded.heros, loaded._labels = heros, labels
        loaded._vocabulary = Vocabulary(known, grows=True, most_values=loaded.most_values)
        return loaded

    def _expect_same(self, heros: Heros, known: Schema) -> None:
        if known.numeric != self._vocabulary.schema.numeric:
            raise DataError("Its target must be of the same kind. Got another one.")
        if heros.data.schema is not None and heros.data.schema != known:
            raise DataError("Its models must know what it knows. Got others.")


class HerosClassifier(_Known, base.MiniBatchClassifier):
    """A heterogeneous online ensemble that trains k of its M models at every step, for River.

    Instances are dictionaries. A number makes a numeric feature, a string or a boolean a nominal one, as
    it first turns up; features, values and labels may come at any time and are appended to what the
    models know. A feature that is absent, None or NaN is missing. A label is anything hashable.

    Predicting changes nothing: a feature or value that was never learnt from is ignored there.

    Parameters
    ----------
    pool, policy, k, score, answer, watch, warmup
        As for `heros.Heros`.
    features
        What is known of the features from the start: a name for a numeric one, (name, value, ...) for
        a nominal one, or a `heros.Feature`. Others are appended in the order of their names.
    classes
        The labels that are known from the start.
    most_values
        How many inputs a nominal feature may have: when there are more values, all that are new share a
        quarter of them, and a `heros.errors.DataNotice` says so. None: one for every value.
    seed
        Of the initial weights and the policy's draws.

    Attributes
    ----------
    heros : Heros
        The ensemble itself: its `leaderboard()`, `explain_choice()`, bill and everything else.

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

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        warmup: int = 100,
        features: Iterable[str | tuple[str, ...] | Feature] | None = None,
        classes: Iterable[Hashable] | None = None,
        most_values: int | None = MOST_VALUES,
        seed: int | None = None,
    ) -> None:
        self.pool, self.policy, self.k = pool, policy, k
        self.score, self.answer, self.watch = score, answer, watch
        self.warmup, self.seed, self.most_values = warmup, seed, checked_most_values(most_values)
        self.features = None if features is None else list(features)
        self.classes = None if classes is None else list(classes)
        self.heros = Heros(pool, policy, k, score=score, answer=answer, watch=watch, warmup=warmup, seed=seed)
        self._labels = {}
        names: list[str] = []
        for label in self.classes or ():
            names.append(_class_name(label, names))
            self._labels[label] = len(self._labels)
        known = Schema.of(self.features or (), names)
        known = Schema(tuple(replace(f, missing=True) for f in known.features), known.classes)
        self._vocabulary = Vocabulary(known, grows=True, most_values=most_values)
        self._bind()

    @property
    def _multiclass(self) -> bool:
        return True

    # -- one at a time --------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Learn from one labelled instance."""
        row, known = self._row(x)
        label = self._labels.get(y)
        if not known or label is None:
            self._grow(x, y)
            row, _ = self._row(x)
            label = self._labels[y]
        if self.heros.data.schema is not None:  # else no instance has had a feature yet: nothing to learn from
            self.heros.learn(np.array(row, dtype=np.float64), label)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label seen so far; empty before the first."""
        if self.heros.data.schema is None:
            return {}
        row, _ = self._row(x)
        p = self.heros.predict_proba(np.array(row, dtype=np.float64))
        return dict(zip(self._labels, p.tolist(), strict=True))

    # -- many at a time, with the same results ----------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows, one after the other."""
        block, known = self._block(X)
        labels = [self._labels.get(label) for label in y.tolist()]
        if known and None not in labels and self.heros.data.schema is not None:
            self.heros.learn(block, np.array(labels))
            return
        rows = X.astype(object).where(X.notna(), None).to_dict("records")
        for x, label in zip(rows, y.tolist(), strict=True):
            self.learn_one(x, label)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each label (columns) for each row."""
        import pandas as pd  # noqa: PLC0415 - River works without it

        if self.heros.data.schema is None:
            return pd.DataFrame(index=X.index)
        p = self.heros.predict_proba(self._block(X)[0])
        return pd.DataFrame(p, index=X.index, columns=pd.Index(list(self._labels), tupleize_cols=False))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The most probable label of each row; None before the first."""
        import pandas as pd  # noqa: PLC0415 - River works without it

        labels: list[Hashable] = [None] * len(X)
        if self.heros.data.schema is not None:
            known = list(self._labels)
            labels = [known[index] for index in self.heros.predict_proba(self._block(X)[0]).argmax(axis=1)]
        values = np.empty(len(labels), dtype=object)
        values[:] = labels
        return pd.Series(values, index=X.index).infer_objects()

    # -- what is known -----------------------------------------------------------------------------------

    def _grow(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Append the features, values and the label that are new; nothing, if anything is wrong."""
        classes = self._vocabulary.schema.classes
        known = self._labels.get(y)
        name = _class_name(y, classes) if known is None else classes[known]
        try:  # in the order of the names: the order in a dictionary must not matter
            self._vocabulary.encode({key: x[key] for key in sorted(x, key=str)}, name, started=True)
        except Refused as why:
            raise _data_error(why) from None
        self._labels.setdefault(y, len(self._labels))
        self._bind()


class HerosRegressor(_Known, base.MiniBatchRegressor):
    """The ensemble as a regressor of River: see `HerosClassifier` for instances and parameters.

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

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        warmup: int = 100,
        features: Iterable[str | tuple[str, ...] | Feature] | None = None,
        most_values: int | None = MOST_VALUES,
        seed: int | None = None,
    ) -> None:
        self.pool, self.policy, self.k = pool, policy, k
        self.score, self.answer, self.watch = score, answer, watch
        self.warmup, self.seed, self.most_values = warmup, seed, checked_most_values(most_values)
        self.features = None if features is None else list(features)
        self.heros = Heros(
            pool,
            policy,
            k,
            task="regression",
            score=score,
            answer=answer,
            watch=watch,
            warmup=warmup,
            seed=seed,
        )
        self._labels = {}
        known = Schema.of(self.features or ())
        features_known = tuple(replace(f, missing=True) for f in known.features)
        self._vocabulary = Vocabulary(
            Schema(features_known, (), numeric=True), grows=True, most_values=most_values
        )
        self._bind()

    def learn_one(self, x: Mapping[Hashable, Any], y: float) -> None:
        """Learn from one instance and its target."""
        row, known = self._row(x)
        if not known:
            try:  # in the order of the names: the order in a dictionary must not matter
                self._vocabulary.encode({key: x[key] for key in sorted(x, key=str)}, y, started=True)
            except Refused as why:
                raise _data_error(why) from None
            self._bind()
            row, _ = self._row(x)
        if self.heros.data.schema is not None:  # else no instance has had a feature yet: nothing to learn from
            self.heros.learn(np.array(row, dtype=np.float64), _target(y))

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> float:
        """What the target is; 0 before the first."""
        if self.heros.data.schema is None:
            return 0.0
        return float(self.heros.predict(np.array(self._row(x)[0], dtype=np.float64)))

    def predict_interval_one(self, x: Mapping[Hashable, Any]) -> tuple[float, float]:
        """The lower and the upper end of the interval that holds the target."""
        if self.heros.data.schema is None:
            return 0.0, 0.0
        low, high = self.heros.predict_interval(np.array(self._row(x)[0], dtype=np.float64)).tolist()
        return low, high

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows, one after the other."""
        block, known = self._block(X)
        if known and self.heros.data.schema is not None:
            plain = y.dtype.kind in "biuf"
            self.heros.learn(block, y.to_numpy() if plain else [_target(one) for one in y.tolist()])
            return
        rows = X.astype(object).where(X.notna(), None).to_dict("records")
        for x, target in zip(rows, y.tolist(), strict=True):
            self.learn_one(x, target)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """What the target of each row is; 0 before the first."""
        import pandas as pd  # noqa: PLC0415 - River works without it

        told = self.heros.data.schema is not None
        return pd.Series(self.heros.predict(self._block(X)[0]) if told else 0.0, index=X.index, dtype=float)


def _data_error(why: Refused) -> DataError:
    what = "label" if why.column == "label" else f"feature {why.column!r}"
    return DataError(f"The {what} must {why.rule}. Got {why.value} instead.")


def _target(y: Any) -> float:
    try:
        return target_of(y)
    except Refused as why:
        raise _data_error(why) from None


def _class_name(label: Hashable, taken: Iterable[str]) -> str:
    """A name for a label that no other one has: 1 and "1" are two labels."""
    if label is None or label != label:  # noqa: PLR0124 - NaN
        raise DataError(f"The label must have a value. Got {label!r} instead.")
    names = set(taken)
    for name in (str(label), repr(label)):
        if name not in names:
            return name
    return f"{label!r} ({len(names)})"
