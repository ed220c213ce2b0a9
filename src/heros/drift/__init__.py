"""Drift detection with and without labels, and change detectors for sequences of numbers."""

from heros.drift.changes import Change, ClassChange, FeatureChange, ModelChange
from heros.drift.detectors import ADWIN, KSWIN, PageHinkley
from heros.drift.monitor import Monitor

__all__ = [
    "ADWIN", "KSWIN", "Change", "ClassChange", "FeatureChange", "ModelChange", "Monitor",
    "PageHinkley",
]  # fmt: skip
