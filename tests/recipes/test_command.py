"""Follow CONTRIBUTING.md to add a small command."""

import pytest

WIDEST = '''"""`heros widest`: the stream with the most features."""

from __future__ import annotations

import json

import typer

from heros import streams
from heros.cli import options
from heros.cli.app import app
from heros._base.tables import Table

__all__ = ["widest_command"]


@app.command("widest")
def widest_command(as_json: options.AsJson = False) -> None:
    """Say which of the synthetic streams has the most features."""
    widths = {name: streams.load(name).schema.n_features for name in ("agr_a", "led_a", "rbf_m")}
    name = max(widths, key=lambda name: widths[name])
    if as_json:
        typer.echo(json.dumps({name: widths[name]}))
    else:
        Table(("stream", "features"), [(name, widths[name])], align="lr").show()
'''


@pytest.mark.long
def test_a_command_is_a_file_and_a_line(house):
    house.add("cli/widest.py", WIDEST)
    house.insert("cli/__init__.py", "from heros.cli.app import app", "from heros.cli import widest")
    assert house.touched == {"cli/widest.py", "cli/__init__.py"}

    assert house.heros("widest").split() == ["stream", "features", "─" * 16, "led_a", "24"]
    assert house.heros("widest", "--json") == '{"led_a": 24}\n'
    assert "Say which of the synthetic streams has the most features." in house.heros("--help")
    assert "widest" in house.contract("tests/cli/test_contract.py", "-k", "widest")
