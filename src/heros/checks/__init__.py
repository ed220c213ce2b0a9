"""Checks of parts of your own: a policy, score, measure, source, model or pool that Heros is to work with.

Each check returns nothing if all is well, and raises a `CheckError` that says which rule is broken. Use them
in your tests, as you would use the estimator checks of scikit-learn and River.
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
