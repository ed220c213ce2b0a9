"""Checks for your own policies, scores, measures, sources, models and pools.

Each check returns None, or raises a `CheckError` that names the broken rule. Use the checks in your tests,
like the estimator checks of scikit-learn and River.
"""

from heros.checks.base import CheckError
from heros.checks.learners import check_model, check_pool
from heros.checks.parts import check_measure, check_policy, check_score
from heros.checks.sources import check_source

__all__ = [
    "CheckError",
    "check_measure",
    "check_model",
    "check_policy",
    "check_pool",
    "check_score",
    "check_source",
]
