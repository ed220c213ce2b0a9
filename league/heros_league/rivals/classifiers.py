"""The competing classifiers of other libraries, and their settings."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from heros._base.extras import needed

__all__ = ["RIVALS", "Rival", "module"]

MEMBERS = 50  # default size of CapyMOA's ensembles
SUBSPACE = 0.6
TREE = "trees.HoeffdingTree -g 50 -c 0.01"
LEARNING_RATES = (0.5, 0.05, 0.005, 0.0005, 0.00005)
GRACE_PERIODS = (50, 100, 200, 400, 800)
EXPLORATION, BURN_IN = 0.2, 100
ROUNDS, CANDIDATES = 100, 7  # rounds of gradient boosting; candidates of CapyMOA's halving
RIVER_TREES = 10  # default of River's forests


@dataclass(frozen=True)
class Rival:
    """A learner that HEROS is compared with.

    Parameters
    ----------
    library
        The package of the learner.
    pool, k
        The values for pool and k in records: its library with the number of its models, and the largest
        number of models that are trained on one instance.
    make
        A function of a seed and a number of instances that returns the model, or a partial for a schema.
    label
        The name in tables.
    fills
        Whether missing values are filled, since the learner does not support them.
    random
        Whether results depend on the seed.
    """

    library: str
    pool: str
    k: int
    make: Callable[[int, int], Any]
    label: str
    fills: bool = False
    random: bool = True

    def start(self) -> None:
        """Import its library, and start Java if needed."""
        self.make(0, 1)


# -- CapyMOA ----------------------------------------------------------------------------------------------


def _arf(seed: int, n: int) -> Any:
    learner = module("capymoa", "classifier").AdaptiveRandomForestClassifier
    return partial(learner, ensemble_size=MEMBERS, max_features=SUBSPACE, random_seed=seed)


def _srp(seed: int, n: int) -> Any:
    learner = module("capymoa", "classifier").StreamingRandomPatches
    return partial(learner, ensemble_size=MEMBERS, max_features=SUBSPACE, base_learner=TREE, random_seed=seed)


def _dems(seed: int, n: int) -> Any:
    """Return DEMS over SRP, its default, with the same trees and subspaces as SRP."""
    learner = module("capymoa", "classifier").DynamicEnsembleMemberSelection
    return partial(learner, ensemble_size=MEMBERS, max_features=SUBSPACE, base_learner=TREE, random_seed=seed)


def _bagging(seed: int, n: int) -> Any:
    learner = module("capymoa", "classifier").LeveragingBagging
    tree = module("moa", "classifiers.trees").HoeffdingTree()
    tree.getOptions().setViaCLIString(TREE.partition(" ")[2])
    return partial(learner, ensemble_size=MEMBERS, base_learner=tree, random_seed=seed)


def _sgbt(seed: int, n: int) -> Any:
    learner = module("capymoa", "classifier").StreamingGradientBoostedTrees
    return partial(learner, boosting_iterations=ROUNDS, random_seed=seed)


def _shrubs(seed: int, n: int) -> Any:
    learner = module("capymoa", "classifier").ShrubsClassifier
    tree = module("sklearn", "tree").DecisionTreeClassifier(random_state=seed)
    return partial(learner, ensemble_regularizer="hard-L0", l_ensemble_reg=MEMBERS, sk_dt=tree)


def _blast(seed: int, n: int) -> Any:
    """Return BLAST through CapyMOA's generic wrapper of MOA learners."""
    learner = module("capymoa", "base").MOAClassifier
    blast = module("moa", "classifiers.meta").HeterogeneousEnsembleBlast()
    blast.prepareForUse()  # creates its models, which it needs before the schema is set
    return partial(learner, moa_learner=blast, random_seed=seed)


def _autoclass(seed: int, n: int) -> Any:
    learner = module("capymoa", "automl").AutoClass
    file = Path(__file__).with_name("autoclass.json")
    return partial(learner, configuration_json=str(file), random_seed=seed)


def _capymoa_halving(seed: int, n: int) -> Any:
    """Return successive halving with a budget that leaves one of seven models at 60 % of the stream."""
    known = module("capymoa", "classifier")
    names = ("NaiveBayes", "KNN", "HoeffdingTree", "HoeffdingAdaptiveTree")
    models = [*(getattr(known, name) for name in names), *(make(seed, n) for make in (_bagging, _arf, _srp))]
    learner = module("capymoa", "automl").SuccessiveHalvingClassifier
    return partial(learner, base_classifiers=models, budget=2 * n, random_seed=seed)


# -- River ------------------------------------------------------------------------------------------------


def _bandit(seed: int, n: int) -> Any:
    policy = module("river", "bandit").EpsilonGreedy(epsilon=EXPLORATION, burn_in=BURN_IN, seed=seed)
    accuracy = module("river", "metrics").Accuracy()
    return module("river", "model_selection").BanditClassifier(_river_models(), accuracy, policy)


def _halving(seed: int, n: int) -> Any:
    """Return successive halving with a budget that leaves one model at half of the stream."""
    accuracy = module("river", "metrics").Accuracy()
    selection = module("river", "model_selection")
    return selection.SuccessiveHalvingClassifier(_river_models(), accuracy, budget=4 * n, eta=2)


def _river_models() -> list[Any]:
    """Return linear models with the pool's optimizers, since River has no perceptrons, and trees."""
    compose, scaling = module("river", "compose"), module("river", "preprocessing")
    linear, optim = module("river", "linear_model"), module("river", "optim")
    models = []
    for optimizer, rate in product((optim.Adam, optim.SGD), LEARNING_RATES):
        scaled = compose.SelectType(numbers.Number) | scaling.StandardScaler()
        one_hot = compose.SelectType(str) | scaling.OneHotEncoder()
        models.append((scaled + one_hot) | linear.SoftmaxRegression(optimizer=optimizer(rate)))
    trees = module("river", "tree")
    return [*models, *(trees.HoeffdingTreeClassifier(grace_period=grace) for grace in GRACE_PERIODS)]


def _river_arf(seed: int, n: int) -> Any:
    return module("river", "forest").ARFClassifier(n_models=RIVER_TREES, seed=seed)


def _amf(seed: int, n: int) -> Any:
    """Return AMF with nominal values as ordinal numbers, since its trees split only on numbers."""
    compose, coding = module("river", "compose"), module("river", "preprocessing")
    numbered = compose.SelectType(str) | coding.OrdinalEncoder()
    forest = module("river", "forest").AMFClassifier(n_estimators=RIVER_TREES, seed=seed)
    return (compose.SelectType(numbers.Number) + numbered) | forest


RIVER_MODELS = 2 * len(LEARNING_RATES) + len(GRACE_PERIODS)
RIVALS: dict[str, Rival] = {
    "arf": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _arf, "ARF"),
    "srp": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _srp, "SRP"),
    "dems": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _dems, "DEMS"),
    "bagging": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _bagging, "LeveragingBagging"),
    "sgbt": Rival("capymoa", f"capymoa{ROUNDS}", ROUNDS, _sgbt, "SGBT", fills=True),
    "shrubs": Rival("capymoa", f"capymoa{MEMBERS}", MEMBERS, _shrubs, "Shrubs"),
    "blast": Rival("capymoa", "capymoa5", 5, _blast, "BLAST"),
    "autoclass": Rival("capymoa", "capymoa10", 10, _autoclass, "AutoClass"),
    "capymoa_halving": Rival(
        "capymoa", f"capymoa{CANDIDATES}", CANDIDATES, _capymoa_halving, "halving (CapyMOA)"
    ),
    "bandit": Rival("river", f"river{RIVER_MODELS}", 1, _bandit, "bandit (River)"),
    "halving": Rival("river", f"river{RIVER_MODELS}", RIVER_MODELS, _halving, "halving (River)"),
    "river_arf": Rival("river", f"river{RIVER_TREES}", RIVER_TREES, _river_arf, "ARF (River)"),
    "amf": Rival("river", f"river{RIVER_TREES}", RIVER_TREES, _amf, "AMF (River)"),
}
"""The competing classifiers by name; see docs/league.md for their settings."""


def module(library: str, part: str) -> Any:
    """Import a module of a library; raise an error with the install command if it is missing."""
    if library == "moa":  # Java classes, which CapyMOA makes importable
        needed("capymoa", "A rival from MOA", "capymoa")
    return needed(
        f"{library}.{part}", f"A rival from {library}", "river" if library == "river" else "capymoa"
    )
