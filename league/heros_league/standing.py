"""The state of the league from records: results per learner and stream, ranks and comparisons."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from heros.measures import Measure
from heros.run import records
from heros_league.arena import ARENA, Arena
from heros_league.entrants import ENTRANTS, OURS, Entrant
from heros_paper.ranks import Comparison, compare, holm, wilcoxon

__all__ = ["SAME_INSTANCES", "Against", "Cell", "Standing", "higher_is_better"]

Document = Mapping[str, Any]
Path_ = str | os.PathLike[str]

SAME_INSTANCES = {
    **{name: name for name in ("electricity", "wisdm", "nomao")},
    **{name: f"{name}_100k" for name in ("airlines", "covtype", "rbf_f", "rbf_m")},
}
"""League streams with the same instances as in the paper, and their names in the paper's records."""

NO_CHANGE = "no_change"
"""The learner whose accuracy is the zero of κ-temporal."""


@dataclass(frozen=True)
class Cell:
    """The runs of one learner on one stream, one per seed.

    Parameters
    ----------
    runs
        The runs on the machine of this edition.
    elsewhere
        Runs on another machine, which have no CPU time and no memory here.
    borrowed
        Whether the runs are from the paper's records.
    """

    runs: tuple[Document, ...] = ()
    elsewhere: tuple[Document, ...] = ()
    borrowed: bool = False

    @property
    def everywhere(self) -> tuple[Document, ...]:
        """The runs on this machine and on other machines."""
        return self.runs + self.elsewhere

    def mean(self, figure: str) -> float:
        """Return the mean of a figure over the seeds."""
        return fmean(run["results"][figure] for run in self.everywhere)

    def spread(self, figure: str) -> float | None:
        """Return the standard deviation of a figure over the seeds; None with one seed."""
        values = [run["results"][figure] for run in self.everywhere]
        return stdev(values) if len(values) > 1 else None

    @property
    def instances(self) -> int:
        """The number of instances of the shortest run."""
        return min(int(run["n_instances"]) for run in self.everywhere)

    @property
    def models(self) -> int:
        """The number of models of the learner in its runs."""
        return len(self.everywhere[0]["settings"]["models"])

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return len(self.everywhere)

    @property
    def arm(self) -> bool:
        """Whether the timed runs were on an ARM machine."""
        return any(run["machine"]["isa"] == "neon" for run in self.runs)

    @property
    def stopped(self) -> bool:
        """Whether a run was stopped at the limit."""
        return any(run["settings"].get("stopped", False) for run in self.everywhere)

    @property
    def microseconds(self) -> float | None:
        """The CPU time of the process per instance."""
        if not self.runs:
            return None
        return 1e6 * fmean(sum(run["cpu"].values()) / run["n_instances"] for run in self.runs)

    @property
    def megabytes(self) -> float | None:
        """The peak memory of a run above that of the process at its start."""
        if not self.runs:
            return None
        return max(float(run["settings"]["league"]["peak_bytes"]) for run in self.runs) / 1e6

    @property
    def load(self) -> float | None:
        """The mean load of the machine at the start and end of its runs."""
        loads = [load for run in self.runs for load in run["settings"].get("league", {}).get("load", [])]
        return fmean(loads) if loads else None


@dataclass(frozen=True)
class Against:
    """A comparison of two learners on the streams where both were run."""

    rival: str
    streams: tuple[str, ...]
    ahead: int
    difference: float  # mean of ours − theirs; if lower is better, of (theirs − ours) / theirs
    behind: float  # the largest deficit
    p_value: float  # Wilcoxon's, adjusted with Holm over all rivals


@dataclass(frozen=True)
class Standing:
    """The results of all learners on some streams.

    Parameters
    ----------
    cells
        The runs by stream and learner.
    arenas
        The streams, in the order of the tables.
    learners
        The learners by name.
    """

    cells: Mapping[tuple[str, str], Cell]
    arenas: Mapping[str, Arena]
    learners: Mapping[str, Entrant] = field(default_factory=lambda: ENTRANTS)

    @classmethod
    def of(
        cls,
        directory: Path_,
        arenas: Mapping[str, Arena] = ARENA,
        borrowed: Path_ | None = None,
        learners: Mapping[str, Entrant] = ENTRANTS,
        earlier: Path_ | None = None,
    ) -> Standing:
        """Read the records in a directory; fill gaps from earlier records and from the paper's.

        Earlier records are those of the first edition, on another machine. Each seed counts once. Earlier
        runs of HEROS count only on streams where there is no newer run, since its defaults have changed.
        """
        own, old = (_by_cell(place, arenas, learners) for place in (directory, earlier))
        cells = {
            key: Cell(tuple(own[key].values()), _missing(own[key], old[key], key[1])) for key in own | old
        }
        return cls(_borrowed(borrowed, arenas) | cells if borrowed else cells, arenas, learners)

    def only(self, names: Iterable[str]) -> Standing:
        """Return the results of these learners only."""
        return replace(self, learners={name: self.learners[name] for name in names})

    def where_run(self) -> Standing:
        """Return the results on the streams with at least one run."""
        return replace(
            self, arenas={s: a for s, a in self.arenas.items() if any(s == key[0] for key in self.cells)}
        )

    def cell(self, stream: str, entrant: str) -> Cell | None:
        """Return the runs of a learner on a stream, or None."""
        return self.cells.get((stream, entrant))

    def kappa_temporal(self, stream: str, entrant: str) -> float | None:
        """Return κ-temporal: 0 for the accuracy of repeating the last label, 1 for no error."""
        cell, zero = self.cell(stream, entrant), self.cell(stream, NO_CHANGE)
        if cell is None or zero is None:
            return None
        error = 1 - zero.mean("accuracy")
        return 1 - (1 - cell.mean("accuracy")) / error if error else None

    def best_of(self, names: Iterable[str], stream: str, figure: str) -> float | None:
        """Return the best figure of these learners on a stream, chosen in hindsight; None without a run."""
        values = [cell.mean(figure) for name in names if (cell := self.cell(stream, name))]
        better = max if higher_is_better(figure) else min
        return better(values) if values else None

    def entrants(self) -> list[str]:
        """Return the learners with at least one run, HEROS first."""
        return [name for name in self.learners if any(key[1] == name for key in self.cells)]

    def complete(self, entrant: str) -> bool:
        """Return whether a learner has been run on every stream."""
        return all((stream, entrant) in self.cells for stream in self.arenas)

    def values(self, figure: str, entrants: Sequence[str], streams: Iterable[str]) -> list[list[float]]:
        """Return a figure with one row per stream and one column per learner."""
        return [[self.cells[stream, name].mean(figure) for name in entrants] for stream in streams]

    def ranks(self, ours: str = "heros", figure: str = "auroc") -> Comparison | None:
        """Rank a HEROS setting and its competitors with complete runs; None without complete runs."""
        named = [name for name in self.entrants() if name == ours or name not in OURS]
        ranked = [name for name in named if self.complete(name)]
        if ours not in ranked or len(ranked) < 2:
            return None
        values = self.values(figure, ranked, self.arenas)
        return compare(values, ranked, higher_is_better=higher_is_better(figure))

    def against(self, ours: str = "heros", figure: str = "auroc") -> list[Against]:
        """Compare a HEROS setting with each competitor, on the streams where both were run."""
        found = []
        for rival in (name for name in self.entrants() if name not in OURS):
            common = [s for s in self.arenas if (s, ours) in self.cells and (s, rival) in self.cells]
            if common:
                mine, theirs = np.array(self.values(figure, [ours, rival], common)).T
                leads = mine - theirs if higher_is_better(figure) else 1 - mine / theirs
                found.append((rival, tuple(common), leads))
        adjusted = holm([wilcoxon(differences) for _, _, differences in found]).tolist()
        return [
            Against(
                rival,
                streams,
                int((differences > 0).sum()),
                float(differences.mean()),
                float(max(0.0, -differences.min())),
                p,
            )
            for (rival, streams, differences), p in zip(found, adjusted, strict=True)
        ]


def _by_cell(
    directory: Path_ | None, arenas: Mapping[str, Arena], learners: Mapping[str, Entrant]
) -> defaultdict[tuple[str, str], dict[int, Document]]:
    """Return the runs of a directory by stream and learner, and then by seed."""
    runs: defaultdict[tuple[str, str], dict[int, Document]] = defaultdict(dict)
    for place in records.find(directory) if directory is not None and Path(directory).is_dir() else ():
        document = records.details(place)
        stream, entrant = document["stream"]["name"], document["settings"]["league"]["entrant"]
        if stream in arenas and entrant in learners:
            runs[stream, entrant][document["settings"]["seed"]] = document
    return runs


def _missing(own: Mapping[int, Document], old: Mapping[int, Document], entrant: str) -> tuple[Document, ...]:
    """Return the earlier runs with seeds that have not been run again."""
    if own and entrant in OURS:
        return ()
    return tuple(run for seed, run in old.items() if seed not in own)


def higher_is_better(figure: str) -> bool:
    """Return whether higher values of a figure are better."""
    return Measure.of(figure).better == "higher"


def _borrowed(directory: Path_, arenas: Mapping[str, Arena]) -> dict[tuple[str, str], Cell]:
    """Return runs of the paper's Table III on the same instances, with the same settings and seed."""
    found = {}
    for name in ("arf", "srp", "shrubs"):
        for stream, there in SAME_INSTANCES.items():
            place = Path(directory, there, "capymoa50", name, "k50", "seed1")
            if stream in arenas and records.exists(place):
                found[stream, name] = Cell((), (records.details(place),), borrowed=True)
    return found
