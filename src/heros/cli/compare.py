"""`heros compare`: compare several models on one stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from heros._base.errors import HerosError, ParameterError
from heros._base.registry import policy_id, policy_of, pool_of
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app, in_options, print_json, say
from heros.cli.checkpoints import FILE_OPTIONS, print_notices
from heros.cli.option_groups import EnsembleOptions, FileOptions, with_options
from heros.cli.parsing import allows_exact_auroc, meter_of, stream_of, window_for
from heros.cli.results import fault_of_report
from heros.meters import Meter
from heros.pools import default_regression
from heros.run import records
from heros.run.executors import Processes, Serial
from heros.run.experiments import Experiment, run_all
from heros.run.report.groups import Group
from heros.run.result import Run

BUDGETS = ("40 us", "10 us")
STEP = ("encode", "evaluate", "choose", "train")  # the phases that a budget limits
SHOWN = 2  # number of measures in the table; --json prints all measures
COLUMNS = {  # heading: name in the rows, format
    "rank": ("rank", ".1f"), "Σγ": ("Σγ share", ".1%"), "price": ("price", ".1%"),
    "train s": ("train s", ".2f"), "CPU s": ("CPU s", ".2f"), "µs each": ("us", ".1f"),
    "joules": ("energy J", ",.1f"), "saving": ("saving", ".0%"),
}  # fmt: skip


@app.command("compare")
@with_options("files", FileOptions)
@with_options("described", EnsembleOptions)
def compare_command(
    stream: options.StreamName,
    files: FileOptions,
    described: EnsembleOptions,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, e.g. zeta:0.05@0.2; may be repeated. Default: the default model without a "
            f"budget and with each of the budgets {' and '.join(BUDGETS)} (or with the given --budget), and "
            "the baselines 'no change' and 'majority'."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of runs per policy, with the seeds 1, 2, ...")
    ] = 1,
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of runs in parallel; each run has its own process.")
    ] = 1,
    n: options.N = None,
    window: options.Window = None,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    out: options.Out = None,
    force: options.Force = False,
    resume: Annotated[bool, typer.Option("--resume", help="Skip runs that are already recorded.")] = False,
    on_bad_row: options.OnBadRow = "skip",
    as_json: options.AsJson = False,
) -> None:
    """Compare the default model, models with a budget and baselines, or several policies, on a stream."""
    if stream == "-":
        raise ParameterError.of(
            "stream",
            "compare",
            "the name of a stream or a file, because standard input can be read only once",
            "-",
        )
    if jobs > 1 and Meter.kind(meter).whole_machine:
        rule = f"1 if the meter is {meter}, because this meter measures the whole machine"
        raise ParameterError.of("jobs", "compare", rule, jobs)
    if resume and out is None:
        raise ParameterError.of("resume", "compare", "used with --out", resume)
    opened = partial(stream_of, stream, files.target, files.reading_settings, n=n, on_bad_row=on_bad_row)
    reader = partial(meter_of, meter, watts, carbon_intensity, country)
    with print_notices():
        first = opened()
        exact = allows_exact_auroc(first)
        window = window_for(stream, first) if window is None else window
    opened = partial(opened, quiet=True)  # notices about columns have been printed
    settings = {"window": window, "exact": exact, "meter": reader}
    entries = _policies(policy, described, first.schema.numeric) if policy else _models(described)
    todo = [make(opened, seed=seed, **settings) for make in entries.values() for seed in range(1, seeds + 1)]
    places = [] if out is None or force or resume else [out / job.id for job in todo]
    if there := next(filter(records.exists, places), None):
        raise HerosError(
            f"The record {there} already exists. Pass --force to replace it, or --resume to skip this run."
        )
    again, executor = force and not resume, Processes(jobs) if jobs > 1 else Serial()
    with print_notices():
        outcome = run_all(todo, out, executor=executor, force=again, strict=True, each=jobs == 1, keep=True)
    runs = [outcome.runs.get(job.id) or records.read(Path(str(out), job.id)) for job in todo]
    groups = [Group(0, name, tuple(runs[i * seeds : (i + 1) * seeds])) for i, name in enumerate(entries)]
    fault = next(iter(outcome.unrecorded.values()), None)
    if out is not None and fault is None:
        fault = fault_of_report(out)
    simple = {} if policy else runs[0].baselines
    labels = {one.name: one.label for one in runs[0].measures}
    rows = _rows(groups) + [
        {"policy": name, **{label: figures.get(one) for one, label in labels.items()}}
        for name, figures in simple.items()
    ]
    if as_json:
        print_json(rows)
    else:
        _table(rows, runs, seeds).show()
        if runs[0].bad_rows.count:
            typer.echo(in_options(runs[0].bad_rows.text(), FILE_OPTIONS))
        if out is not None and fault is None:
            typer.echo(f"records: {out}\nreport: {out / 'report.html'}")
    if fault is not None:  # raised after the results are printed, so that they are not lost
        raise HerosError(fault)
    if any(run.too_many_bad_rows for run in runs):
        say(f"heros: the runs stopped early, because {runs[0].stream} has too many bad rows", style="yellow")
        raise typer.Exit(1)


def _policies(
    policy: list[str], described: EnsembleOptions, numeric: bool
) -> Mapping[str, Callable[..., Experiment]]:
    if described.budget is not None:
        raise ParameterError.of("budget", "compare", "left out if --policy is given", described.budget)
    pool = default_regression() if numeric and described.pool is None else pool_of(described.pool or "mlp")
    settings = {"pool": pool, **described.settings}
    chosen = [policy_of(text, described.epsilon) for text in policy]
    return {policy_id(one): partial(Experiment, policy=one, **settings) for one in chosen}


def _models(described: EnsembleOptions) -> Mapping[str, Callable[..., Experiment]]:
    """Return one experiment with the default model without a budget, and one experiment per budget."""
    pool = None if described.pool is None else pool_of(described.pool)
    policy = None if described.epsilon is None else policy_of("cand", described.epsilon)
    settings = described.settings | {"pool": pool, "policy": policy}
    budgets = BUDGETS if described.budget is None else (described.budget,)
    entries = {"default": None, **{f"budget {text}": text for text in budgets}}
    return {name: partial(Experiment, **settings | {"budget": budget}) for name, budget in entries.items()}


def _rows(groups: list[Group]) -> list[dict[str, Any]]:
    """Return the mean measures, the mean rank by the first measure, and the saving of each group.

    The saving is the share of energy saved, compared with training every model or with the default model.
    """
    full = next((group.joules for group in groups if group.label in {"everything", "default"}), None)
    measures = groups[0].runs[0].measures
    first = measures[0]
    table = np.array([[run.figures[first.name] for run in group.runs] for group in groups])
    better = table[:, None] < table[None] if first.better == "higher" else table[:, None] > table[None]
    ranks = 1 + better.sum(axis=1) + ((table[:, None] == table[None]).sum(axis=1) - 1) / 2
    return [
        {
            "policy": group.label,
            **{one.label: group.figure(one) for one in measures},
            f"{first.label} spread": group.spread(first) if len(group.runs) > 1 else 0.0,
            "rank": float(rank),
            "Σγ share": group.gamma_share,
            "looking": group.price and group.price.looking,
            "training": group.price and group.price.training,
            "price": group.price and group.price.total,
            "us": 1e6 * sum(map(group.cpu, STEP)) / group.runs[0].n_instances,
            "train s": group.cpu("train"),
            "CPU s": group.cpu_seconds,
            "energy J": group.joules,
            "CO2e g": group.grams,
            "saving": None if full is None else 1 - group.joules / full,
        }
        for group, rank in zip(groups, ranks.mean(axis=1), strict=True)
    ]


def _text(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _table(rows: list[dict[str, Any]], runs: list[Run], seeds: int) -> Table:
    first, energy, settings = runs[0], runs[0].energy, runs[0].settings
    detail = energy.detail.partition("× ")[2] or energy.detail
    carbon = f"; {energy.carbon.grams_per_kwh:g} g/kWh, {energy.carbon.source}" if energy.carbon else ""
    has_carbon = energy.carbon is not None
    labels = [one.label for one in first.measures[:SHOWN]]
    table = Table(
        ["policy", *labels, *COLUMNS, *(["CO2e mg"] if has_carbon else [])],
        align="l",
        title=f"{first.stream}, {first.n_instances:,} instances, {settings['pool']}, k = {settings['k']}",
        caption=f"energy: {energy.source}, {detail}{carbon}",
        spare=("train s", "rank", "CO2e mg", "price", "CPU s", *labels[1:], "joules"),
    )
    for row in rows:
        spread = row.get(f"{labels[0]} spread")
        grams = row.get("CO2e g")
        table.add(
            row["policy"],
            _text(row[labels[0]], ".4f") + (f" ±{spread:.4f}" if seeds > 1 and spread is not None else ""),
            *(_text(row[label], ".4f") for label in labels[1:]),
            *(_text(row.get(name), form) for name, form in COLUMNS.values()),
            *([_text(None if grams is None else 1000 * grams, ".3g")] if has_carbon else []),
        )
    return table
