"""The `heros` application: the group of all commands, which also reports errors."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
from ast import literal_eval
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from heros._base.errors import HerosError

OWNERS = r"heros run|heros serve|heros|read|compare|run|evaluate|Heros|CarbonSignal|Carbon|Within|Measure\.of"
"""The functions and classes whose parameters are command-line options."""

CALLED = {
    "intensity": "carbon_intensity",
    "microseconds": "within",
    "measures": "measure",
    "name": "measure",
    "header": "no_header",
}
"""The parameters whose options have a different name."""

USAGE: Any = typer.BadParameter.__mro__[1]
"""The usage error of the command line; typer does not export this class by name."""


class Commands(TyperGroup):
    """A group of commands that prints each error as one line and sets the exit code.

    The exit code is 2 after a user error, 130 after an interrupt, and 1 after a system error such as a full
    disk.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except USAGE as error:  # typer's text, in the format of our errors
            where = error.ctx.command_path if error.ctx is not None else "heros"
            say(f"heros: {error.format_message()} (see {where} --help)", style="red")
            raise typer.Exit(2) from None
        except HerosError as error:
            command = self.commands.get(ctx.invoked_subcommand or "")
            named = {str(one.name): one.opts[0] for one in (command.params if command else ()) if one.opts}
            say(f"heros: {in_options(str(error), named)}", style="red")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            say("heros: stopped")
            raise typer.Exit(130) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of the output has closed the pipe
                raise
            say(f"heros: {error}", style="red")
            raise typer.Exit(1) from None


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Replace parameter names in a message by command-line options.

    Examples
    --------
    >>> known = {"target": "--target", "nominal": "--nominal", "stream": "stream"}
    >>> in_options("The 'target' parameter of read must be one of the columns. Got 'x' instead.", known)
    "--target must be one of the columns. Got 'x' instead."
    >>> in_options("The 'zeta' parameter of Zeta must be in [0, 1] (or be named in nominal=).", known)
    "The 'zeta' parameter of Zeta must be in [0, 1] (or be named in --nominal)."
    >>> in_options("The 'stream' parameter of heros must be a file.", known)
    'STREAM must be a file.'
    >>> print(in_options("the word in missing=['5 Mai','?','a, b']", {"missing": "--missing"}))
    the word in --missing '5 Mai,?,"a, b"'
    >>> print(in_options("(header=False if it is a row)", {"no_header": "--no-header"}))
    (--no-header if it is a row)
    """

    def option(name: str) -> str:
        found = options.get(name) or options.get(CALLED.get(name, ""), "")
        return found if found.startswith("-") else found.upper()

    def parameter(found: re.Match[str]) -> str:
        return option(found["name"].replace("-", "_")) or found[0]

    def advice(found: re.Match[str]) -> str:
        name = option(found["name"])
        value = _as_argument(found["value"] or "")
        return f"{name} {value}".strip() if name.startswith("-") else found[0]

    text = re.sub(rf"The '(?P<name>[\w-]+)' parameter of (?:{OWNERS})(?![\w-])", parameter, text)
    return re.sub(r"\b(?P<name>[a-z_]+)=(?P<value>'[^']*'|\[[^\]]*\]|True|False)?(?![\w=])", advice, text)


def _as_argument(value: str) -> str:
    """Convert the repr of a string or of a list of strings to a shell argument."""
    try:
        value_of_literal = literal_eval(value or "True")
    except (SyntaxError, ValueError):  # the value was shortened
        return shlex.quote(re.sub(r"[\[\]'\"]", "", value))
    if isinstance(value_of_literal, bool):
        return ""
    names = [value_of_literal] if isinstance(value_of_literal, str) else value_of_literal
    cells = (f'"{name}"' if "," in name or not name else name for name in map(str, names))
    return shlex.quote(",".join(cells))


app = typer.Typer(name="heros", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def _say_version(requested: bool) -> None:
    if requested:
        typer.echo(f"heros {version('heros-learn')}")
        raise typer.Exit


@app.callback()
def heros(
    _: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Green online learning with heterogeneous ensembles."""


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def say(message: str, style: str = "") -> None:
    """Print a line on standard error; results go to standard output."""
    _StandardError(stderr=True, soft_wrap=True).print(Text(message, style=style))


class _StandardError(Console):
    """A console that raises an error if the reader of standard error has closed the pipe.

    Without this class, rich would discard all further text on standard output and end the program.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
