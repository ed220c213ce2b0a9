"""`heros look`: how a file is read, before anything is trained."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from heros import streams
from heros.cli import options
from heros.cli.app import app, in_options
from heros.cli.checkpoints import FILE_OPTIONS
from heros.cli.parsing import reading
from heros.errors import ParameterError

__all__ = ["look_command"]


@app.command("look")
def look_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file: CSV, JSON lines, ARFF, Parquet, ...")],
    target: options.Target = None,
    ignore: options.Ignore = None,
    nominal: options.Nominal = None,
    numeric: options.Numeric = None,
    dates: options.Dates = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    missing: options.Missing = None,
    most_values: options.MostValues = None,
    columns: options.ColumnsFile = None,
    format: options.FormatName = None,
    task: options.TaskName = None,
    as_json: options.AsJson = False,
) -> None:
    """Show how a file is read: columns, types, examples, what is missing or odd, and classes."""
    if file == "-" or file in streams.NAMES:
        raise ParameterError.of("file", "look", "a file (see heros streams for those with names)", file)
    how = reading(
        target=target,
        ignore=ignore,
        nominal=nominal,
        numeric=numeric,
        dates=dates,
        classes=classes,
        delimiter=delimiter,
        missing=missing,
        most_values=most_values,
        columns=columns,
        format=format,
        task=task,
    )
    found = streams.look(file, **how)
    if as_json:
        typer.echo(json.dumps(found.plain(), ensure_ascii=False))
    else:
        typer.echo(in_options(str(found), FILE_OPTIONS))
