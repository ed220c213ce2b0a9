"""`heros-paper`: run the paper's grid, and make its tables, figures and theory from records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import heros_paper as paper
from heros import HerosError, ParameterError
from heros._base.parameters import one_of
from heros._base.registry import policy_id, policy_of
from heros.cli.app import Commands, say
from heros.policies import Policy
from heros.run.executors import Dask, Executor, Processes, Serial
from heros.run.experiments import Job, run_all
from heros.run.records import pack
from heros.run.records.packed import NAME
from heros_paper import Cell
from heros_paper.further import PARTS, Batch
from heros_paper.further import missing as batches

__all__ = ["app"]

RECORDS = Path("paper/records")
SEEDS = ",".join(map(str, paper.SEEDS))
RESULTS = Path("paper")

app = typer.Typer(
    name="heros-paper",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Reproduce the paper: grid, tables, figures, theorems.",
)

Records = Annotated[Path, typer.Option("--records", help="The directory of the records.")]
Out = Annotated[Path, typer.Option("--out", help="The output directory.")]


@app.command("run")
def run_command(
    base: Annotated[str | None, typer.Option(help="mlp or trees; both by default.")] = None,
    streams: Annotated[
        str | None, typer.Option(help="E.g. electricity,wisdm; the paper's eleven by default.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="E.g. cand,zeta:0.05@0.2; thirteen by default (see heros policies).")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="E.g. 1 or 1,2; by default 1,2,3, with --missing all of a part.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="Use only the first N instances.")] = None,
    extras: Annotated[
        bool, typer.Option("--extras", help="The runs outside the grid: for two figures, and M = 40.")
    ] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="All runs that are not recorded yet, cheapest first.")
    ] = False,
    parts: Annotated[
        str | None,
        typer.Option(help="With --missing: only these parts, e.g. seeds,greedy (see docs/paper.md)."),
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or dask for many machines.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a dask scheduler; by default one is started here.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of runs in parallel on this machine.")] = 1,
    records: Annotated[
        Path | None,
        typer.Option("--records", help="The directory for the records; paper/records by default."),
    ] = None,
) -> None:
    """Run the grid, or a part of it; recorded runs are kept, so a stopped grid can be continued."""
    where = _executor(engine, scheduler, jobs)
    directory = records or (RECORDS if n is None else Path(f"paper/records-first-{n}"))
    todo: Sequence[tuple[str, Sequence[Job]]]
    if missing:
        todo = _missing(parts, streams, seeds)
    elif extras:
        todo = list(paper.extra_cells().items())
    else:
        todo = [("grid", _grid(base, streams, policies, seeds or SEEDS, n))]
    failed = [_run(jobs_, directory / name, where) for name, jobs_ in todo]
    if any(failed):
        raise typer.Exit(1)


@app.command("costs")
def costs_command(
    base: Annotated[str | None, typer.Option(help="mlp or trees; both by default.")] = None,
    streams: Annotated[
        str | None, typer.Option(help="E.g. electricity,wisdm; the paper's eleven by default.")
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Use the first N instances of each stream.")] = 20_000,
    records: Records = RECORDS,
) -> None:
    """Measure the cost of the policies in turn on the same blocks, which works on a busy machine too."""
    names = tuple(paper.STREAMS) if streams is None else _words(streams)
    for name in tuple(paper.BASES) if base is None else (base,):
        path = records / "paired" / f"{name}.csv"
        _expect_none(path)
        paper.write_paired(paper.paired_costs(name, names, n=n), path)
        typer.echo(f"measured: {path}")


@app.command("assumptions")
def assumptions_command(records: Records = RECORDS) -> None:
    """Run alternatives for the points that the paper leaves open (takes minutes)."""
    path = records / "assumptions" / "runs.csv"
    _expect_none(path)
    paper.write_found(paper.try_assumptions(), path)
    typer.echo(f"run: {path}")


@app.command("pack")
def pack_command(
    records: Annotated[Path, typer.Option("--records", help="The directory of the records.")] = RECORDS,
) -> None:
    """Collect the single records of each part in one Parquet file."""
    for part in sorted(path for path in records.iterdir() if path.is_dir()):
        if count := pack(part):
            typer.echo(f"{part / NAME}: {count} records")


@app.command("tables")
def tables_command(records: Records = RECORDS, out: Out = RESULTS / "tables") -> None:
    """Write the paper's tables as Markdown, LaTeX and CSV, with our results and the paper's."""
    from heros_paper.tables import write_tables  # noqa: PLC0415 - slow import, not needed for runs

    paths = write_tables(records, out)
    standing = (out / "summary.md").read_text(encoding="utf-8")
    typer.echo(f"{standing}\n{len(paths)} files: {out}")


@app.command("figures")
def figures_command(records: Records = RECORDS, out: Out = RESULTS / "figures") -> None:
    """Draw the paper's figures as PDF and PNG."""
    from heros_paper.figures import draw_figures  # noqa: PLC0415 - slow import, not needed for runs

    paths = draw_figures(records, out)
    typer.echo(f"{len(paths)} files: {out}")


@app.command("theory")
def theory_command(out: Out = RESULTS / "theory") -> None:
    """Simulate the paper's stochastic model and check its lemmas and theorems (a minute or more)."""
    from heros_paper.theory import write_theory  # noqa: PLC0415 - slow import, not needed for runs

    paths = write_theory(out)
    typer.echo(f"{len(paths)} files: {out}")


@app.command("report")
def report_command(
    records: Records = RECORDS,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = RESULTS
    / "report.html",
) -> None:
    """Write all tables and figures on one self-contained HTML page."""
    from heros_paper.page import write_paper_page  # noqa: PLC0415 - slow import, not needed for runs

    out.parent.mkdir(parents=True, exist_ok=True)
    write_paper_page(records, out)
    typer.echo(f"page: {out}")


def _expect_none(path: Path) -> None:
    """Raise an error if the file exists: measurements are not overwritten."""
    if path.exists():
        raise HerosError(f"The file {path} already exists; move or delete it to measure again.")


def _run(jobs: Sequence[Job], out: Path, executor: Executor) -> bool:
    """Run a part and print the outcome; return whether a run failed."""
    outcome = run_all(jobs, out, executor=executor)
    for id, failure in outcome.failed.items():
        say(f"heros: {id} failed: {failure.reason}", style="red")
    counts = f"{len(outcome.done)} run, {len(outcome.kept)} kept, {len(outcome.failed)} failed"
    typer.echo(f"{counts}; records: {out}")
    return bool(outcome.failed)


def _missing(parts: str | None, streams: str | None, seeds: str | None) -> list[Batch]:
    chosen = tuple(PARTS) if parts is None else _words(parts)
    for part in chosen:
        one_of(part, "parts", "heros-paper run", PARTS, f"one of {', '.join(PARTS)}")
    names = tuple(paper.STREAMS) if streams is None else _words(streams)
    return batches(chosen, names, None if seeds is None else [_seed(text) for text in _words(seeds)])


def _grid(
    base: str | None, streams: str | None, policies: str | None, seeds: str, n: int | None
) -> list[Cell]:
    names = tuple(paper.STREAMS) if streams is None else _words(streams)
    chosen = paper.POLICIES if policies is None else tuple(_policy(text) for text in _words(policies))
    numbers = [_seed(text) for text in _words(seeds)]
    bases = tuple(paper.BASES) if base is None else (base,)
    cells = [cell for name in bases for cell in paper.cells(name, names, chosen, numbers, n)]
    return sorted(cells, key=lambda cell: -cell.work)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _policy(text: str) -> Policy:
    """Parse a policy: its id in records (zeta_0.05_0.2) or its command-line notation (zeta:0.05@0.2)."""
    known = {policy_id(policy): policy for policy in paper.POLICIES}
    return known[text] if text in known else policy_of(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ParameterError.of("seeds", "heros-paper run", "whole numbers, e.g. 1,2,3", text)
    return int(text)


def _executor(name: str, scheduler: str | None, jobs: int) -> Executor:
    if name == "dask":
        return Dask(scheduler, jobs)
    if name != "local":
        raise ParameterError.of("engine", "heros-paper run", "local or dask", name)
    if scheduler is not None:
        raise ParameterError.of(
            "scheduler", "heros-paper run", "left out unless the engine is dask", scheduler
        )
    return Serial() if jobs == 1 else Processes(jobs)
