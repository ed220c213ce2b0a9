"""HEROS as a classifier and a regressor for scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import DataError, MissingExtra, ParameterError
from heros._base.lazy import pa
from heros.data.columns import NumberColumn
from heros.data.encoder import Encoder
from heros.data.frames import FEW, is_frame, names_of, rows_of_small_frame
from heros.data.schema import Feature, Schema
from heros.data.values import text_of
from heros.ensemble import Heros
from heros.ensemble.settings import SETTINGS, ModelSettings, heros_of
from heros.scores import Score

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    if error.name != "sklearn":  # scikit-learn is installed, but one of its dependencies is missing
        raise
    raise MissingExtra.of("heros.integrations.sklearn", "sklearn") from None

__all__ = ["HerosClassifier", "HerosRegressor"]

NO_TARGETS = "no_validation"
"""The value that scikit-learn uses if it need not check targets."""


@dataclass(eq=False, repr=False)
class _Estimator(ModelSettings, BaseEstimator):  # type: ignore[misc]  # the library has no types
    """The base class of the classifier and the regressor: parameters, and conversion of rows."""

    _: KW_ONLY
    running_score: Score | None = None
    random_state: int | np.random.RandomState | None = None
    heros_: Heros = field(init=False)
    classes_: NDArray[Any] = field(init=False)
    _names: list[str] | None = field(init=False)  # columns of the first frame; None for an array

    # -- parameters of the parts: policy__zeta ----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters and, if `deep` is true, the parameters of the parts, e.g. ``policy__zeta``.

        The parts are the policy, the score and the answer.

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
        """Set parameters; ``part__parameter`` replaces a part with a copy that has the new value."""
        known = super().get_params(deep=False)
        for key, value in sorted(params.items(), key=lambda pair: pair[0].count("__")):
            name, _, inside = key.partition("__")
            if name not in known:
                rule = f"one of {', '.join(map(repr, known))}"
                raise ParameterError.of("params", "set_params", rule, key)
            setattr(self, name, _changed(self._part(name), inside, value, key) if inside else value)
        return self

    def _part(self, name: str) -> Any:
        """Return the part with this name, or the default part if no part was given."""
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

    # -- rows ---------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        plain = self._plain(X)
        if plain is None:
            check_is_fitted(self)
            plain, _ = self._checked(X)
        return self.heros_.answers(plain, 0)  # delay 0: the order of the rows has no effect

    def _plain(self, X: Any) -> Any:
        """Return the rows if there are few rows and they need no checks by scikit-learn; otherwise None.

        For a few rows, the checks take longer than the prediction.
        """
        if not hasattr(self, "heros_"):
            return None
        named = hasattr(self, "feature_names_in_")
        if self._names is not None:
            rows = rows_of_small_frame(X) if named else None
            return rows if rows is not None and [*rows[0]] == self._names else None
        plain = not named and type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64
        fits = plain and 0 < len(X) <= FEW and X.shape[1] == self.n_features_in_
        return X if fits and not np.isinf(X).any() else None

    def _checked(
        self, X: Any, y: Any = NO_TARGETS, *, first: bool = False, numbers: bool = False
    ) -> tuple[Any, Any]:
        """Return the rows (a frame or a matrix) and their targets, checked by scikit-learn."""
        predicting = isinstance(y, str)  # when predicting, there are no targets
        if is_frame(X) and (first or self._names is not None):
            if first or hasattr(self, "n_features_in_"):  # a loaded model reads only known columns
                validate_data(self, X, y, reset=first, skip_check_array=True)
            if not predicting:
                y = column_or_1d(y, warn=True)
                assert_all_finite(y, input_name="y")
                check_consistent_length(X, y)
            return X, y
        if hasattr(X, "toarray"):
            way = "OneHotEncoder(sparse_output=False) or ColumnTransformer(..., sparse_threshold=0)"
            raise TypeError(f"Sparse data was passed for X, but dense data is required. Use {way}.")
        settings = {"reset": first, "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            if predicting:
                X = validate_data(self, X, **settings)
            else:
                X, y = validate_data(self, X, y, y_numeric=numbers, **settings)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            way = "ColumnTransformer(...).set_output(transform='pandas') keeps strings and column names"
            rule = f"X must be an array of numbers or a data frame ({way})."
            raise DataError(f"{rule} The error was: {error}") from None
        return X if first or self._names is None else self._table(X, self._names), y

    def _table(self, X: NDArray[np.float64], names: list[str]) -> pa.Table:
        """Convert an array to a table with the columns of the first frame; all columns must be numeric."""
        columns = self.heros_.encoder().columns
        others = [name for name, column in columns.items() if not isinstance(column, NumberColumn)]
        if others:
            rule = f"a data frame as in fit, because the columns {others} are not numeric"
            raise DataError(f"X must be {rule}. Got an array instead.")
        if X.shape[1] != len(names):
            raise DataError(f"X must have {len(names)} features. Got {X.shape[1]} instead.")
        return pa.table(dict(zip(names, X.T, strict=True)))

    def _new_ensemble(self, X: Any, classes: tuple[str, ...], **more: Any) -> tuple[Heros, list[str] | None]:
        """Return a new ensemble, and the names of the columns if the first rows are a frame."""
        numeric, names = not classes, getattr(self, "feature_names_in_", None)
        task = "regression" if numeric else "classification"
        heros = heros_of(self, task=task, score=self.running_score, seed=self._seed(), **more)
        if is_frame(X):
            heros.read_with(Encoder(Schema((), classes, numeric)))
            return heros, [str(name) for name in (names_of(X) or () if names is None else names)]
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else names
        features = tuple(Feature(str(name), missing=True) for name in names)
        return heros.bind(Schema(features, classes, numeric)), None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file for `load`, `heros.Heros.load` and ``heros serve``.

        The file has the parameters and the learnt state of the ensemble, but no code. Labels are stored as
        strings, and a loaded classifier predicts strings.

        Examples
        --------
        >>> import os, tempfile
        >>> X, y = [[1.0], [2.0]] * 50, ["low", "high"] * 50
        >>> model = HerosClassifier(random_state=1).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     model.save(os.path.join(directory, "model.heros"))
        ...     again = HerosClassifier.load(os.path.join(directory, "model.heros"))
        >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        self.heros_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **own: Any) -> Self:
        """Load a model written by `save`, `Heros.save` or ``heros run --save`` as a fitted estimator.

        Frames are read like the training rows of the model; unknown columns are ignored. Labels are the names
        of the classes. Pass user-defined parts as arguments, as for `Heros.load`.

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"price": ["3", "12.50"] * 50})
        >>> model = Heros(k=3, seed=1).learn(frame, ["low", "high"] * 50)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     model.save(os.path.join(directory, "model.heros"))
        ...     again = HerosClassifier.load(os.path.join(directory, "model.heros"))
        >>> again.predict(pd.DataFrame({"price": ["€11", "2.5"]})).tolist()
        ['high', 'low']
        """
        heros = Heros.load(path, **own)
        if heros.schema is None or heros.task.numeric != (not hasattr(cls, "predict_proba")):
            what = "an untrained model" if heros.schema is None else f"a {type(heros.task).__name__} model"
            raise DataError(f"The file {os.fspath(path)} must hold a fitted {cls.__name__}. Got {what}.")
        names = {"score": "running_score", "seed": "random_state"}
        given = {names.get(name, name): getattr(heros, name) for name in SETTINGS}
        model = cls(**{name: value for name, value in given.items() if name in cls._get_param_names()})
        model.heros_, model._names = heros, [*heros.encoder().columns]
        if not heros.task.numeric:
            model.classes_ = np.array(sorted(heros.schema.classes))  # as scikit-learn's metrics expect
        return model

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, Integral):
            return self.random_state  # type: ignore[return-value]
        return int(check_random_state(self.random_state).randint(2**31 - 1))


@dataclass(eq=False, repr=False)
class HerosClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]  # the library has no types
    """A heterogeneous online ensemble that trains k of its M models at each step, for scikit-learn.

    `fit` reads the rows once, in order, as a stream. `partial_fit` continues training. NaN is a missing
    value. The columns of a data frame (pandas, polars, Arrow) may be numbers, numeric strings, categories,
    booleans or dates. In predictions, an unknown category is treated as a missing value.

    Parameters
    ----------
    pool, policy, k, answer, watch, burst, warmup, budget, explainable
        As for `heros.Heros`.
    running_score
        The parameter `score` of `heros.Heros`; in scikit-learn, `score` is a method.
    class_weight
        The weights of instances by label: a mapping, "balanced", or None, as in `heros.Heros`. "balanced"
        uses the frequency of each label so far, since later labels of the stream are not known.
    random_state
        The seed of the initial weights and the policy; a whole number is passed on as the `seed` of
        `heros.Heros`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    heros_ : Heros
        The ensemble, with `leaderboard()`, `explain_choice()` and its other methods.
    n_features_in_, feature_names_in_
        As for every scikit-learn estimator.

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

    _: KW_ONLY
    class_weight: str | Mapping[Any, float] | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a new model on the rows of X, in order. `sample_weight` is the weight of each row."""
        _expect_positive(sample_weight)
        return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training with more rows.

        Parameters
        ----------
        X, y
            The rows and their labels.
        classes
            All labels of the stream; required in the first call.
        sample_weight
            The weight of each row; the default is 1.
        """
        first = not hasattr(self, "heros_")
        if first and classes is None:
            raise ParameterError.of("classes", "partial_fit", "given on the first call", classes)
        return self._learn(X, y, classes, sample_weight, first=first)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, in the order of `classes_`."""
        outputs = self._outputs(X)
        names, known = _names(self.classes_), self.heros_.schema.classes if self.heros_.schema else ()
        return outputs if names == known else outputs[:, [known.index(name) for name in names]]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class for each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _learn(
        self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None, *, first: bool
    ) -> Self:
        y, classes = _as_text(y), _as_text(classes)
        plain = None if first or classes is not None else self._plain(X)
        indices = None if plain is None else self._plain_indices(y, len(plain))
        if indices is None:
            X, y = self._checked(X, y, first=first)
            check_classification_targets(y)
            known = self._known_classes(y, classes, first)
            indices = _indices(np.asarray(y), known).tolist()
        else:
            X, known = plain, self.classes_
        if first:
            heros, columns = self._new_ensemble(X, _names(known), class_weight=self.class_weight)
        else:
            heros, columns = self.heros_, self._names
        labels: Sequence[Any] = indices
        if columns is not None:
            names = _names(known)
            labels = [names[index] for index in indices]
        heros.learn(X, labels, sample_weight)
        self.heros_, self._names, self.classes_ = heros, columns, known
        return self

    def _plain_indices(self, y: Any, n: int) -> list[int] | None:
        """Return the class indices of n labels if all labels are known; else None."""
        if not isinstance(y, list) and not (hasattr(y, "tolist") and getattr(y, "ndim", 0) == 1):
            return None
        known = {label: index for index, label in enumerate(self.classes_.tolist())}
        given = y if isinstance(y, list) else y.tolist()  # an array or a pandas column
        if len(given) != n or any(isinstance(label, list | dict) for label in given):
            return None
        indices = [known.get(label, -1) for label in given]
        return None if -1 in indices else indices

    def _known_classes(self, y: ArrayLike, classes: ArrayLike | None, first: bool) -> NDArray[Any]:
        if first:
            return np.asarray(unique_labels(y if classes is None else classes))
        known = np.asarray(self.classes_)
        if classes is not None and not np.array_equal(unique_labels(classes), known):
            rule = f"the classes of the first call, {known.tolist()}"
            raise ParameterError.of("classes", "partial_fit", rule, classes)
        return known


class HerosRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]  # the library has no types
    """A heterogeneous online ensemble for regression, with the same parameters as `HerosClassifier`.

    Attributes
    ----------
    heros_ : Heros
        The ensemble; `heros.ensemble.task.Regression` describes its task.

    Examples
    --------
    >>> from heros import streams
    >>> X, y = streams.Friedman().draw(3000)
    >>> model = HerosRegressor(random_state=1).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.predict_interval(X[:5]).shape
    (True, (5, 2))
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a new model on the rows of X, in order. `sample_weight` is the weight of each row."""
        _expect_positive(sample_weight)
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Continue training with more rows."""
        return self._learn(X, y, sample_weight, first=not hasattr(self, "heros_"))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted value for each row."""
        return self._outputs(X)[:, 0]

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """Return the lower and upper bounds of the prediction interval for each row."""
        return self._outputs(X)[:, 1:3]

    def _learn(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, first: bool) -> Self:
        X, y = self._checked(X, y, first=first, numbers=True)
        heros, names = self._new_ensemble(X, ()) if first else (self.heros_, self._names)
        heros.learn(X, y, sample_weight)
        self.heros_, self._names = heros, names
        return self


def _expect_positive(sample_weight: ArrayLike | None) -> None:
    if sample_weight is None:
        return
    weights = np.asarray(sample_weight)
    if weights.size and not weights.any():
        raise DataError("sample_weight must have at least one positive value. Got only zeros instead.")


def _inside(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a part and of its inner parts, as ``name__parameter``."""
    if is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value = getattr(part, field.name)
            yield f"{name}__{field.name}", value
            yield from _inside(f"{name}__{field.name}", value)


def _changed(part: Any, path: str, value: Any, key: str) -> Any:
    """Return the part with a changed parameter, which may be a parameter of an inner part."""
    name, _, rest = path.partition("__")
    own = [field.name for field in fields(part)] if is_dataclass(part) else []
    if name in own:
        changed = _changed(getattr(part, name), rest, value, key) if rest else value
        return replace(part, **{name: changed})
    for inner in own:  # e.g. zeta of Explore(Zeta(0.05), 0.2)
        if any(found.endswith(f"__{path}") for found, _ in _inside("", getattr(part, inner))):
            return replace(part, **{inner: _changed(getattr(part, inner), path, value, key)})
    example = f", e.g. {own[0]!r} of {type(part).__name__}" if own else ""
    rule = f"parameters of the estimator's policy, pool or other parts{example}"
    raise ParameterError.of("params", "set_params", rule, key)


def _as_text(labels: Any) -> Any:
    """Return labels, with string enums converted to text; raise an error for text that NumPy would change."""
    if isinstance(labels, list | tuple):
        given = labels
    elif getattr(getattr(labels, "dtype", None), "kind", "") == "O":
        given = labels.tolist()
    else:
        return labels
    for row, label in enumerate(given):
        if isinstance(label, str) and label.endswith("\0"):
            raise DataError(
                f"The label of row {row} must not end with the character \\0. Got {label!r} instead."
            )
    enums = any(isinstance(label, str) and type(label) not in (str, np.str_) for label in given)
    return [text_of(one) if isinstance(one, str) else one for one in given] if enums else labels


def _names(classes: NDArray[Any]) -> tuple[str, ...]:
    return tuple(map(str, classes.tolist()))


def _indices(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(unknown.argmax())
        rule = f"one of the classes {classes.tolist()}"
        raise DataError(f"The label of row {row} must be {rule}. Got {labels[row]!r} instead.")
    return np.searchsorted(classes, labels)
