"""Accuracy by byte limit: trees of the paper's sizes, trained on every instance of whole streams.

Real streams are read from HEROS_DATA. Arguments: names of streams; by default four of them.
"""

from __future__ import annotations

import sys

from heros import Heros, evaluate, policies, pools, scores, streams

STREAMS = ("agr_a", "covtype", "electricity", "nomao")


def main(names: list[str]) -> None:
    print("| stream | size | accuracy % | leaves (active) | depth | bytes |\n|---|---|---|---|---|---|")
    for name in names or STREAMS:
        pool = pools.HoeffdingGrid(grace_periods=[200])
        model = Heros(pool, policies.Everything(), pool.n_models, score=scores.Cumulative(), seed=1)
        evaluate(model, streams.load(name), progress=False)
        for score, s in zip(model.scores, model.bound.stats(), strict=True):
            print(
                f"| {name} | {s.max_bytes >> 10} KB | {100 * score:.2f} | {s.leaves} ({s.active_leaves}) "
                f"| {s.depth} | {s.bytes:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
