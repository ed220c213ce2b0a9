"""Files of the present format, for the tests that every later version must pass: tests/data/format_N.

    python tests/make_format_golden.py

Run it once for a new format, never again for an old one.
"""

from __future__ import annotations

import json
from pathlib import Path

from heros import Heros, evaluate, policies, pools, streams
from heros.storage.archive import FORMAT

PLACE = Path(__file__).parent / "data" / f"format_{FORMAT}"
POOLS = {
    "mlp": pools.MLP([{"hidden": 4}, {"hidden": 6, "optimizer": "sgd", "learning_rate": 0.05}]),
    "trees": pools.Hoeffding(
        [{"max_bytes": 4096, "grace_period": 50}, {"prediction": "majority"}], costs="bytes"
    ),
}
RUN = {"window": 150, "block": 100}


def model(pool: str) -> Heros:
    """The model of the files."""
    return Heros(POOLS[pool], policies.Explore(policies.Zeta(0.05), 0.2), 1, seed=1)


def stream(n: int = 1000):
    """The stream it has learnt from."""
    return streams.Agrawal(function=2).take(n)


def main() -> None:
    """Write the files and what is expected of them."""
    expected = {}
    X, y = stream().draw(1000)
    for pool in POOLS:
        learnt = model(pool).bind(stream().schema).learn(X, y)
        PLACE.mkdir(parents=True, exist_ok=True)
        learnt.save(PLACE / f"{pool}.heros")
        expected[pool] = learnt.predict_proba(X[:5]).tolist()
    evaluate(model("mlp"), stream(500), checkpoint=PLACE / "run", every=200, keep=1, **RUN)
    whole = evaluate(model("mlp"), stream(), **RUN)
    expected["run"] = {
        name: getattr(whole, name) for name in ("auroc", "accuracy", "log_loss", "gamma_spent")
    }
    (PLACE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
