"""`heros run` and `heros demo`: evaluate a model on a stream."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from heros import demo
from heros.cli import options
from heros.cli.app import app, in_options, say
from heros.cli.checkpoints import FILE_OPTIONS, checkpointing, recorded_before, told
from heros.cli.file_options import FileOptions, reads_files
from heros.cli.model_options import ModelOptions, describes_model
from heros.cli.parsing import few_enough, meter_of, source_of
from heros.cli.results import Results
from heros.errors import HerosError
from heros.measures import Measure
from heros.run import Run, evaluate, records
from heros.run.summary import bill
from heros.streams.live.late import LateSource

__all__ = ["demo_command", "run_command"]

BLOCK = 1000


@app.command("run")
@reads_files
@describes_model
def run_command(
    stream: options.StreamName,
    files: FileOptions,
    described: ModelOptions,
    n: options.N = None,
    window: options.Window = 1000,
    measure: Annotated[
        list[str] | None,
        typer.Option(help=f"A further measure, of {', '.join(Measure.names())}; may be repeated."),
    ] = None,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    out: options.Out = None,
    save: options.Save = None,
    predictions: options.PredictionsFile = None,
    force: options.Force = False,
    on_bad_row: options.OnBadRow = "skip",
    as_json: options.AsJson = False,
    checkpoint: options.CheckpointDirectory = None,
    every: options.Every = 100_000,
    keep: options.Keep = 3,
    resume: options.Resume = False,
    resume_from: options.ResumeFrom = None,
    on_checkpoint_error: options.OnCheckpointError = "raise",
) -> None:
    """Test, then train a self-tuning model on a stream: its performance and its cost.

    Ctrl-C ends the run and shows the results so far; so do too many bad rows. With --checkpoint and --resume
    the same command continues where an earlier one was stopped or killed. --save writes the model, for heros
    predict; --predictions writes all predictions, made before the labels were seen.
    """
    kept = checkpointing(checkpoint, every, keep, resume, resume_from, on_checkpoint_error)
    model = described.model()
    reader = meter_of(meter, watts, carbon_intensity, country)
    results = Results(out, save, predictions, replace=force or bool(kept.get("resume")))
    results.expect_places(model)
    with told():
        source = source_of(
            stream,
            target=files.target,
            n=n,
            on_bad_row=on_bad_row,
            directory=kept.get("checkpoint"),
            how=files.how,
        )
    model.suit(source.schema)
    names = dict.fromkeys([*(one.name for one in model.task.measures()), *(measure or ())])
    if out is not None and not force and records.exists(there := out / records.id_of(model, source)):
        if not kept.get("resume"):
            raise HerosError(f"The record {there} must not exist (or pass --force to replace it). Got one.")
        finished = recorded_before(there, model, source, window, list(names))
        if finished is not None and results.there:
            say(f"heros: the run is finished; its record is {there} (--force runs it again)")
            _show(finished, out, as_json, results.reported())
            return
        force = True  # the run continues, and replaces its record so far
    exact = predictions is not None or (stream != "-" and few_enough(source))
    with told(), source:
        run = evaluate(
            model,
            source,
            measures=map(Measure.of, names),
            window=window,
            block=BLOCK,
            meter=reader,
            exact=exact,
            predictions=None if predictions is None else True,
            **kept,
        )
    if isinstance(source, LateSource):
        counts = ", ".join(f"{n:,} {what}" for what, n in asdict(source.counts).items())
        say(f"heros: labels that come late: {counts}, {source.waiting:,} waiting")
    if run.interrupted and not run.too_many_bad_rows:  # which was told
        say(f"heros: stopped after {run.n_instances:,} instances", style="yellow")
    _show(run, out, as_json, results.written(run, model, force))


def _show(run: Run, out: Path | None, as_json: bool, fault: HerosError | None) -> None:
    """Show the results first, then raise the error, if something could not be written."""
    if as_json:
        typer.echo(json.dumps(records.document(run), ensure_ascii=False))
    else:
        bill(run, records.run_id(run)).show()
        if run.bad_rows.count:
            typer.echo(in_options(run.bad_rows.text(), FILE_OPTIONS))
        if out is not None and fault is None:
            typer.echo(f"record: {out / records.run_id(run)}\nreport: {out / 'report.html'}")
    if fault is not None:
        raise fault
    if run.too_many_bad_rows:
        raise typer.Exit(1)


@app.command("demo")
def demo_command(
    n: Annotated[int, typer.Option("--n", min=1000, help="Instances of the drifting stream.")] = 8_000,
) -> None:
    """Run Heros() on an example file and on a drifting stream, beside River's forest if it is installed."""
    demo.main(n)
