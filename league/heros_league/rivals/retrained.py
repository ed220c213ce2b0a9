"""LightGBM and XGBoost, retrained every 1,000 instances, on a window or on all instances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.schema import Schema
from heros_league.packages import package
from heros_league.rivals.classifiers import Rival

__all__ = ["BOOSTERS", "NUMBER_BOOSTERS", "Retrained", "lightgbm", "xgboost"]

ROUNDS = 100  # the default number of trees of both libraries
EVERY, FIRST = 1000, 50

Row = NDArray[np.float64]
Predictor = Callable[[Row], Row]  # of one instance; probabilities of all classes, or a number
Fit = Callable[[Row, Row, Schema, int], Predictor]  # of features, targets, schema and seed


class Retrained:
    """A model that is retrained every 1,000 instances on the most recent instances.

    The first trainings come after 50, 100, 200, 400, 800 and 1,600 instances, so that small data sets get a
    model too.

    Parameters
    ----------
    fit
        A function of features, targets, schema and seed that returns a predictor.
    window
        The number of instances to train on; None for all.
    seed
        The random seed of each training.

    Examples
    --------
    >>> model = Retrained(lambda X, y, schema, seed: lambda x: float(y.mean()), window=60)
    >>> model.bind(Schema.of(["age"]))
    >>> for y in range(100):
    ...     model.learn(np.zeros(1), y)
    >>> model.predict(np.zeros(1))
    69.5
    """

    def __init__(self, fit: Fit, window: int | None, seed: int = 1) -> None:
        self.fit, self.window, self.seed = fit, window, seed
        self.seen, self.next, self.held = 0, FIRST, 0
        self.y = np.empty(2 * (window or EVERY))
        self.X = np.empty((len(self.y), 0))
        self.predictor: Predictor | None = None

    def __repr__(self) -> str:
        return f"Retrained({self.fit.__name__}, window={self.window})"

    def bind(self, schema: Schema) -> None:
        """Set the schema; instances from before the schema grew have no values of new features."""
        self.schema = schema
        X = np.full((len(self.y), schema.n_features), np.nan)
        X[: self.held, : self.X.shape[1]] = self.X[: self.held]
        self.X = X

    def predict_proba(self, x: Row) -> Any:
        """Return the class probabilities; None before the first training."""
        return None if self.predictor is None else self.predictor(x)

    def predict(self, x: Row) -> Any:
        """Return the predicted number; before the first training the mean so far."""
        if self.predictor is not None:
            return self.predictor(x)
        return float(self.y[: self.held].mean()) if self.held else None

    def learn(self, x: Row, y: float) -> None:
        """Store the instance, and train if it is time."""
        if self.held == len(self.y):
            self._make_room()
        self.X[self.held], self.y[self.held] = x, y
        self.held, self.seen = self.held + 1, self.seen + 1
        if self.seen == self.next:
            self.next += min(self.next, EVERY)
            rows = slice(max(0, self.held - (self.window or self.held)), self.held)
            self.predictor = self._trained(self.X[rows], self.y[rows])

    def _make_room(self) -> None:
        """Keep only the window, or double the space if all instances are kept."""
        if self.window is None:
            self.X, self.y = (np.concatenate([a, np.empty_like(a)]) for a in (self.X, self.y))
            return
        for array in (self.X, self.y):
            array[: self.window] = array[self.held - self.window : self.held]
        self.held = self.window

    def _trained(self, X: Row, y: Row) -> Predictor:
        if not self.schema.numeric and (y == y[0]).all():  # a single class cannot be boosted
            votes = np.eye(self.schema.n_classes)[int(y[0])]
            return lambda x: votes
        return self.fit(X, y, self.schema, self.seed)


def lightgbm(X: Row, y: Row, schema: Schema, seed: int) -> Predictor:
    """Train LightGBM with its defaults: 100 trees of 31 leaves, learning rate .1; one thread."""
    library = package("lightgbm", "A rival from LightGBM")
    parameters = {
        **_goal(schema, "regression", "binary", "multiclass"),
        "num_threads": 1,
        "verbosity": -1,
        "seed": seed,
    }
    nominal = [i for i, feature in enumerate(schema.features) if feature.nominal]
    data = library.Dataset(X, y, categorical_feature=nominal, params={"verbosity": -1, "num_threads": 1})
    booster = library.train(parameters, data, ROUNDS)
    return _shaped(lambda x: booster.predict(x[np.newaxis], num_threads=1)[0], schema)


def xgboost(X: Row, y: Row, schema: Schema, seed: int) -> Predictor:
    """Train XGBoost with its defaults: 100 trees of depth 6, learning rate .3; one thread."""
    library = package("xgboost", "A rival from XGBoost")
    parameters = {
        **_goal(schema, "reg:squarederror", "binary:logistic", "multi:softprob"),
        "nthread": 1,
        "verbosity": 0,
        "seed": seed,
    }
    kinds = ["c" if feature.nominal else "q" for feature in schema.features]
    data = library.DMatrix(X, y, feature_types=kinds, enable_categorical=True, nthread=1)
    booster = library.train(parameters, data, ROUNDS)
    return _shaped(lambda x: booster.inplace_predict(x[np.newaxis])[0], schema)


def _goal(schema: Schema, number: str, two: str, several: str) -> dict[str, Any]:
    """Return the objective for this target, and the number of classes if there are more than two."""
    if schema.numeric:
        return {"objective": number}
    return (
        {"objective": two} if schema.n_classes == 2 else {"objective": several, "num_class": schema.n_classes}
    )


def _shaped(predict: Callable[[Row], Any], schema: Schema) -> Predictor:
    """Return a predictor of both classes where the booster predicts only the second class."""
    if schema.n_classes != 2:
        return predict

    def both(x: Row) -> Row:
        p = float(predict(x))
        return np.array([1 - p, p])

    return both


LEARNERS: dict[str, tuple[str, Fit]] = {"lightgbm": ("LightGBM", lightgbm), "xgboost": ("XGBoost", xgboost)}


def _retrained(library: str, window: int | None, seed: int, n: int) -> Retrained:
    package(library, f"A rival from {LEARNERS[library][0]}")  # imported before time is measured
    return Retrained(LEARNERS[library][1], window, seed)


def _booster(library: str, window: int | None) -> Rival:
    label = f"{LEARNERS[library][0]}, {'all' if window is None else f'last {window:,}'}"
    return Rival(library, f"{library}1", 1, partial(_retrained, library, window), label, random=False)


BOOSTERS = {
    f"{library}_{name}": _booster(library, window)
    for library in LEARNERS
    for name, window in {"5k": 5_000, "20k": 20_000, "all": None}.items()
}
"""LightGBM and XGBoost, retrained on a window or on all; their defaults make no random choices."""

NUMBER_BOOSTERS = {name: rival for name, rival in BOOSTERS.items() if not name.endswith("_20k")}
"""The boosters for regression, whose streams have 20,000 instances at most."""
