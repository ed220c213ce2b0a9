"""What changed, and when: changes as data, and detectors of change in a sequence of numbers."""

from heros.drift.changes import Change, ClassChange, ModelChange
from heros.drift.detectors import ADWIN, KSWIN, PageHinkley

__all__ = ["ADWIN", "KSWIN", "Change", "ClassChange", "ModelChange", "PageHinkley"]
