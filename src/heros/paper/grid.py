"""Run a grid of cells: what is recorded is kept, what is broken is run again, what fails is reported."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.progress import TextColumn

from heros.errors import HerosError
from heros.executors import Executor, Serial, WorkerDied
from heros.paper.settings import Cell
from heros.progress import progress as progress_bar
from heros.run.loop import Curves, Run
from heros.storage import records

__all__ = ["Failure", "Outcome", "run_grid"]


@dataclass(frozen=True)
class Failure:
    """Why a cell has no record."""

    reason: str  # in a line
    details: str = field(default="", repr=False)  # the traceback


@dataclass(frozen=True)
class Outcome:
    """What became of a grid: the ids of its cells."""

    done: tuple[str, ...]  # run now
    kept: tuple[str, ...]  # recorded before
    failed: dict[str, Failure]


def run_grid(
    cells: Iterable[Cell],
    out: str | Path,
    *,
    engine: Executor | None = None,
    progress: bool | None = None,
) -> Outcome:
    """Run the cells that have no whole record below `out` yet, and record each as soon as it is done.

    Parameters
    ----------
    cells
        What to run, in this order.
    out
        The directory of records. A cell recorded with another number of instances is an error: nothing is
        overwritten.
    engine
        Where to run; `heros.executors.Serial()` by default.
    progress
        Whether to show a progress bar; by default if the output is a terminal.

    Examples
    --------
    >>> import tempfile
    >>> from heros.paper import cells, run_grid
    >>> from heros.policies import Cheapest, Random
    >>> grid = cells("trees", streams=["led_a"], policies=[Cheapest(), Random()], seeds=[1], n=500)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     first, second = run_grid(grid, directory), run_grid(grid, directory)
    >>> len(first.done), len(second.done), second.kept[0]
    (2, 0, 'led_a/trees50/cheapest/k20/seed1')
    """
    kept: list[Cell] = []
    left: list[Cell] = []
    for cell in cells:
        (kept if _recorded(cell, out) else left).append(cell)
    done: list[str] = []
    failed: dict[str, Failure] = {}
    with progress_bar(TextColumn("{task.fields[standing]}"), wanted=progress) as bar:
        task = bar.add_task(
            "grid", total=sum(cell.work for cell in left), standing=_standing(left, done, failed)
        )
        for i, result in (Serial() if engine is None else engine).results(_attempt, left):
            cell = left[i]
            if isinstance(result, Run):
                _record(result, cell, out)
                done.append(cell.id)
            else:
                failed[cell.id] = Failure(result.reason) if isinstance(result, WorkerDied) else result
            bar.update(task, advance=cell.work, standing=_standing(left, done, failed))
    return Outcome(tuple(done), tuple(cell.id for cell in kept), failed)


def _attempt(cell: Cell) -> Run | Failure:
    """The run, or why there is none: one cell that fails does not stop the others."""
    try:
        return cell.run()
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def _recorded(cell: Cell, out: str | Path) -> bool:
    """Whether there is a whole record of this very cell."""
    place = cell.place(out)
    if not records.exists(place):
        return False
    try:
        run = records.read(place)
    except HerosError:
        return False  # broken: it is run again
    if run.n_instances != cell.instances:
        rule = f"be of {cell.instances:,} instances (choose another directory)"
        raise HerosError(f"The record {place} must {rule}. Got {run.n_instances:,} instead.")
    return True


def _record(run: Run, cell: Cell, out: str | Path) -> None:
    if cell.span is not None:
        run = replace(run, curves=_cut(run.curves, *cell.span))
    records.save(run, out, id=cell.id, force=True, compact=cell.compact)


def _cut(curves: Curves, first: int, last: int) -> Curves:
    inside = (curves.end > first) & (curves.end <= last)
    return curves[inside]


def _standing(left: Sequence[Cell], done: Sequence[str], failed: dict[str, Failure]) -> str:
    trouble = f", {len(failed)} failed" if failed else ""
    return f"{len(done) + len(failed)} of {len(left)} runs{trouble}"
