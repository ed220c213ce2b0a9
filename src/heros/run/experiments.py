"""Experiments: runs described as plain data, made in any process, and recorded once.

What is recorded is kept, what is broken is run again, what fails is reported, and nothing is overwritten
unasked: a set of runs that was stopped goes on when it is started again.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from heros import streams
from heros._base.progress import progress as progress_bar
from heros.ensemble import Heros
from heros.ensemble.watch import Answer, Watch
from heros.errors import HerosError, ParameterError
from heros.meters import Meter
from heros.policies import Policy
from heros.pools import Pool
from heros.run import records
from heros.run.curves import Curves
from heros.run.executors import Executor, Serial, WorkerDied
from heros.run.loop import evaluate
from heros.run.result import Run
from heros.streams import Stream

__all__ = ["Experiment", "Failure", "Job", "Outcome", "run_all"]


class Job(Protocol):
    """One run, as plain data that another process can read: whatever the learner is."""

    @property
    def id(self) -> str:
        """Where its record is, below the directory of records."""

    @property
    def instances(self) -> int | None:
        """How many instances a whole record of it has; None if that is not known before."""

    @property
    def work(self) -> float:
        """About how long it takes, in a unit of your own."""

    @property
    def span(self) -> tuple[int, int] | None:
        """The part of the curves that is kept; None for all of them."""

    @property
    def compact(self) -> bool:
        """Whether the curves of the single models are left out of the record."""

    def run(self, progress: bool | str | None = False) -> Run:
        """Make the run."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """HEROS on a stream.

    Parameters
    ----------
    stream
        A name that `heros.streams.load` knows, or what opens the stream, e.g.
        ``functools.partial(streams.read, "orders.csv", target="fraud")``.
    pool, policy, k, seed, watch, burst, answer
        The model, as for `heros.Heros`.
    n
        Only the first so many instances.
    window, exact
        As for `heros.evaluate`.
    meter
        What makes the meter; that of `heros.evaluate` by default.
    span, compact, work
        See `Job`.

    Examples
    --------
    >>> from heros import policies, pools
    >>> trees = Experiment("led_a", pools.HoeffdingGrid(), policies.Random(), k=20, n=1000)
    >>> trees.id, trees.instances
    ('led_a/trees50/random/k20/seed1', 1000)
    """

    stream: str | Callable[[], Stream]
    pool: Pool
    policy: Policy
    k: int | None = None
    seed: int = 1
    n: int | None = None
    window: int = 1000
    exact: bool = True
    meter: Callable[[], Meter] | None = None
    span: tuple[int, int] | None = None
    compact: bool = False
    work: float = 1.0
    watch: Watch = "all"
    burst: int = 0
    answer: Answer = "best"

    @property
    def id(self) -> str:
        """Where its record is, below the directory of records."""
        return records.id_of(self.model(), self.open())

    @property
    def instances(self) -> int | None:
        """How many instances it runs on, fewer if rows are skipped; None: the stream does not know."""
        length = self.open().n_instances
        return self.n if length is None else length

    def model(self) -> Heros:
        """The model, fresh."""
        return Heros(
            self.pool,
            self.policy,
            self.k,
            seed=self.seed,
            watch=self.watch,
            burst=self.burst,
            answer=self.answer,
        )

    def open(self) -> Stream:
        """The stream, from its start."""
        stream = streams.load(self.stream) if isinstance(self.stream, str) else self.stream()
        return stream if self.n is None else stream.take(self.n)

    def run(self, progress: bool | str | None = False) -> Run:
        """Test, then train the model on the stream."""
        meter = None if self.meter is None else self.meter()
        return evaluate(
            self.model(),
            self.open(),
            window=self.window,
            meter=meter,
            exact=self.exact,
            predictions=False,  # runs are many, and are sent from process to process
            progress=progress,
            on_interrupt="raise",
        )


@dataclass(frozen=True)
class Failure:
    """Why a job has no record."""

    reason: str  # in a line
    details: str = field(default="", repr=False)  # the traceback


@dataclass(frozen=True)
class Outcome:
    """What became of jobs: their ids."""

    done: tuple[str, ...]  # run now
    kept: tuple[str, ...]  # recorded before
    failed: dict[str, Failure]
    runs: dict[str, Run] = field(default_factory=dict, repr=False)  # what was run now, if asked for
    unrecorded: dict[str, str] = field(default_factory=dict)  # why a run of these has no record


def run_all(
    jobs: Iterable[Job],
    out: str | Path | None,
    *,
    executor: Executor | None = None,
    force: bool = False,
    strict: bool = False,
    progress: bool | None = None,
    each: bool = False,
    keep: bool = False,
) -> Outcome:
    """Run the jobs that have no whole record below `out` yet, and record each as soon as it is done.

    Parameters
    ----------
    jobs
        What to run, in this order.
    out
        The directory of records. A job recorded with another number of instances is an error: nothing is
        overwritten.
    executor
        Where to run; `heros.run.executors.Serial()` by default.
    force
        Whether to run, and replace, what is recorded as well.
    strict
        Whether the first failure is raised, and ends all; else failures are reported at the end.
    progress
        Whether to show a progress bar; by default if the output is a terminal.
    each
        Whether that is a bar for every run, one after the other, instead of one over all of them.
    keep
        Whether to give the runs as well, in `Outcome.runs`. Then a record that cannot be written loses no
        results and stops nothing: `Outcome.unrecorded` says so. With an `out` of None nothing is recorded.

    Examples
    --------
    >>> import tempfile
    >>> from heros import policies, pools
    >>> chosen = [policies.Cheapest(), policies.Random()]
    >>> jobs = [Experiment("led_a", pools.HoeffdingGrid(), policy, 20, n=500) for policy in chosen]
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     first, second = run_all(jobs, directory), run_all(jobs, directory)
    >>> len(first.done), len(second.done), second.kept[0]
    (2, 0, 'led_a/trees50/cheapest/k20/seed1')
    """
    if out is None and not keep:
        raise ParameterError.of("out", "run_all", "a directory, unless runs are to be kept", out)
    named = _named(jobs)
    place = None if out is None else Path(out)
    kept = [] if force or place is None else [id for id, job in named.items() if _recorded(id, job, place)]
    left = {id: job for id, job in named.items() if id not in kept}
    there = {id for id in left if place is not None and _something_at(place / id)}  # broken, or to replace
    ids, todo = list(left), list(left.values())
    done: list[str] = []
    failed: dict[str, Failure] = {}
    runs: dict[str, Run] = {}
    unrecorded: dict[str, str] = {}
    names = {id: f"{i} of {len(ids)}: {id}" for i, id in enumerate(ids, 1)} if each else {}
    work = partial(_made if strict else _attempted, progress if each else False, names)
    with progress_bar("{task.fields[standing]}", wanted=False if each else progress) as bar:
        task = bar.add_task(
            "runs", total=sum(job.work for job in todo), standing=_standing(todo, done, failed)
        )
        for i, result in (Serial() if executor is None else executor).results(work, todo):
            if isinstance(result, Run):
                if result.interrupted and not result.too_many_bad_rows:
                    raise KeyboardInterrupt  # half a run is no record
                try:
                    if place is not None:
                        _record(result, ids[i], todo[i], place, force=ids[i] in there)
                except HerosError as error:
                    if not keep:
                        raise
                    unrecorded[ids[i]] = str(error)
                if keep:
                    runs[ids[i]] = result
                done.append(ids[i])
            else:
                failed[ids[i]] = _failure(result, ids[i], strict)
            bar.update(task, advance=todo[i].work, standing=_standing(todo, done, failed))
    return Outcome(tuple(done), tuple(kept), failed, runs, unrecorded)


def _named(jobs: Iterable[Job]) -> dict[str, Job]:
    named: dict[str, Job] = {}
    for job in jobs:
        id = job.id
        if id in named:
            raise ParameterError.of("jobs", "run_all", "of different ids", id)
        named[id] = job
    return named


def _recorded(id: str, job: Job, out: Path) -> bool:
    """Whether there is a whole record of this very job."""
    place = out / id
    if not records.exists(place):
        return False
    try:
        run = records.read(place)
    except HerosError:
        return False  # broken: it is run again
    longest = run.n_instances + run.bad_rows.count  # rows may have been skipped
    if job.instances is not None and not run.n_instances <= job.instances <= longest:
        rule = f"be of {job.instances:,} instances (or go elsewhere, or be replaced)"
        raise HerosError(f"The record {place} must {rule}. Got {run.n_instances:,} instead.")
    return True


def _made(progress: bool | None, names: Mapping[str, str], job: Job) -> Run:
    """The run; a bar that is not refused or forced says how many of how many it is."""
    return job.run(names.get(job.id) if progress is None else progress)


def _attempted(progress: bool | None, names: Mapping[str, str], job: Job) -> Run | Failure:
    """The run, or why there is none: one job that fails does not stop the others."""
    try:
        return _made(progress, names, job)
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def _failure(result: Failure | WorkerDied, id: str, strict: bool) -> Failure:
    if isinstance(result, Failure):
        return result
    if strict:
        raise HerosError(f"The run {id} must come to its end. Got none: {result.reason}.")
    return Failure(result.reason)


def _something_at(place: Path) -> bool:
    return place.exists() or records.exists(place)


def _record(run: Run, id: str, job: Job, out: Path, force: bool) -> None:
    if not force and _recorded(id, job, out) and records.read(out / id).n_instances == run.n_instances:
        return  # another process was faster: its record is of the same run
    if job.span is not None:
        run = replace(run, curves=_cut(run.curves, *job.span))
    records.save(run, out, id=id, force=force, compact=job.compact)


def _cut(curves: Curves, first: int, last: int) -> Curves:
    inside = (curves.end > first) & (curves.end <= last)
    return curves[inside]


def _standing(todo: Sequence[Job], done: Sequence[str], failed: dict[str, Failure]) -> str:
    trouble = f", {len(failed)} failed" if failed else ""
    return f"{len(done) + len(failed)} of {len(todo)} runs{trouble}"
