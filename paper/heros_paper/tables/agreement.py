"""A summary of the agreement between our results and the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heros_paper.published import POLICIES, STREAMS, label_of
from heros_paper.ranks import ranks
from heros_paper.results import Grid
from heros_paper.tables.layout import decimal, scientific, signed

__all__ = ["Agreement", "Summary", "agreement", "tolerance"]


def tolerance(stream: str) -> float:
    """Return the largest difference to the paper's AUROC that counts as agreement."""
    return 0.03 if stream == "rbf_f" else 0.015


@dataclass(frozen=True)
class Outside:
    """A cell whose difference to the paper exceeds the tolerance."""

    stream: str
    policy: str
    ours: float
    paper: float

    @property
    def difference(self) -> float:
        """Our value minus the paper's."""
        return self.ours - self.paper

    def __str__(self) -> str:
        figures = (decimal(self.ours), decimal(self.paper), signed(self.difference))
        return f"| {' | '.join((label_of(self.stream), label_of(self.policy), *figures))} |"


@dataclass(frozen=True)
class Agreement:
    """The cells of a base learner compared with the paper's, and their cost."""

    base: str
    n_cells: int  # number of cells in the paper
    n_compared: int  # number of cells run at full length
    outside: tuple[Outside, ...]
    n_runs: int
    cpu_hours: float
    kwh: float
    compared_kwh: float  # for one run of each compared cell
    paper_kwh: float  # the paper's sum for these cells
    mean_ranks: Mapping[str, float]  # by AUROC, of the paper's ten, best first; empty without a common stream
    n_ranked: int  # number of streams in the ranks

    @property
    def n_within(self) -> int:
        """The number of cells within the tolerance."""
        return self.n_compared - len(self.outside)

    def __str__(self) -> str:
        share = f" ({self.n_within / self.n_compared:.1%})" if self.n_compared else ""
        lines = [
            f"**{self.base}**: {self.n_compared} of the paper's {self.n_cells} cells were run at full "
            f"length; in {self.n_within} of them{share} the AUROC is within .015 of the paper's "
            "(RBF_f: .03).",
            f"All {self.n_runs} runs took {self.cpu_hours:.2f} CPU hours and {scientific(self.kwh)} kWh.",
        ]
        if self.n_compared:
            lines.append(
                f"One run of each of the paper's cells compared takes {scientific(self.compared_kwh)} kWh; "
                f"the paper prints {self.paper_kwh:.1f} for them."
            )
        if self.mean_ranks:
            order = ", ".join(f"{label_of(name)} {rank:.2f}" for name, rank in self.mean_ranks.items())
            lines.append(f"Mean ranks by AUROC over {self.n_ranked} streams: {order}.")
        if self.outside:
            lines += ["", "| outside | policy | ours | paper | difference |", "|---|---|---|---|---|"]
        lines += [str(cell) for cell in self.outside]
        return "\n".join(lines)


@dataclass(frozen=True)
class Summary:
    """Both base learners."""

    agreements: Sequence[Agreement]

    def __str__(self) -> str:
        return "\n\n".join(str(agreement) for agreement in self.agreements) + "\n"


def agreement(grid: Grid) -> Agreement:
    """Compare the cells of a grid that ran at full length with the paper's."""
    published = grid.base.published
    outside, compared, kwh, paper_kwh = [], 0, 0.0, 0.0
    for stream, facts in STREAMS.items():
        printed = zip(POLICIES, published.auroc[stream], published.kwh[stream], strict=True)
        for policy, paper, theirs in printed:
            cell = grid.cell(stream, policy)
            if cell is None or cell.n_instances < facts.n_instances:
                continue
            compared, kwh, paper_kwh = compared + 1, kwh + cell.mean("kwh"), paper_kwh + theirs
            found = Outside(stream, policy, cell.mean("auroc"), paper)
            if abs(found.difference) > tolerance(stream):
                outside.append(found)
    streams, matrix = grid.matrix("auroc", POLICIES)
    mean_ranks = ranks(matrix, higher_is_better=True).mean(axis=0).tolist() if streams else []
    return Agreement(
        base=grid.base.label,
        n_cells=sum(len(row) for row in published.auroc.values()),
        n_compared=compared,
        outside=tuple(outside),
        n_runs=grid.n_runs,
        cpu_hours=grid.total("cpu_seconds") / 3600,
        kwh=grid.total("kwh"),
        compared_kwh=kwh,
        paper_kwh=paper_kwh,
        mean_ranks=dict(sorted(zip(POLICIES, mean_ranks, strict=False), key=lambda item: item[1])),
        n_ranked=len(streams),
    )
