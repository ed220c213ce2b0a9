"""Follow CONTRIBUTING.md to add a small policy, inside and outside HEROS."""

import json

import numpy as np

from heros import Heros, pools, streams

MIDDLE = '''"""Neither the best nor the worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros.policies.base import CompiledPolicy
from heros.policies.base import Reasons

__all__ = ["Middle"]


@dataclass(frozen=True)
class Middle(CompiledPolicy):
    """The k models in the middle of the ranks by L."""

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train."""
        ranks = np.argsort(-np.asarray(scores), kind="stable")
        mask = np.zeros(len(ranks), dtype=bool)
        mask[ranks[(len(ranks) - k) // 2 :][:k]] = True
        return mask

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen."""
        return {int(i): "in the middle" for i in np.flatnonzero(chosen)}
'''


def test_a_policy_of_the_library_is_a_file_and_its_export(house):
    house.add("policies/middle.py", MIDDLE)
    house.insert(
        "policies/__init__.py",
        "from heros.policies.reward import Reward",
        "from heros.policies.middle import Middle",
    )
    first = '    "MLCB", "Budget", "Cand", "CandAsPublished", "Cheapest", "CompiledPolicy", "Everything",'
    house.insert("policies/__init__.py", first, '    "Middle",')
    assert house.touched == {"policies/middle.py", "policies/__init__.py"}

    document = json.loads(
        house.heros("run", "agr_a", "--n", "500", "--policy", "middle", "--k", "5", "--json")
    )
    assert document["settings"]["policy"] == "middle"
    found = house.contract("tests/policies/test_policies.py", "tests/registry/test_parts.py", "-k", "Middle")
    assert "Middle" in found
    found = house.contract("tests/storage/test_save_load.py", "-k", "Middle")
    assert "Middle" in found


def test_a_policy_of_ones_own_is_an_object_with_a_method():
    class Fair:
        """Trains the models that were trained least, and gives this reason."""

        def __init__(self, models):
            self.times = np.zeros(models)

        def choose(self, scores, costs, k, rng):
            mask = np.zeros(len(scores), dtype=bool)
            mask[np.argsort(self.times, kind="stable")[:k]] = True
            self.times += mask
            return mask

        def explain(self, scores, costs, k, chosen):
            return {int(i): "its turn" for i in np.flatnonzero(chosen)}

        def state(self):
            return {"times": self.times}

        def restore(self, state):
            self.times = state["times"].copy()

    pool = pools.MLPGrid(hidden=[8], learning_rates=[0.05, 0.005])
    stream = streams.Agrawal(function=2)
    for watch in ("all", "trained"):
        model = Heros(pool, Fair(4), k=2, watch=watch, warmup=0, seed=1, schema=stream.schema)
        model.learn(*stream.draw(100))
        assert model.trained.tolist() == [50] * 4
        assert {choice.reason for choice in model.explain_choice()} == {"its turn"}
