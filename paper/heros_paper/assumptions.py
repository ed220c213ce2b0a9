"""Short runs that test our assumptions about open points of the paper, one change at a time.

The paper does not specify how the score L is computed, the length of the warm-up, the scaling of numbers, or
the last ten of its fifty perceptrons. `heros-paper assumptions` runs the alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heros import policies as p
from heros import scores, streams
from heros._base.progress import progress as progress_bar
from heros._base.registry import policy_id
from heros.ensemble import Heros
from heros.policies import Policy
from heros.pools import MLPGrid, Pool
from heros.run.loop import evaluate
from heros_paper.paired import made_by, write_rows
from heros_paper.settings import BASES

__all__ = ["ASSUMPTIONS", "Assumption", "Found", "try_assumptions", "write_found"]

SEED = 1
MLP = BASES["mlp"]


@dataclass(frozen=True)
class Assumption:
    """An assumption about an open point, and a run that shows its effect."""

    point: str  # the open point
    taken: str  # the assumption
    stream: str
    policy: Policy
    pool: Pool = MLP.pool
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])  # changed parameters of Heros
    n: int | None = None  # number of instances, or None for all


@dataclass(frozen=True)
class Found:
    """The result of a run of an assumption, and the machine."""

    point: str
    taken: str
    stream: str
    policy: str
    seed: int
    n_instances: int
    auroc: float
    commit: str
    cpu: str
    isa: str


def _listed() -> list[Assumption]:
    """Return our assumption and the alternatives for every open point that a short run can test."""
    zeta = p.Explore(p.Zeta(0.01), 0.1)
    steady = {"δ = 1e-5": scores.Adwin(), "δ = .002": scores.Adwin(0.002), "δ = .05": scores.Adwin(0.05)}
    other = {"the last 500": scores.Window(500), "cumulative": scores.Cumulative()}
    extremes = (p.Explore(p.PerformBest(), 0.1), p.Explore(p.PerformWorst(), 0.1))
    return [
        *(
            Assumption("L", taken, "electricity", zeta, changes={"score": score})
            for taken, score in steady.items()
        ),
        *(
            Assumption("L", taken, "rbf_f", policy, changes={"score": score}, n=100_000)
            for taken, score in (steady | other).items()
            for policy in extremes
        ),
        *(
            Assumption("warm-up", f"{n:,}", "electricity", zeta, changes={"warmup": n})
            for n in (100, 0, 1000)
        ),
        *(
            Assumption("scaling", taken, "electricity", zeta, MLPGrid(scale=scale))
            for taken, scale in {"(x − mean)/(3 sd)": True, "none": False}.items()
        ),
        *(
            Assumption("fifth width", str(width), "electricity", policy, _with_width(width))
            for width in (512, 32, 128)
            for policy in (p.Random(), p.CandAsPublished())
        ),
    ]


def _with_width(width: int) -> MLPGrid:
    """Return the forty perceptrons that the paper lists, and ten more."""
    return MLPGrid(hidden=sorted([16, 64, 256, 1024, width]))


ASSUMPTIONS = tuple(_listed())


def try_assumptions(
    assumptions: Iterable[Assumption] = ASSUMPTIONS, *, progress: bool | None = None
) -> list[Found]:
    """Run each assumption once.

    Parameters
    ----------
    assumptions
        The assumptions; by default all that docs/paper.md discusses (takes minutes).
    progress
        Whether to show a progress bar; by default if the output is a terminal.

    Examples
    --------
    >>> from heros.policies import Random
    >>> few = Assumption("warm-up", "none", "agr_a", Random(), changes={"warmup": 0}, n=300)
    >>> [found] = try_assumptions([few])
    >>> found.policy, found.n_instances, 0 < found.auroc < 1
    ('random', 300, True)
    """
    wanted = list(assumptions)
    found = []
    with progress_bar("{task.description}", wanted=progress) as bar:
        task = bar.add_task("", total=len(wanted))
        for one in wanted:
            bar.update(task, description=f"{one.point}: {one.taken}")
            found.append(_found(one))
            bar.advance(task)
    return found


def _found(one: Assumption) -> Found:
    stream = streams.load(one.stream)
    stream = stream if one.n is None else stream.take(one.n)
    run = evaluate(Heros(one.pool, one.policy, MLP.k, seed=SEED, **one.changes), stream, progress=False)
    what = (one.point, one.taken, one.stream, policy_id(one.policy), SEED)
    return Found(*what, run.n_instances, run.auroc, *made_by())


def write_found(found: Sequence[Found], path: str | Path) -> None:
    """Write the results as a CSV file."""
    write_rows(Found, found, path)
