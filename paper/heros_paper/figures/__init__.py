"""The paper's figures from records, as PDF and PNG.

In the directory of records, ``grid`` holds the runs of the policies, ``greedy`` those without exploration,
``paired`` the paired cost measurements, ``beta`` the runs for the distribution of scores, and ``drift`` the
runs with short windows. A figure without records is omitted; the schema needs no records.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from heros._base.progress import progress
from heros_paper.figures.beta import draw_beta
from heros_paper.figures.drift import draw_drifts
from heros_paper.figures.exploring import draw_exploring
from heros_paper.figures.phases import draw_phases
from heros_paper.figures.schema import draw_schema
from heros_paper.figures.tradeoff import draw_tradeoff
from heros_paper.paired import in_turn
from heros_paper.results import grids

__all__ = ["draw_figures"]

Directory = str | os.PathLike[str]


def draw_figures(records_dir: Directory, out_dir: Directory) -> list[Path]:
    """Draw every figure that has records, and return the paths.

    Parameters
    ----------
    records_dir
        The directory of the records.
    out_dir
        The output directory, created if missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as records, tempfile.TemporaryDirectory() as out:
    ...     [path.name for path in draw_figures(records, out)]  # of no records at all
    ['schema.pdf', 'schema.png']
    """
    out = Path(out_dir)
    paths: list[Path] = []
    with progress() as bar:
        task = bar.add_task("reading records", total=None)
        found = grids(records_dir)
        out.mkdir(parents=True, exist_ok=True)
        turns = {grid.base.name: in_turn(records_dir, grid.base.name) for grid in found}
        drawings: list[tuple[str, Callable[[], list[Path]]]] = [
            ("schema", partial(draw_schema, out)),
            *(
                (f"trade-off, {grid.base.label}", partial(draw_tradeoff, grid, out, turns[grid.base.name]))
                for grid in found
            ),
            ("exploration", partial(draw_exploring, records_dir, found[0], out)),
            ("time by phase", partial(draw_phases, found, out, turns)),
            ("performances", partial(draw_beta, records_dir, out)),
            ("drifts", partial(draw_drifts, records_dir, out)),
        ]
        for done, (name, draw) in enumerate(drawings):
            bar.update(task, description=name, total=len(drawings), completed=done)
            paths += draw()
    return paths
