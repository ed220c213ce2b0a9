"""`heros paper`: where the paper has gone."""

from __future__ import annotations

from typing import Annotated

import typer

from heros.cli.app import app
from heros.errors import HerosError

__all__ = ["paper_command"]


@app.command("paper", hidden=True, context_settings={"ignore_unknown_options": True})
def paper_command(words: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """The paper has a package and a command of its own."""
    asked = " ".join(["heros-paper", *(words or [])])
    raise HerosError(f"The paper has a package of its own: pip install ./paper (in a clone), then {asked}")
