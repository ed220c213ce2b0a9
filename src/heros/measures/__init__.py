"""Measures of performance over a stream, from the probabilities given before each label was seen."""

from heros.measures.auroc import auroc, auroc_per_class
from heros.measures.confusion import Confusion
from heros.measures.logloss import log_loss
from heros.measures.running_auroc import RunningAuroc

__all__ = ["Confusion", "RunningAuroc", "auroc", "auroc_per_class", "log_loss"]
