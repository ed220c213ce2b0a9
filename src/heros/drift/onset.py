"""Estimation of the instance at which a detected change began, from the losses around the detection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heros.drift.changes import Change, Floats

BEFORE = 1000  # number of instances before the detector's window that are also searched
FEWEST = 10  # minimum number of instances in each part of a split


def losses_of(targets: NDArray[np.generic], outputs: Floats, numeric: bool) -> Floats:
    """Return the loss of each prediction in [0, 1], as the detector measures it.

    The loss is 1 - the probability of the true class or, for numeric targets, |error| / (|error| + s), where
    s is the standard deviation of the targets.
    """
    if not numeric:
        right: Floats = outputs[np.arange(len(targets)), targets.astype(np.int64)]
        return 1.0 - right
    errors = errors_of(targets, outputs, numeric)
    scale = float(np.std(targets.astype(np.float64))) or 1.0
    losses: Floats = np.nan_to_num(errors / (errors + scale), nan=1.0)
    return losses


def errors_of(targets: NDArray[np.generic], outputs: Floats, numeric: bool) -> Floats:
    """Return the error of each prediction: 1 for a wrong class, or |error| for a numeric target."""
    if numeric:
        off: Floats = targets.astype(np.float64) - outputs.reshape(len(targets), -1)[:, 0]
        return np.abs(off)
    return np.asarray(outputs.argmax(axis=1) != targets, dtype=np.float64)


def with_onsets(changes: Iterable[Change], losses: Floats, errors: Floats) -> tuple[Change, ...]:
    """Return the changes of a run; for each rise of the error, estimate `since` from the losses.

    `before` is then the mean error of the 1,000 instances before `since`, and `after` is the mean error from
    `since` to the detection.

    The detector reports only that a change began within its window. The window starts at the border of one of
    the detector's large buckets, so the window may start long before the change. This function splits the
    losses of the window, and of up to 1,000 earlier instances, into two parts, with a higher mean in the
    newer part. `since` is the split that explains the losses best (least squares).

    Examples
    --------
    >>> losses = np.repeat([0.1, 0.3], [4000, 500])
    >>> [change] = with_onsets([Change("error", 4480, 1024, 0.12, 0.2)], losses, losses)
    >>> change.since, round(change.before, 3), round(change.after, 3)
    (4000, 0.1, 0.3)
    """
    estimated: list[Change] = []
    ended = 0
    for change in changes:
        if change.kind == "error":
            since = _onset(losses, max(ended, change.since - BEFORE), change)
            before, after = errors[max(ended, since - BEFORE) : since], errors[since : change.at]
            ended = change.at if change.ended is None else change.ended
            change = replace(change, since=since)  # noqa: PLW2901
            if min(len(before), len(after)) >= FEWEST and after.mean() > before.mean():
                change = replace(change, before=float(before.mean()), after=float(after.mean()))  # noqa: PLW2901
        estimated.append(change)
    return tuple(estimated)


def _onset(losses: Floats, low: int, change: Change) -> int:
    part = losses[low : change.at]
    older = np.arange(FEWEST, len(part) - FEWEST + 1)
    if len(older) == 0:
        return change.since
    sums = np.cumsum(part)
    newer = len(part) - older
    rise = (sums[-1] - sums[older - 1]) / newer - sums[older - 1] / older
    best = int(np.argmax(np.where(rise > 0, rise, 0.0) ** 2 * older * newer))
    return low + int(older[best]) if rise[best] > 0 else change.since
