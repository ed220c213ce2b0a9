"""Measures of performance over a stream, from the probabilities given before each label was seen."""

from heros.metrics.auroc import auroc, auroc_per_class
from heros.metrics.confusion import Confusion
from heros.metrics.logloss import log_loss

__all__ = ["Confusion", "auroc", "auroc_per_class", "log_loss"]
