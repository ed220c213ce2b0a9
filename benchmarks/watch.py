"""The cost of a step if only trained models are evaluated, as a share of training every model, beside Σγ.

    make bench        (prints these tables last), or python benchmarks/watch.py

Perceptrons, trees and River models. All settings of a pool alternate block by block on a stream, so that
load on the machine affects all of them. The share is the median over blocks of a setting's CPU time divided
by that of Everything on the same block. Σγ is the cost of training by the pool's own costs: hidden units,
byte limits, or the time of each model. The limit is Σγ plus an allowance for all other work.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from river.tree import HoeffdingTreeClassifier

from heros import Heros, HerosError, Top, policies, pools, streams
from heros.ensemble.watch import Answer, Watch

ZETA = policies.Explore(policies.Zeta(0.05), 0.1)
CAND = policies.Cand()
M = 50
STREAMS = ("agr_a", "rbf_m", "covtype")
EVERYTHING = "everything"
BLOCKS = 30  # blocks of a stream; the first ones, with the warm-up, are not counted
WARM_BLOCKS = 3


class Setting(NamedTuple):
    """Which models are trained, which are evaluated (`watch`), and how the pool predicts (`answer`)."""

    policy: policies.Policy
    k: int
    watch: Watch
    answer: Answer = "best"


Settings = Mapping[str, Setting]  # by name


def settings(k: int) -> Settings:
    return {
        EVERYTHING: Setting(policies.Everything(), M, "all"),
        f"ζ(.05, .1), k = {k}": Setting(ZETA, k, "trained"),
        f"cand, k = {k}": Setting(CAND, k, "trained"),
        "cand, k = 10": Setting(CAND, 10, "trained"),
        "cheapest, k = 10": Setting(policies.Cheapest(), 10, 8),
        "cand, k = 8, best 5 answer": Setting(CAND, 8, "trained", Top(5)),
    }


MEMBER_SETTINGS: Settings = {
    EVERYTHING: Setting(policies.Everything(), M, "all"),
    "cand, k = 10, all evaluated": Setting(CAND, 10, "all"),
    "cand, k = 10": Setting(CAND, 10, "trained"),
    "cand, k = 25, all evaluated": Setting(CAND, 25, "all"),
    "cand, k = 25": Setting(CAND, 25, "trained"),
}


@dataclass(frozen=True, eq=False)
class Walk:
    """The results per counted block: CPU seconds and Σγ per instance, and the number of evaluated models."""

    seconds: NDArray[np.float64]
    spent: NDArray[np.float64]
    looks: NDArray[np.float64]


def walk(pool: pools.Pool, wanted: Settings, stream: streams.Stream, n: int) -> dict[str, Walk]:
    """Run all settings in turns on n instances."""
    X, y = stream.take(n).draw(n)
    models = {
        name: Heros(pool, policy, k, seed=1, schema=stream.schema, watch=watch, answer=answer)
        for name, (policy, k, watch, answer) in wanted.items()
    }
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in models}
    for number, rows in enumerate(np.array_split(np.arange(n), BLOCKS)):
        for name in np.roll(list(models), number):
            model, evaluated = models[name], models[name].evaluated.sum()
            start = time.thread_time()
            block = model.test_then_train(X[rows], y[rows])
            seconds = time.thread_time() - start
            looks = model.evaluated.sum() - evaluated
            figures[name].append((seconds / len(rows), block.spent.mean(), looks / len(rows)))
    return {name: Walk(*np.array(rows[WARM_BLOCKS:]).T) for name, rows in figures.items()}


def compare(
    console: Console, title: str, pool: pools.Pool, wanted: Settings, rest: float, sizes: Mapping[str, int]
) -> None:
    """Print a line per stream and setting; `rest` is the allowance on top of Σγ."""
    table = Table(title=f"{title}, limit Σγ + {rest:.2f}", box=box.SIMPLE_HEAD)
    for heading in ("stream", "setting", "looks", "µs per instance", "of everything", "Σγ", "limit", ""):
        table.add_column(heading, justify="left" if heading in ("stream", "setting", "") else "right")
    for name, n in sizes.items():
        try:
            stream = streams.load(name)
        except HerosError as error:
            console.print(f"{name}: not measured. {error}")
            continue
        walks = walk(pool, wanted, stream, n)
        for setting, done in walks.items():
            share = float(np.median(done.seconds / walks[EVERYTHING].seconds))
            limit = done.spent.mean() + rest
            limits = (
                ("", "") if wanted[setting].watch == "all" else (f"{limit:.3f}", _yes_or_no(share <= limit))
            )
            table.add_row(
                name,
                setting,
                f"{done.looks.mean():.1f}",
                f"{np.median(done.seconds) * 1e6:.1f}",
                f"{share:.3f}",
                f"{done.spent.mean():.3f}",
                *limits,
            )
    console.print(table)


def _yes_or_no(kept: bool) -> str:
    return "kept" if kept else "missed"


def river_members() -> pools.Pool:
    """Return River trees with equal costs: Σγ is k/M."""
    graces = np.linspace(50, 540, M).astype(int).tolist()
    named = [(f"grace {grace}", HoeffdingTreeClassifier(grace_period=grace)) for grace in graces]
    return pools.Models(named, costs=[1.0] * M)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=float, default=1, help="instances, as a multiple of the usual number")
    parser.add_argument("--only", choices=["perceptrons", "trees", "members"], help="tables of one pool")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core
    console = Console()
    console.print(f"Only trained models are evaluated; load average {os.getloadavg()[0]:.2f}")

    def sizes(usual: int, names: tuple[str, ...] = STREAMS) -> dict[str, int]:
        return dict.fromkeys(names, int(usual * options.size))

    if options.only in (None, "perceptrons"):
        for pool, counted in ((pools.MLPGrid(), "hidden units"), (pools.MLPGrid(costs="measured"), "time")):
            compare(console, f"50 perceptrons, γ by {counted}", pool, settings(30), 0.06, sizes(6000))
    if options.only in (None, "trees"):
        grids = ((pools.HoeffdingGrid(), "byte limit"), (pools.HoeffdingGrid(costs="measured"), "time"))
        for pool, counted in grids:
            compare(console, f"50 Hoeffding trees, γ by {counted}", pool, settings(20), 0.10, sizes(20000))
    if options.only in (None, "members"):
        title = "50 trees of River's, γ = 1/50"
        compare(console, title, river_members(), MEMBER_SETTINGS, 0.10, sizes(1500, ("agr_a",)))


if __name__ == "__main__":
    main()
