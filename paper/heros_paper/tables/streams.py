"""Table I: the streams, counted from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields

import numpy as np
from numpy.typing import NDArray

from heros import streams
from heros.run import records
from heros.streams.paper_datasets import REAL
from heros_paper.published import STREAMS, StreamFacts, label_of
from heros_paper.results import Cell, Grid
from heros_paper.tables.layout import NOT_RUN, Entry, Table

__all__ = ["stream_table"]


def stream_table(grids: Iterable[Grid]) -> Table:
    """Return the table of instances, features, classes and class shares, beside the paper's."""
    counts = _class_counts(grids)
    ours = {name: _facts(name, counts[name]) for name in STREAMS if name in counts}
    names = [field.name for field in fields(StreamFacts)]
    return Table(
        name="table1_streams",
        title="Table I, the streams",
        header=["stream", "", "type", "instances", "features", "classes", "largest %", "smallest %"],
        groups=[
            [
                [Entry(label_of(name)), Entry("ours"), *_entries(ours.get(name))],
                [Entry(""), Entry("paper"), *_entries(paper)],
            ]
            for name, paper in STREAMS.items()
        ],
        notes=[
            "R: real, DS: synthetic with drifts. Ours: counted in the longest run on the stream.",
            *_first_classes(counts),
        ],
        data=[
            {
                "stream": name,
                **(asdict(ours[name]) if name in ours else dict.fromkeys(names)),
                **{f"paper_{key}": value for key, value in asdict(paper).items()},
            }
            for name, paper in STREAMS.items()
        ],
    )


def _class_counts(grids: Iterable[Grid]) -> dict[str, NDArray[np.int64]]:
    """Return the class counts of the longest run on each stream."""
    longest: dict[str, Cell] = {}
    for cell in (cell for grid in grids for cell in grid.cells.values()):
        if cell.stream not in longest or cell.n_instances > longest[cell.stream].n_instances:
            longest[cell.stream] = cell
    confusions = {name: records.details(cell.runs[0]["place"])["confusion"] for name, cell in longest.items()}
    return {name: np.array(confusion).sum(axis=1) for name, confusion in confusions.items()}


def _first_classes(counts: Mapping[str, NDArray[np.int64]]) -> list[str]:
    """Return a note on streams where the paper's share of the largest class is that of the first class."""
    firsts = {name: 100 * count[0] / count.sum() for name, count in counts.items()}
    found = [
        label_of(name)
        for name, share in firsts.items()
        if abs(share - STREAMS[name].largest)
        < 0.01
        < abs(100 * counts[name].max() / counts[name].sum() - share)
    ]
    if not found:
        return []
    return [f"{' and '.join(found)}: what the paper calls the largest class is the share of class 0."]


def _facts(name: str, counts: NDArray[np.int64]) -> StreamFacts:
    real = REAL.get(name)
    shares = 100 * counts / counts.sum()
    return StreamFacts(
        kind="R" if real else "DS",
        n_instances=int(counts.sum()),
        n_features=real.n_nominal + real.n_numeric if real else streams.load(name).schema.n_features,
        n_classes=len(counts),
        largest=float(shares.max()),
        smallest=float(shares.min()),
    )


def _entries(facts: StreamFacts | None) -> list[Entry]:
    if facts is None:
        return [NOT_RUN] * len(fields(StreamFacts))
    sizes = (f"{facts.n_instances:,}", f"{facts.n_features}", f"{facts.n_classes}")
    return [Entry(text) for text in (facts.kind, *sizes, f"{facts.largest:.2f}", f"{facts.smallest:.2f}")]
