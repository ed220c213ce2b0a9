"""The application that commands are added to, and how it answers mistakes."""

from __future__ import annotations

import errno
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from heros.errors import HerosError

__all__ = ["Commands", "app", "say"]

USAGE: Any = typer.BadParameter.__mro__[1]
"""What is raised where words do not make a command: typer has it, but not by its name."""


class Commands(TyperGroup):
    """Commands that answer a user's mistake with one line and exit code 2, an interrupt with 130.

    What the system refuses, such as to write to a full disk, is a line and 1.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except USAGE as error:  # in the words of the library, but as we say what is wrong
            where = error.ctx.command_path if error.ctx is not None else "heros"
            say(f"heros: {error.format_message()} ({where} --help says more)", style="red")
            raise typer.Exit(2) from None
        except HerosError as error:
            say(f"heros: {error}", style="red")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            say("heros: stopped")
            raise typer.Exit(130) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read the output has seen enough
                raise
            say(f"heros: {error}", style="red")
            raise typer.Exit(1) from None


app = typer.Typer(name="heros", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def heros() -> None:
    """Green online learning with heterogeneous ensembles."""


def say(message: str, style: str = "") -> None:
    """One line on standard error, where it does not mix with results."""
    Console(stderr=True, soft_wrap=True).print(Text(message, style=style))
