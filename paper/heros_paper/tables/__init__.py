"""The paper's tables from records, beside the paper's published numbers.

In the directory of records, ``grid`` holds the runs of the policies, ``rivals`` those of other ensembles, and
``paired`` the paired cost measurements. A missing run is shown as not run.
"""

from __future__ import annotations

import os
from pathlib import Path

from heros._base.progress import progress
from heros_paper.paired import in_turn
from heros_paper.results import OTHERWISE, PHASES, Grid, grids
from heros_paper.tables.agreement import Agreement, Summary, agreement
from heros_paper.tables.claim import claim_tables
from heros_paper.tables.closeness import closeness_table
from heros_paper.tables.ensembles import ensemble_table
from heros_paper.tables.further import beginning_table, exploration_table, seeds_table, sweep_table
from heros_paper.tables.layout import Table
from heros_paper.tables.phases import phases_table
from heros_paper.tables.policies import auroc_table, energy_table
from heros_paper.tables.streams import stream_table

__all__ = ["Agreement", "Summary", "Table", "all_tables", "summary", "tables_of", "write_tables"]

Directory = str | os.PathLike[str]


def write_tables(records_dir: Directory, out_dir: Directory) -> list[Path]:
    """Write every table as Markdown, LaTeX and CSV, and the summary; return the paths.

    The tables are Tables I to III, the appendix, the closeness to the paper, the losses and savings of the
    ζ-policy, and further runs.

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
    ...     paths = write_tables(records, out)  # of no records at all
    ...     text = Path(out, "table2_mlp_auroc.md").read_text(encoding="utf-8")
    >>> len(paths), "not run" in text, ".9663" in text
    (70, True, True)
    """
    out = Path(out_dir)
    with progress() as bar:
        bar.add_task("reading records", total=None)
        found = grids(records_dir)
    out.mkdir(parents=True, exist_ok=True)
    paths = [path for table in tables_of(records_dir, *found) for path in table.write(out)]
    page = out / "summary.md"
    page.write_text(str(Summary([agreement(grid) for grid in found])), encoding="utf-8")
    return [*paths, page]


def all_tables(records_dir: Directory) -> list[Table]:
    """Return the paper's tables in order, then the losses and savings of the ζ-policy, then further runs."""
    return tables_of(records_dir, *grids(records_dir))


def tables_of(records_dir: Directory, mlp: Grid, trees: Grid) -> list[Table]:
    """Return every table of these results; rivals and paired costs come from the directory."""
    turns = {grid.base.name: in_turn(records_dir, grid.base.name) for grid in (mlp, trees)}
    return [
        stream_table([mlp, trees]),
        auroc_table(mlp),
        energy_table(mlp),
        ensemble_table(records_dir, mlp),
        auroc_table(trees),
        energy_table(trees),
        *(closeness_table(grid) for grid in (mlp, trees)),
        *(table for grid in (mlp, trees) for table in claim_tables(grid, turns[grid.base.name])),
        phases_table(grids(records_dir, PHASES), turns),
        seeds_table(records_dir, mlp),
        exploration_table(records_dir, mlp),
        beginning_table(records_dir),
        sweep_table(records_dir),
        *(auroc_table(grid) for grid in grids(records_dir, OTHERWISE)),
    ]


def summary(records_dir: Directory) -> Summary:
    """Return how many of the paper's cells were run, and how many are close to its numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as records:
    ...     mlp, trees = summary(records).agreements
    >>> mlp.n_cells, mlp.n_compared, mlp.n_runs
    (110, 0, 0)
    """
    return Summary([agreement(grid) for grid in grids(records_dir)])
