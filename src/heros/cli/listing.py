"""`heros policies`, `pools` and `doctor`: list policies and pools, and describe this installation."""

from __future__ import annotations

import inspect
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from heros._base import core as _core
from heros._base.errors import HerosError
from heros._base.registry import notation_of, written_parts
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app, print_json
from heros.meters import Cpu, Meter
from heros.meters.cpu import cpu_model
from heros.streams.paper_datasets import REAL, copy_of, data_directory

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
        typer.echo(f"You can also write your own pool file, e.g. for --pool mine.toml:\n\n{FILE}")


def _first_line(kind: object) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").replace("*", "").replace("`", "")


def _show(headings: tuple[str, str], rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print_json([dict(zip(headings, row, strict=True)) for row in rows])
        return
    Table(headings, rows, align="lw").show()
    typer.echo()


REQUIRED = ("heros-learn", "numpy", "pyarrow", "rich", "typer")
PACKAGES = (*REQUIRED, "codecarbon", "river", "scikit-learn", "capymoa")


@app.command("doctor")
def doctor_command(as_json: options.AsJson = False) -> None:
    """Print the CPU features, meters, data and versions in use."""
    absent = "not yet downloaded"
    found = {
        "CPU": f"{cpu_model()}, {os.cpu_count()} cores",
        "instructions": f"{_core.isas()[0]} (of {', '.join(_core.isas())})",
        **{f"meter {name}": _meter(name) for name in Meter.names()},
        "data directory": str(data_directory()),
        **{f"stream {name}": "found" if copy_of(REAL[name]).exists() else absent for name in REAL},
        "Python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }
    if as_json:
        print_json(found)
        return
    Table(rows=found.items(), align="lw").show()


def _meter(name: str) -> str:
    try:
        meter = Meter.of(name)
    except HerosError as error:
        return f"no: {error}"
    return f"yes: {meter.watts:g} W per core ({meter.origin})" if isinstance(meter, Cpu) else "yes"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
