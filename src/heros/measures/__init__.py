"""Measures of performance over a stream, from the probabilities given before each label was seen."""

from heros.measures.accuracy import Accuracy
from heros.measures.auroc import Auroc, auroc, auroc_per_class
from heros.measures.base import Measure
from heros.measures.confusion import Confusion
from heros.measures.counted import F1, BalancedAccuracy, Kappa
from heros.measures.logloss import LogLoss, log_loss
from heros.measures.pr_auc import PrAuc, RunningPrAuc, average_precision, average_precision_per_class
from heros.measures.running_auroc import RunningAuroc

__all__ = [
    "F1",
    "Accuracy",
    "Auroc",
    "BalancedAccuracy",
    "Confusion",
    "Kappa",
    "LogLoss",
    "Measure",
    "PrAuc",
    "RunningAuroc",
    "RunningPrAuc",
    "auroc",
    "auroc_per_class",
    "average_precision",
    "average_precision_per_class",
    "log_loss",
]
