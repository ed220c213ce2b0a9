"""Search the defaults of `Heros()` (pool, policy, k, watch, answer) on streams reserved for this search.

    HEROS_DATA=... nice -n 19 python benchmarks/default_search.py run [CANDIDATE ...]
    python benchmarks/default_search.py table
    HEROS_DATA=... python benchmarks/default_search.py left-out

"left-out" prints the change of AUROC (in .0001) if a kind of model is left out, with CPU time relative to the
default. The models take turns on the same blocks.

Recorded runs are in `default_search.csv` beside this file and are not repeated. If possible, the streams
differ from those of the league: generators with other seeds and functions, and rows of airlines and covtype
after the league's rows. Electricity, nomao and WISDM have no other rows, so their first rows are used here
too.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from river.datasets import synth
from sklearn.datasets import make_classification

from effort import in_turns
from heros import Heros, Stack, Top, evaluate, policies, pools, streams
from heros._base.tables import Table

RECORDS = Path(__file__).with_suffix(".csv")
COLUMNS = ("candidate", "stream", "instances", "auroc", "accuracy", "cpu_us")
SEED = 7  # seed of the generators; the models use seed 1


def drifting(concept: Callable[[int], streams.Stream], settings: Sequence[int], n: int) -> streams.Stream:
    """Return a stream of n instances with abrupt drifts at equal distances."""
    stream = concept(settings[0])
    for i, setting in enumerate(settings[1:], start=1):
        stream = streams.Drift(stream, concept(setting), position=i * n // len(settings))
    return stream.take(n)


def rows(name: str, first: int, n: int) -> streams.Stream:
    """Return rows of a real stream."""
    stream = streams.load(name)
    X, y = stream.draw(first + n)
    return streams.from_arrays(X[first:], y[first:], schema=stream.schema, name=name)


def shuffled(name: str, first: int, n: int) -> streams.Stream:
    """Return rows of a real stream in random order."""
    stream = streams.load(name)
    X, y = stream.draw(first + n)
    order = np.random.default_rng(SEED).permutation(n)
    return streams.from_arrays(X[first:][order], y[first:][order], schema=stream.schema, name=name)


def made_table(classes: int) -> streams.Stream:
    """Return a scikit-learn table in random order."""
    sizes = {"n_informative": 10, "n_redundant": 4, "n_clusters_per_class": 3}
    X, y = make_classification(
        15_000, 20, n_classes=classes, flip_y=0.03, class_sep=0.8, random_state=75 + classes // 2 + 1, **sizes
    )
    return streams.from_arrays(X, [str(label) for label in y], name=f"table {classes}")


def tree(classes: int) -> streams.Stream:
    """Return instances of a random tree from River."""
    seed = 78 + classes // 2
    sizes = {"n_num_features": 6, "n_cat_features": 2, "n_categories_per_feature": 4, "max_tree_depth": 6}
    made = synth.RandomTree(seed, seed, n_classes=classes, first_leaf_level=3, **sizes)
    instances, labels = zip(*made.take(15_000), strict=True)
    X = np.array([[float(value) for value in one.values()] for one in instances])
    return streams.from_arrays(X, [str(label) for label in labels], name=f"tree {classes}")


def moving(speed: float, n: int) -> streams.Stream:
    """Centroids that move."""
    return streams.RandomRBF(classes=5, speed=speed, model_seed=SEED, instance_seed=SEED).take(n)


STREAMS: dict[str, Callable[[], streams.Stream]] = {
    "agrawal 1→3→5→9": lambda: drifting(lambda f: streams.Agrawal(f, seed=SEED), (1, 3, 5, 9), 30_000),
    "led 2→4→6→1": lambda: drifting(lambda d: streams.LED(d, seed=SEED), (2, 4, 6, 1), 15_000),
    "rbf .001": lambda: moving(0.001, 30_000),
    "rbf .0001": lambda: moving(0.0001, 30_000),
    "airlines 300k–330k": lambda: rows("airlines", 300_000, 30_000),
    "covtype 300k–320k": lambda: rows("covtype", 300_000, 20_000),
    "electricity –20k": lambda: rows("electricity", 0, 20_000),
    "nomao –10k": lambda: rows("nomao", 0, 10_000),
    "wisdm –5.4k": lambda: rows("wisdm", 0, 5_400),
    "table 2": lambda: made_table(2),
    "table 4": lambda: made_table(4),
    "tree 2": lambda: tree(2),
    "tree 4": lambda: tree(4),
    "covtype 400k–415k, shuffled": lambda: shuffled("covtype", 400_000, 15_000),
}

SGD = {"optimizer": "sgd", "learning_rate": 0.05, "hidden": 256}
FOREST = pools.Forest([{}])
CHEAP = (pools.Linear([{"optimizer": "sgd", "learning_rate": 0.05}]), pools.NaiveBayes([{"fading": 0.999}]))


def adam(rates: Iterable[float], hidden: Iterable[int]) -> list[dict[str, Any]]:
    """Return perceptrons trained by Adam."""
    widths = list(hidden)
    return [{"learning_rate": rate, "hidden": width} for rate in rates for width in widths]


def windows(*pairs: tuple[int, int]) -> pools.Neighbours:
    """Return nearest-neighbour models by window and number of neighbours."""
    return pools.Neighbours([{"window": window, "neighbours": k} for window, k in pairs])


def joined(*parts: pools.Pool) -> pools.Join:
    """Return a pool whose costs no candidate's policy uses."""
    return pools.Join(*parts, costs=[1] * len(parts))


LEAN = joined(
    pools.MLP([*adam((0.02, 0.005, 0.001, 0.0002), (64, 256, 512)), {**SGD, "learning_rate": 0.5}, SGD]),
    pools.Hoeffding(
        [{"max_bytes": b, "grace_period": g} for b in (65536, 1 << 20, 1 << 23) for g in (50, 200)]
    ),
    windows((500, 5), (1000, 5), (1000, 10), (5000, 5), (5000, 10), (5000, 20)),
    pools.Forest([{}, {"trees": 10, "subspace": "tree", "features": 1.0, "bagging": 1.0}]),
)
ELEVEN = joined(
    pools.MLP([*adam((0.005, 0.001), (256,)), SGD]),
    pools.MLP([*adam((0.005,), (64,)), SGD], scale=1.0),
    windows((500, 5), (5000, 5), (5000, 20)),
    FOREST,
    *CHEAP,
)
BOOSTED = pools.Boosted([{"rounds": 30, "learning_rate": 0.3, "grace_period": 100}])
TWELVE = joined(*ELEVEN.pools, BOOSTED)
SIXTEEN = joined(
    pools.MLP([*adam((0.005, 0.001), (64, 256)), SGD]),
    pools.MLP([*adam((0.02, 0.005, 0.001), (64,)), SGD], scale=1.0),
    windows((500, 5), (1000, 10), (5000, 5), (5000, 20)),
    FOREST,
    *CHEAP,
)
THIRTEEN = joined(*ELEVEN.pools, pools.LabelMemory([{}]), pools.Retrained([{"most_trees": 60}]))
EVERYTHING, CAND = policies.Everything(), policies.Cand()
CANDIDATES: dict[str, Callable[[], Heros]] = {
    "default": lambda: Heros(seed=1),
    "lean 28, Cand 12, watch 8, Top": lambda: Heros(LEAN, CAND, 12, watch=8, answer=Top(), seed=1),
    "eleven, all, Top": lambda: Heros(ELEVEN, EVERYTHING, 11, answer=Top(), seed=1),
    "eleven, all, Stack": lambda: Heros(ELEVEN, EVERYTHING, 11, answer=Stack(), seed=1),
    "eleven, Cand 8, Stack": lambda: Heros(ELEVEN, CAND, 8, answer=Stack(), seed=1),
    "thirteen, Surprise .95, sure .98": lambda: Heros(
        THIRTEEN, policies.Surprise(CAND), 10, answer=Stack(sure=0.98), seed=1
    ),
    "eleven and boosted trees, Cand 9, Stack": lambda: Heros(TWELVE, CAND, 9, answer=Stack(), seed=1),
    "eleven, Cand 8, watch 8, Top": lambda: Heros(ELEVEN, CAND, 8, watch=8, answer=Top(), seed=1),
    "sixteen, Cand 10, watch 4, Top": lambda: Heros(SIXTEEN, CAND, 10, watch=4, answer=Top(), seed=1),
}


def known() -> list[dict[str, str]]:
    """What was run."""
    if not RECORDS.exists():
        return []
    with RECORDS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def note(row: Sequence[object]) -> None:
    """Append a run to the records."""
    first = not RECORDS.exists()
    with RECORDS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if first:
            writer.writerow(COLUMNS)
        writer.writerow(row)


def run(candidate: str, stream: str) -> None:
    """Run one candidate on one stream."""
    model, source = CANDIDATES[candidate](), STREAMS[stream]()
    model.bind(source.schema)
    started = time.process_time()
    result = evaluate(model, source, progress=False)
    spent = 1e6 * (time.process_time() - started) / result.n_instances
    figures = [f"{result.auroc:.4f}", f"{result.accuracy:.4f}", f"{spent:.0f}"]
    note([candidate, stream, result.n_instances, *figures])


def table() -> Table:
    """Print the AUROC and the CPU µs of every candidate on every stream."""
    found = {(row["candidate"], row["stream"]): f"{row['auroc']} {row['cpu_us']:>4}" for row in known()}
    made = Table(("candidate", *STREAMS), align="l", caption="AUROC, and CPU µs per instance.")
    for candidate in CANDIDATES:
        made.add(candidate, *(found.get((candidate, stream), "") for stream in STREAMS))
    return made


PARTS = {
    "perceptrons, scale 3": [0],
    "perceptrons, scale 1": [1],
    "all perceptrons": [0, 1],
    "neighbours": [2],
    "forest": [3],
    "linear": [4],
    "naive Bayes": [5],
    "label memory": [6],
    "retrained, restarting": [],
    "retrained, steady": [],
    "retrained, both": [7],
}


def without(kind: str, seed: int) -> Heros:
    """Return the default without a kind of model; k is reduced by the number of removed models."""
    usual = Heros(seed=seed)
    kept = [part for i, part in enumerate(usual.pool.pools) if i not in PARTS[kind]]
    if not PARTS[kind]:
        restarting, steady = kept[-1].configurations
        kept[-1] = pools.Retrained([steady if "restarting" in kind else restarting])
    pool = pools.Join(*kept, costs=[1] * len(kept), bounded=True)
    fewer = usual.pool.n_models - pool.n_models
    return Heros(pool, usual.policy, usual.k - fewer, answer=usual.answer, seed=seed)


def left_out(seeds: int, n: int) -> None:
    """Print the AUROC of the default per stream, and its change if a kind of model is left out."""
    print("stream", "default", *PARTS, sep=" | ", flush=True)
    for name, made in STREAMS.items():
        auroc, spent = np.zeros(1 + len(PARTS)), np.zeros(1 + len(PARTS))
        for seed in range(1, 1 + seeds):
            source, models = made(), [Heros(seed=seed), *(without(kind, seed) for kind in PARTS)]
            took, figures = in_turns(source.take(min(n, source.n_instances or n)), models, 500)
            spent += took
            auroc += np.array(figures) / seeds
        changes = [
            f"{1e4 * (auroc[i] - auroc[0]):+.0f} ({spent[i] / spent[0]:.2f})" for i in range(1, len(auroc))
        ]
        print(name, f"{auroc[0]:.4f}", *changes, sep=" | ", flush=True)


def main() -> None:
    """Make the missing runs, or print the existing ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "left-out"])
    parser.add_argument("candidates", nargs="*", default=list(CANDIDATES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--length", type=int, default=15_000)
    arguments = parser.parse_args()
    if arguments.what == "left-out":
        left_out(arguments.seeds, arguments.length)
        return
    done = {(row["candidate"], row["stream"]) for row in known()}
    if arguments.what == "run":
        for candidate in arguments.candidates or CANDIDATES:
            for stream in STREAMS:
                if (candidate, stream) not in done:
                    run(candidate, stream)
    table().show()


if __name__ == "__main__":
    main()
