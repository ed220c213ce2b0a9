"""`heros run`: evaluate a model on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from heros._base.errors import HerosError, ParameterError
from heros.cli import options
from heros.cli.app import app, in_options, print_json, say
from heros.cli.checkpoints import FILE_OPTIONS, checkpointing, print_notices, recorded_before
from heros.cli.option_groups import FileOptions, ModelOptions, with_options
from heros.cli.parsing import allows_exact_auroc, meter_of, source_of, window_for
from heros.cli.results import Results
from heros.measures import Measure
from heros.run import Run, evaluate, records
from heros.run.summary import cost_table
from heros.streams.live.late import LateSource

BLOCK = 1000
MOST_NOTICES = 5  # maximum number of notices per source


@app.command("run")
@with_options("files", FileOptions)
@with_options("described", ModelOptions)
def run_command(
    stream: options.StreamName,
    files: FileOptions,
    described: ModelOptions,
    n: options.N = None,
    window: options.Window = None,
    measure: Annotated[
        list[str] | None,
        options.of_costs(help=f"An additional measure: {', '.join(Measure.names())}; may be repeated."),
    ] = None,
    meter: options.MeterName = "cpu",
    watts: options.Watts = None,
    carbon_intensity: options.Intensity = None,
    country: options.Country = None,
    carbon: options.CarbonFile = None,
    carbon_delay: options.CarbonDelay = "6h",
    out: options.Out = None,
    save: options.Save = None,
    predictions: options.PredictionsFile = None,
    force: options.Force = False,
    on_bad_row: options.OnBadRow = "skip",
    on_gap: options.OnGap = None,
    as_json: options.AsJson = False,
    checkpoint: options.CheckpointDirectory = None,
    every: options.Every = 100_000,
    keep: options.Keep = 3,
    resume: options.Resume = False,
    resume_from: options.ResumeFrom = None,
    on_checkpoint_error: options.OnCheckpointError = "raise",
) -> None:
    """Evaluate and train a self-tuning model on a stream, and print its performance and cost.

    Each instance is predicted before the model is trained on it. Ctrl-C or too many bad rows end the run and
    print the results so far. With --checkpoint and --resume, the same command continues a run that was
    stopped or killed. --save writes the model for heros predict; --predictions writes all predictions.
    """
    checkpoints = checkpointing(checkpoint, every, keep, resume, resume_from, on_checkpoint_error)
    model = described.model()
    for name, given in (("carbon_intensity", carbon_intensity), ("country", country)):
        if carbon is not None and given is not None:
            rule = "left out, because --carbon sets the carbon intensity"
            raise ParameterError.of(name, "heros run", rule, given)
    reader = meter_of(meter, watts, carbon_intensity, country)
    results = Results(out, save, predictions, replace=force or bool(checkpoints.get("resume")))
    results.expect_places(model, stream)
    directory, rows = checkpoints.get("checkpoint"), files.reading_settings
    with print_notices(MOST_NOTICES):
        source = source_of(
            stream, files.target, rows, n=n, on_bad_row=on_bad_row, on_gap=on_gap, directory=directory
        )
    model.adopt_task(source.schema)
    if window is None:  # a resumed run must use the same window, even if the stream has grown
        window = 1000 if checkpoints else window_for(stream, source)
    names = dict.fromkeys([*(one.name for one in model.task.measures()), *(measure or ())])
    if out is not None and not force and records.exists(place := out / records.id_of(model, source)):
        if not checkpoints.get("resume"):
            way = "Pass --force to replace it, or choose another directory with --out"
            raise HerosError(f"The record {place} already exists. {way}.")
        finished = recorded_before(place, model, source, window, list(names))
        if finished is not None and results.exist:
            say(f"heros: the run is already finished; its record is {place} (pass --force to run it again)")
            _show(finished, as_json, *results.write(finished, model, only="report"))
            return
        force = True  # the run continues and replaces its partial record
    exact = predictions is not None or (stream != "-" and allows_exact_auroc(source))
    if model.dial is not None and model.dial.budget.kind == "power" and stream != "-" and "://" not in stream:
        advice = (
            f"a power budget is meant for streams that arrive over time. {stream} is read at full speed, "
            "which leaves hardly any time per instance. Use --budget '20 us' or '0.4 mJ' to limit the cost "
            "of each instance"
        )
        say(f"heros: {advice}", style="yellow")
    with print_notices(), source, results.save_on_error(model):
        run = evaluate(
            model,
            source,
            measures=map(Measure.of, names),
            window=window,
            block=BLOCK,
            meter=reader,
            exact=exact,
            predictions=None if predictions is None else True,
            carbon=carbon,
            carbon_delay=carbon_delay,
            **checkpoints,
        )
    if isinstance(source, LateSource):
        counts = ", ".join(f"{n:,} {what}" for what, n in asdict(source.counts).items())
        say(f"heros: delayed labels: {counts}, {source.waiting:,} instances waiting")
    if run.too_many_bad_rows and "." in stream:
        say(f"heros: run heros look {stream} to see how columns are read and which values cannot be read")
    if run.interrupted and not run.too_many_bad_rows:  # a message about bad rows is already printed
        say(f"heros: stopped after {run.n_instances:,} instances", style="yellow")
    _show(run, as_json, *results.write(run, model, force=force))


def _show(run: Run, as_json: bool, written: Sequence[str], fault: HerosError | None) -> None:
    """Print the results and the written files, then raise the error if a file could not be written."""
    if as_json:
        print_json(records.document(run))
    else:
        cost_table(run, records.run_id(run)).show()
        if skipped := run.bad_rows.text():
            typer.echo(in_options(skipped, FILE_OPTIONS))
        for line in written:
            typer.echo(line)
    if fault is not None:
        raise fault
    if run.too_many_bad_rows:
        raise typer.Exit(1)
