"""The paper's grid as data: models, streams and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heros import ParameterError
from heros import policies as p
from heros._base.parameters import whole
from heros._base.registry import policy_id, pool_id
from heros.policies import Policy
from heros.pools import HoeffdingGrid, MLPGrid, Pool
from heros.run import records
from heros.run.experiments import Experiment
from heros.run.result import Run
from heros_paper.as_printed import ZetaAsPrinted

__all__ = [
    "BASES",
    "OURS",
    "PAPER",
    "POLICIES",
    "SEEDS",
    "STREAMS",
    "TWINS",
    "Base",
    "Cell",
    "Size",
    "beta_cells",
    "cells",
    "drift_cells",
    "end_of",
    "extra_cells",
    "listed_cells",
    "printed_cells",
]


@dataclass(frozen=True)
class Base:
    """A base learner: its pool, and the number of models trained per step."""

    pool: Pool
    k: int


@dataclass(frozen=True)
class Size:
    """The length of a stream, and the approximate work of a model per instance."""

    instances: int
    numbers: int  # nonzero inputs after encoding, plus classes


BASES: dict[str, Base] = {"mlp": Base(MLPGrid(), 30), "trees": Base(HoeffdingGrid(), 20)}
"""Fifty models each (the paper's M), with the paper's k."""

STREAMS: dict[str, Size] = {
    "airlines": Size(539_383, 9),
    "electricity": Size(45_312, 10),
    "wisdm": Size(5_418, 51),
    "covtype": Size(581_012, 61),
    "nomao": Size(34_465, 120),
    "agr_a": Size(1_000_000, 11),
    "agr_g": Size(1_000_000, 11),
    "rbf_f": Size(1_000_000, 15),
    "rbf_m": Size(1_000_000, 15),
    "led_a": Size(1_000_000, 34),
    "led_g": Size(1_000_000, 34),
}
"""The eleven streams, in the order of the paper's tables."""

TWINS = {"agr_g": "agr_a", "led_g": "led_a"}
"""Streams that equal another stream up to their first drift."""

PAPER: tuple[Policy, ...] = (
    p.CandAsPublished(),
    p.Random(),
    p.Explore(p.PerformBest(), 0.1),
    p.Explore(p.PerformWorst(), 0.1),
    p.Explore(p.Cheapest(), 0.1),
    p.Explore(p.Expensive(), 0.1),
    p.Explore(p.Zeta(0.01), 0.1),
    p.Explore(p.Zeta(0.05), 0.1),
    p.Explore(p.Zeta(0.01), 0.2),
    p.Explore(p.Zeta(0.05), 0.2),
)
"""The ten columns of the paper's tables."""

OURS: tuple[Policy, ...] = (p.Cand(), p.Everything(), p.Reward(1.0))
"""Three more policies: CAND as its authors describe it, training all models, the exact maximiser of R."""

SMALL: dict[str, Base] = {
    "mlp": Base(MLPGrid(hidden=[64, 512]), 12),
    "trees": Base(HoeffdingGrid(grace_periods=[50, 200]), 8),
}
"""The pools of twenty models for two figures. The paper does not specify the models; this choice is ours."""

POLICIES = PAPER + OURS
SEEDS = (1, 2, 3)
POINTS = 500  # maximum number of points of a recorded curve
ROUND = 100  # windows are multiples of this number


@dataclass(frozen=True, eq=False)
class Cell:
    """One run of the grid, a job of `heros.run.experiments`: a pool under a policy on a stream.

    The seed sets the initial weights and the policy's draws, never the stream.

    Examples
    --------
    >>> from heros.policies import Zeta
    >>> cell = Cell("agr_a", BASES["mlp"].pool, Zeta(0.05), k=30, seed=1)
    >>> cell.id, cell.instances, cell.window
    ('agr_a/mlp50/zeta_0.05/k30/seed1', 1000000, 2000)
    """

    stream: str
    pool: Pool
    policy: Policy
    k: int
    seed: int
    n: int | None = None  # number of instances, or None for all
    curve_window: int | None = None  # default: at most POINTS points per curve
    span: tuple[int, int] | None = None  # the recorded range of the curves; default: all
    compact: bool = True  # whether to omit the curves of individual models from the record

    @property
    def id(self) -> str:
        """The path of the record below the directory of records."""
        names = {"pool": pool_id(self.pool), "policy": policy_id(self.policy), "k": self.k, "seed": self.seed}
        return records.id_from(self.stream, names)

    @property
    def instances(self) -> int:
        """The number of instances."""
        whole_stream = STREAMS[self.stream].instances
        return whole_stream if self.n is None else min(self.n, whole_stream)

    @property
    def window(self) -> int:
        """The number of instances per point of the curves."""
        return self.curve_window or -(-self.instances // (POINTS * ROUND)) * ROUND

    @property
    def work(self) -> float:
        """The approximate duration in arbitrary units, used to order runs."""
        per_model = STREAMS[self.stream].numbers if pool_id(self.pool).startswith("mlp") else 10
        return float(self.instances * self.pool.n_models * per_model)

    def run(self, progress: bool | str | None = False) -> Run:
        """Evaluate and train the model on the stream."""
        parts = (self.pool, self.policy, self.k)
        experiment = Experiment(self.stream, *parts, seed=self.seed, n=self.instances, window=self.window)
        return experiment.run(progress)


def cells(
    base: str = "mlp",
    streams: Iterable[str] = tuple(STREAMS),
    policies: Iterable[Policy] = POLICIES,
    seeds: Iterable[int] = SEEDS,
    n: int | None = None,
) -> list[Cell]:
    """Return a part of the grid, longest runs first; by default the whole grid.

    Parameters
    ----------
    base
        ``"mlp"`` or ``"trees"``.
    streams
        Names of the paper's streams.
    policies
        Built-in policies, your own, or ``[*POLICIES, MyPolicy()]``.
    seeds
        The seeds of the initial weights and the policies' draws.
    n
        Use only the first n instances of each stream.

    Examples
    --------
    >>> len(cells("mlp")), [cell.id for cell in cells("trees", ["wisdm"], PAPER[:1], [1])]
    (429, ['wisdm/trees50/cand_as_published/k20/seed1'])
    """
    if base not in BASES:
        raise ParameterError.of("base", "cells", f"one of {', '.join(BASES)}", base)
    if n is not None:
        whole(n, "n", "cells", 1)
    chosen = BASES[base]
    grid = [
        Cell(_known(name), chosen.pool, policy, chosen.k, whole(seed, "seeds", "cells", 0), n)
        for name in streams
        for seed in seeds
        for policy in _different(policies)
    ]
    return sorted(grid, key=lambda cell: -cell.work)


def beta_cells(bases: Mapping[str, Base] = SMALL) -> list[Cell]:
    """Return the runs of the figure on the distribution of L: WISDM, M = 20, with all models' scores."""
    chosen = (p.Explore(p.Zeta(0.01), 0.1), p.Cand(), p.CandAsPublished())
    return [
        Cell("wisdm", base.pool, policy, base.k, seed=1, curve_window=20, compact=False)
        for base in bases.values()
        for policy in chosen
    ]


def drift_cells() -> list[Cell]:
    """Return the runs of the figures on the first drift of AGR, gradual (M = 50) and abrupt (M = 20)."""
    pools = {"agr_g": BASES["mlp"], "agr_a": SMALL["mlp"]}
    first, last = 200_000, 300_000
    return [
        Cell(name, base.pool, policy, base.k, seed=1, n=last, curve_window=300, span=(first, last))
        for name, base in pools.items()
        for policy in PAPER
    ]


def listed_cells() -> list[Cell]:
    """Return runs on the two shortest streams with the perceptrons that the paper lists (M = 40).

    The paper states M = 50; these runs show which of the two it used.
    """
    pool = MLPGrid(hidden=[16, 64, 256, 1024])
    return [
        Cell(name, pool, policy, 30, seed, span=end_of(name))
        for name in ("electricity", "wisdm")
        for seed in SEEDS
        for policy in POLICIES
    ]


def printed_cells() -> list[Cell]:
    """Return runs of Algorithm 1 as printed, on electricity."""
    name, base = "electricity", BASES["mlp"]
    policy = p.Explore(ZetaAsPrinted(0.01), 0.1)
    return [Cell(name, base.pool, policy, base.k, seed, span=end_of(name)) for seed in SEEDS]


def extra_cells() -> dict[str, list[Cell]]:
    """Return the runs outside the grid, by the part of the records."""
    return {
        "beta": beta_cells(),
        "drift": drift_cells(),
        "listed": listed_cells(),
        "printed": printed_cells(),
    }


def end_of(name: str, n: int | None = None) -> tuple[int, int]:
    """Return the last window of a stream or of its first `n`: the span to record if curves are not drawn."""
    whole_stream = STREAMS[name].instances
    length = whole_stream if n is None else min(n, whole_stream)
    return length - ROUND, length


def _known(name: str) -> str:
    if name not in STREAMS:
        raise ParameterError.of("streams", "cells", f"one of {', '.join(STREAMS)}", name)
    return name


def _different(policies: Iterable[Policy]) -> Sequence[Policy]:
    """Return the policies; raise an error if two would write the same record."""
    named: dict[str, Policy] = {}
    for policy in policies:
        name = policy_id(policy)
        if name in named:
            raise ParameterError.of("policies", "cells", "policies with different names", name)
        named[name] = policy
    return list(named.values())
