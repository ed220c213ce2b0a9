"""Scores: the running performance L of each model.

An outcome is 1 for a hit and 0 for a miss, or any value in [0, 1]. The score of a model uses only the
instances on which the model was evaluated: all instances if the parameter `watch` of `Heros` is "all".
"""

from heros.scores.base import Score
from heros.scores.means import Adwin, Cumulative, Fading, Window

__all__ = [
    "Adwin", "Cumulative", "Fading", "Score", "Window",
]  # fmt: skip
