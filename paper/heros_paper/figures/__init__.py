"""The paper's figures from records, as PDF and PNG.

Below the directory of records, ``grid`` holds the runs of the policies, ``beta`` those for the distribution
of performances and ``drift`` those with fine windows. A figure without records is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from heros.progress import progress
from heros_paper.figures.beta import draw_beta
from heros_paper.figures.drift import draw_drifts
from heros_paper.figures.phases import draw_phases
from heros_paper.figures.tradeoff import draw_tradeoff
from heros_paper.results import grids

__all__ = ["draw_figures"]

Directory = str | os.PathLike[str]


def draw_figures(records_dir: Directory, out_dir: Directory) -> list[Path]:
    """Draw every figure there are records for; the paths written.

    Parameters
    ----------
    records_dir
        Where the records are.
    out_dir
        Where the figures go; made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as records, tempfile.TemporaryDirectory() as out:
    ...     draw_figures(records, out)  # of no records at all
    []
    """
    out = Path(out_dir)
    paths: list[Path] = []
    with progress() as bar:
        task = bar.add_task("reading records", total=None)
        found = grids(records_dir)
        out.mkdir(parents=True, exist_ok=True)
        drawings: list[tuple[str, Callable[[], list[Path]]]] = [
            *((f"trade-off, {grid.base.label}", partial(draw_tradeoff, grid, out)) for grid in found),
            ("time by phase", partial(draw_phases, found, out)),
            ("performances", partial(draw_beta, records_dir, out)),
            ("drifts", partial(draw_drifts, records_dir, out)),
        ]
        for done, (name, draw) in enumerate(drawings):
            bar.update(task, description=name, total=len(drawings), completed=done)
            paths += draw()
    return paths
