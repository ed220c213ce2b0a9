"""The paper's tables from records, beside the paper's own figures.

Below the directory of records, ``grid`` holds the runs of the policies, ``rivals`` those of other ensembles
and ``paired`` costs measured in turn; what is not there is shown as not run.
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
    """Write every table as Markdown, LaTeX and CSV, and the summary; the paths written.

    Table I, Table II, Table III, the appendix, how near they are, what the ζ-policy loses and saves, and what
    runs beyond the paper's say.

    Parameters
    ----------
    records_dir
        Where the records are.
    out_dir
        Where the tables go; made if it is not there.

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
    """Every table, in the order of the paper, then what the ζ-policy loses and saves, then further runs."""
    return tables_of(records_dir, *grids(records_dir))


def tables_of(records_dir: Directory, mlp: Grid, trees: Grid) -> list[Table]:
    """Every table of these results; rivals and costs measured in turn come from the directory."""
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
    """How many of the paper's cells were run, and how many are near its figures.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as records:
    ...     mlp, trees = summary(records).agreements
    >>> mlp.n_cells, mlp.n_compared, mlp.n_runs
    (110, 0, 0)
    """
    return Summary([agreement(grid) for grid in grids(records_dir)])
