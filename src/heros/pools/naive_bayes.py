"""Pools of naive Bayes models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool, expect_classes
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["BoundNaiveBayes", "NaiveBayes", "NaiveBayesGrid"]

Costs = Literal["equal", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType({"fading": 1.0, "smoothing": 1.0, "variance_prior": 1.0})
COST_MODELS = {"equal": lambda configuration: 1.0}


@dataclass(frozen=True, init=False)
class NaiveBayes(Pool):
    """Naive Bayes models of given configurations.

    P(c) ∏ P(x_f | c), with a Gaussian for each number and counts for each nominal value; a missing value is
    left out. With `fading` below 1 old instances count less and less, so that a model follows drift. With the
    settings {"variance_prior": 0} it is scikit-learn's `GaussianNB` (without its var_smoothing) for
    numbers, and its `CategoricalNB` for nominal features.

    Parameters
    ----------
    configurations
        One mapping per model; what is left out has the default. The keys are

        `fading` (1)
            What an instance weighs against the next one, in [0.5, 1]: with .999 the last 1000 or so count.
        `smoothing` (1)
            So many instances of every nominal value count as seen, in every class, from the start (Laplace).
        `variance_prior` (1)
            So many instances with the variance of all classes together count as seen, in every class, from
            the start: a class that has come only once is no spike. No variance is below a billionth of it.
    costs
        γ, the cost of a training step: "equal", "measured" (CPU time on made-up instances when the pool is
        bound), or one number per model. Always scaled to sum to 1.

    Examples
    --------
    >>> NaiveBayes([{}, {"fading": 0.999}]).configurations[1]
    {'fading': 0.999, 'smoothing': 1.0, 'variance_prior': 1.0}
    """

    written: ClassVar[str] = "bayes"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[tuple[float, float, float], ...]
    costs: Costs

    def __init__(self, configurations: Iterable[Mapping[str, Any]], *, costs: Costs = "equal") -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "NaiveBayes")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "NaiveBayes"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundNaiveBayes:
        """The models, which have seen nothing, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundNaiveBayes(self, schema, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        least = self.n_models * (1 + schema.n_classes)
        if state["statistics"].size < least:
            rule = f"at least {least} statistics"
            raise ParameterError.of("state", "NaiveBayes", rule, state["statistics"].size)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class NaiveBayesGrid(NaiveBayes):
    """Naive Bayes models that fade at different speeds.

    Examples
    --------
    >>> [configuration["fading"] for configuration in NaiveBayesGrid().configurations]
    [1.0, 0.9999, 0.999, 0.99]
    """

    grid: ClassVar[bool] = True

    def __init__(
        self, *, fading: Iterable[float] = (1.0, 0.9999, 0.999, 0.99), costs: Costs = "equal", **settings: Any
    ) -> None:
        super().__init__([{"fading": f, **settings} for f in fading], costs=costs)


class BoundNaiveBayes(BoundNative):
    """The models of a `NaiveBayes` pool, for one schema."""

    kind = NaiveBayes
    cost_models = COST_MODELS
    native: _core.BayesPool

    def __init__(self, pool: NaiveBayes, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        expect_classes(schema, "NaiveBayes")
        settings = [_core.BayesSettings(**configuration) for configuration in pool.configurations]
        super().__init__(pool, _core.BayesPool(settings), schema, costs)


def _checked(configuration: Mapping[str, Any]) -> tuple[float, float, float]:
    smoothing = number(configuration["smoothing"], "smoothing", "NaiveBayes", 0)
    if smoothing == 0:
        raise ParameterError.of("smoothing", "NaiveBayes", "above 0", configuration["smoothing"])
    return (
        number(configuration["fading"], "fading", "NaiveBayes", 0.5, 1),
        smoothing,
        number(configuration["variance_prior"], "variance_prior", "NaiveBayes", 0),
    )
