"""The cells of the paper's tables, from records: the runs of a policy on a stream, one per seed."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.registry import pool_id
from heros.run import records
from heros_paper import settings
from heros_paper.published import MLP, OURS, POLICIES, STREAMS, TREES, Published

__all__ = [
    "BASES",
    "OTHERWISE",
    "PHASES",
    "SEEDS",
    "TRIED",
    "Base",
    "Cell",
    "Grid",
    "beginning_cells",
    "cells_in",
    "common",
    "exploration_cells",
    "grids",
    "longest",
    "records_in",
    "rows_in",
]

SEEDS = len(settings.SEEDS)
"""The number of seeds per cell in the paper."""

GRID, MORE_SEEDS, ALONE = "grid", "seeds", "phases"
"""Parts of the records: the paper's cells, further seeds, and runs on an otherwise idle machine."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Base:
    """A base learner of the paper, and its table."""

    name: str
    label: str
    published: Published
    table: str  # the name of its table in the paper
    pool: str  # its name in records
    k: int  # number of models trained per step
    part: str = GRID  # part of the records


_MLP, _TREES = (pool_id(settings.BASES[name].pool) for name in ("mlp", "trees"))

BASES = (
    Base("mlp", "perceptrons", MLP, "Table II", _MLP, 30),
    Base("trees", "Hoeffding trees", TREES, "Appendix table", _TREES, 20),
)

PHASES = tuple(replace(base, part=ALONE) for base in BASES)
"""The same base learners on one stream and an otherwise idle machine, for the time of each phase."""

OTHERWISE = (
    Base("unlimited", "Hoeffding trees without limits", TREES, "Appendix table", _TREES, 20, "unlimited"),
    Base("trees30", "Hoeffding trees", TREES, "Appendix table", _TREES, 30, "trees30"),
)
"""The trees of the paper's appendix with other settings."""

TRIED = (
    "perform_best",
    "perform_best_0.1",
    "zeta_0.01",
    "zeta_0.01_0.1",
    "zeta_0.01_0.2",
    "zeta_0.05",
    "zeta_0.05_0.1",
    "zeta_0.05_0.2",
    "reward_1",
    "reward_1_0.1",
    "cand",
    "everything",
)
"""Policies compared with and without exploration, and policies that need no exploration."""

COSTS = ("kwh", "cpu_", "wall_")
"""Prefixes of the results that depend on the machine."""


@dataclass(frozen=True)
class Cell:
    """The runs of one policy on one stream, of one length, one per seed.

    Each run is a row of `records.load`, with the record's directory as its ``place``.
    """

    stream: str
    policy: str
    runs: tuple[Row, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that were run."""
        return tuple(sorted(run["seed"] for run in self.runs))

    @property
    def n_instances(self) -> int:
        """The number of instances of each run."""
        return int(self.runs[0]["n_instances"])

    def mean(self, figure: str, seeds: Iterable[int] | None = None) -> float:
        """Return the mean of a result over the seeds; for a cost, over runs on the first run's machine."""
        chosen = self.seeds if seeds is None else set(seeds)
        return fmean(_number(run[figure]) for run in self._comparable(figure, chosen))

    def sd(self, figure: str) -> float | None:
        """Return the standard deviation over the seeds, or None for one seed."""
        values = [_number(run[figure]) for run in self._comparable(figure, self.seeds)]
        return stdev(values) if len(values) > 1 else None

    def _comparable(self, figure: str, seeds: Iterable[int]) -> list[Row]:
        """Return the runs of these seeds; for a cost, only those on the machine of the first run."""
        chosen = set(seeds)
        runs = [run for run in self.runs if run["seed"] in chosen]
        return [
            run
            for run in runs
            if not figure.startswith(COSTS) or run.get("machine") == runs[0].get("machine")
        ]

    def of_seeds(self, seeds: Iterable[int]) -> Cell:
        """Return the cell with these seeds only."""
        chosen = set(seeds)
        return replace(self, runs=tuple(run for run in self.runs if run["seed"] in chosen))

    @property
    def remark(self) -> str:
        """The differences in seeds and length from the paper's cells, as text; empty without differences."""
        seeds = len(self.runs)
        parts = [f"{seeds} seed{'s' if seeds > 1 else ''} of {SEEDS}"] if seeds < SEEDS else []
        parts += [f"{seeds} seeds, the paper {SEEDS}"] if seeds > SEEDS else []
        full = STREAMS[self.stream].n_instances
        if self.n_instances < full:
            parts.append(f"the first {self.n_instances:,} instances of {full:,}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Grid:
    """The cells of one base learner."""

    base: Base
    cells: Mapping[tuple[str, str], Cell]

    def cell(self, stream: str, policy: str) -> Cell | None:
        """Return the cell of a policy on a stream; None if it was not run."""
        return self.cells.get((stream, policy))

    @property
    def columns(self) -> tuple[str, ...]:
        """The paper's ten policies, then ours, then all other policies with runs."""
        known = (*POLICIES, *OURS)
        return (*known, *sorted({policy for _, policy in self.cells} - set(known)))

    def matrix(self, figure: str, policies: Iterable[str]) -> tuple[list[str], NDArray[np.float64]]:
        """Return the streams on which all these policies ran equally long, and a matrix with one row each."""
        policies = list(policies)
        streams, rows = [], []
        for stream in STREAMS:
            cells = [self.cell(stream, policy) for policy in policies]
            found = [cell for cell in cells if cell is not None]
            if len(found) == len(policies) and len({cell.n_instances for cell in found}) == 1:
                streams.append(stream)
                rows.append([cell.mean(figure) for cell in found])
        return streams, np.array(rows).reshape(len(rows), len(policies))

    def total(self, figure: str) -> float:
        """Return the sum of a result over all runs."""
        return math.fsum(_number(run[figure]) for cell in self.cells.values() for run in cell.runs)

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return sum(len(cell.runs) for cell in self.cells.values())


def grids(directory: str | os.PathLike[str], bases: Sequence[Base] = BASES) -> list[Grid]:
    """Return the cells of these base learners from the records, by default in ``directory/grid``.

    A cell of the grid includes all its seeds, also those beyond the paper's.
    """
    rows = {part: rows_in(directory, part) for part in {base.part for base in bases}}
    if GRID in rows:
        rows[GRID] = [*rows_in(directory, MORE_SEEDS), *rows[GRID]]
    return [Grid(base, _cells(base, rows[base.part])) for base in bases]


def rows_in(directory: str | os.PathLike[str], part: str) -> list[Row]:
    """Return the runs in a part of the directory, each with its place and its machine."""
    places = records_in(directory, part)
    table = records.load(Path(directory, part)).to_pylist() if places else []
    machines = [records.details(place)["machine"] for place in places]
    found = zip(table, places, machines, strict=True)
    return [{**row, "place": place, "machine": machine} for row, place, machine in found]


def cells_in(directory: str | os.PathLike[str], part: str) -> dict[tuple[str, str, int], Cell]:
    """Return the cells of a part by stream, policy and k."""
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows_in(directory, part):
        found.setdefault((row["stream"], row["policy"], row["k"]), []).append(row)
    return {key: Cell(key[0], key[1], longest(runs)) for key, runs in found.items()}


def exploration_cells(directory: str | os.PathLike[str], mlp: Grid) -> dict[tuple[str, str], Cell]:
    """Return cells with and without exploration by stream and policy, from the grid and the further runs.

    If a stream has both, only the seeds that all its cells have are used, so that cells are comparable.
    """
    beside = {
        (stream, name): cell for (stream, name, k), cell in cells_in(directory, "greedy").items() if k == 30
    }
    every = {**{key: cell for key, cell in mlp.cells.items() if key[1] in TRIED}, **beside}
    tried = {stream for stream, _ in beside}
    seeds = {
        stream: set.intersection(*(set(cell.seeds) for (name, _), cell in every.items() if name == stream))
        for stream in tried
    }
    return {key: cell.of_seeds(seeds.get(key[0], cell.seeds)) for key, cell in every.items()}


def beginning_cells(directory: str | os.PathLike[str]) -> dict[tuple[str, str], Cell]:
    """Return cells of these policies on the first instances of each stream, from one machine and version."""
    found = cells_in(directory, "sweep")
    return {(stream, name): cell for (stream, name, k), cell in found.items() if k == 30 and name in TRIED}


def common(cells: Mapping[tuple[str, str], Cell], policies: Sequence[str]) -> list[str]:
    """Return the streams on which all these policies ran equally long."""
    found = []
    for stream in STREAMS:
        row = [cells[stream, name] for name in policies if (stream, name) in cells]
        if len(row) == len(policies) and len({cell.n_instances for cell in row}) == 1:
            found.append(stream)
    return found


def records_in(directory: str | os.PathLike[str], part: str) -> list[Path]:
    """Return the records in a part of the directory; an empty list without this part."""
    root = Path(directory)
    if root.is_dir() and not (root / part).is_dir():
        return []
    return records.find(root / part if root.is_dir() else root)


def _cells(base: Base, rows: Iterable[Row]) -> dict[tuple[str, str], Cell]:
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        # Everything trains all models and ignores k.
        right_k = row["k"] == base.k or row["policy"] == "everything"
        if row["stream"] in STREAMS and row["pool"] == base.pool and right_k:
            found[row["stream"], row["policy"]].append(row)
    return {key: Cell(*key, runs=longest(runs)) for key, runs in found.items()}


def longest(runs: Sequence[Row]) -> tuple[Row, ...]:
    """Return the longest runs, one per seed; shorter runs are not comparable."""
    length = max(run["n_instances"] for run in runs)
    by_seed = {run["seed"]: run for run in runs if run["n_instances"] == length}
    return tuple(by_seed[seed] for seed in sorted(by_seed))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
