"""What changed, and when: changes as data, with labels and without, and detectors of change in numbers."""

from heros.drift.changes import Change, ClassChange, FeatureChange, ModelChange
from heros.drift.detectors import ADWIN, KSWIN, PageHinkley
from heros.drift.monitor import Monitor

__all__ = [
    "ADWIN",
    "KSWIN",
    "Change",
    "ClassChange",
    "FeatureChange",
    "ModelChange",
    "Monitor",
    "PageHinkley",
]
