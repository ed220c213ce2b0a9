"""Measures of performance over a stream, from what was answered before each target was seen."""

from heros.measures.accuracy import Accuracy
from heros.measures.auroc import Auroc, auroc, auroc_per_class
from heros.measures.base import Measure
from heros.measures.calibration import CalibrationError, Reliability
from heros.measures.confusion import Confusion
from heros.measures.counted import F1, BalancedAccuracy, Kappa
from heros.measures.logloss import LogLoss, log_loss
from heros.measures.pr_auc import PrAuc, RunningPrAuc, average_precision, average_precision_per_class
from heros.measures.regression import MAE, MAPE, R2, RMSE, Coverage, IntervalWidth, RelativeError
from heros.measures.running_auroc import RunningAuroc

__all__ = [
    "F1",
    "MAE",
    "MAPE",
    "R2",
    "RMSE",
    "Accuracy",
    "Auroc",
    "BalancedAccuracy",
    "CalibrationError",
    "Confusion",
    "Coverage",
    "IntervalWidth",
    "Kappa",
    "LogLoss",
    "Measure",
    "PrAuc",
    "RelativeError",
    "Reliability",
    "RunningAuroc",
    "RunningPrAuc",
    "auroc",
    "auroc_per_class",
    "average_precision",
    "average_precision_per_class",
    "log_loss",
]
