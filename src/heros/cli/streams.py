"""`heros streams`: the streams known by name."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from heros import streams
from heros.cli.app import app
from heros.progress import progress
from heros.schema import Schema
from heros.streams.real import REAL, copy_of, data_directory
from heros.streams.summary import Summary, summarise

__all__ = ["streams_command"]


@app.command("streams")
def streams_command(
    name: Annotated[str | None, typer.Argument(help="One stream; without it, all are listed.")] = None,
    head: Annotated[int, typer.Option(min=1, help="How many instances of the stream to show.")] = 10,
) -> None:
    """List the paper's streams, or show the first instances of one."""
    console = Console()
    if name is None:
        _list_streams(console)
    else:
        _show_stream(console, name, head)


def _list_streams(console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("stream", no_wrap=True)
    table.add_column("type", no_wrap=True)
    for heading in ("instances", "features", "classes", "most %", "least %"):
        table.add_column(heading, justify="right", no_wrap=True)
    absent = []
    with progress(MofNCompleteColumn()) as bar:
        task = bar.add_task("counting", total=len(streams.NAMES))
        for name in streams.NAMES:
            bar.update(task, description=f"counting {name}")
            kind = "real" if name in REAL else "synthetic"
            if name in REAL and not copy_of(REAL[name]).exists():
                table.add_row(name, kind, *("–" for _ in range(5)), style="dim")
                absent.append(name)
            else:
                table.add_row(name, kind, *_cells(summarise(streams.load(name))))
            bar.advance(task)
    console.print(table)
    console.print(
        "features: all (nominal+numeric); most, least: the share of the largest and smallest class",
        highlight=False,
    )
    if absent:
        console.print(
            Text(f"Not yet in {data_directory()} and downloaded when first loaded: {', '.join(absent)}."),
            soft_wrap=True,
        )


def _cells(summary: Summary) -> list[str]:
    return [
        f"{summary.n_instances:,}",
        f"{summary.schema.n_features} ({summary.n_nominal}+{summary.n_numeric})",
        str(summary.schema.n_classes),
        f"{max(summary.shares):.2f}",
        f"{min(summary.shares):.2f}",
    ]


def _show_stream(console: Console, name: str, head: int) -> None:
    stream = streams.load(name)
    X, y = stream.draw(head)
    schema = stream.schema
    length = "unknown" if stream.n_instances is None else f"{stream.n_instances:,}"
    console.print(
        f"{name}: {length} instances, {schema.n_features} features, {schema.n_classes} classes",
        highlight=False,
    )
    for drift in stream.drifts:
        spread = "abrupt" if drift.width == 1 else f"over {drift.width:,} instances"
        console.print(f"drift at {drift.position:,} ({spread})", highlight=False)
    shown = _columns_that_fit(console.width, X, schema)
    table = Table(box=box.SIMPLE_HEAD)
    for j in shown:
        feature = schema.features[j]
        table.add_column(Text(feature.name), justify="left" if feature.nominal else "right", no_wrap=True)
    if len(shown) < schema.n_features:
        table.add_column("…", no_wrap=True)
    table.add_column("class", style="bold", no_wrap=True)
    for row, label in zip(X, y, strict=True):
        cells = [_cell(row[j], schema.features[j].values) for j in shown]
        cells += ["…"] if len(shown) < schema.n_features else []
        table.add_row(*map(Text, cells), Text(schema.classes[label]))
    console.print(table)


def _columns_that_fit(width: int, X: np.ndarray[Any, np.dtype[np.float64]], schema: Schema) -> list[int]:
    """The first features whose columns fit beside each other, with room for the class."""
    left = width - 9 - max(5, *(len(name) for name in schema.classes))
    shown: list[int] = []
    for j, feature in enumerate(schema.features):
        left -= 3 + max(len(feature.name), *(len(_cell(value, feature.values)) for value in X[:, j]))
        if left < 0 and shown:
            break
        shown.append(j)
    return shown


def _cell(value: float, values: tuple[str, ...] | None) -> str:
    if np.isnan(value):
        return "?"
    return f"{value:.6g}" if values is None else values[int(value)]
