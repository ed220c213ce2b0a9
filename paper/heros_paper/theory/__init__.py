"""The theory of the paper: its stochastic model, its claims, and what simulation says of them.

The paper (section IV and its first appendix) draws the scores of M models from a Beta distribution and
their costs from a uniform one, all independent, and compares what the k models chosen by ζ, CAND and
perform-best are worth if first M → ∞ and then k → ∞. In that order everything it claims holds, for ζ > 0.
With k in proportion to M, as in every run of the paper (M = 50, k = 30), it does not: the best k/2 models do
not score 1, the cost of ζ does not vanish, and the threshold of Theorem IV.3 depends on how wide the
scores spread. docs/theory.md has the figures, the proofs that need no limit, and the slips.
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
