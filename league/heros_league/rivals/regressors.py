"""The competing regressors of other libraries, and their settings."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any

from heros_league.rivals.classifiers import MEMBERS, RIVER_TREES, SUBSPACE, Rival, module

__all__ = ["REGRESSORS"]

STAGES = 100  # default of gradient boosting: ten rounds of ten trees


# -- CapyMOA ----------------------------------------------------------------------------------------------


def _arf(seed: int, n: int) -> Any:
    learner = module("capymoa", "regressor").AdaptiveRandomForestRegressor
    return partial(learner, ensemble_size=MEMBERS, max_features=SUBSPACE, random_seed=seed)


def _soknl(seed: int, n: int) -> Any:
    """Return SOKNL, which uses the target in predict to choose k unless the instance has weight 0."""

    class Blind(module("capymoa", "regressor").SOKNL):  # type: ignore[misc]
        def predict(self, instance: Any) -> Any:
            row = instance.java_instance.getData()
            weight = row.weight()
            row.setWeight(0.0)
            predicted = super().predict(instance)
            row.setWeight(weight)
            return predicted

    return partial(Blind, ensemble_size=MEMBERS, max_features=SUBSPACE, random_seed=seed)


def _fimtdd(seed: int, n: int) -> Any:
    return partial(module("capymoa", "regressor").FIMTDD, random_seed=seed)


def _sgbr(seed: int, n: int) -> Any:
    learner = module("capymoa", "regressor").StreamingGradientBoostedRegression
    return partial(learner, random_seed=seed)


def _neighbours(seed: int, n: int) -> Any:
    return partial(module("capymoa", "regressor").KNNRegressor, random_seed=seed)


def _sgd(seed: int, n: int) -> Any:
    return partial(module("capymoa", "regressor").SGDRegressor, random_seed=seed)


def _passive_aggressive(seed: int, n: int) -> Any:
    return partial(module("capymoa", "regressor").PassiveAggressiveRegressor, random_seed=seed)


# -- River ------------------------------------------------------------------------------------------------


def _river_arf(seed: int, n: int) -> Any:
    return _numbered() | module("river", "forest").ARFRegressor(n_models=RIVER_TREES, seed=seed)


def _river_amf(seed: int, n: int) -> Any:
    return _numbered() | module("river", "forest").AMFRegressor(n_estimators=RIVER_TREES, seed=seed)


def _river_tree(seed: int, n: int) -> Any:
    return _numbered() | module("river", "tree").HoeffdingTreeRegressor()


def _river_linear(seed: int, n: int) -> Any:
    return _scaled() | module("river", "linear_model").LinearRegression()


def _river_pa(seed: int, n: int) -> Any:
    return _scaled() | module("river", "linear_model").PARegressor()


def _numbered() -> Any:
    """Return an encoder of nominal values as ordinal numbers, which AMF and linear leaves need."""
    return _of(numbers.Number) + (_of(str) | module("river", "preprocessing").OrdinalEncoder())


def _scaled() -> Any:
    """Return an encoder for linear models: scaled numbers and one-hot nominal values."""
    coding = module("river", "preprocessing")
    return (_of(numbers.Number) | coding.StandardScaler()) + (_of(str) | coding.OneHotEncoder())


def _of(kind: type) -> Any:
    return module("river", "compose").SelectType(kind)


REGRESSORS: dict[str, Rival] = {
    "arf_reg": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _arf, "ARF-Reg"),
    "soknl": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _soknl, "SOKNL"),
    "fimtdd": Rival("capymoa", "capymoa1", 1, _fimtdd, "FIMT-DD"),
    "sgbr": Rival("capymoa", f"capymoa{STAGES}", STAGES, _sgbr, "SGBR"),
    "knn_reg": Rival("capymoa", "capymoa1", 1, _neighbours, "neighbours"),
    "sgd_reg": Rival("capymoa", "capymoa1", 1, _sgd, "SGD"),
    "pa_reg": Rival("capymoa", "capymoa1", 1, _passive_aggressive, "passive-aggressive"),
    "river_arf_reg": Rival("river", f"river{RIVER_TREES}", RIVER_TREES, _river_arf, "ARF-Reg (River)"),
    "river_amf_reg": Rival("river", f"river{RIVER_TREES}", RIVER_TREES, _river_amf, "AMF-Reg (River)"),
    "river_tree_reg": Rival("river", "river1", 1, _river_tree, "Hoeffding tree (River)"),
    "river_linear": Rival("river", "river1", 1, _river_linear, "linear (River)"),
    "river_pa": Rival("river", "river1", 1, _river_pa, "passive-aggressive (River)"),
}
"""The competing regressors by name; see docs/league.md for their settings."""
