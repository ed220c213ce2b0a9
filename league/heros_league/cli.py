"""The `heros-league` command: run the comparison, and write its tables, ranks and figure from records."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heros import HerosError, ParameterError
from heros._base.tables import Table
from heros.cli.app import Commands, say
from heros.run import records as stored
from heros.run.executors import Serial
from heros.run.experiments import run_all
from heros_league.arena import ALL, DELAYS, NUMBERS, PARTS
from heros_league.entrants import ENTRANTS, EVERYBODY, OURS, REGRESSORS
from heros_league.rivals import BASELINES, BOOSTERS, HEROS, match
from heros_league.starts import LIMIT, Fresh, Start, all_starts, seeds_of
from heros_paper import SEEDS, STREAMS
from heros_paper.further import DISTINCT

__all__ = ["app"]

RECORDS, EARLIER, TIMES = Path("league/second"), Path("league/records"), Path("league/times")
PAGE, PAPER = Path("docs/league.md"), Path("paper/records/rivals")
SECOND = (*BASELINES, *BOOSTERS)  # the rivals of the second edition
TAKES_PART = {
    "streams": tuple(ENTRANTS),
    "tables": ("heros", "srp", "arf", "dems", *SECOND),
    "further": ("heros", "srp", "arf", "dems", *SECOND),
    "others": ("heros", "arf", "srp", "bagging", "sgbt", "river_arf", *SECOND),
    "small": (*OURS, "river_arf", *SECOND),
    "whole": tuple(OURS),
    "regression": tuple(REGRESSORS),
    "delays": tuple(REGRESSORS),
}
TABLE3 = ("arf", "srp", "shrubs", *HEROS)
BESIDE = ("bandit", "halving")  # two methods of River that are not in Table III of the paper
WHOLE, FIRST = ("electricity", "wisdm", "nomao"), 100_000  # streams read completely; instances of all others
ALONE_FIRST = 10_000  # instances for timing on an idle machine
BUSY = 0.5  # load above which timings are disturbed

app = typer.Typer(
    name="heros-league",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Compare HEROS with other libraries on the same instances: runs, tables, ranks and figure.",
)

Records = Annotated[Path, typer.Option("--records", help="The directory of the records.")]
Entrants = Annotated[str | None, typer.Option(help=f"Learners among {', '.join(EVERYBODY)}; by default all.")]
Streams = Annotated[
    str | None, typer.Option(help="Streams, e.g. electricity,wisdm; by default all streams of the part.")
]


@app.command("run")
def run_command(
    entrants: Entrants = None,
    streams: Streams = None,
    part: Annotated[
        str | None,
        typer.Option(help=f"The part: {', '.join(PARTS)}; by default all."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Seeds, e.g. 1; by default 1,2,3; for other learners 1 on streams of 50,000 instances "
            "or more, and without random choices."
        ),
    ] = None,
    limit: Annotated[float, typer.Option(min=0, help="CPU seconds after which a run is stopped.")] = LIMIT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Repeat runs that were recorded with other settings of HEROS.")
    ] = False,
    records: Records = RECORDS,
) -> None:
    """Run all learners without a record, one process at a time; existing records are kept."""
    failed = 0
    for name in _names(part, "part", tuple(PARTS), tuple(PARTS)):
        able = tuple(REGRESSORS if PARTS[name] in (NUMBERS, DELAYS) else ENTRANTS)
        named = _names(entrants, "entrants", TAKES_PART[name], tuple(EVERYBODY))
        chosen = [entrant for entrant in named if entrant in able]
        arenas = [s for s in _names(streams, "streams", tuple(PARTS[name]), tuple(ALL)) if s in PARTS[name]]
        for start in all_starts(chosen, arenas, partial(_seeds, seeds), limit):
            failed += _run(start, records, replace)
    if failed:
        raise typer.Exit(1)


@app.command("time")
def time_command(
    entrants: Entrants = None,
    streams: Streams = None,
    first: Annotated[
        int, typer.Option("--first", min=1, help="The number of instances of each stream.")
    ] = 5000,
    records: Records = RECORDS,
    times: Annotated[Path, typer.Option(help="The directory for the new runs.")] = TIMES,
) -> None:
    """Repeat the first instances of recorded runs on an idle machine, and compare the CPU time."""
    names = _names(entrants, "entrants", tuple(EVERYBODY), tuple(EVERYBODY))
    arenas = _names(streams, "streams", tuple(PARTS["streams"]), tuple(ALL))
    table = Table(["run", "µs then", "µs alone", "then / alone"], align="lrrr")
    for start in all_starts(names, arenas, lambda *_: (1,), first=first):
        if stored.exists(records / start.id):
            _run(start, times, replace=False)
            recorded, idle = (_microseconds(root / start.id, first) for root in (records, times))
            table.add(start.id, round(recorded), round(idle), round(recorded / idle, 2))
    table.show()


@app.command("table3")
def table3_command(
    entrants: Annotated[
        str | None, typer.Option(help=f"Learners among {', '.join((*TABLE3, *BESIDE))}; by default all.")
    ] = None,
    streams: Streams = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds, e.g. 1; by default 1,2,3, or 1 with --alone.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="The number of instances of each stream.")
    ] = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Run the first 10,000 instances, for timing on an idle machine."),
    ] = False,
    records: Annotated[Path, typer.Option("--records", help="The paper's records.")] = PAPER.parent,
) -> None:
    """Run ARF, SRP, Shrubs, two methods of River and the paper's HEROS, for Table III of the paper."""
    if alone and (busy := os.getloadavg()[0]) > BUSY:
        say(f"heros: The machine is busy (load {busy:.1f}), so the CPU times will be too high.", "yellow")
    everybody = (*TABLE3, *BESIDE)
    named = _names(entrants, "entrants", TABLE3 if alone else everybody, everybody)
    jobs = []
    for stream in _names(streams, "streams", tuple(DISTINCT if alone else STREAMS), tuple(STREAMS)):
        length = n or (ALONE_FIRST if alone else None if stream in WHOLE else FIRST)
        for seed in _whole(seeds) if seeds else (1,) if alone else SEEDS:
            jobs += [match(name, stream, length, seed, 100 if length is None else 1000) for name in named]
    out = records / ("alone" if alone else "rivals")
    outcome = run_all(jobs, out, executor=Serial())  # CPU time is that of the process
    for id, failure in outcome.failed.items():
        say(f"heros: {id} failed: {failure.reason}", style="red")
    counts = f"{len(outcome.done)} run, {len(outcome.kept)} kept, {len(outcome.failed)} failed"
    typer.echo(f"{counts}; records: {out}")
    if outcome.failed:
        raise typer.Exit(1)


@app.command("report")
def report_command(
    records: Records = RECORDS,
    page: Annotated[Path, typer.Option(help="The page to write the tables to.")] = PAGE,
    paper: Annotated[Path, typer.Option(help="The paper's records of rivals on the same instances.")] = PAPER,
    earlier: Annotated[
        Path, typer.Option(help="The records of the first edition, on another machine.")
    ] = EARLIER,
) -> None:
    """Write the tables and figures of the league's two pages from records, without training."""
    from heros_league.page import write_page  # noqa: PLC0415 - slow, and not needed for runs

    for path in write_page(records, page, paper, earlier):
        typer.echo(f"written: {path}")


def _run(start: Start, out: Path, replace: bool) -> bool:
    """Run a start unless it is recorded, print the outcome, and return whether it failed.

    Starts run one at a time, so that a failure is reported at once: the next run may take an hour.
    """
    old = _outdated(start, out)
    if old and not replace:
        say(f"heros: {start.id} was recorded with other settings; --replace runs it again", style="red")
        return True
    outcome = run_all([start], out, executor=Fresh(), progress=False, force=old)
    for id, failure in outcome.failed.items():
        say(f"heros: {id} failed: {failure.reason}", style="red")
    for id in outcome.done:
        typer.echo(f"{id}: recorded")
    return bool(outcome.failed)


def _outdated(start: Start, out: Path) -> bool:
    """Return whether a run of HEROS is recorded with other settings than the current ones."""
    if start.entrant not in OURS or not stored.exists(out / start.id):
        return False
    try:
        recorded = stored.details(out / start.id)["settings"]
    except HerosError:
        return False  # a damaged record is replaced anyway
    today = json.loads(json.dumps(OURS[start.entrant].settings(start.seed, start.stream in NUMBERS | DELAYS)))
    return any(name in recorded and recorded[name] != value for name, value in today.items())


def _microseconds(place: Path, first: int) -> float:
    """Return the CPU time per instance over the first instances of a record, from its curves."""
    curves = stored.read(place).curves
    windows = curves.end <= max(first, int(curves.end[0]))
    return 1e6 * float(curves.cpu[windows].sum()) / int(curves.end[windows][-1])


def _seeds(text: str | None, entrant: str, stream: str) -> tuple[int, ...]:
    return seeds_of(entrant, stream) if text is None else _whole(text)


def _whole(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ParameterError.of("seeds", "heros-league", "whole numbers, e.g. 1,2,3", text)
    return tuple(map(int, words))


def _names(text: str | None, name: str, default: Sequence[str], known: Sequence[str]) -> list[str]:
    chosen = default if text is None else [word.strip() for word in text.split(",") if word.strip()]
    for word in chosen:
        if word not in known:
            raise ParameterError.of(name, "heros-league", f"among {', '.join(known)}", word)
    return list(chosen)
