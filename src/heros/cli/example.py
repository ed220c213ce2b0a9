"""`heros example`: write a small example file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Annotated

import typer

from heros import streams
from heros._base.errors import HerosError
from heros._base.parameters import one_of
from heros.cli import options
from heros.cli.app import app


@app.command("example")
def example_command(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(streams.EXAMPLES)}.")] = "deliveries",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; by default NAME.csv in the current directory."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Write an example file: 6,000 deliveries, some of them late; the busy hours change halfway."""
    one_of(name, "name", "example", streams.EXAMPLES, f"one of {', '.join(streams.EXAMPLES)}")
    path = out or Path(f"{name}.csv")
    if path.exists() and not force:
        way = "pass --force to replace it, or choose another name with --out"
        raise HerosError(f"The file {path} already exists; {way}.")
    path.write_bytes(gzip.decompress(streams.EXAMPLES[name].read_bytes()))
    typer.echo(f"{path}: heros look {path} --target late shows how it is read")
