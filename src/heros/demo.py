"""What HEROS does, in under a minute: three policies on a stream whose concept changes three times."""

from __future__ import annotations

from heros._base.tables import Table
from heros.ensemble import Heros
from heros.policies import Everything, Explore, Policy, Random, Zeta
from heros.pools import MLPGrid
from heros.run.loop import Run, evaluate
from heros.streams import Agrawal, Drift, Stream

__all__ = ["compare", "drifting_agrawal", "main"]

POLICIES: dict[str, Policy] = {
    "ζ=.05, ε=.2": Explore(Zeta(0.05), 0.2),
    "random": Random(),
    "everything": Everything(),
}
PHASES = ("encode", "evaluate", "choose", "train")
HEADINGS = ("AUROC", "accur.", "Σγ", "encode", "eval.", "choose", "train", "total")


def drifting_agrawal(n: int) -> Stream:
    """Agrawal's functions 2, 4, 6 and 8, a quarter of n instances each, changing abruptly.

    Examples
    --------
    >>> [point.position for point in drifting_agrawal(40_000).drifts]
    [10000, 20000, 30000]
    """
    stream: Stream = Agrawal(function=2)
    for quarter, function in enumerate((4, 6, 8), start=1):
        stream = Drift(stream, Agrawal(function=function), position=quarter * n // 4, width=1)
    return stream.take(n)


def compare(n: int) -> Table:
    """The bill of each policy on n instances, for the paper's pool of 50 perceptrons."""
    title = f"The paper's 50 perceptrons on Agrawal 2→4→6→8, {n:,} instances, k = 30"
    caption = "Σγ: one step that trains all 50 costs 1. CPU seconds by phase."
    table = Table(("policy", *HEADINGS), align="l", title=title, caption=caption)
    for name, policy in POLICIES.items():
        model = Heros(MLPGrid(), policy, k=30, seed=1)
        run = evaluate(model, drifting_agrawal(n), on_interrupt="raise")
        table.add(name, *_figures(run))
    return table


def _figures(run: Run) -> list[str]:
    phases = [f"{run.cpu[phase]:.2f}" for phase in PHASES]
    scores = [f"{run.auroc:.4f}", f"{run.accuracy:.4f}", f"{run.gamma_spent:,.0f}"]
    return [*scores, *phases, f"{run.cpu_seconds:.2f}"]


def main(n: int = 60_000) -> None:
    """Print the comparison."""
    compare(n).show()


if __name__ == "__main__":
    main()
