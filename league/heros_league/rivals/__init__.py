"""Learners of CapyMOA, River, LightGBM and XGBoost on the streams of HEROS, with the same records.

A competing learner runs as a pool of one model that is trained on every instance. Only the model differs from
a run of HEROS: the stream, the order of evaluation and training, and the measures are the same.
"""

from heros_league.rivals.baselines import BASELINES
from heros_league.rivals.classifiers import Rival
from heros_league.rivals.passing import Filled, Limited
from heros_league.rivals.retrained import BOOSTERS
from heros_league.rivals.running import HEROS, REGRESSORS, RIVALS, Match, first, match, run_rival, run_rivals

__all__ = [
    "BASELINES",
    "BOOSTERS",
    "HEROS",
    "REGRESSORS",
    "RIVALS",
    "Filled",
    "Limited",
    "Match",
    "Rival",
    "first",
    "match",
    "run_rival",
    "run_rivals",
]
