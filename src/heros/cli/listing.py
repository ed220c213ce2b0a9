"""`heros policies` and `heros pools`: list the available policies and pools."""

from __future__ import annotations

import inspect
import json

import typer

from heros._base.registry import notation_of, written_parts
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app

FILE = """kind = "mlp"                       # or another name from the table above
costs = "hidden"                   # omit for the default
[grid]                             # the arguments of MLPGrid, ...,
hidden = [16, 64]                  # or [[models]] tables, one per model
learning_rates = [0.05, 0.005]

kind = "join"                      # a pool of pools: one table per pool
[[pools]]
kind = "mlp"
[pools.grid]
hidden = [16, 64]
[[pools]]
kind = "trees"
[[pools.models]]
max_bytes = 65536"""


@app.command("policies")
def policies_command(as_json: options.AsJson = False) -> None:
    """List the policies: their command-line notation and the models they train."""
    rows = [(notation_of(kind), _first_line(kind)) for kind in written_parts("policy").values()]
    _show(("policy", "trains"), rows, as_json)
    if not as_json:
        typer.echo(
            "Append @EPSILON to explore: zeta:0.05@0.2 trains k random models in 20 %\nof the steps. "
            "Append +surprise:SURE:SHARE to train rarely on instances\nthat the ensemble predicts well."
        )


@app.command("pools")
def pools_command(as_json: options.AsJson = False) -> None:
    """List the pools and show an example of a pool file."""
    rows = [
        (name, f"{grid().n_models} models. {_first_line(grid)}")
        for name, grid in written_parts("pool").items()
    ]
    _show(("pool", "models"), rows, as_json)
    if not as_json:
        typer.echo(f"Or your own pool file, e.g. --pool mine.toml:\n\n{FILE}")


def _first_line(kind: object) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").replace("*", "").replace("`", "")


def _show(headings: tuple[str, str], rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([dict(zip(headings, row, strict=True)) for row in rows], ensure_ascii=False))
        return
    Table(headings, rows, align="lw").show()
    typer.echo()
