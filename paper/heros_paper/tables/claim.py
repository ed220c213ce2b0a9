"""Losses and savings of the ζ-policy compared with other policies: AUROC, CPU time and Σγ.

AUROC and the Σγ of whole streams come from the grid. Savings of CPU time and Σγ come from the same runs: the
paired measurements (`heros_paper.paired`) if there are any, otherwise the grid, whose runs had different
machine loads. A saving is given as the median over streams and for the sum over streams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from heros_paper.paired import Paired, Turns
from heros_paper.published import POLICIES, STREAMS, label_of
from heros_paper.ranks import holm, wilcoxon
from heros_paper.results import Cell, Grid
from heros_paper.tables.layout import NOT_RUN, Entry, Table, percent, signed

__all__ = ["AGAINST", "ZETAS", "Pairing", "claim_tables", "pairings"]

ZETAS = tuple(policy for policy in POLICIES if policy.startswith("zeta_"))
AGAINST = ("perform_best_0.1", "cand", "everything")
SAVED = ("cpu", "training", "gamma")
TESTED = ("auroc", *SAVED)


@dataclass(frozen=True)
class Spent:
    """The cost of a policy on a stream."""

    cpu: float  # seconds
    training: float  # CPU seconds of the training phase
    gamma: float  # Σγ


@dataclass(frozen=True)
class Pairing:
    """A ζ-policy compared with another policy on one stream, over their common seeds."""

    zeta: str
    against: str
    stream: str
    seeds: tuple[int, ...]
    n_instances: int
    auroc: float  # difference; negative: ζ is worse
    mine: Spent
    theirs: Spent
    gamma_whole: float  # saving on the whole stream
    in_turn: bool  # whether the costs are paired measurements

    @property
    def cpu(self) -> float:
        """The saved CPU seconds, as a share of the other policy's."""
        return 1 - self.mine.cpu / self.theirs.cpu

    @property
    def training(self) -> float:
        """The saved CPU seconds of training, as a share of the other policy's."""
        return 1 - self.mine.training / self.theirs.training

    @property
    def gamma(self) -> float:
        """The saved Σγ in the same runs, as a share of the other policy's."""
        return 1 - self.mine.gamma / self.theirs.gamma

    def datum(self) -> dict[str, object]:
        """Return the comparison as one row of plain data."""
        saved = {name: getattr(self, name) for name in SAVED}
        plain = {name: value for name, value in vars(self).items() if not isinstance(value, Spent)}
        return {**plain, "seeds": " ".join(map(str, self.seeds)), **saved}


def of_sums(pairing: Sequence[Pairing], figure: str) -> float:
    """Return the saving for the sum over the streams."""
    mine, theirs = (
        math.fsum(getattr(getattr(p, who), figure) for p in pairing) for who in ("mine", "theirs")
    )
    return 1 - mine / theirs


def pairings(grid: Grid, zeta: str, against: str, turns: Turns | None = None) -> list[Pairing]:
    """Compare two policies on every stream where both ran equally long with a common seed."""
    found = []
    for stream in STREAMS:
        ours, other = grid.cell(stream, zeta), grid.cell(stream, against)
        if ours is None or other is None or ours.n_instances != other.n_instances:
            continue
        seeds = tuple(sorted(set(ours.seeds) & set(other.seeds)))
        if seeds:
            found.append(_pairing(ours, other, seeds, turns or {}))
    return found


def _pairing(ours: Cell, other: Cell, seeds: tuple[int, ...], turns: Turns) -> Pairing:
    gained = ours.mean("auroc", seeds) - other.mean("auroc", seeds)
    gamma = 1 - ours.mean("gamma_spent", seeds) / other.mean("gamma_spent", seeds)
    mine, theirs = turns.get((ours.stream, ours.policy)), turns.get((other.stream, other.policy))
    names = ours.policy, other.policy, ours.stream
    if mine is not None and theirs is not None:
        spent, in_turn = (_in_turn(mine), _in_turn(theirs)), True
    else:
        spent, in_turn = (_in_grid(ours, seeds), _in_grid(other, seeds)), False
    return Pairing(*names, seeds, ours.n_instances, gained, *spent, gamma, in_turn)


def _in_turn(one: Paired) -> Spent:
    return Spent(one.cpu_seconds, one.train, one.gamma_share * one.n_instances)


def _in_grid(cell: Cell, seeds: tuple[int, ...]) -> Spent:
    return Spent(*(cell.mean(figure, seeds) for figure in ("cpu_seconds", "cpu_train", "gamma_spent")))


def claim_tables(grid: Grid, turns: Turns | None = None) -> list[Table]:
    """Return the tables of the comparison over all streams and per stream."""
    pairs = {(zeta, against): pairings(grid, zeta, against, turns) for against in AGAINST for zeta in ZETAS}
    return [_overall(grid, pairs), *(_by_stream(grid, against, pairs) for against in AGAINST)]


Pairs = dict[tuple[str, str], list[Pairing]]


def _overall(grid: Grid, pairs: Pairs) -> Table:
    found = {key: pairing for key, pairing in pairs.items() if pairing}
    p_values = {name: _adjusted(list(found.values()), name) for name in TESTED}
    groups, data = [], []
    for against in AGAINST:
        rows = []
        for zeta in ZETAS:
            pairing = pairs[zeta, against]
            if not pairing:
                rows.append([Entry(label_of(zeta)), Entry(label_of(against)), NOT_RUN, *[Entry("–")] * 13])
                continue
            p = {name: values[list(found).index((zeta, against))] for name, values in p_values.items()}
            rows.append(_overall_row(pairing, p))
            data.append(_overall_datum(pairing, p))
        groups.append(rows)
    return Table(
        name=f"claim_{grid.base.name}",
        title=f"What ζ loses and saves, {grid.base.label}, over the streams",
        header=[
            "policy",
            "against",
            "streams",
            "AUROC gained",
            "better / worse",
            "p",
            *(
                text
                for name in ("CPU", "training", "Σγ")
                for text in (f"{name} saved: median", f"{name} saved: sum", "p")
            ),
            "Σγ of whole streams: median",
        ],
        groups=groups,
        notes=[
            "p: two-sided Wilcoxon signed-rank test over streams, adjusted with Holm for the comparisons of "
            "its column; bold below .05. Saved: 1 − ζ's / the other's, as the median over streams and of "
            "the sum over streams. AUROC, and Σγ of whole streams: medians of the grid, over the seeds both "
            "policies have. "
            + _source(pairs)
            + " Energy is CPU seconds times watts, so its saving is that of CPU.",
        ],
        data=data,
    )


def _source(pairs: Pairs) -> str:
    """Return a sentence on the source of the CPU times."""
    in_turn = {pair.in_turn for pairing in pairs.values() for pair in pairing}
    if in_turn == {True}:
        return (
            "CPU time and Σγ: measured in turn on the first 20,000 instances of each stream; of AGR_g and "
            "LED_g, until their first drift the same as AGR_a and LED_a, on the 20,000 around it."
        )
    return "CPU time and Σγ: of runs that met different loads" + (
        " on some streams." if True in in_turn else "."
    )


def _adjusted(pairs: Sequence[Sequence[Pairing]], figure: str) -> list[tuple[float, float]]:
    """Return the plain and the adjusted p-value of each comparison."""
    plain = [wilcoxon([getattr(pair, figure) for pair in pairing]) for pairing in pairs]
    return list(zip(plain, holm(plain).tolist(), strict=True))


def _overall_row(pairing: Sequence[Pairing], p: dict[str, tuple[float, float]]) -> list[Entry]:
    gained = [pair.auroc for pair in pairing]
    better, worse = sum(value > 0 for value in gained), sum(value < 0 for value in gained)
    return [
        Entry(label_of(pairing[0].zeta)),
        Entry(label_of(pairing[0].against)),
        Entry(str(len(pairing))),
        Entry(signed(median(gained))),
        Entry(f"{better} / {worse}"),
        _p_value(p["auroc"][1]),
        *(entry for name in SAVED for entry in _saved(pairing, name, p[name][1])),
        Entry(percent(median(pair.gamma_whole for pair in pairing))),
    ]


def _saved(pairing: Sequence[Pairing], figure: str, p: float) -> list[Entry]:
    middle = median(getattr(pair, figure) for pair in pairing)
    return [Entry(percent(middle)), Entry(percent(of_sums(pairing, figure))), _p_value(p)]


def _p_value(p: float) -> Entry:
    return Entry(f"{p:.3f}", bold=p < 0.05)


def _overall_datum(pairing: Sequence[Pairing], p: dict[str, tuple[float, float]]) -> dict[str, object]:
    return {
        "policy": pairing[0].zeta,
        "against": pairing[0].against,
        "streams": len(pairing),
        **{f"median_{name}": median(getattr(pair, name) for pair in pairing) for name in TESTED},
        **{f"sum_{name}": of_sums(pairing, name) for name in SAVED},
        "median_gamma_whole": median(pair.gamma_whole for pair in pairing),
        **{f"p_{name}": plain for name, (plain, _) in p.items()},
        **{f"p_{name}_holm": adjusted for name, (_, adjusted) in p.items()},
    }


def _by_stream(grid: Grid, against: str, pairs: Pairs) -> Table:
    by_stream = {(pair.zeta, pair.stream): pair for zeta in ZETAS for pair in pairs[zeta, against]}
    rows = [
        [
            Entry(label_of(stream)),
            *(entry for zeta in ZETAS for entry in _entries(by_stream.get((zeta, stream)))),
        ]
        for stream in STREAMS
    ]
    name = against.removesuffix("_0.1")
    return Table(
        name=f"claim_{grid.base.name}_against_{name}",
        title=f"ζ against {label_of(against)}, {grid.base.label}",
        header=["stream", *(f"{label_of(zeta)} {what}" for zeta in ZETAS for what in ("AUROC", "CPU", "Σγ"))],
        groups=[rows],
        notes=["AUROC: gained (negative: lost), over the seeds both have. CPU, Σγ: saved, in the same runs."],
        data=[pair.datum() for zeta in ZETAS for pair in pairs[zeta, against]],
    )


def _entries(pair: Pairing | None) -> list[Entry]:
    if pair is None:
        return [NOT_RUN, Entry("–"), Entry("–")]
    return [Entry(signed(pair.auroc)), Entry(percent(pair.cpu)), Entry(percent(pair.gamma))]
