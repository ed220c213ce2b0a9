"""Scores: the running performance L of each model.

An outcome is a number in [0, 1], e.g. 1 for a correct class and 0 for a wrong class. A score uses only the
instances on which the model was evaluated: all instances if the parameter `watch` of `Heros` is "all".
"""

from heros.scores.base import Score
from heros.scores.means import Adwin, Cumulative, Fading, Window

__all__ = [
    "Adwin", "Cumulative", "Fading", "Score", "Window",
]  # fmt: skip
