"""`heros compare`: several policies on one stream, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from heros.cli import options
from heros.cli.app import app
from heros.cli.parsing import few_enough, meter_of, stream_of
from heros.ensemble import Heros
from heros.errors import HerosError, ParameterError
from heros.progress import progress
from heros.registry import policy_id, policy_of, pool_of
from heros.report import write_report
from heros.run.loop import Run, evaluate
from heros.storage import records

__all__ = ["compare_command"]

DEFAULT = ("zeta:0.05@0.2", "cheapest", "random", "everything")
HEADINGS = ("AUROC", "accuracy", "rank", "Σγ", "train s", "CPU s", "joules", "saving")


@dataclass(frozen=True)
class _Job:
    """One run, in words that another process can read."""

    stream: str
    target: str | None
    n: int | None
    skip_bad_rows: bool
    pool: str
    policy: str
    epsilon: float | None
    k: int | None
    seed: int
    window: int
    meter: tuple[str, float | None, float | None, str | None]

    def model(self) -> Heros:
        return Heros(pool_of(self.pool), policy_of(self.policy, self.epsilon), self.k, seed=self.seed)

    def run(self, show: bool | None) -> Run:
        stream = stream_of(self.stream, target=self.target, n=self.n, skip_bad_rows=self.skip_bad_rows)
        meter, exact = meter_of(*self.meter), few_enough(stream)
        return evaluate(
            self.model(),
            stream,
            window=self.window,
            meter=meter,
            exact=exact,
            progress=show,
            on_interrupt="raise",
        )

    def place(self, out: Path) -> Path:
        """Where its record would be."""
        return out / records.id_of(self.model(), stream_of(self.stream, target=self.target))


@app.command("compare")
def compare_command(
    stream: options.StreamName,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="E.g. zeta:0.05@0.2; several times. Without it, a usual four."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs of each policy: seeds 1, 2, ...")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs at a time, each in a process.")] = 1,
    target: options.Target = None,
    pool: options.PoolName = "mlp",
    epsilon: options.Epsilon = None,
    k: options.K = None,
    n: options.N = None,
    window: options.Window = 1000,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    out: options.Out = None,
    force: options.Force = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the runs that are recorded already.")
    ] = False,
    skip_bad_rows: options.SkipBadRows = False,
    as_json: options.AsJson = False,
) -> None:
    """Run several policies on a stream: a table with ranks and the saving against training everything."""
    if stream == "-":
        raise ParameterError.of(
            "stream", "compare", "a name or a file: standard input is read only once", "-"
        )
    if meter == "rapl" and jobs > 1:
        raise ParameterError.of("jobs", "compare", "1 with rapl, which would count all runs in each", jobs)
    if resume and out is None:
        raise ParameterError.of("resume", "compare", "used with --out", resume)
    reading = (meter, watts, carbon_intensity, country)
    todo = [
        _Job(stream, target, n, skip_bad_rows, pool, text, epsilon, k, seed, window, reading)
        for text in {policy_id(policy_of(text, epsilon)): text for text in policy or DEFAULT}.values()
        for seed in range(1, seeds + 1)
    ]
    runs = _all(todo, jobs, out, force, resume)
    if out is not None:
        write_report(out, out / "report.html")
    rows = _rows(runs)
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    _print(rows, runs, seeds)
    if out is not None:
        Console().print(Text(f"records: {out}\nreport: {out / 'report.html'}"), soft_wrap=True)


def _all(todo: list[_Job], jobs: int, out: Path | None, force: bool, resume: bool) -> list[Run]:
    """All runs, in the order asked for; each is recorded as soon as it is done."""
    runs: dict[_Job, Run] = {}
    if out is not None:
        there = [job for job in todo if records.exists(job.place(out))]
        if there and not (force or resume):
            place = there[0].place(out)
            raise HerosError(f"The record {place} must not exist (or pass --force or --resume). Got one.")
        if resume:
            runs = {job: _kept(job, out) for job in there}
    left = [job for job in todo if job not in runs]
    for job, run in _done(left, jobs):
        if out is not None:
            records.save(run, out, force=force)
        runs[job] = run
    return [runs[job] for job in todo]


def _kept(job: _Job, out: Path) -> Run:
    """The run recorded, if it is the one asked for."""
    run = records.read(job.place(out))
    if job.n is not None and run.n_instances != job.n:
        rule = f"be of {job.n:,} instances (or pass --force)"
        raise HerosError(f"The record {job.place(out)} must {rule}. Got {run.n_instances:,} instead.")
    return run


def _done(jobs: list[_Job], processes: int) -> Iterator[tuple[_Job, Run]]:
    if processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, job.run(None)
        return
    jobs[0].model()  # a mistake in the words is said before processes start
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(min(processes, len(jobs)), mp_context=context) as pool,
        progress("count") as bar,
    ):
        task = bar.add_task("runs", total=len(jobs))
        futures = {pool.submit(job.run, False): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
                bar.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _rows(runs: list[Run]) -> list[dict[str, Any]]:
    """The mean figures of each policy, its mean rank by AUROC, and what it saves against everything."""
    names = list(dict.fromkeys(run.settings["policy"] for run in runs))
    groups = {name: [run for run in runs if run.settings["policy"] == name] for name in names}
    table = np.array([[run.auroc for run in groups[name]] for name in names])  # (policies, seeds)
    ranks = (
        1 + (table[:, None] < table[None]).sum(axis=1) + ((table[:, None] == table[None]).sum(axis=1) - 1) / 2
    )
    joules = {name: float(np.mean([run.energy.joules for run in group])) for name, group in groups.items()}
    rows = []
    for name, rank in zip(names, ranks.mean(axis=1), strict=True):
        group = groups[name]
        rows.append(
            {
                "policy": name,
                "AUROC": float(np.mean([run.auroc for run in group])),
                "AUROC spread": float(np.std([run.auroc for run in group])),
                "accuracy": float(np.mean([run.accuracy for run in group])),
                "rank": float(rank),
                "Σγ share": float(np.mean([run.gamma_share for run in group])),
                "train s": float(np.mean([run.cpu["train"] for run in group])),
                "CPU s": float(np.mean([run.cpu_seconds for run in group])),
                "energy J": joules[name],
                "CO2e g": _grams(group),
                "saving": 1 - joules[name] / joules["everything"] if "everything" in joules else None,
            }
        )
    return rows


def _grams(runs: list[Run]) -> float | None:
    kilograms = [run.energy.co2e_kg for run in runs if run.energy.co2e_kg is not None]
    return 1000 * float(np.mean(kilograms)) if len(kilograms) == len(runs) else None


def _print(rows: list[dict[str, Any]], runs: list[Run], seeds: int) -> None:
    first = runs[0]
    settings = first.settings
    title = f"{first.stream}, {first.n_instances:,} instances, {settings['pool']}, k = {settings['k']}"
    energy = first.energy
    how = energy.detail.partition("× ")[2] or energy.detail
    carbon = f"; {energy.carbon.grams_per_kwh:g} g/kWh, {energy.carbon.source}" if energy.carbon else ""
    caption = f"energy: {energy.source}, {how}{carbon}"
    table = Table(title=title, caption=Text(caption), box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("policy", no_wrap=True)
    stated = all(row["CO2e g"] is not None for row in rows)
    for heading in (*HEADINGS, "CO2e mg")[: None if stated else -1]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        spread = f" ±{row['AUROC spread']:.4f}" if seeds > 1 else ""
        saving = "–" if row["saving"] is None else f"{row['saving']:.0%}"
        table.add_row(
            row["policy"],
            f"{row['AUROC']:.4f}{spread}",
            f"{row['accuracy']:.4f}",
            f"{row['rank']:.1f}",
            f"{row['Σγ share']:.1%}",
            f"{row['train s']:.2f}",
            f"{row['CPU s']:.2f}",
            f"{row['energy J']:,.1f}",
            saving,
            *([f"{1000 * row['CO2e g']:.3g}"] if stated else []),
        )
    Console().print(table)
