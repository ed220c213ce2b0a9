"""A start of the league: who, on which stream, with which seed; alone in a process, recorded once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from heros.run.executors import Processes
from heros.run.executors.base import WorkerDied
from heros.run.loop import Run
from heros_league.arena import ALL
from heros_league.entrants import EVERYBODY
from heros_league.memory import peak_bytes, restart_peak

__all__ = ["LIMIT", "ORDER", "Fresh", "Start", "all_starts"]

LIMIT = 2400.0
"""CPU seconds after which a run is stopped."""

JAVA = "-Xmx8g -Xss10M -XX:ActiveProcessorCount=1"
"""CapyMOA's own settings for Java, and one processor: so it collects garbage in one thread, in turn."""

ORDER = (
    *("heros", "lean", "forest", "perceptrons"),
    *("arf", "bagging", "srp", "blast", "river_arf", "autoclass", "shrubs", "amf", "sgbt"),
    "capymoa_halving",
    *("river_tree_reg", "river_linear", "river_pa", "fimtdd", "knn_reg", "sgd_reg", "pa_reg"),
    *("river_arf_reg", "river_amf_reg", "arf_reg", "sgbr", "soknl"),
)
"""The cheap ones first, so that the table fills evenly."""

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
    """A learner on a stream, as a job of `heros.run.experiments`.

    Parameters
    ----------
    entrant
        One of `EVERYBODY`.
    stream
        One of `heros_league.arena.ALL`.
    seed
        Of the learner's random numbers.
    limit
        After so many CPU seconds it is stopped, and marked.
    first
        Only so many instances, to measure the time again; all by default.

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
        """Where its record is, below the directory of records."""
        return f"{self.stream}/{self.entrant}/seed{self.seed}"

    def run(self, progress: bool | str | None = False) -> Run:
        """Test, then train; with what the machine did meanwhile among the settings."""
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
    """Runs one item after the other, each in a new interpreter: nobody inherits what others left behind."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """``(number of the item, work(item))``, in their order."""
        for i, item in enumerate(items):
            for _, result in Processes(1).results(work, [item]):
                yield i, result


def all_starts(
    entrants: Iterable[str],
    streams: Iterable[str],
    seeds: Callable[[str], Iterable[int]],
    limit: float = LIMIT,
    first: int | None = None,
) -> list[Start]:
    """All starts of these entrants on these streams, the cheap learners first, each with its seeds."""
    learners = sorted(entrants, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    chosen = sorted(streams, key=lambda name: STREAM_ORDER.index(name) if name in STREAM_ORDER else -1)
    pairs = product(learners, chosen)
    return [Start(name, stream, seed, limit, first) for name, stream in pairs for seed in seeds(name)]
