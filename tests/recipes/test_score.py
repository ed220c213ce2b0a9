"""Follow CONTRIBUTING.md to add a small score, inside and outside HEROS."""

import numpy as np
import pytest

from heros import Heros, policies, pools, streams

STREAK = '''"""How long a model has been right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import whole
from heros.scores.base import BuiltInScore

__all__ = ["Streak"]


@dataclass(frozen=True)
class Streak(BuiltInScore):
    """Looks without a miss, of the last `most`, as a share of them."""

    most: int = 20

    def __post_init__(self) -> None:
        whole(self.most, "most", "Streak", 1)

    def bind(self, models: int) -> BoundStreak:
        """Scores for so many models."""
        return BoundStreak(models, self.most)


class BoundStreak:
    """The streaks of M models."""

    def __init__(self, models: int, most: int) -> None:
        self.most, self.lengths = most, np.zeros(models)

    @property
    def values(self) -> NDArray[np.float64]:
        """L."""
        return np.minimum(self.lengths, self.most) / self.most

    def update(self, outcomes: NDArray[np.float64], evaluated: NDArray[np.bool_]) -> None:
        """Take what an instance showed."""
        self.lengths = np.where(evaluated, np.where(outcomes > 0.5, self.lengths + 1, 0), self.lengths)

    def state(self) -> dict[str, NDArray[Any]]:
        """All it knows."""
        return {"lengths": self.lengths}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""
        self.lengths = np.array(state["lengths"])
'''


@pytest.mark.long
def test_a_score_of_the_library_is_a_file_and_its_export(house, tmp_path):
    house.add("scores/streak.py", STREAK)
    house.insert(
        "scores/__init__.py",
        "from heros.scores.means import Adwin, Cumulative, Fading, Window",
        "from heros.scores.streak import Streak",
    )
    first = '    "Adwin", "Cumulative", "Fading", "Score", "Window",'
    house.insert("scores/__init__.py", first, '    "Streak",')
    assert house.touched == {"scores/streak.py", "scores/__init__.py"}

    program = """
import sys
from heros import Heros, scores, streams
stream = streams.Agrawal(function=2)
model = Heros(k=3, score=scores.Streak(5), watch="trained", seed=1, schema=stream.schema).learn(*stream.draw(300))
model.save(sys.argv[1])
again = Heros.load(sys.argv[1])
assert again.score == scores.Streak(5) and (again.scores == model.scores).all() and model.scores.max() > 0
print(again.score)
"""
    assert house.python("-c", program, str(tmp_path / "model.heros")) == "Streak(most=5)\n"
    found = house.contract(
        "tests/test_scores.py",
        "tests/registry/test_parts.py",
        "tests/storage/test_save_load.py",
        "-k",
        "Streak",
    )
    assert found.count("Streak") > 3


def test_a_score_of_ones_own_is_an_object_with_a_method():
    class Optimist:
        """Ignores every miss."""

        def __init__(self, models):
            self.values = np.zeros(models)

        def update(self, outcomes, evaluated):
            self.values[evaluated] = np.maximum(self.values[evaluated], outcomes[evaluated])

    class Rosy:
        def bind(self, models):
            return Optimist(models)

    stream = streams.Agrawal(function=2)
    pool = pools.MLPGrid(hidden=[8], learning_rates=[0.05, 0.005])
    model = Heros(pool, policies.Random(), 2, score=Rosy(), seed=1, schema=stream.schema)
    assert model.learn(*stream.draw(300)).scores.tolist() == [1.0] * 4
