"""The theory of the paper: its stochastic model, its claims, and simulations of them.

The paper (section IV and its first appendix) draws the scores of M models from a Beta distribution and their
costs from a uniform distribution, all independent. It compares the mean scores and costs of the k models
chosen by ζ, CAND and perform-best for M → ∞ and then k → ∞. In that order all its claims hold for ζ > 0.
With k in proportion to M, as in every run of the paper (M = 50, k = 30), they do not: the best k/2 models do
not score 1, the cost of ζ does not vanish, and the threshold of Theorem IV.3 depends on the spread of the
scores. docs/theory.md has the numbers, the proofs that need no limit, and the errors in the paper.
"""

from heros_paper.theory.checks import Check, Measurement, check_theory
from heros_paper.theory.figure import draw_theory
from heros_paper.theory.model import Model, Worth
from heros_paper.theory.report import (
    Threshold,
    checks_table,
    thresholds,
    thresholds_table,
    write_theory,
)
from heros_paper.theory.simulation import Draws, Pool, finite_threshold, simulate

__all__ = [
    "Check",
    "Draws",
    "Measurement",
    "Model",
    "Pool",
    "Threshold",
    "Worth",
    "check_theory",
    "checks_table",
    "draw_theory",
    "finite_threshold",
    "simulate",
    "thresholds",
    "thresholds_table",
    "write_theory",
]
