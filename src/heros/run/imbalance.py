"""Classes that are uneven: what the usual figures do not show of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heros.measures import Confusion, average_precision_per_class
from heros.measures.base import macro
from heros.run.predictions import Predictions

__all__ = ["Imbalance", "imbalance_of"]

EVEN = 0.4  # of what each of C classes would have if all had the same: a class with less makes them uneven


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How well a run did where the rarest class is much rarer than the others.

    Examples
    --------
    >>> confusion = Confusion(np.array([[90, 5], [2, 3]]))
    >>> print(imbalance_of(confusion, ("no", "yes")))
    rarest class 'yes' (5.0%): recall 0.6000  balanced accuracy 0.7737  F1 0.7121
    """

    rarest: str
    share: float  # of the instances
    recall: float  # of its instances, how many were recognised
    precision: float  # of those that were taken for it, how many were of it
    balanced_accuracy: float
    f1: float  # the mean over classes
    pr_auc: float | None  # of the rarest class, if the predictions are known

    def __str__(self) -> str:
        ranked = "" if self.pr_auc is None else f"  PR-AUC {self.pr_auc:.4f}"
        return (
            f"rarest class {self.rarest!r} ({self.share:.1%}): recall {self.recall:.4f}{ranked}  "
            f"balanced accuracy {self.balanced_accuracy:.4f}  F1 {self.f1:.4f}"
        )


def imbalance_of(
    confusion: Confusion | None, classes: tuple[str, ...] = (), predictions: Predictions | None = None
) -> Imbalance | None:
    """What there is to say if the rarest class seen has less than 40 % of an even share; else None."""
    counts = np.zeros(0) if confusion is None else confusion.counts.sum(axis=1)
    seen = np.flatnonzero(counts)
    if confusion is None or len(seen) < 2:
        return None
    rarest = int(seen[counts[seen].argmin()])
    share = float(counts[rarest] / counts.sum())
    if share >= EVEN / len(seen):
        return None
    ranked = None
    if predictions is not None:
        ranked = float(average_precision_per_class(predictions.targets, predictions.outputs)[rarest])
    return Imbalance(
        classes[rarest] if rarest < len(classes) else str(rarest),
        share,
        float(confusion.recall[rarest]),
        float(np.nan_to_num(confusion.precision[rarest])),
        macro(confusion.recall),
        macro(confusion.f1),
        ranked,
    )
