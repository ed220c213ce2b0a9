"""`heros doctor`: CPU features, meters, data and versions of this installation."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from heros._base import core as _core
from heros._base.errors import HerosError
from heros._base.tables import Table
from heros.cli import options
from heros.cli.app import app
from heros.meters import Cpu, Meter
from heros.meters.cpu import cpu_model
from heros.streams.paper_datasets import REAL, copy_of, data_directory

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
        typer.echo(json.dumps(found, ensure_ascii=False))
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
