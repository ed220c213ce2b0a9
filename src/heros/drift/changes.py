"""Records of detected changes: kind, start, size and end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base.tables import distinguishing_settings, settings_text

SURE = 3.0  # a class is listed if its error or its share changed by more standard errors than this
MOST_DIGITS = 15
EXACT = 0.1  # maximum relative error of the difference of two printed numbers
CLOSE = 1000  # `since` is shown as an estimate if it is at most this many instances before the detection
AROUND = 500  # a change of the ensemble includes drops of single models up to this many instances earlier

Floats = NDArray[np.float64]
Raw = tuple[Floats, Floats, Floats]
"""A change in the format of the compiled core (`native/core/changes.hpp`): numbers, classes, scores."""


@dataclass(frozen=True, slots=True)
class ClassChange:
    """The change in one class's error rate and frequency."""

    name: str
    error_before: float
    error_after: float
    share_before: float
    share_after: float


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The score L of a model before a change, its minimum since then, and its value at the end (or now)."""

    model: int  # the index of the model in the pool
    name: str
    before: float
    lowest: float
    after: float


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """The change in the distribution of one feature, or of the predicted probability of one class."""

    name: str
    value: str | None  # the category whose share changed most; None for a numeric feature
    before: float  # the mean, or the share of the category
    after: float
    missing_before: float  # shares of missing values
    missing_after: float
    distance: float  # distance between the distributions, in [0, 1]
    chance: float  # the p-value, not corrected for the number of features

    def __str__(self) -> str:
        if abs(self.missing_after - self.missing_before) >= self.distance:
            return f"{self.name} (missing {_percent(self.missing_before)} to {_percent(self.missing_after)})"
        if self.value is None:
            before, after = _distinct_texts(self.before, self.after, 3)
            return f"{self.name} (mean {before} to {after})"
        return f"{self.name} ({self.value} {_percent(self.before)} to {_percent(self.after)})"


@dataclass(frozen=True, slots=True)
class Change:
    """A detected change; `str(change)` describes it in a sentence.

    Instances are counted from 1, among all instances that the model has learnt (`Heros.changes`) or among
    the instances of a run (`Run.changes`).

    Parameters
    ----------
    kind
        "error": the ensemble's error rose. "model": the score L of one model fell while the ensemble's
        error did not rise. "inputs", "predictions": the distribution of the inputs or of the predictions
        changed (`heros.drift.Monitor`).
    at
        The instance at which the change was detected.
    since
        The instance at which the change began, estimated from the losses if a run keeps its predictions.
        Otherwise, `since` is the start of the detector's window, and the change began between `since` and
        `at`.
    before, after
        The error before the change and during the change. The error is the share of wrong predictions or, for
        numeric targets, the mean absolute error. `after` covers the first 1,000 instances of the change or,
        if a run estimates `since`, the instances from `since` to the detection. For the kind "model", the two
        values are the score L before and during the change. For inputs and predictions, `before` is 0 and
        `after` is the maximum distance between the distributions.
    ended
        The instance at which the change ended; None while the change lasts. Only for the kind "error".
    recovered
        Whether the error had recovered when the change ended: at most a tenth of the rise remained, or the
        rest could be due to chance. A change also ends at the next change, or after 20,000
        instances.
    classes
        The classes whose error or share of the instances changed by more than three standard errors. The
        class with the largest change, measured in standard errors, comes first.
    models
        All models or, for the kind "model", only the model whose score fell.
    features
        The features (for predictions, the classes) whose distribution changed, lowest p-value first.
    numeric
        Whether the target is a number.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Drift(streams.RandomRBF(), streams.RandomRBF(model_seed=2), position=3000)
    >>> model = Heros(pools.MLPGrid(hidden=[16]), k=3, seed=1, schema=stream.schema).learn(*stream.draw(5000))
    >>> [change] = [change for change in model.changes if change.kind == "error"]
    >>> 3000 < change.at < 3300, change.before < change.after
    (True, True)
    >>> print(change)
    At instance 3,... the error rose from ... % to ... % (since about ...)...
    """

    kind: Literal["error", "model", "inputs", "predictions"]
    at: int
    since: int
    before: float
    after: float
    ended: int | None = None
    recovered: bool = False
    classes: tuple[ClassChange, ...] = ()
    models: tuple[ModelChange, ...] = ()
    features: tuple[FeatureChange, ...] = ()
    numeric: bool = False

    @property
    def size(self) -> float:
        """The rise of the error, or the fall of the model's score."""
        return abs(self.after - self.before)

    @property
    def recovery(self) -> int | None:
        """The number of instances from detection until the error recovered; None if it has not recovered."""
        return self.ended - self.at if self.recovered and self.ended is not None else None

    @property
    def best_before(self) -> ModelChange | None:
        """The model with the highest score before the change."""
        return max(self.models, key=lambda model: model.before, default=None)

    @property
    def best_after(self) -> ModelChange | None:
        """The model with the highest score after the change; None if it is the same model as before."""
        best = max(self.models, key=lambda model: model.after, default=None)
        return None if best == self.best_before else best

    def __str__(self) -> str:
        if self.kind in ("inputs", "predictions"):
            changed = ", ".join(map(str, self.features[:3]))
            more = f" and {len(self.features) - 3} more" if len(self.features) > 3 else ""
            when = f"At instance {self.at:,} the {self.kind} changed (since about {self.since:,})"
            return f"{when}: {changed}{more}."
        if self.kind == "model":
            [model] = self.models
            return (
                f"At instance {self.at:,} the score of model {model.model} ({model.name}) fell from "
                f"{model.before:.3f} to {model.after:.3f} ({self._beginning()})."
            )
        what, before, after = "error", _percent(self.before), _percent(self.after)
        if self.numeric:
            what, (before, after) = "mean absolute error", _distinct_texts(self.before, self.after, 4)
        rise = f"At instance {self.at:,} the {what} rose from {before} to {after} ({self._beginning()})"
        most = [text for changed in self.classes if (text := _cause_text(changed))][:2]
        parts = [rise, *([f"most affected: {', '.join(most)}"] if most else []), self._ending()]
        new, old = self.best_after, self.best_before
        if new is not None and old is not None:
            parts.append(f"model {new.model} ({new.name}) took over from model {old.model} ({old.name})")
        return "; ".join(parts) + "."

    def _beginning(self) -> str:
        if self.at - self.since <= CLOSE:
            return f"since about {self.since:,}"
        return f"the change began between {self.since:,} and {self.at:,}"

    def _ending(self) -> str:
        if self.recovery is not None:
            return f"the error recovered after {self.recovery:,} instances"
        if self.ended is None:
            return "the error has not recovered yet"
        return f"the error had not recovered after {self.ended - self.at:,} instances"

    def plain(self) -> dict[str, Any]:
        """Return the change as plain data for `from_plain`.

        Examples
        --------
        >>> change = Change("error", 3100, 2950, 0.1, 0.3, 4250, True)
        >>> change.plain()["at"], Change.from_plain(change.plain()) == change, str(change)
        (3100, True, 'At instance 3,100 the error rose from 10.0 % to 30.0 % (since about 2,950); the
        error recovered after 1,150 instances.')
        """
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Change:
        """Create a change from the data that `plain` returned."""
        parts = {
            "classes": tuple(ClassChange(**one) for one in plain["classes"]),
            "models": tuple(ModelChange(**model) for model in plain["models"]),
            "features": tuple(FeatureChange(**feature) for feature in plain["features"]),
        }
        return cls(**{**plain, **parts})


def changes_of(
    noted: Iterable[Raw], configurations: Sequence[Mapping[str, Any]], classes: Sequence[str], numeric: bool
) -> tuple[Change, ...]:
    """Return the changes that the compiled core has recorded, in the order of detection.

    A drop of a single model during a change of the ensemble is not reported separately.
    """
    names = [
        settings_text(one) or f"model {i}" for i, one in enumerate(distinguishing_settings(configurations)[0])
    ]
    found = [_change(event, names, classes, numeric) for event in noted]
    spans = [(c.since - AROUND, math.inf if c.ended is None else c.ended) for c in found if c.kind == "error"]
    covered = [c.kind != "error" and any(low <= c.at <= high for low, high in spans) for c in found]
    return tuple(change for change, hidden in zip(found, covered, strict=True) if not hidden)


def counted_from(changes: Iterable[Change], start: int) -> tuple[Change, ...]:
    """Return the changes detected after instance `start`, with positions relative to `start`."""
    found = []
    for one in changes:
        if one.at > start:
            ended = None if one.ended is None else one.ended - start
            found.append(replace(one, at=one.at - start, since=max(one.since - start, 0), ended=ended))
    return tuple(found)


def _change(event: Raw, names: Sequence[str], classes: Sequence[str], numeric: bool) -> Change:
    numbers, counts, scores = event
    model, at, since, ended, recovered, before, during, _ = numbers.tolist()
    if model >= 0:
        i = int(model)
        single = ModelChange(i, names[i], before, during, during)
        return Change("model", int(at), int(since), before, during, models=(single,), numeric=numeric)
    return Change(
        kind="error",
        at=int(at),
        since=int(since),
        before=before,
        after=during,
        ended=None if ended < 0 else int(ended),
        recovered=bool(recovered),
        classes=_changed_classes(counts.reshape(-1, 4), classes),
        models=tuple(ModelChange(i, names[i], *of) for i, of in enumerate(scores.reshape(-1, 3).tolist())),
        numeric=numeric,
    )


def _changed_classes(counts: Floats, names: Sequence[str]) -> tuple[ClassChange, ...]:
    """Return the changed classes, ordered by the size of the change, measured in standard errors."""
    if len(counts) == 0:
        return ()
    n_before, wrong_before, n_after, wrong_after = counts.T
    all_before, all_after = n_before.sum(), n_after.sum()
    errors = _standard_errors(wrong_before, n_before, wrong_after, n_after)
    shares = _standard_errors(n_before, all_before, n_after, all_after)
    apart = np.maximum(errors, shares)
    order = np.argsort(-apart, kind="stable")
    return tuple(
        ClassChange(
            names[c],
            _share(wrong_before[c], n_before[c]),
            _share(wrong_after[c], n_after[c]),
            _share(n_before[c], all_before),
            _share(n_after[c], all_after),
        )
        for c in order.tolist()
        if apart[c] > SURE
    )


def _standard_errors(a: Any, n: Any, b: Any, m: Any) -> Floats:
    """Return the size of the difference between the shares a/n and b/m, measured in standard errors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (a + b) / (n + m)
        difference = np.abs(a / n - b / m) / np.sqrt(share * (1 - share) * (1 / n + 1 / m))
    finite: Floats = np.nan_to_num(difference, nan=0.0, posinf=0.0)
    return finite


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def _distinct_texts(before: float, after: float, digits: int) -> tuple[str, str]:
    """Return two numbers as text, with enough digits to show their difference."""
    for more in range(digits, MOST_DIGITS + 1):
        texts = f"{before:.{more}g}", f"{after:.{more}g}"
        shown = float(texts[1]) - float(texts[0])
        if abs(shown - (after - before)) < EXACT * abs(after - before):
            return texts
    return f"{before:.{digits}g}", f"{after:.{digits}g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cause_text(one: ClassChange) -> str:
    """Describe how a class raised the ensemble's error (by its error or its share); "" if it did not."""
    if one.error_after > one.error_before:
        return f"class {one.name} (error {_percent(one.error_before)} to {_percent(one.error_after)})"
    wrong_before, wrong_after = np.nan_to_num([one.error_before, one.error_after])
    if one.share_after * wrong_after <= one.share_before * wrong_before:
        return ""
    return f"class {one.name} ({_percent(one.share_before)} to {_percent(one.share_after)} of all)"
