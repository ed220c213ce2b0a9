"""`heros demo`: run HEROS on an example file and on a drifting stream, in under a minute."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from heros._base.tables import Table
from heros.cli.app import app
from heros.ensemble import Heros
from heros.policies import Everything
from heros.pools import Models
from heros.run import records
from heros.run.loop import evaluate
from heros.run.report import write_report
from heros.run.result import Run
from heros.streams import Agrawal, Drift, Stream, load

PAGE = Path("demo.html")


def drifting_agrawal(n: int) -> Stream:
    """Return a stream of n instances with Agrawal's functions 2, 4, 6 and 8, and three abrupt drifts.

    Examples
    --------
    >>> [point.position for point in drifting_agrawal(40_000).drifts]
    [10000, 20000, 30000]
    """
    stream: Stream = Agrawal(function=2)
    for quarter, function in enumerate((4, 6, 8), start=1):
        stream = Drift(stream, Agrawal(function=function), position=quarter * n // 4, width=1)
    stream = stream.take(n)
    stream.name = "Agrawal, 3 drifts"
    return stream


@app.command("demo")
def demo_command(
    n: Annotated[
        int, typer.Option("--n", min=1000, help="Number of instances of the drifting stream.")
    ] = 8_000,
) -> None:
    """Run Heros() on an example file and a drifting stream; if River is installed, also run its forest."""
    with tempfile.TemporaryDirectory() as directory:
        table = Table(
            ("stream", "model", "AUROC", "accuracy", "CPU s", "µs per instance"),
            align="ll",
            caption="Each instance is predicted before it is used for training. CPU time on one core.",
        )
        for number, run in enumerate(_runs(n)):
            records.save(run, directory, id=str(number))
            figures = (f"{run.auroc:.4f}", f"{run.accuracy:.4f}", f"{run.cpu_seconds:.2f}")
            each = f"{1e6 * run.cpu_seconds / run.n_instances:,.0f}"
            table.add(run.stream, run.settings["label"], *figures, each)
        write_report(directory, PAGE)
    table.show()
    typer.echo(f"\nOpen {PAGE} in a browser to see the curves, models and costs.")


def _runs(n: int) -> Iterator[Run]:
    yield _run("Heros()", Heros(seed=1), load("deliveries"))
    yield _run("Heros()", Heros(seed=1), drifting_agrawal(n))
    if find_spec("river"):
        from river.forest import ARFClassifier  # noqa: PLC0415 - optional

        forest = Models([("ARF", ARFClassifier(seed=1))])
        yield _run("ARF (River)", Heros(forest, Everything(), 1, seed=1), drifting_agrawal(n))


def _run(label: str, model: Heros, stream: Stream) -> Run:
    run = evaluate(model, stream, window=max(100, (stream.n_instances or 6000) // 50), on_interrupt="raise")
    return replace(run, settings={**run.settings, "label": label})
