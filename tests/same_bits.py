"""Print checksums that show whether two builds give identical results for random settings.

    python tests/same_bits.py --settings 200 > before.txt     # with one build installed
    python tests/same_bits.py --settings 200 > after.txt      # with the other
    diff before.txt after.txt

Each line has a setting and a checksum of all probabilities, choices and scores. Settings use only names that both
builds know. `--isa` selects the kernel of the perceptrons if the builds would choose different ones.
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

import numpy as np

from heros import Heros, policies, pools, scores, streams


def _with_missing() -> streams.Stream:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 6))
    X[:, 4] = rng.integers(0, 4, 3000)
    y = (X[:, 0] + (X[:, 4] == 2) + 0.3 * rng.normal(size=3000) > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.where(np.isnan(X[:, 4]), 0, X[:, 4])
    return streams.from_arrays(X, y, nominal=[4])


STREAMS = {
    "agrawal": lambda: streams.Agrawal(function=4),
    "rbf": lambda: streams.RandomRBF(classes=5, speed=0.001),
    "led": lambda: streams.LED(drift=3),
    "agr_a": lambda: streams.load("agr_a"),
    "missing": _with_missing,
}


def policy(rng: np.random.Generator) -> Any:
    """Return a built-in policy, sometimes with exploration."""
    number = float(rng.choice([0.01, 0.05, 0.3]))
    made = [
        policies.Zeta(number),
        policies.PerformBest(),
        policies.PerformWorst(),
        policies.Cheapest(),
        policies.Expensive(),
        policies.Cand(),
        policies.CandAsPublished(),
        policies.Random(),
        policies.Reward(number),
        policies.Budget(number),
        policies.Everything(),
    ][rng.integers(11)]
    return policies.Explore(made, float(rng.choice([0.1, 0.5]))) if rng.random() < 0.5 else made


def score(rng: np.random.Generator) -> Any:
    """Return a built-in score."""
    return [
        scores.Adwin(),
        scores.Adwin(delta=0.1, restart=True),
        scores.Cumulative(),
        scores.Window(int(rng.integers(1, 200))),
        scores.Fading(0.97),
    ][rng.integers(5)]


def pool(rng: np.random.Generator, isa: str | None) -> Any:
    """Return perceptrons or trees with random settings."""
    n = int(rng.integers(1, 9))
    if rng.random() < 0.35:
        return pools.Hoeffding(
            [
                {
                    "max_bytes": int(rng.choice([4096, 65536, 1 << 20])),
                    "grace_period": int(rng.choice([20, 100])),
                }
                for _ in range(n)
            ]
        )
    return pools.MLP(
        [
            {
                "optimizer": str(rng.choice(["adam", "sgd"])),
                "learning_rate": float(rng.choice([50.0, 0.5, 0.05, 0.0005])),
                "hidden": int(rng.choice([3, 16, 65, 130])),
            }
            for _ in range(n)
        ],
        costs=str(rng.choice(["hidden", "multiply-adds"])),
        scale=bool(rng.random() < 0.8),
        isa=isa,
    )


def setting(number: int, isa: str | None) -> str:
    """Run a setting and return its line."""
    rng = np.random.default_rng([20, number])
    name = str(rng.choice(list(STREAMS)))
    models = pool(rng, isa)
    k = int(rng.integers(1, models.n_models + 1))
    answer: Any = str(rng.choice(["best", "average", "weighted"]))
    warmup = int(rng.choice([0, 7, 100]))
    stream = STREAMS[name]().take(int(rng.integers(300, 1500)))
    model = Heros(
        models,
        policy(rng),
        k,
        score=score(rng),
        answer=answer,
        warmup=warmup,
        seed=number,
        schema=stream.schema,
    )
    sum_ = hashlib.sha256()
    for X, y in stream.blocks(int(rng.choice([1, 64, 1000]))):
        if rng.random() < 0.3:
            sum_.update(model.predict_proba(X[:5]).tobytes())
        block = model.test_then_train(X, y)
        for array in (
            block.probabilities,
            block.answered,
            block.chosen,
            block.spent,
            block.reward,
            model.scores,
        ):
            sum_.update(np.ascontiguousarray(array).tobytes())
    sum_.update(model.invested.tobytes())
    return f"{number} {name} {models!r} {model.policy} k={k} {model.score!r} {answer} {warmup}: {sum_.hexdigest()[:24]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--isa", default=None)
    arguments = parser.parse_args()
    for number in range(arguments.settings):
        print(setting(number, arguments.isa), flush=True)


if __name__ == "__main__":
    main()
