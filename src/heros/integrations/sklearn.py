"""HEROS as a classifier and a regressor of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros.ensemble import Heros
from heros.errors import DataError, MissingExtra, ParameterError
from heros.integrations.frames import FEW, FrameColumns, is_frame, names_of
from heros.policies import Policy
from heros.pools import Pool
from heros.data.schema import Feature, Schema
from heros.scores import Score
from heros.data.check import target_numbers
from heros.watch import Answer, Watch

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    if error.name != "sklearn":  # it is there, but something it needs is not
        raise
    raise MissingExtra.of("heros.integrations.sklearn", "sklearn") from None

__all__ = ["HerosClassifier", "HerosRegressor"]


class _Estimator(BaseEstimator):  # type: ignore[misc]  # it has no types
    """What a classifier and a regressor share: from rows to what the core takes."""

    _columns: FrameColumns | None  # None while only arrays were learnt from

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        running_score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        warmup: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.pool = pool
        self.policy = policy
        self.k = k
        self.running_score = running_score
        self.answer = answer
        self.watch = watch
        self.warmup = warmup
        self.random_state = random_state

    # -- parameters of the parts: policy__zeta ----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, those of policy, running score and answer as well: ``policy__zeta``.

        Examples
        --------
        >>> from heros import policies
        >>> model = HerosClassifier(policy=policies.Explore(policies.Zeta(0.05), 0.2))
        >>> model.get_params()["policy__epsilon"], model.get_params()["policy__policy__zeta"]
        (0.2, 0.05)
        >>> model.set_params(policy__zeta=0.1).policy  # or policy__policy__zeta
        Explore(policy=Zeta(zeta=0.1), epsilon=0.2)
        """
        given: dict[str, Any] = super().get_params(deep=False)
        inside = (pair for part in given for pair in _inside(part, given[part])) if deep else ()
        return given | dict(inside)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and those of parts by ``part__parameter``; the part is made anew."""
        known = super().get_params(deep=False)
        for key, value in sorted(params.items(), key=lambda pair: pair[0].count("__")):
            name, _, inside = key.partition("__")
            if name not in known:
                rule = f"among {', '.join(map(repr, known))}"
                raise ParameterError.of("params", "set_params", rule, key)
            setattr(self, name, _changed(self._part(name), inside, value, key) if inside else value)
        return self

    def _part(self, name: str) -> Any:
        """A part; the usual one where none was given."""
        part = getattr(self, name)
        usual = {"policy": "policy", "running_score": "score", "answer": "answer"}.get(name)
        return getattr(Heros(self.pool), usual) if part is None and usual else part

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "heros_")

    def _plain_rows(self, X: Any) -> NDArray[np.float64] | None:
        """A few rows about which there is nothing to ask, as they are; None if they need a closer look.

        scikit-learn's checks take longer than the core: what they would find has to be ruled out here.
        """
        if not hasattr(self, "heros_"):
            return None
        names = getattr(self, "feature_names_in_", None)
        if type(X) is np.ndarray:
            plain = names is None and X.ndim == 2 and X.dtype == np.float64 and 0 < len(X) <= FEW
            fits = plain and X.shape[1] == self.n_features_in_ and self._columns is None
            return X if fits and not np.isinf(X).any() else None
        if self._columns is None or names is None or names_of(X) != names.tolist():
            return None
        return self._columns.known(X)

    def _asked(self, X: Any) -> NDArray[np.float64]:
        """The rows to predict, the short way if there is one."""
        matrix = self._plain_rows(X)
        if matrix is None:
            check_is_fitted(self)
            matrix = self._matrix(X)
        return matrix

    def _rows(self, X: Any, y: ArrayLike, *, first: bool, numbers: bool) -> tuple[NDArray[np.float64], Any]:
        """The rows and their targets, checked; what columns there are is kept."""
        columns = None if first else self._columns
        if is_frame(X):
            validate_data(self, X, y, reset=first, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_consistent_length(X, y)
            columns = FrameColumns(X) if columns is None else columns
            matrix = columns.learn(X)
        else:
            matrix, y = validate_data(
                self, X, y, reset=first, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=numbers
            )
            self._expect_numbers(columns)
        self._new_columns = columns
        return matrix, y

    def _fresh(self, **more: Any) -> Heros:
        return Heros(
            self.pool,
            self.policy,
            self.k,
            score=self.running_score,
            answer=self.answer,
            watch=self.watch,
            warmup=self.warmup,
            seed=self._seed(),
            **more,
        )

    def _matrix(self, X: Any) -> NDArray[np.float64]:
        """The rows to predict."""
        if is_frame(X) and self._columns is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._columns.read(X)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        self._expect_numbers(self._columns)
        return np.asarray(X)

    def _features(self) -> tuple[Feature, ...]:
        if self._columns is not None:
            return self._columns.features
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return tuple(Feature(str(name), missing=True) for name in names)

    def _expect_numbers(self, columns: FrameColumns | None) -> None:
        if columns is not None and columns.nominal:
            rule = f"a data frame, as the one it was fitted on: {columns.nominal} are nominal"
            raise DataError(f"X must be {rule}. Got an array instead.")

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, Integral):
            return self.random_state  # type: ignore[return-value]
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class HerosClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]  # they have no types
    """A heterogeneous online ensemble that trains k of its M models at every step, for scikit-learn.

    The rows are a stream, in their order: `fit` goes through them once, `partial_fit` goes on where the
    last call ended. NaN is a missing value. In a data frame (pandas, polars, Arrow) categorical, string
    and boolean columns are nominal; a value that was never learnt from counts as missing when predicting.

    Parameters
    ----------
    pool, policy, k, answer, watch, warmup
        As for `heros.Heros`.
    running_score
        How the running performance L is kept: the `score` of `heros.Heros`, a name that is taken here.
    class_weight
        What instances count by their label: a mapping, "balanced", or None. As in `heros.Heros`: with
        "balanced" a label's weight follows how often it has come so far, as a stream does not know more.
    random_state
        Of the initial weights and the policy's draws; a whole number is the `seed` of `heros.Heros`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    heros_ : Heros
        The ensemble itself: its `leaderboard()`, `explain_choice()`, bill and everything else.
    n_features_in_, feature_names_in_
        As for every estimator.

    Examples
    --------
    >>> from heros import pools
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> order = np.random.default_rng(1).permutation(len(y))
    >>> model = HerosClassifier(pools.MLPGrid(hidden=[16, 64]), random_state=1).fit(X[order], y[order])
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        pool: Pool | None = None,
        policy: Policy | None = None,
        k: int | None = None,
        *,
        running_score: Score | None = None,
        answer: Answer | None = None,
        watch: Watch = "all",
        warmup: int = 100,
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            pool,
            policy,
            k,
            running_score=running_score,
            answer=answer,
            watch=watch,
            warmup=warmup,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X, one after the other, from scratch. `sample_weight`: what each counts."""
        _expect_some(sample_weight)
        return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X, y
            The rows and their labels.
        classes
            All labels there will be: needed by the first call.
        sample_weight
            What each row counts; 1 if nothing is said.
        """
        first = not hasattr(self, "heros_")
        if first and classes is None:
            raise ParameterError.of("classes", "partial_fit", "given on the first call", classes)
        return self._learn(X, y, classes, sample_weight, first=first)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`, for each row."""
        rows = self._asked(X)
        return np.asarray(self.heros_.predict_proba(rows))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _learn_plain(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> bool:
        """Learn from a few rows and labels about which there is nothing to ask; False if there is."""
        matrix = self._plain_rows(X)
        if matrix is None or not (
            isinstance(y, list) or (hasattr(y, "tolist") and getattr(y, "ndim", 0) == 1)
        ):
            return False
        known = {label: index for index, label in enumerate(self.classes_.tolist())}
        given = y if isinstance(y, list) else y.tolist()  # of an array, or a column of pandas'
        if len(given) != len(matrix) or any(isinstance(label, list | dict) for label in given):
            return False
        labels = [known.get(label, -1) for label in given]
        if -1 in labels:
            return False
        self.heros_.learn(matrix, np.array(labels), sample_weight)
        return True

    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        first: bool,
    ) -> Self:
        if not first and classes is None and self._learn_plain(X, y, sample_weight):
            return self
        matrix, y = self._rows(X, y, first=first, numbers=False)
        check_classification_targets(y)
        known = self._known_classes(y, classes, first)
        labels = _indices(np.asarray(y), known)
        if first:
            self.heros_ = self._fresh(class_weight=self.class_weight)
            self.classes_ = known
        self._columns = self._new_columns
        names = tuple(str(label) for label in self.classes_)
        self.heros_.bind(Schema(self._features(), names)).learn(matrix, labels, sample_weight)
        return self

    def _known_classes(self, y: ArrayLike, classes: ArrayLike | None, first: bool) -> NDArray[Any]:
        if first:
            return np.asarray(unique_labels(y if classes is None else classes))
        known = np.asarray(self.classes_)
        if classes is not None and not np.array_equal(unique_labels(classes), known):
            rule = f"as on the first call, {known.tolist()}"
            raise ParameterError.of("classes", "partial_fit", rule, classes)
        return known


class HerosRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]  # they have no types
    """The ensemble as a regressor: see `HerosClassifier` for rows and parameters.

    Attributes
    ----------
    heros_ : Heros
        The ensemble itself; `heros.task.Regression` says how it learns a number.

    Examples
    --------
    >>> from heros import streams
    >>> X, y = streams.Friedman().draw(3000)
    >>> model = HerosRegressor(random_state=1).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.predict_interval(X[:5]).shape
    (True, (5, 2))
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X, one after the other, from scratch. `sample_weight`: what each counts."""
        _expect_some(sample_weight)
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more rows."""
        return self._learn(X, y, sample_weight, first=not hasattr(self, "heros_"))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """What the target of each row is."""
        rows = self._asked(X)
        return np.asarray(self.heros_.predict(rows))

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """The lower and the upper end of the interval that holds the target of each row."""
        rows = self._asked(X)
        return np.asarray(self.heros_.predict_interval(rows))

    def _learn(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, first: bool) -> Self:
        matrix, y = self._rows(X, y, first=first, numbers=True)
        targets = target_numbers(y, len(matrix))
        if first:
            self.heros_ = self._fresh()
        self._columns = self._new_columns
        schema = Schema(self._features(), (), numeric=True)
        self.heros_.bind(schema).learn(matrix, targets, sample_weight)
        return self


def _expect_some(sample_weight: ArrayLike | None) -> None:
    if sample_weight is None:
        return
    weights = np.asarray(sample_weight)
    if weights.size and not weights.any():
        raise DataError("sample_weight must be above zero somewhere to fit anything. Got zeros alone.")


def _inside(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a part and of those inside it, as ``name__parameter``."""
    if is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value = getattr(part, field.name)
            yield f"{name}__{field.name}", value
            yield from _inside(f"{name}__{field.name}", value)


def _changed(part: Any, path: str, value: Any, key: str) -> Any:
    """The part with another parameter, which may be one of a part inside it."""
    name, _, rest = path.partition("__")
    own = [field.name for field in fields(part)] if is_dataclass(part) else []
    if name in own:
        changed = _changed(getattr(part, name), rest, value, key) if rest else value
        return replace(part, **{name: changed})
    for inner in own:  # Explore(Zeta(0.05), 0.2) has a ζ, too
        if any(found.endswith(f"__{path}") for found, _ in _inside("", getattr(part, inner))):
            return replace(part, **{inner: _changed(getattr(part, inner), path, value, key)})
    rule = "parameters of the parts given" + (f", e.g. {own[0]!r} of {type(part).__name__}" if own else "")
    raise ParameterError.of("params", "set_params", rule, key)


def _indices(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The class index of each label."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(unknown.argmax())
        rule = f"one of the classes {classes.tolist()}"
        raise DataError(f"The label of row {row} must be {rule}. Got {labels[row]!r} instead.")
    return np.searchsorted(classes, labels)
