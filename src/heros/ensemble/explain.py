"""Explanation of one prediction: the contribution of each column, as sampled Shapley values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import ParameterError
from heros._base.tables import Table
from heros.data.codes import Codes
from heros.data.schema import Schema
from heros.ensemble.importance import columns_of

PAIRS = 32  # background instances to compare x with, each in a random order of the columns and its reverse
FEWEST_PAIRS = 4
MOST = 4000  # maximum number of predictions for one explanation, unless there are very many columns
LARGEST = 1 << 26  # maximum size in bytes of the instances of one prediction, unless one order needs more


@dataclass(frozen=True, slots=True)
class Contribution:
    """The contribution of one column to a prediction."""

    name: str
    value: Any  # the original value of the column in the instance; None if it is missing
    contribution: float


@dataclass(frozen=True)
class Contributions:
    """The contributions of all columns to a prediction; `base` plus their sum is `prediction`.

    Parameters
    ----------
    of
        The class whose probability is explained; None if the target is a number.
    base
        The mean prediction for the background instances.
    prediction
        The predicted probability of the class `of` or, for a numeric target, the predicted value.
    columns
        The columns, ordered by the absolute value of the contribution, largest first.
    """

    of: str | None
    base: float
    prediction: float
    columns: tuple[Contribution, ...]

    def plain(self) -> dict[str, Any]:
        """Return the contributions as built-in Python types."""
        of = {} if self.of is None else {"of": self.of}
        columns = [asdict(one) for one in self.columns]
        return of | {"base": self.base, "prediction": self.prediction, "columns": columns}

    def __repr__(self) -> str:
        what = "prediction" if self.of is None else f"probability of {self.of}"
        table = Table(["column", "value", "added"], [("(base)", "", self.base)])
        for one in self.columns:
            table.add(one.name, "" if one.value is None else one.value, f"{one.contribution:+.4g}")
        table.add(what, "", self.prediction)
        return str(table)


def contributions(
    x: NDArray[np.float64],
    background: NDArray[np.float64],
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    schema: Schema,
    of: str | None = None,
    original: Mapping[Any, Any] | None = None,
) -> Contributions:
    """Return the contribution of each column to the prediction for x, compared with background instances.

    The columns of a background instance are replaced by the columns of x one by one, in a random order and in
    the reverse order. The change of the prediction at each step is assigned to the replaced column. The
    changes of one order add up to the difference between the two predictions (Štrumbelj and Kononenko 2014).

    `predict` returns outputs (n, width) for instances (n, n_features); the model may change between calls.
    `original` is the original instance, whose values are shown in the result.
    """
    requested = None if of is None else Codes(schema.classes).of_number(str(of))
    if requested is not None and requested not in schema.classes:
        raise ParameterError.of("of", "explain", "the name of a class", of)
    columns = columns_of(schema)
    pairs = min(PAIRS, max(FEWEST_PAIRS, MOST // (2 * len(columns))))
    rng = np.random.default_rng(0)
    others = background[np.linspace(0, len(background) - 1, pairs).round().astype(np.int64)]
    permutations = [rng.permutation(len(columns)) for _ in others]
    orders = [order for forward in permutations for order in (forward, forward[::-1])]

    def paths(numbers: range) -> NDArray[np.float64]:
        ways = [_path(x, others[i // 2], [columns[c][1] for c in orders[i]]) for i in numbers]
        return np.concatenate(ways)

    at_once = max(1, LARGEST // (x.nbytes * (len(columns) + 1)))  # all orders, unless there are many columns
    parts = [range(len(orders))[start : start + at_once] for start in range(0, len(orders), at_once)]
    outputs = np.concatenate([predict(paths(part)) for part in parts])
    target = 0
    if not schema.numeric:
        ends = outputs[len(columns) :: len(columns) + 1].mean(axis=0)
        target = int(ends.argmax()) if requested is None else schema.classes.index(requested)
    steps = outputs[:, target].reshape(len(orders), len(columns) + 1)
    added = np.zeros(len(columns))
    for order, change in zip(orders, np.diff(steps, axis=1), strict=True):
        added[order] += change
    added /= len(orders)
    found = [
        Contribution(name, _value(name, features, x, schema, original), float(added[c]))
        for c, (name, features) in enumerate(columns)
    ]
    found.sort(key=lambda one: -abs(one.contribution))
    explained = None if schema.numeric else schema.classes[target]
    return Contributions(explained, float(steps[:, 0].mean()), float(steps[:, -1].mean()), tuple(found))


def _path(x: NDArray[np.float64], other: NDArray[np.float64], order: list[list[int]]) -> NDArray[np.float64]:
    """Return a path of instances from `other` to x: each step replaces one more column by that of x."""
    way = np.repeat(other[np.newaxis], len(order) + 1, axis=0)
    for step, features in enumerate(order, 1):
        way[step:, features] = x[features]
    return way


def _value(
    name: str, features: list[int], x: NDArray[np.float64], schema: Schema, original: Mapping[Any, Any] | None
) -> Any:
    """Return the original value of a column, or else its decoded value."""
    if original is not None:
        return original.get(name)
    code, values = x[features[0]], schema.features[features[0]].values
    if np.isnan(code):
        return None
    return float(code) if values is None else values[int(code)]
