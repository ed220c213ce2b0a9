"""A start of the league: a learner on a stream with a seed, in its own process, recorded once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from heros.run.executors import Processes, WorkerDied
from heros.run.result import Run
from heros_league.arena import ALL
from heros_league.entrants import EVERYBODY, OURS
from heros_league.memory import peak_bytes, restart_peak

__all__ = ["LIMIT", "ORDER", "SEEDS", "Fresh", "Start", "all_starts", "seeds_of"]

LIMIT = 2400.0
"""CPU seconds after which a run is stopped."""

JAVA = "-Xmx8g -Xss10M -XX:ActiveProcessorCount=1"
"""CapyMOA's own settings for Java, with one processor, so that garbage collection uses one thread."""

ORDER = (
    *("no_change", "fading", "last_value", "fading_mean"),
    *("heros", "lean", "forest", "perceptrons"),
    *("lightgbm_5k", "xgboost_5k", "lightgbm_20k", "xgboost_20k", "lightgbm_all", "xgboost_all"),
    *("arf", "bagging", "srp", "dems", "blast", "river_arf", "autoclass", "shrubs", "amf", "sgbt"),
    "capymoa_halving",
    *("river_tree_reg", "river_linear", "river_pa", "fimtdd", "knn_reg", "sgd_reg", "pa_reg"),
    *("river_arf_reg", "river_amf_reg", "arf_reg", "sgbr", "soknl"),
)
"""The order of learners: cheap ones first, so that the table fills evenly."""

SEEDS = (1, 2, 3)
"""The seeds of HEROS, and of all learners with random choices on streams of less than 50,000 instances."""

STREAM_ORDER = (
    *("wisdm", "electricity", "nomao", "agr_a", "led_a", "rbf_m", "rbf_f"),
    *("covtype", "airlines", "agr_g", "led_g"),
    *("trump", "chicks", "stocks", "diabetes", "price", "friedman_global", "friedman_local"),
    *("friedman_gradual", "hyperplane", "wave", "elevation", "flights"),
)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Start:
    """A run of a learner on a stream, as a job of `heros.run.experiments`.

    Parameters
    ----------
    entrant
        One of `EVERYBODY`.
    stream
        One of `heros_league.arena.ALL`.
    seed
        The random seed of the learner.
    limit
        CPU seconds after which the run is stopped and marked.
    first
        The number of instances, for a repeated timing; by default all.

    Examples
    --------
    >>> Start("arf", "agr_a").id
    'agr_a/arf/seed1'
    """

    entrant: str
    stream: str
    seed: int = 1
    limit: float = LIMIT
    first: int | None = None
    instances: int | None = None  # a run that is stopped has fewer
    compact: bool = True
    span: tuple[int, int] | None = None
    work: float = 1.0

    @property
    def id(self) -> str:
        """The path of the record below the directory of records."""
        return f"{self.stream}/{self.entrant}/seed{self.seed}"

    def run(self, progress: bool | str | None = False) -> Run:
        """Run the learner, and add the load and the memory to the settings."""
        os.environ.setdefault("CAPYMOA_JVM_ARGS", JAVA)
        entrant = EVERYBODY[self.entrant]
        arena = ALL[self.stream]
        entrant.start()
        stream = arena.open()
        whole = stream.n_instances
        stream = stream if self.first is None else stream.take(self.first)
        load, before = os.getloadavg()[0], restart_peak()
        run = entrant.run(stream, self.seed, window=arena.window, limit=self.limit)
        league = {
            "entrant": self.entrant,
            "instances": whole,
            "limit_seconds": self.limit,
            "load": [round(load, 2), round(os.getloadavg()[0], 2)],
            "peak_bytes": max(0, peak_bytes() - before),
        }
        return replace(run, stream=self.stream, settings={**run.settings, "league": league})


class Fresh:
    """An executor that runs each item in a new interpreter, one after the other."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """Yield ``(index of the item, work(item))`` in order."""
        for i, item in enumerate(items):
            for _, result in Processes(1).results(work, [item]):
                yield i, result


def seeds_of(entrant: str, stream: str) -> tuple[int, ...]:
    """Return the seeds of a learner on a stream.

    Examples
    --------
    >>> seeds_of("srp", "wisdm"), seeds_of("srp", "airlines"), seeds_of("lightgbm_5k", "wisdm")
    ((1, 2, 3), (1,), (1,))
    """
    if entrant in OURS:
        return SEEDS
    return SEEDS if EVERYBODY[entrant].random and not ALL[stream].long else SEEDS[:1]


def all_starts(
    entrants: Iterable[str],
    streams: Iterable[str],
    seeds: Callable[[str, str], Iterable[int]],
    limit: float = LIMIT,
    first: int | None = None,
) -> list[Start]:
    """Return the starts of these learners on these streams with their seeds, cheap learners first."""
    learners = sorted(entrants, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    chosen = sorted(streams, key=lambda name: STREAM_ORDER.index(name) if name in STREAM_ORDER else -1)
    pairs = product(learners, chosen)
    return [Start(name, stream, seed, limit, first) for name, stream in pairs for seed in seeds(name, stream)]
