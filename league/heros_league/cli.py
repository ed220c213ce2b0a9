"""`heros-league`: run the league; its table, ranks and picture from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heros.cli.app import Commands, say
from heros.errors import ParameterError
from heros.experiments import run_all
from heros_league.arena import ARENA, SMALL
from heros_league.entrants import ENTRANTS, OURS
from heros_league.starts import LIMIT, Fresh, Start, starts

__all__ = ["app"]

RECORDS = Path("league/records")
SMALL_ENTRANTS = (*OURS, "river_arf")
OUR_SEEDS, THEIR_SEEDS = (1, 2, 3), (1,)

app = typer.Typer(
    name="heros-league",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="HEROS and its rivals on the same instances: runs, table, ranks, picture.",
)

Records = Annotated[Path, typer.Option("--records", help="Where the records are.")]


@app.command("run")
def run_command(
    entrants: Annotated[
        str | None, typer.Option(help=f"E.g. heros,arf; all by default: {', '.join(ENTRANTS)}.")
    ] = None,
    streams: Annotated[str | None, typer.Option(help="E.g. electricity,wisdm; all by default.")] = None,
    small: Annotated[bool, typer.Option("--small", help="The small data sets instead.")] = False,
    limit: Annotated[float, typer.Option(help="CPU seconds after which a run is stopped.")] = LIMIT,
    records: Records = RECORDS,
) -> None:
    """Run whoever has not been run yet, one process at a time; what is recorded is kept."""
    names = _names(entrants, "entrants", SMALL_ENTRANTS if small else tuple(ENTRANTS), tuple(ENTRANTS))
    arenas = tuple(SMALL if small else ARENA)
    todo = starts(names, _names(streams, "streams", arenas, (*ARENA, *SMALL)), _seeds, limit)
    failed = 0
    for start in todo:  # a failure is told when it happens: the next one may take an hour
        failed += _run(start, records)
    if failed:
        raise typer.Exit(1)


def _run(start: Start, out: Path) -> bool:
    """Run, unless it is recorded, and say what became of it; whether it failed."""
    outcome = run_all([start], out, executor=Fresh(), progress=False)
    for id, failure in outcome.failed.items():
        say(f"heros: {id} failed: {failure.reason}", style="red")
    for id in outcome.done:
        typer.echo(f"{id}: recorded")
    return bool(outcome.failed)


def _seeds(entrant: str) -> tuple[int, ...]:
    return OUR_SEEDS if entrant in OURS else THEIR_SEEDS


def _names(text: str | None, name: str, default: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    chosen = default if text is None else [word.strip() for word in text.split(",") if word.strip()]
    for word in chosen:
        if word not in known:
            raise ParameterError.of(name, "heros-league", f"among {', '.join(known)}", word)
    return list(chosen)


@app.callback()
def _league() -> None:
    """HEROS and its rivals on the same instances."""
