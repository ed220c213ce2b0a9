"""`heros compare`: several policies on one stream, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from heros._base.registry import policy_id, policy_of, pool_of
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app, in_options, say
from heros.cli.checkpoints import FILE_OPTIONS, told
from heros.cli.file_options import FileOptions, reads_files
from heros.cli.model_options import EnsembleOptions, describes_models
from heros.cli.parsing import few_enough, meter_of, stream_of, window_for
from heros.cli.results import Results
from heros.errors import HerosError, ParameterError
from heros.meters import Meter
from heros.pools import default_regression
from heros.report.groups import Group
from heros.run import records
from heros.run.executors import Processes, Serial
from heros.run.experiments import Experiment, Job, run_all
from heros.run.result import Run

__all__ = ["compare_command"]

DEFAULT = ("zeta:0.05@0.2", "cheapest", "random", "everything")
SHOWN = 2  # measures in the table; --json prints all of them
HEADINGS = ("rank", "Σγ", "price", "train s", "CPU s", "joules", "saving")


@app.command("compare")
@reads_files
@describes_models
def compare_command(
    stream: options.StreamName,
    files: FileOptions,
    described: EnsembleOptions,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, e.g. zeta:0.05@0.2; may be repeated. Default: four common policies."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of runs of each policy, with seeds 1, 2, ...")
    ] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Number of runs in parallel, one process each.")] = 1,
    n: options.N = None,
    window: options.Window = None,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    out: options.Out = None,
    force: options.Force = False,
    resume: Annotated[bool, typer.Option("--resume", help="Keep runs that are already recorded.")] = False,
    on_bad_row: options.OnBadRow = "skip",
    as_json: options.AsJson = False,
) -> None:
    """Run several policies on a stream and print their ranks and savings against training every model."""
    if stream == "-":
        raise ParameterError.of(
            "stream", "compare", "a name or a file, because standard input can be read only once", "-"
        )
    if jobs > 1 and Meter.kind(meter).alone:
        rule = f"1 with the meter {meter}, which measures the whole machine and not one process"
        raise ParameterError.of("jobs", "compare", rule, jobs)
    if resume and out is None:
        raise ParameterError.of("resume", "compare", "used with --out", resume)
    opened = partial(stream_of, stream, target=files.target, n=n, on_bad_row=on_bad_row, how=files.how)
    reader = partial(meter_of, meter, watts, carbon_intensity, country)
    with told():
        first = opened()
        exact = few_enough(first)
        window = window_for(stream, first) if window is None else window
    numbers = first.schema.numeric and described.pool is None
    models = default_regression() if numbers else pool_of(described.pool or "mlp")
    opened = partial(opened, quiet=True)  # notices about columns have been printed
    chosen = [policy_of(text, described.epsilon) for text in policy or DEFAULT]
    todo = [
        Experiment(
            opened, models, one, seed=seed, window=window, exact=exact, meter=reader, **described.settings
        )
        for one in {policy_id(one): one for one in chosen}.values()
        for seed in range(1, seeds + 1)
    ]
    if out is not None and not (force or resume):
        _expect_none(todo, out)
    with told():
        outcome = run_all(
            todo,
            out,
            executor=Processes(jobs) if jobs > 1 else Serial(),
            force=force and not resume,
            strict=True,
            each=jobs == 1,
            keep=True,
        )
    runs = [outcome.runs.get(job.id) or records.read(Path(str(out), job.id)) for job in todo]
    fault = next(iter(outcome.unrecorded.values()), None)
    if out is not None and fault is None:
        error = Results(out, None, None, replace=True).reported()
        fault = None if error is None else str(error)
    rows = _rows(runs)
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
    else:
        _table(rows, runs, seeds).show()
        if runs[0].bad_rows.count:
            typer.echo(in_options(runs[0].bad_rows.text(), FILE_OPTIONS))
        if out is not None and fault is None:
            typer.echo(f"records: {out}\nreport: {out / 'report.html'}")
    if fault is not None:  # raised after the results are printed, so that they are not lost
        raise HerosError(fault)
    if any(run.too_many_bad_rows for run in runs):
        say(f"heros: {runs[0].stream} has too many bad rows; the runs stopped early", style="yellow")
        raise typer.Exit(1)


def _expect_none(todo: Sequence[Job], out: Path) -> None:
    for job in todo:
        if records.exists(place := out / job.id):
            raise HerosError(f"The record {place} already exists; pass --force or --resume.")


def _rows(runs: list[Run]) -> list[dict[str, Any]]:
    """Return each policy's mean measures, mean rank by the first measure, and saving against `everything`."""
    names = dict.fromkeys(run.settings["policy"] for run in runs)
    groups = [Group(0, one, tuple(run for run in runs if run.settings["policy"] == one)) for one in names]
    full = next((group.joules for group in groups if group.label == "everything"), None)
    first = runs[0].measures[0]
    table = np.array([[run.figures[first.name] for run in group.runs] for group in groups])
    better = table[:, None] < table[None] if first.better == "higher" else table[:, None] > table[None]
    ranks = 1 + better.sum(axis=1) + ((table[:, None] == table[None]).sum(axis=1) - 1) / 2
    return [
        {
            "policy": group.label,
            **{one.label: group.figure(one) for one in runs[0].measures},
            f"{first.label} spread": group.spread(first) if len(group.runs) > 1 else 0.0,
            "rank": float(rank),
            "Σγ share": group.gamma_share,
            "looking": None if group.price is None else group.price.looking,
            "training": None if group.price is None else group.price.training,
            "price": None if group.price is None else group.price.total,
            "train s": group.cpu("train"),
            "CPU s": group.cpu_seconds,
            "energy J": group.joules,
            "CO2e g": group.grams,
            "saving": None if full is None else 1 - group.joules / full,
        }
        for group, rank in zip(groups, ranks.mean(axis=1), strict=True)
    ]


def _table(rows: list[dict[str, Any]], runs: list[Run], seeds: int) -> Table:
    first = runs[0]
    settings = first.settings
    energy = first.energy
    how = energy.detail.partition("× ")[2] or energy.detail
    carbon = f"; {energy.carbon.grams_per_kwh:g} g/kWh, {energy.carbon.source}" if energy.carbon else ""
    stated = all(row["CO2e g"] is not None for row in rows)
    labels = [one.label for one in first.measures[:SHOWN]]
    table = Table(
        ["policy", *labels, *HEADINGS, *(["CO2e mg"] if stated else [])],
        align="l",
        title=f"{first.stream}, {first.n_instances:,} instances, {settings['pool']}, k = {settings['k']}",
        caption=f"energy: {energy.source}, {how}{carbon}",
        spare=("train s", "rank", "CO2e mg", "price", *labels[1:], "joules"),
    )
    for row in rows:
        spread = f" ±{row[f'{labels[0]} spread']:.4f}" if seeds > 1 else ""
        table.add(
            row["policy"],
            f"{row[labels[0]]:.4f}{spread}",
            *(f"{row[label]:.4f}" for label in labels[1:]),
            f"{row['rank']:.1f}",
            f"{row['Σγ share']:.1%}",
            "–" if row["price"] is None else f"{row['price']:.1%}",
            f"{row['train s']:.2f}",
            f"{row['CPU s']:.2f}",
            f"{row['energy J']:,.1f}",
            "–" if row["saving"] is None else f"{row['saving']:.0%}",
            *([f"{1000 * row['CO2e g']:.3g}"] if stated else []),
        )
    return table
