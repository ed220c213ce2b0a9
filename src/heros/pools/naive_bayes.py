"""Pools of naive Bayes models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero, real_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.family import BoundNative, CostModels, Family, equal, grid_of

Costs = Literal["equal", "measured"] | Sequence[float]


@dataclass(frozen=True, kw_only=True, repr=False)
class NaiveBayes(Family):
    """Naive Bayes models with given settings.

    The probability of class c is proportional to P(c) ∏ P(x_f | c), with a Gaussian for each numeric feature
    and counts for each nominal value. Missing values are ignored. With `fading` below 1 the weight of old
    instances falls, and the model therefore follows drift. With {"variance_prior": 0} the model equals
    scikit-learn's `GaussianNB` (without var_smoothing) for numeric features and `CategoricalNB` for nominal
    features.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "equal", "measured" (CPU time on random instances when the pool is
        bound), or one number per model. Costs are scaled to sum to 1.

    Examples
    --------
    >>> NaiveBayes([{}, {"fading": 0.999}]).configurations[1]
    {'fading': 0.999, 'smoothing': 1.0, 'variance_prior': 1.0}
    """

    written: ClassVar[str] = "bayes"
    settings = (
        Setting(
            "fading",
            1.0,
            real_number(0.5, 1),
            "The weight of an instance relative to the next instance: .999 uses about the last 1000 "
            "instances.",
        ),
        Setting(
            "smoothing",
            1.0,
            above_zero(),
            "The initial count of each nominal value in each class (Laplace smoothing).",
        ),
        Setting(
            "variance_prior",
            1.0,
            real_number(0),
            "The number of virtual instances in each class that have the variance of all classes together. "
            "The virtual instances keep the variance of a rare class above 0. No variance is below 1e-9 "
            "times the variance of all classes together.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"equal": equal}
    targets = "classes"

    costs: Costs = "equal"

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        return {"statistics": self.n_models * (1 + schema.n_classes)}


class NaiveBayesGrid(NaiveBayes):
    """Naive Bayes models with different fading factors.

    Examples
    --------
    >>> [configuration["fading"] for configuration in NaiveBayesGrid().configurations]
    [1.0, 0.9999, 0.999, 0.99]
    """

    def __init__(
        self, *, fading: Iterable[float] = (1.0, 0.9999, 0.999, 0.99), costs: Costs = "equal", **settings: Any
    ) -> None:
        super().__init__(grid_of({"fading": fading}, settings), costs=costs)


class BoundNaiveBayes(BoundNative, of=NaiveBayes):
    """The models of a `NaiveBayes` pool for one schema."""

    native: _core.BayesPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.BayesPool:
        return _core.BayesPool(self._settings(_core.BayesSettings))
