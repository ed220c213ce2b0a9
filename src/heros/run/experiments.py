"""Experiments: runs described as plain data. Any process can execute a run; each run is recorded once.

Runs that already have a record are skipped, runs with a damaged record are repeated, and failures are
reported. Records are overwritten only on request. If a set of runs was stopped, start the set again to
continue.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from heros import streams
from heros._base.errors import HerosError, ParameterError
from heros._base.progress import progress as progress_bar
from heros.ensemble import Heros
from heros.ensemble.settings import ModelSettings, heros_of
from heros.meters import Meter
from heros.run import records
from heros.run.executors import Executor, Serial, WorkerDied
from heros.run.loop import evaluate
from heros.run.result import Run
from heros.streams import Stream


class Job(Protocol):
    """One run of any learner, described as plain data that can be sent to another process."""

    @property
    def id(self) -> str:
        """The path of the record, relative to the directory of records."""

    @property
    def instances(self) -> int | None:
        """The number of instances of a complete record; None if the number is not known in advance."""

    @property
    def work(self) -> float:
        """The approximate duration in an arbitrary unit, for the progress bar."""

    @property
    def span(self) -> tuple[int, int] | None:
        """The range of instances for which curves are recorded; None for all instances."""

    @property
    def compact(self) -> bool:
        """Whether to omit the curves of individual models from the record."""

    def run(self, progress: bool | str | None = False) -> Run:
        """Run the job and return the result."""


@dataclass(eq=False)
class _Subject:
    stream: str | Callable[[], Stream]


@dataclass(eq=False)
class Experiment(ModelSettings, _Subject):
    """A run of HEROS on a stream.

    Parameters
    ----------
    stream
        A name for `heros.streams.load`, or a function that opens the stream, e.g.
        ``functools.partial(streams.read, "orders.csv", target="fraud")``.
    pool, policy, k, answer, watch, burst, warmup, budget, explainable, seed
        The settings of the model, as for `heros.Heros`.
    n
        The number of instances to use, from the start of the stream; None uses all instances.
    window, exact
        As for `heros.evaluate`.
    meter
        A function that returns a new meter; None uses the default meter of `heros.evaluate`.
    span, compact, work
        See `Job`.

    Examples
    --------
    >>> from heros import policies, pools
    >>> trees = Experiment("led_a", pools.HoeffdingGrid(), policies.Random(), k=20, n=1000)
    >>> trees.id, trees.instances
    ('led_a/trees50/random/k20/seed1', 1000)
    """

    _: KW_ONLY
    seed: int = 1
    n: int | None = None
    window: int = 1000
    exact: bool = True
    meter: Callable[[], Meter] | None = None
    span: tuple[int, int] | None = None
    compact: bool = False
    work: float = 1.0

    @property
    def id(self) -> str:
        """The path of the record, relative to the directory of records."""
        return records.id_of(self.model(), self.open())

    @property
    def instances(self) -> int | None:
        """The number of instances, including skipped rows; `n` if the length of the stream is unknown."""
        length = self.open().n_instances
        return self.n if length is None else length

    def model(self) -> Heros:
        """Return a new, untrained model with these settings."""
        return heros_of(self)

    def open(self) -> Stream:
        """Open the stream at its start."""
        stream = streams.load(self.stream) if isinstance(self.stream, str) else self.stream()
        return stream if self.n is None else stream.take(self.n)

    def run(self, progress: bool | str | None = False) -> Run:
        """Evaluate and train a new model on the stream."""
        return evaluate(
            self.model(),
            self.open(),
            window=self.window,
            meter=None if self.meter is None else self.meter(),
            exact=self.exact,
            predictions=False,  # keeps runs small, because they are sent between processes
            progress=progress,
            on_interrupt="raise",
        )


@dataclass(frozen=True)
class Failure:
    """The reason why a job failed."""

    reason: str  # a text of one line
    details: str = field(default="", repr=False)  # the traceback


@dataclass(frozen=True)
class Outcome:
    """The ids of the jobs by outcome: run, already recorded, or failed."""

    done: tuple[str, ...]  # jobs that this call has run
    kept: tuple[str, ...]  # jobs that have a record, so they were not run
    failed: dict[str, Failure]
    runs: dict[str, Run] = field(default_factory=dict, repr=False)  # this call's runs, if keep=True
    unrecorded: dict[str, str] = field(default_factory=dict)  # ids of runs without a record, and the reasons


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
    """Run the jobs that have no complete record under `out`, and record each job as soon as it is done.

    Parameters
    ----------
    jobs
        The jobs, in the order in which they are run.
    out
        The directory of records. An error is raised if an existing record has a different number of
        instances than its job.
    executor
        The executor that runs the jobs; `heros.run.executors.Serial()` by default.
    force
        Whether to run recorded jobs again and replace their records.
    strict
        Whether the first failure is raised and stops all jobs; otherwise failures are reported at the end.
    progress
        Whether to show a progress bar; by default if the output is a terminal.
    each
        Whether every run has its own progress bar, instead of one bar for all runs.
    keep
        Whether to return the runs in `Outcome.runs`. A record that cannot be written is then listed in
        `Outcome.unrecorded`, and the other jobs continue. With ``out=None`` nothing is recorded.

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
        raise ParameterError.of("out", "run_all", "a directory, unless keep=True", out)
    named: dict[str, Job] = {}
    for job in jobs:
        if (id := job.id) in named:
            raise ParameterError.of("jobs", "run_all", "jobs with different ids", id)
        named[id] = job
    place = None if out is None else Path(out)
    kept = [] if force or place is None else [id for id, job in named.items() if _found(id, job, place)]
    remaining = {id: job for id, job in named.items() if id not in kept}
    existing = {  # ids whose record is damaged or must be replaced
        id for id in remaining if place is not None and ((place / id).exists() or records.exists(place / id))
    }
    ids, todo = list(remaining), list(remaining.values())
    done: list[str] = []
    failed: dict[str, Failure] = {}
    runs: dict[str, Run] = {}
    unrecorded: dict[str, str] = {}
    names = {id: f"{i} of {len(ids)}: {id}" for i, id in enumerate(ids, 1)} if each else {}
    work = partial(_attempted, progress if each else False, names, strict)
    with progress_bar("{task.fields[standing]}", wanted=False if each else progress) as bar:
        work_left = sum(job.work for job in todo)
        task = bar.add_task("runs", total=work_left, standing=_progress_text(todo, done, failed))
        for i, result in (Serial() if executor is None else executor).results(work, todo):
            if isinstance(result, Run):
                if result.interrupted and not result.too_many_bad_rows:
                    raise KeyboardInterrupt  # an incomplete run is not recorded
                try:
                    if place is not None:
                        _record(result, ids[i], todo[i], place, force=ids[i] in existing)
                except HerosError as error:
                    if not keep:
                        raise
                    unrecorded[ids[i]] = str(error)
                if keep:
                    runs[ids[i]] = result
                done.append(ids[i])
            elif strict and isinstance(result, WorkerDied):
                raise HerosError(f"The run {ids[i]} did not finish: {result.reason}.")
            else:
                failed[ids[i]] = Failure(result.reason) if isinstance(result, WorkerDied) else result
            bar.update(task, advance=todo[i].work, standing=_progress_text(todo, done, failed))
    return Outcome(tuple(done), tuple(kept), failed, runs, unrecorded)


def _found(id: str, job: Job, out: Path) -> Run | None:
    """Return the recorded run of this job if the record is complete."""
    place = out / id
    if not records.exists(place):
        return None
    try:
        run = records.read(place)
    except HerosError:
        return None  # the record is damaged, so the job is run again
    longest = run.n_instances + run.bad_rows.count  # the length of a stream includes skipped rows
    if job.instances is not None and not run.n_instances <= job.instances <= longest:
        rule = f"The record {place} must have {job.instances:,} instances. Got {run.n_instances:,} instead."
        raise HerosError(f"{rule} Use another directory, or replace the record.")
    return run


def _attempted(progress: bool | None, names: Mapping[str, str], strict: bool, job: Job) -> Run | Failure:
    """Run the job; unless `strict`, return a `Failure` so that an error does not stop the other jobs.

    If `progress` is None, the progress bar shows the number and the id of the run.
    """
    try:
        return job.run(names.get(job.id) if progress is None else progress)
    except Exception as error:
        if strict:
            raise
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def _record(run: Run, id: str, job: Job, out: Path, force: bool) -> None:
    found = None if force else _found(id, job, out)
    if found is not None and found.n_instances == run.n_instances:
        return  # another process has recorded the same run
    if job.span is not None:
        first, last = job.span
        run = replace(run, curves=run.curves[(run.curves.end > first) & (run.curves.end <= last)])
    records.save(run, out, id=id, force=force, compact=job.compact)


def _progress_text(todo: Sequence[Job], done: Sequence[str], failed: dict[str, Failure]) -> str:
    failures = f", {len(failed)} failed" if failed else ""
    return f"{len(done) + len(failed)} of {len(todo)} runs{failures}"
