"""Detection of changes without labels, in the distribution of each feature or of the predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import positive, whole
from heros.data.encoder import Encoder
from heros.data.frames import form_of
from heros.data.schema import Schema
from heros.drift.changes import Change, FeatureChange, Floats

FEWEST = 5  # minimum expected count of a category in each sample; rarer categories are merged
ALWAYS_MOVING = ("day", "day of year")  # parts of a date that always change; they are not compared
CYCLES = {"weekday": 7, "hour": 1}  # parts of a date that repeat, and the length of the cycle in days
LEAST_CYCLES = 6  # minimum number of cycles in a window; fewer cycles are not representative


class Monitor:
    """A detector of changes in the distribution of inputs or predictions, without labels.

    The latest instances since the last change are the reference. Each window of new instances is compared
    with the reference: numbers by the Kolmogorov-Smirnov test, categories and the share of missing values by
    the χ² test. With d features, a change is reported if a p-value is at most `alpha` / d (Bonferroni) and
    the distance is at least `least`. The window then becomes the new reference.

    The day since 1970 and the day of the year are not compared, because dates always advance. The
    hour is compared if the window has instances of at least 6 different days, and the weekday if it has
    instances of at least 42 different days. Missing dates are always compared.

    Parameters
    ----------
    schema
        The schema of the instances.
    window
        The number of instances per comparison.
    reference
        The maximum number of reference instances.
    alpha
        The probability of a false alarm per comparison (for all features together).
    least
        The minimum distance that is reported. For numbers, the distance is the maximum difference between the
        distribution functions; for categories, half the sum of the differences between the shares.

    Examples
    --------
    >>> import numpy as np
    >>> from heros import Schema
    >>> rng = np.random.default_rng(1)
    >>> monitor = Monitor(Schema.of(["age", ("colour", "red", "blue")], classes=["no", "yes"]))
    >>> usual = np.column_stack([rng.normal(40, 10, 5000), rng.integers(0, 2, 5000)])
    >>> monitor.update(usual)
    ()
    >>> older = np.column_stack([rng.normal(55, 10, 500), rng.integers(0, 2, 500)])
    >>> [change] = monitor.update(older)
    >>> print(change)
    At instance 5,500 the inputs changed (since about 5,000): age (mean 39.9 to 54.1).
    """

    def __init__(
        self,
        schema: Schema,
        *,
        window: int = 500,
        reference: int = 5000,
        alpha: float = 1e-4,
        least: float = 0.1,
    ) -> None:
        if not isinstance(schema, Schema):
            raise ParameterError.of("schema", "Monitor", "a heros.Schema", schema)
        self.schema = schema
        self.window = whole(window, "window", "Monitor", 50, 1 << 20)
        self.reference = whole(reference, "reference", "Monitor", self.window, 1 << 24)
        self.alpha = positive(alpha, "alpha", "Monitor", 1)
        self.least = positive(least, "least", "Monitor", 1)
        self.seen = 0
        self._changes: list[Change] = []
        self._inputs = _Sample(schema.n_features)
        self._predictions = _Sample(schema.n_outputs)
        values = [one.values for one in schema.features]
        # The largest valid code of each nominal feature; infinite for numeric features.
        self._largest_code = np.array([math.inf if one is None else max(1, len(one)) - 1 for one in values])

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes so far."""
        return tuple(self._changes)

    def update(
        self, x: Any, predictions: ArrayLike | Mapping[str, float] | None = None
    ) -> tuple[Change, ...]:
        """Add one or several instances; return the changes detected.

        Parameters
        ----------
        x
            One or several instances, in a form that `Heros.predict_proba` accepts.
        predictions
            The model's predictions for these instances: probabilities (n, classes) or (classes,), a
            dictionary of probabilities by class, or numbers (n,). Pass predictions in every call or in no
            call.
        """
        X = self._rows(x)
        P = None if predictions is None else self._answers(predictions, len(X))
        if self._predictions.waiting != (0 if P is None else self._inputs.waiting):
            raise DataError("Pass predictions in every call to `update`, or in none of the calls.")
        before, start = len(self._changes), 0
        while start < len(X):
            stop = min(len(X), start + self.window - self._inputs.waiting)
            self._inputs.take(X[start:stop])
            if P is not None:
                self._predictions.take(P[start:stop])
            self.seen += stop - start
            if self._inputs.waiting == self.window:
                self._compare("inputs", self._inputs)
                if self._predictions.waiting == self.window:
                    self._compare("predictions", self._predictions)
            start = stop
        return tuple(self._changes[before:])

    def _rows(self, x: Any) -> Floats:
        if form_of(x) == "array":
            X = np.atleast_2d(_numbers(x, "x"))
        else:
            X = Encoder(self.schema, numeric=self.schema.numeric, fractions=True, seen=1).read(x)
        if X.ndim != 2 or X.shape[1] != self.schema.n_features:
            rule = f"one or several instances with {self.schema.n_features} features each"
            raise DataError(f"x must be {rule}. Got an array of shape {np.shape(x)} instead.")
        codes = np.isfinite(self._largest_code)
        bad = np.isinf(X) | (codes & ((np.floor(X) != X) | (X < 0) | (self._largest_code < X)) & ~np.isnan(X))
        if bad.any():
            j, row = (int(one) for one in np.argwhere(bad.T)[0])
            rule = "finite, or NaN if the value is missing"
            if codes[j]:
                most = int(self._largest_code[j])
                rule = f"a code of a value (a whole number in [0, {most}]), or NaN if the value is missing"
            raise _not_allowed(f"The feature {self.schema.features[j].name!r}", row, rule, X[row, j])
        return X

    def _answers(self, predictions: Any, n: int) -> Floats:
        if isinstance(predictions, Mapping):
            if lacking := [name for name in self.schema.classes if name not in predictions]:
                rule = "predictions must have a probability for each class."
                raise DataError(f"{rule} The class {lacking[0]!r} is missing.")
            predictions = [[predictions[name] for name in self.schema.classes]]
        P = _numbers(predictions, "predictions")
        P = P.reshape(n, -1) if P.ndim < 2 and P.size == n * self.schema.n_outputs else P
        if P.shape != (n, self.schema.n_outputs):
            rule = f"one row of {self.schema.n_outputs} values per instance ({n})"
            raise DataError(f"predictions must be {rule}. Got an array of shape {P.shape} instead.")
        if (bad := np.isinf(P)).any():
            j, row = (int(one) for one in np.argwhere(bad.T)[0])
            name = (self.schema.classes or ("the target",))[j]
            raise _not_allowed(f"The prediction of {name!r}", row, "finite", P[row, j])
        return P

    def _compare(self, kind: Literal["inputs", "predictions"], sample: _Sample) -> None:
        """Compare the window with the reference. Then use the window to extend or replace the reference."""
        usual, recent = sample.usual, sample.recent()
        sample.start(np.concatenate([usual, recent])[-self.reference :])  # a change replaces this reference
        if len(usual) < self.window:
            return
        names: list[tuple[str, tuple[str, ...] | None]]
        names = [(name, None) for name in self.schema.classes or ("prediction",)]
        if kind == "inputs":
            names = [(feature.name, feature.values) for feature in self.schema.features]
        moved, moving = [], self._moving(usual, recent) if kind == "inputs" else frozenset()
        for i, (name, values) in enumerate(names):
            a, b = usual[:, i], recent[:, i]
            if i in moving:
                distance, chance = 0.0, 1.0
            else:
                distance, chance = ks_test(a, b) if values is None else chi2_test(a, b, len(values))
            missing, lacking = chi2_test(np.isnan(a) * 1.0, np.isnan(b) * 1.0, 2)
            if lacking < chance:
                distance, chance = missing, lacking
            if chance * len(names) <= self.alpha and distance >= self.least:
                moved.append((chance, -distance, _described(name, values, a, b, distance, chance)))
        if not moved:
            return
        sample.start(recent)
        features = tuple(change for *_, change in sorted(moved, key=lambda one: one[:2]))
        most = max(change.distance for change in features)
        since = self.seen - self.window
        self._changes.append(Change(kind, self.seen, since, 0.0, most, features=features))

    def _moving(self, usual: Floats, recent: Floats) -> frozenset[int]:
        """Return the features whose values are not compared: parts of dates that change with time."""
        days = {one.source: i for i, one in enumerate(self.schema.features) if one.part == "day"}
        found = {i for i, one in enumerate(self.schema.features) if one.part in ALWAYS_MOVING}
        for i, one in enumerate(self.schema.features):
            if one.part in CYCLES and (day := days.get(one.source)) is not None:
                covered = min(_days(usual[:, day]), _days(recent[:, day]))
                if covered < LEAST_CYCLES * CYCLES[one.part]:
                    found.add(i)
        return frozenset(found)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the reference and the current window as arrays for `restore`, without the changes."""
        kept: dict[str, NDArray[Any]] = {"seen": np.array([self.seen], dtype=np.int64)}
        for name, sample in (("inputs", self._inputs), ("predictions", self._predictions)):
            kept[f"{name}_usual"], kept[f"{name}_recent"] = sample.usual, sample.recent()
        return kept

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned."""
        samples = []
        for name, width in (("inputs", self.schema.n_features), ("predictions", self.schema.n_outputs)):
            sample = _Sample(width)
            for part in (f"{name}_usual", f"{name}_recent"):
                array = state.get(part)
                if array is None or array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != width:
                    shape = f"(n, {width})"
                    raise DataError(f"The state of a Monitor must have an array {part!r} of shape {shape}.")
                if name == "inputs":
                    self._rows(array)
                elif np.isinf(array).any():
                    raise DataError(f"The state of a Monitor must have finite numbers in {part!r}.")
            sample.usual = state[f"{name}_usual"]
            sample.take(state[f"{name}_recent"])
            samples.append(sample)
        inputs, predictions = samples
        if inputs.waiting >= self.window or predictions.waiting not in (0, inputs.waiting):
            rule = f"fewer than {self.window:,} instances in its window, because window={self.window}"
            raise DataError(f"The state of a Monitor must have {rule}. Got {inputs.waiting:,}.")
        seen = state.get("seen", np.empty(0))
        if seen.dtype != np.int64 or seen.shape != (1,) or seen[0] < inputs.waiting:
            raise DataError("The state of a Monitor must have a valid number of instances, 'seen'.")
        self.seen = int(seen[0])
        self._inputs, self._predictions = inputs, predictions


def _numbers(values: Any, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers. The error was: {error}") from None


def _not_allowed(what: str, row: int, rule: str, value: float) -> DataError:
    return DataError(f"{what} (row {row}) must be {rule}. Got {value:g} instead.")


class _Sample:
    """The reference instances, and the newer instances that are compared with them."""

    def __init__(self, width: int) -> None:
        self.usual = np.empty((0, width))
        self._parts: list[Floats] = []
        self.waiting = 0

    def take(self, rows: Floats) -> None:
        self._parts.append(np.array(rows))
        self.waiting += len(rows)

    def recent(self) -> Floats:
        return np.concatenate([self.usual[:0], *self._parts])

    def start(self, usual: Floats) -> None:
        """Start the next comparison, with these instances as the reference."""
        self.usual, self._parts, self.waiting = usual, [], 0


def _days(moments: Floats) -> int:
    return len(np.unique(np.floor(moments[~np.isnan(moments)])))


def _counts(sample: Floats, n: int) -> NDArray[np.int64]:
    return np.bincount(sample[~np.isnan(sample)].astype(np.int64), minlength=n)


def ks_test(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of two samples and its p-value.

    Missing values are ignored.
    """
    a, b = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    if len(a) == 0 or len(b) == 0:
        return 0.0, 1.0
    at = np.concatenate([a, b])
    apart = np.searchsorted(a, at, side="right") / len(a) - np.searchsorted(b, at, side="right") / len(b)
    distance = float(np.abs(apart).max())
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:
        return distance, 1.0
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return distance, min(max(sum(terms), 0.0), 1.0)


def chi2_test(a: Floats, b: Floats, n: int) -> tuple[float, float]:
    """Return the total variation distance of two samples of categories, and the p-value of the χ² test.

    Categories with an expected count below 5 in either sample are merged; missing values are ignored.
    """
    counts = np.stack([_counts(x, n) for x in (a, b)]).astype(float)
    sizes = counts.sum(axis=1, keepdims=True)
    if not sizes.all():
        return 0.0, 1.0
    shares = counts / sizes
    distance = float(np.abs(shares[0] - shares[1]).sum() / 2)
    expected = counts.sum(axis=0) * sizes / sizes.sum()
    rare = (expected < FEWEST).any(axis=0)
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    freedom = counts.shape[1] - 1
    if freedom < 1:
        return distance, 1.0
    expected = counts.sum(axis=0) * sizes / sizes.sum()
    total = float(((counts - expected) ** 2 / expected).sum())
    share = 2 / (9 * freedom)  # Wilson and Hilferty: the cube root of χ² is nearly normal
    normal = ((total / freedom) ** (1 / 3) - (1 - share)) / math.sqrt(share)
    return distance, 0.5 * math.erfc(normal / math.sqrt(2))


def _described(
    name: str, values: tuple[str, ...] | None, a: Floats, b: Floats, distance: float, chance: float
) -> FeatureChange:
    """Describe the change of a feature by its mean, or by the category whose share changed most."""
    lacked, lacks = (float(np.isnan(x).mean()) for x in (a, b))
    value = None
    if values is None:
        before, after = (float(x[~np.isnan(x)].mean()) if not np.isnan(x).all() else math.nan for x in (a, b))
    else:
        shares = [_counts(x, len(values)) / len(x) for x in (a, b)]
        most = int(np.abs(shares[0] - shares[1]).argmax())
        value, before, after = values[most], float(shares[0][most]), float(shares[1][most])
    return FeatureChange(name, value, before, after, lacked, lacks, distance, chance)
