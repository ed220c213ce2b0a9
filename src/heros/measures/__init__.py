"""Measures of performance over a stream, from predictions made before each target was known."""

from heros.measures.base import Measure
from heros.measures.classification import (
    F1,
    Accuracy,
    BalancedAccuracy,
    CalibrationError,
    Confusion,
    Kappa,
    LogLoss,
    Reliability,
    log_loss,
)
from heros.measures.ranking import (
    Auroc,
    PrAuc,
    RunningAuroc,
    RunningPrAuc,
    auroc,
    auroc_per_class,
    average_precision,
    average_precision_per_class,
)
from heros.measures.regression import MAE, MAPE, R2, RMSE, Coverage, IntervalWidth, RelativeError

__all__ = [
    "F1", "MAE", "MAPE", "R2", "RMSE", "Accuracy", "Auroc", "BalancedAccuracy", "CalibrationError",
    "Confusion", "Coverage", "IntervalWidth", "Kappa", "LogLoss", "Measure", "PrAuc",
    "RelativeError", "Reliability", "RunningAuroc", "RunningPrAuc", "auroc", "auroc_per_class",
    "average_precision", "average_precision_per_class", "log_loss",
]  # fmt: skip
