"""`heros look`: show how a file is read, without training."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from heros import streams
from heros._base.errors import ParameterError
from heros.cli import options
from heros.cli.app import app, in_options
from heros.cli.checkpoints import FILE_OPTIONS
from heros.cli.file_options import FileOptions, reads_files


@app.command("look")
@reads_files
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
        raise ParameterError.of("file", "look", "a file (heros streams lists the named streams)", file)
    found = streams.look(file, target=files.target, **files.how)
    if as_json:
        typer.echo(json.dumps(found.plain(), ensure_ascii=False))
    else:
        typer.echo(in_options(found.text(all=all_columns), {**FILE_OPTIONS, "all": "--all"}))
