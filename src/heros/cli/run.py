"""`heros run` and `heros demo`: one model on one stream, and its bill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from heros import demo
from heros.cli import options
from heros.cli.app import app, say
from heros.cli.checkpoints import checkpointing, recorded_before, told
from heros.cli.parsing import few_enough, meter_of, reading, source_of, watch_of
from heros.ensemble import Heros
from heros.errors import HerosError
from heros.measures import Measure
from heros.measures.base import Caption
from heros.meters import Energy
from heros.registry import answer_of, policy_of, pool_of
from heros.report import write_report
from heros.run import Run, evaluate
from heros.storage import records
from heros.tables import Table

__all__ = ["bill", "demo_command", "energy_text", "run_command"]

BLOCK = 1000
DEFAULT_POLICY, DEFAULT_EPSILON = "zeta:0.05", 0.2


@app.command("run")
def run_command(
    stream: options.StreamName,
    target: options.Target = None,
    pool: options.PoolName = "mlp",
    policy: Annotated[
        str | None,
        typer.Option(help="E.g. zeta:0.05@0.2, the default: ζ and ε (see heros policies)."),
    ] = None,
    epsilon: options.Epsilon = None,
    k: options.K = None,
    watch: options.WatchName = "all",
    answer: options.AnswerName = "best",
    seed: options.Seed = 1,
    n: options.N = None,
    window: options.Window = 1000,
    measure: Annotated[
        list[str] | None,
        typer.Option(help=f"One more measure, of {', '.join(Measure.names())}; several times."),
    ] = None,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    out: options.Out = None,
    force: options.Force = False,
    skip_bad_rows: options.SkipBadRows = False,
    ignore: options.Ignore = None,
    nominal: options.Nominal = None,
    numeric: options.Numeric = None,
    dates: options.Dates = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    missing: options.Missing = None,
    most_values: options.MostValues = None,
    as_json: options.AsJson = False,
    checkpoint: options.CheckpointDirectory = None,
    every: options.Every = 100_000,
    keep: options.Keep = 3,
    resume: options.Resume = False,
    resume_from: options.ResumeFrom = None,
    on_checkpoint_error: options.OnCheckpointError = "raise",
) -> None:
    """Test, then train a self-tuning model on a stream: its performance and its bill.

    Ctrl-C ends the stream and sums up what was learnt until then. With --checkpoint and --resume the same
    command goes on where an earlier one was stopped or killed.
    """
    kept = checkpointing(checkpoint, every, keep, resume, resume_from, on_checkpoint_error)
    if policy is None:
        chosen = policy_of(DEFAULT_POLICY, DEFAULT_EPSILON if epsilon is None else epsilon)
    else:
        chosen = policy_of(policy, epsilon)
    model = Heros(pool_of(pool), chosen, k, seed=seed, watch=watch_of(watch), answer=answer_of(answer))
    reader = meter_of(meter, watts, carbon_intensity, country)
    how = reading(
        ignore=ignore,
        nominal=nominal,
        numeric=numeric,
        dates=dates,
        classes=classes,
        delimiter=delimiter,
        missing=missing,
        most_values=most_values,
    )
    with told():
        source = source_of(
            stream,
            target=target,
            n=n,
            skip_bad_rows=skip_bad_rows,
            directory=kept.get("checkpoint"),
            how=how,
        )
    names = dict.fromkeys([*(one.name for one in model.task.measures()), *(measure or ())])
    if out is not None and not force and records.exists(there := out / records.id_of(model, source)):
        if not kept.get("resume"):
            raise HerosError(f"The record {there} must not exist (or pass --force to replace it). Got one.")
        finished = recorded_before(there, model, source, window, list(names))
        if finished is not None:
            say(f"heros: the run is finished; its record is {there} (--force runs it again)")
            _show(finished, out, as_json, _written(finished, out, None))
            return
        force = True  # it goes on, and the record of it so far is replaced
    exact = stream != "-" and few_enough(source)
    with told(), source:
        run = evaluate(
            model,
            source,
            measures=map(Measure.of, names),
            window=window,
            block=BLOCK,
            meter=reader,
            exact=exact,
            **kept,
        )
    if run.interrupted:
        say(f"heros: stopped after {run.n_instances:,} instances", style="yellow")
    _show(run, out, as_json, None if out is None else _written(run, out, force))


def _written(run: Run, out: Path, force: bool | None) -> HerosError | None:
    """Write the record (None: it is there) and the report; what went wrong, to be said after the results."""
    try:
        if force is not None:
            records.save(run, out, force=force)
        write_report(out, out / "report.html")
    except HerosError as error:
        return error
    return None


def _show(run: Run, out: Path | None, as_json: bool, fault: HerosError | None) -> None:
    """The results first, whatever could not be written."""
    if as_json:
        typer.echo(json.dumps(records.document(run), ensure_ascii=False))
    else:
        bill(run).show()
        if run.bad_rows.count:
            first = run.bad_rows.first[0]
            typer.echo(f"{run.bad_rows.count:,} rows were left out; the first: {first}")
        if out is not None and fault is None:
            typer.echo(f"record: {out / records.run_id(run)}\nreport: {out / 'report.html'}")
    if fault is not None:
        raise fault


def bill(run: Run) -> Table:
    """What a run gave and what it cost."""
    settings = run.settings
    scores = run.curves.scores[-1]
    best = settings["models"][int(scores.argmax())]
    rate = run.n_instances / run.energy.wall_seconds
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in run.cpu.items())
    rows = {
        "instances": f"{run.n_instances:,} ({rate:,.0f} per second)",
        **_figures(run),
        "trained": f"{run.gamma_share:.1%} of the price of training everything (Σγ {run.gamma_spent:,.0f})",
        **_price(run),
        "best model": ", ".join(f"{name} {value}" for name, value in best.items()),
        "CPU seconds": f"{run.cpu_seconds:.2f}: {phases}",
        "energy": energy_text(run.energy),
        "": f"{run.energy.source}: {run.energy.detail}",
        "CO2e": _carbon(run.energy),
    }
    return Table(rows=rows.items(), align="lw", title=records.run_id(run))


def _price(run: Run) -> dict[str, str]:
    """Looking beside training, on one scale."""
    if run.price is None:
        return {}
    looks = f"{run.looked.mean() / run.n_instances:.1%} of the looks"
    price = f"looking {run.price.looking:.1%} + training {run.price.training:.1%} = {run.price.total:.1%}"
    return {"price": f"{price} of all looking and learning ({looks})"}


def _figures(run: Run) -> dict[str, str]:
    """The first measure in a row of its own, the others three to a row."""
    figures = [(one.label, _figure(run, one)) for one in run.measures]
    rows = [figures[:1], *(figures[start : start + 3] for start in range(1, len(figures), 3))]
    return {
        row[0][0]: "   ".join([row[0][1], *(f"{label} {figure}" for label, figure in row[1:])])
        for row in rows
        if row
    }


def _figure(run: Run, measure: Caption) -> str:
    text = measure.text(run.figures[measure.name])
    return f"{text} ({measure.note})" if measure.note else text


def energy_text(energy: Energy) -> str:
    """Energy in units that suit its size."""
    return f"{energy.joules:,.1f} J = {energy.kwh:.3g} kWh{', ' * bool(energy.basis)}{energy.basis}"


def _carbon(energy: Energy) -> str:
    if energy.carbon is None or energy.co2e_kg is None:
        return "not stated (--carbon-intensity or --country)"
    return f"{energy.co2e_kg * 1000:.3g} g at {energy.carbon.grams_per_kwh:g} g/kWh ({energy.carbon.source})"


@app.command("demo")
def demo_command(
    n: Annotated[int, typer.Option("--n", min=1000, help="How many instances.")] = 60_000,
) -> None:
    """Three policies on a stream whose concept changes three times: their bills, in under a minute."""
    demo.main(n)
