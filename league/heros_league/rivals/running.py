"""Runs of competing learners on streams: a single run, or many runs with records."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from heros import ParameterError, streams
from heros._base.parameters import number, one_of, whole
from heros.ensemble import Heros
from heros.meters import Cpu
from heros.policies import Cand, Everything, Explore, Policy, Zeta
from heros.pools import BoundModels, MLPGrid, Models
from heros.run import records
from heros.run.experiments import Experiment, Job, Outcome, run_all
from heros.run.loop import evaluate
from heros.run.result import Run
from heros.scores import Cumulative
from heros.streams import Stream
from heros_league.rivals.baselines import BASELINES, NUMBER_BASELINES
from heros_league.rivals.classifiers import RIVALS as CLASSIFIERS
from heros_league.rivals.classifiers import Rival
from heros_league.rivals.passing import Filled, Limited
from heros_league.rivals.regressors import REGRESSORS as NUMERIC
from heros_league.rivals.retrained import BOOSTERS, NUMBER_BOOSTERS

__all__ = ["HEROS", "REGRESSORS", "RIVALS", "Match", "first", "match", "run_rival", "run_rivals"]

RIVALS: dict[str, Rival] = CLASSIFIERS | BASELINES | BOOSTERS
"""The competing classifiers by name."""

REGRESSORS: dict[str, Rival] = NUMERIC | NUMBER_BASELINES | NUMBER_BOOSTERS
"""The competing regressors by name."""

BLOCK = 64  # instances between two checks of the time limit

HEROS: dict[str, Policy] = {"heros": Explore(Zeta(0.05), 0.2), "heros_cand": Cand()}
"""The HEROS policies in the comparison, over the paper's pool of perceptrons with k = 30."""


def run_rival(
    name: str,
    stream: Stream,
    seed: int = 1,
    *,
    window: int = 1000,
    limit: float | None = None,
    progress: bool | str | None = None,
) -> Run:
    """Evaluate and train a competing learner on the rest of a stream.

    CPU time is that of the whole process, since Java compiles and collects garbage in its own threads:
    `evaluate` and `train` are the time of the calling thread, everything else is `other`. Library imports and
    the start of Java are not counted. The training cost γ is 1, since the learner is always trained.

    Parameters
    ----------
    name
        One of `RIVALS`, or of `REGRESSORS` if the target is a number.
    stream
        The stream, read from its current position to its end; its length must be known.
    seed
        The random seed of the learner.
    window, progress
        As for `heros.evaluate`.
    limit
        CPU seconds after which the run is stopped; its settings then contain ``stopped``.

    Examples
    --------
    >>> from heros import streams
    >>> run = run_rival("bandit", streams.load("agr_a").take(300), seed=1)
    >>> run.settings["pool"], run.settings["policy"], run.n_instances, run.gamma_share
    ('river15', 'bandit', 300, 1.0)
    """
    rival = _rival(name)
    if stream.n_instances is None:
        raise ParameterError.of("stream", "run_rival", "a stream whose length is known", stream)
    seed = whole(seed, "seed", "run_rival", 0)
    limit = math.inf if limit is None else number(limit, "limit", "run_rival", 0)
    learner = rival.make(seed, stream.n_instances - stream.position)
    pool = Models([(name, learner)], costs=[1], on_error="raise")
    model = Heros(pool, Everything(), 1, score=Cumulative(), warmup=0, seed=seed, schema=stream.schema)
    meter = Cpu(process=True)
    source = Limited(Filled(stream) if rival.fills else stream, limit, meter)
    block = BLOCK if limit < math.inf else 4096
    run = evaluate(
        model,
        source,
        window=window,
        block=block,
        meter=meter,
        predictions=False,
        progress=progress,
        on_interrupt="raise",
    )
    assert isinstance(model.bound, BoundModels)
    options = getattr(model.bound[name], "CLI", None)  # the command-line options of MOA
    settings = {
        **run.settings,
        **_identity(name, seed),
        "library": f"{rival.library} {version(rival.library)}",
        "options": None if options is None else " ".join(str(options).split()),
        "cpu": "of the process, without importing libraries and starting Java",
        "stopped": source.stopped,
    }
    return replace(run, settings=settings)


@dataclass(frozen=True, eq=False)
class Match:
    """A run of a competing learner on a stream of the paper, as a job of `heros.run.experiments`.

    Parameters
    ----------
    name
        One of `RIVALS`.
    stream, n
        As for `first`.
    seed, window
        As for `run_rival`.

    Examples
    --------
    >>> match = Match("arf", "agr_a", 100_000)
    >>> match.id, match.instances
    ('agr_a_100k/capymoa50/arf/k50/seed1', 100000)
    """

    name: str
    stream: str
    n: int | None = None
    seed: int = 1
    window: int = 1000
    compact: bool = True
    span: tuple[int, int] | None = None
    work: float = 1.0

    @property
    def id(self) -> str:
        """The path of the record below the directory of records."""
        return records.id_from(first(self.stream, self.n).name, _identity(self.name, self.seed))

    @property
    def instances(self) -> int | None:
        """The number of instances."""
        return first(self.stream, self.n).n_instances

    def run(self, progress: bool | str | None = False) -> Run:
        """Evaluate and train the learner on the stream."""
        stream = first(self.stream, self.n)
        return run_rival(self.name, stream, self.seed, window=self.window, progress=progress)


def match(name: str, stream: str, n: int | None = None, seed: int = 1, window: int = 1000) -> Job:
    """Return the job of a competing learner, or of HEROS, on a stream.

    Examples
    --------
    >>> match("heros", "agr_a", 100_000).id
    'agr_a_100k/mlp50/zeta_0.05_0.2/k30/seed1'
    """
    if name not in HEROS:
        return Match(name, stream, n, seed, window)
    opened = partial(first, stream, n)
    return Experiment(opened, MLPGrid(), HEROS[name], 30, seed=seed, window=window, compact=True)


def run_rivals(
    names: Iterable[str],
    stream_names: Iterable[str],
    out: str | Path,
    *,
    n: int | None = None,
    seeds: Iterable[int] = (1,),
    window: int = 1000,
) -> Outcome:
    """Run competing learners and HEROS on the paper's streams, one after the other, with records.

    Existing records are kept: a second call continues an interrupted one.

    Parameters
    ----------
    names
        Names among `RIVALS` and `HEROS`.
    stream_names
        Names of streams for `heros.streams.load`.
    out
        The directory of the records.
    n
        The number of instances at the start of each stream; by default all. See `first`.
    seeds
        The seeds, one run each.
    window
        As for `heros.evaluate`.

    Returns
    -------
    The ids of new and existing records, and the failures.
    """
    chosen = product(stream_names, seeds, list(names))
    jobs = [match(name, stream, n, seed, window) for stream, seed, name in chosen]
    return run_all(jobs, out, each=True)


def first(name: str, n: int | None) -> Stream:
    """Return a stream of the paper, or its first n instances with n in the name.

    Examples
    --------
    >>> first("led_a", 100_000).name, first("led_a", None).name
    ('led_a_100k', 'led_a')
    """
    stream = streams.load(name)
    if n is None or (stream.n_instances is not None and n >= stream.n_instances):
        return stream
    part = stream.take(n)
    part.name = f"{name}_{n // 1000}k" if n % 1000 == 0 else f"{name}_{n}"
    return part


def _rival(name: str) -> Rival:
    known = {**RIVALS, **REGRESSORS}
    return known[one_of(name, "name", "run_rival", known, f"one of {', '.join(known)}")]


def _identity(name: str, seed: int) -> dict[str, Any]:
    """Return the settings by which tables select records."""
    rival = _rival(name)
    return {"pool": rival.pool, "policy": name, "k": rival.k, "seed": seed}
