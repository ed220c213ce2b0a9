"""The share of CPU time for choosing: paired measurements, single runs, and the paper's statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from heros_paper.paired import Paired, Turns
from heros_paper.published import OURS, POLICIES, choosing_of, label_of
from heros_paper.results import Cell, Grid
from heros_paper.tables.layout import Entry, Table

__all__ = ["phases_table"]

STREAM = "electricity"
PHASES = ("encode", "evaluate", "choose", "train")


def phases_table(alone: Sequence[Grid], turns: Mapping[str, Turns]) -> Table:
    """Return the table of the share of choosing on electricity, and its median over all streams."""
    rows: list[list[Entry]] = []
    data: list[dict[str, object]] = []
    for policy in (*POLICIES, *OURS):
        row, datum = [Entry(label_of(policy))], dict[str, object](policy=policy)
        for grid in alone:
            name = grid.base.name
            shares = _shares(policy, grid.cell(STREAM, policy), turns.get(name, {}))
            published = choosing_of(name, policy)
            row += [*(_entry(share) for share in shares), Entry(published or "–")]
            keys = [f"{name}_{key}" for key in ("in_turn", "alone", "median_in_turn")]
            datum |= {**dict(zip(keys, shares, strict=True)), f"{name}_paper": published}
        rows.append(row)
        data.append(datum)
    columns = ("in turn", "alone", "all streams", "paper")
    return Table(
        name="phases",
        title=f"What choosing takes of the CPU time, {STREAM}",
        header=["", *(f"{grid.base.label}, {column}" for grid in alone for column in columns)],
        groups=[rows],
        notes=[
            "In turn: on the same blocks of the first 20,000 instances. Alone: one run after the other on "
            "the whole stream, with nothing else on the machine. All streams: the median of their shares, in "
            "turn. Shares are of encoding, evaluating, choosing and training together."
        ],
        data=data,
    )


def _shares(policy: str, cell: Cell | None, turns: Turns) -> list[float | None]:
    one = turns.get((STREAM, policy))
    every = [_in_turn(measured) for (_, name), measured in turns.items() if name == policy]
    return [
        _in_turn(one) if one else None,
        _alone(cell) if cell else None,
        median(every) if every else None,
    ]


def _in_turn(measured: Paired) -> float:
    return measured.choose / measured.cpu_seconds


def _alone(cell: Cell) -> float:
    spent = {phase: cell.mean(f"cpu_{phase}") for phase in PHASES}
    return spent["choose"] / sum(spent.values())


def _entry(share: float | None) -> Entry:
    return Entry("not run") if share is None else Entry(f"{100 * share:.1f} %")
