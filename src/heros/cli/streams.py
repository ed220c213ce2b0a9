"""`heros streams`, `look` and `example`: list streams, show how a file is read, and write an example."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from heros import streams
from heros._base.errors import HerosError, ParameterError
from heros._base.parameters import one_of
from heros._base.progress import progress
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app, in_options, print_json
from heros.cli.checkpoints import FILE_OPTIONS
from heros.cli.option_groups import FileOptions, with_options
from heros.data.schema import Schema
from heros.storage.disk import write_whole
from heros.streams.named import class_counts
from heros.streams.paper_datasets import REAL, copy_of, data_directory


@app.command("streams")
def streams_command(
    name: Annotated[
        str | None, typer.Argument(help="The name of a stream; by default all streams are listed.")
    ] = None,
    head: Annotated[int, typer.Option(min=1, help="Number of instances of the stream to show.")] = 10,
) -> None:
    """List the paper's streams, or show the first instances of one stream."""
    if name is None:
        _list_streams()
    else:
        _show_stream(name, head)


def _list_streams() -> None:
    table = Table(
        ("stream", "type", "instances", "features", "classes", "most %", "least %"),
        align="llrrrrr",
        caption="features: all (nominal+numeric); most, least: the shares of the largest and smallest class",
    )
    absent = []
    with progress("count") as bar:
        task = bar.add_task("counting", total=len(streams.NAMES))
        for name in streams.NAMES:
            bar.update(task, description=f"counting {name}")
            kind = "real" if name in REAL else "synthetic"
            if name in REAL and not copy_of(REAL[name]).exists():
                table.add(name, kind, *("–" for _ in range(5)), style="dim")
                absent.append(name)
            else:
                table.add(name, kind, *_cells(streams.load(name)))
            bar.advance(task)
    table.show()
    if absent:
        typer.echo(
            f"These streams are not in {data_directory()} yet and are downloaded on first "
            f"use:\n{', '.join(absent)}."
        )


def _cells(stream: streams.Stream) -> list[str]:
    counts, schema = class_counts(stream), stream.schema
    total, nominal = sum(counts), sum(feature.nominal for feature in schema.features)
    return [
        f"{total:,}",
        f"{schema.n_features} ({nominal}+{schema.n_features - nominal})",
        str(schema.n_classes),
        f"{100 * max(counts) / total:.2f}",
        f"{100 * min(counts) / total:.2f}",
    ]


def _show_stream(name: str, head: int) -> None:
    stream = streams.load(name)
    X, y = stream.draw(head)
    schema = stream.schema
    length = "unknown" if stream.n_instances is None else f"{stream.n_instances:,}"
    typer.echo(f"{name}: {length} instances, {schema.n_features} features, {schema.n_classes} classes")
    for drift in stream.drifts:
        spread = "abrupt" if drift.width == 1 else f"over {drift.width:,} instances"
        typer.echo(f"drift at {drift.position:,} ({spread})")
    shown = _columns_that_fit(shutil.get_terminal_size().columns, X, schema)
    more = ["…"] if len(shown) < schema.n_features else []
    features = [schema.features[j] for j in shown]
    align = "".join("l" if feature.nominal else "r" for feature in features) + "l" * len(more) + "l"
    table = Table([*(feature.name for feature in features), *more, "class"], align=align)
    for row, label in zip(X, y, strict=True):
        cells = [_cell(row[j], feature.values) for j, feature in zip(shown, features, strict=True)]
        table.add(*cells, *more, schema.classes[label])
    typer.echo()
    table.show()


def _columns_that_fit(width: int, X: np.ndarray[Any, np.dtype[np.float64]], schema: Schema) -> list[int]:
    """Return the indices of the first features that fit into the width, together with the class column."""
    free = width - 3 - max(5, *(len(name) for name in schema.classes))
    shown: list[int] = []
    for j, feature in enumerate(schema.features):
        free -= 2 + max(len(feature.name), *(len(_cell(value, feature.values)) for value in X[:, j]))
        if free < 0 and shown:
            break
        shown.append(j)
    return shown


def _cell(value: float, values: tuple[str, ...] | None) -> str:
    if np.isnan(value):
        return "?"
    return f"{value:.6g}" if values is None else values[int(value)]


@app.command("look")
@with_options("files", FileOptions)
def look_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file: CSV, JSON lines, ARFF, Parquet, ...")],
    files: FileOptions,
    all_columns: Annotated[
        bool, typer.Option("--all", help="Show every column, even if there are more than 40.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show how a file is read: columns, types, examples, missing and unusual values, and classes."""
    if file == "-" or file in streams.NAMES:
        raise ParameterError.of("file", "look", "a file (run heros streams NAME to see a named stream)", file)
    found = streams.look(file, target=files.target, **files.reading_settings)
    if as_json:
        print_json(found.plain())
    else:
        typer.echo(in_options(found.text(all=all_columns), {**FILE_OPTIONS, "all": "--all"}))


@app.command("example")
def example_command(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(streams.EXAMPLES)}.")] = "deliveries",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; by default NAME.csv in the current directory."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Write an example file with 6,000 deliveries, some of them late. The busy hours change halfway."""
    one_of(name, "name", "example", streams.EXAMPLES, f"one of {', '.join(streams.EXAMPLES)}")
    path, content = out or Path(f"{name}.csv"), gzip.decompress(streams.EXAMPLES[name].read_bytes())
    if path.exists() and not force and not (path.is_file() and path.read_bytes() == content):
        way = "Pass --force to replace it, or choose another name with --out"
        raise HerosError(f"The file {path} already exists. {way}.")
    write_whole(path, [content])
    typer.echo(f"{path} is written. Run heros look {path} --target late to see how the file is read")
