"""Rules for every command; commands are discovered automatically."""

import inspect

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from heros.cli import app

COMMANDS = {command.name: command for command in app.registered_commands}
runner = CliRunner()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    first = inspect.getdoc(COMMANDS[name].callback).splitlines()[0]
    result = runner.invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert first in result.stdout
    assert (first in runner.invoke(app, ["--help"]).stdout) == (not COMMANDS[name].hidden)


def test_the_help_of_run_has_few_options_without_a_heading():
    """Common options come first, followed by groups of other options."""
    own = {
        one.name: one.rich_help_panel
        for one in get_command(app).commands["run"].params
        if one.opts[0][:2] == "--"
    }
    common = [name for name, heading in own.items() if heading is None]
    assert set(common) == {"target", "task", "seed", "n", "out", "save", "predictions", "force", "as_json"}
    assert len(set(own.values()) - {None}) == 4
    text = runner.invoke(app, ["run", "--help"]).stdout
    assert text.index("--save") < text.index("How a file is read") < text.index("The model")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_lives_in_a_module_of_its_name_or_family(name):
    callback = COMMANDS[name].callback
    assert callback.__module__.startswith("heros.cli.")
    assert callback.__name__ == f"{name}_command"


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if not command.hidden])
def test_a_command_refuses_what_it_does_not_know(name):
    result = runner.invoke(app, [name, "--no-such-option"])
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert "Traceback" not in result.output
