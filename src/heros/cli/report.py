"""`heros report`: write an HTML report of recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heros.cli.app import app
from heros.report import write_report


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory with records below it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about all runs recorded below a directory."""
    count = write_report(directory, out)
    typer.echo(f"{out}: {count} {'run' if count == 1 else 'runs'}")
