"""What HEROS does, in under a minute: three policies on a stream whose concept changes three times."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from heros.ensemble import Heros
from heros.policies import Everything, Explore, Policy, Random, Zeta
from heros.pools import MLPGrid
from heros.prequential import Run, evaluate
from heros.streams import Agrawal, Drift, Stream

__all__ = ["compare", "drifting_agrawal", "main"]

POLICIES: tuple[Policy, ...] = (Explore(Zeta(0.05), 0.2), Random(), Everything())


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


def compare(n: int, console: Console) -> Table:
    """The bill of each policy on n instances, for the paper's pool of 50 perceptrons."""
    table = Table(title=f"The paper's 50 perceptrons on Agrawal 2→4→6→8, {n:,} instances, k = 30")
    for heading in ("policy", "AUROC", "accuracy", "Σγ", "encode", "evaluate", "choose", "train", "other", "CPU s"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for policy in POLICIES:
        console.print(f"[dim]{policy} …[/dim]")
        run = evaluate(Heros(MLPGrid(), policy, k=30, seed=1), drifting_agrawal(n))
        table.add_row(str(policy), *_figures(run))
    return table


def _figures(run: Run) -> list[str]:
    phases = [f"{seconds:.2f}" for seconds in run.cpu.values()]
    scores = [f"{run.auroc:.4f}", f"{run.accuracy:.4f}", f"{run.gamma_spent:,.0f}"]
    return [*scores, *phases, f"{run.cpu_seconds:.2f}"]


def main(n: int = 60_000) -> None:
    """Print the comparison."""
    console = Console()
    console.print(compare(n, console))
    console.print("Σγ is the cost of all training steps; one step that trains all 50 models costs 1.")


if __name__ == "__main__":
    main()
