"""L(f_i): how the running performance of every model is kept.

An outcome is 1 for a hit and 0 for a miss, or any value in [0, 1]. Every model has a clock of its own: what
counts are the instances that it looked at (all of them, unless `Heros` watches only some of its models).
"""

from heros.scores.base import Score
from heros.scores.means import Adwin, Cumulative, Fading, Window

__all__ = [
    "Adwin",
    "Cumulative",
    "Fading",
    "Score",
    "Window",
]
