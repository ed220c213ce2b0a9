"""`heros checkpoints`, and the checkpoint options of `heros run`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from heros._base.errors import DataNotice, HerosError, ParameterError, WaitNotice
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app, in_options, print_json, say
from heros.ensemble import Heros
from heros.ensemble.settings import parts_written
from heros.run import Run, records
from heros.run.checkpoints import CheckpointWarning, found
from heros.streams.live import Source

ABOUT_COLUMNS = "nominal numeric ignore dates most_values task target weights columns classes"
ABOUT_ROWS = "encoding missing no_header on_bad_row"
FILE_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in f"{ABOUT_COLUMNS} {ABOUT_ROWS}".split()}
"""The command-line option of each parameter that a notice about columns may name."""
COMPARED = "policy_as_written", "pool_as_written", "k", "seed", "answer", "watch", "class_weight"
"""The settings that a run must share with its record to count as finished."""


@app.command("checkpoints")
def checkpoints_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory given to --checkpoint.")],
    as_json: options.AsJson = False,
) -> None:
    """List the checkpoints in a directory, newest first, and show whether each one is complete."""
    checkpoints = found(directory)
    if as_json:
        plain = [
            {
                "path": str(one.path),
                "instances": one.instances,
                "written": one.written,
                "bytes": one.size,
                "whole": one.fault is None,
                "fault": one.fault,
            }
            for one in checkpoints
        ]
        print_json(plain)
        return
    table = Table(("checkpoint", "instances", "written (UTC)", "bytes", ""), align="lrlrw")
    for one in checkpoints:
        state, style = ("complete", "") if one.fault is None else (f"damaged: {one.fault}", "red")
        written = "–" if one.written is None else one.written[:16].replace("T", " ")
        table.add(one.path.name, f"{one.instances:,}", written, f"{one.size:,}", state, style=style)
    table.show()


def checkpointing(
    directory: Path | None, every: int, keep: int, resume: bool, resume_from: Path | None, on_error: str
) -> dict[str, Any]:
    """Return the checkpoint parameters of `evaluate`; an empty dict if the run has no checkpoints."""
    place = resume_from.parent if directory is None and resume_from is not None else directory
    if place is None:
        if resume:
            raise ParameterError.of("resume", "heros", "used with --checkpoint DIR", resume)
        return {}
    settings = {"every": every, "keep": keep, "on_checkpoint_error": on_error}
    return {"checkpoint": place, "resume": resume_from or resume, **settings}


@contextmanager
def print_notices(most: int | None = None) -> Iterator[None]:
    """Print each checkpoint warning, wait notice and column notice on one line, as soon as it is issued.

    If there are more than `most` column notices, further notices are only counted.
    """
    with warnings.catch_warnings():
        for kind in (CheckpointWarning, DataNotice, WaitNotice):
            warnings.simplefilter("always", kind)
        show_default, printed = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, DataNotice):
                text = in_options(str(message), FILE_OPTIONS)
                if text not in printed and (most is None or len(printed) < most):
                    _say_if_possible(f"heros: {text}")
                printed.add(text)
            elif issubclass(category, CheckpointWarning | WaitNotice):
                _say_if_possible(f"heros: {message}", style="yellow")
            else:
                show_default(message, category, *rest, **named)

        warnings.showwarning = show
        yield
        if most is not None and len(printed) > most:
            say(f"heros: {len(printed) - most} more notices; run heros look to see how each column is read")


def _say_if_possible(text: str, style: str = "") -> None:
    """Print a notice; do nothing if standard error is on a full disk or is a pipe that nobody reads."""
    with suppress(OSError):
        say(text, style)


def recorded_before(
    place: Path, model: Heros, stream: Source, window: int, measures: Sequence[str]
) -> Run | None:
    """Return the recorded run if the requested run is finished; None if it is unfinished.

    If a process is killed after it has written the record, the next start of the command must report that
    the run is finished. If the record belongs to another run, an error is raised.
    """
    run = records.read(place)
    saved, asked = {"watch": "all"} | run.settings, parts_written(model)
    same = all(saved.get(name) == asked.get(name) for name in COMPARED)
    length = run.n_instances if stream.n_instances is None else stream.n_instances
    same = same and (run.window, list(run.figures)) == (window, list(measures))
    if not same or length < run.n_instances:
        raise HerosError(f"The record {place} already exists. Pass --force to replace it.")
    rows = run.n_instances + run.bad_rows.count  # the length of a file includes skipped rows
    return None if run.interrupted or rows < length else run
