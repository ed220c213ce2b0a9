"""Measures of performance over a stream, from the probabilities given before each label was seen."""

from heros.metrics.auroc import auroc, auroc_per_class
from heros.metrics.confusion import Confusion
from heros.metrics.logloss import log_loss
from heros.metrics.running_auroc import RunningAuroc

__all__ = ["Confusion", "RunningAuroc", "auroc", "auroc_per_class", "log_loss"]
