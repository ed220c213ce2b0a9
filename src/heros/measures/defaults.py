"""The measures of a run for which none were asked."""

from __future__ import annotations

from heros.measures.accuracy import Accuracy
from heros.measures.auroc import Auroc
from heros.measures.base import Measure
from heros.measures.counted import Kappa
from heros.measures.logloss import LogLoss

__all__ = ["of_classes"]


def of_classes() -> list[Measure]:
    """Of predictions of classes: AUROC, accuracy, Cohen's κ and the logarithmic loss.

    Examples
    --------
    >>> [measure.name for measure in of_classes()]
    ['auroc', 'accuracy', 'kappa', 'log_loss']
    """
    return [Auroc(), Accuracy(), Kappa(), LogLoss()]
