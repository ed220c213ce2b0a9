"""What a user would pick instead: CapyMOA's and River's learners on our streams, into the same records.

A rival is run as a pool of one model that is trained on every instance, so that nothing but the model differs
from a run of HEROS: the same stream, the same order of test and training, the same measures.
"""

from heros_league.rivals.classifiers import RIVALS, Rival
from heros_league.rivals.passing import Filled, Limited
from heros_league.rivals.regressors import REGRESSORS
from heros_league.rivals.running import HEROS, Match, first, match, run_rival, run_rivals

__all__ = [
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
