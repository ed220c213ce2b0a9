"""The tables and the figure of docs/green.md, from the records of benchmarks/green.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heros import records
from heros.run import Run
from heros_paper.figures.style import FAINT, GRID, INK, label_points, new_figure, tidy
from heros_paper.ranks import wilcoxon

if TYPE_CHECKING:
    from green import Setting

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- from the records: begin -->", "<!-- from the records: end -->"
PAIRS = (
    ("ζ(.05, .1), k 30, trained look", "ζ(.05, .1), k 30, all look"),
    ("Cand, k 30, trained look", "Cand, k 30, all look"),
)
WORK = ("evaluate", "choose", "train")  # the phases of a step; the rest is reading and measuring


@dataclass(frozen=True)
class Cell:
    """A setting on a stream: the runs of all seeds that there are."""

    runs: tuple[Run, ...]

    @property
    def auroc(self) -> float:
        """The mean over the seeds."""
        return float(np.mean([run.auroc for run in self.runs]))

    @property
    def seconds(self) -> float:
        """CPU seconds of the steps, the mean over the seeds."""
        return float(np.mean([sum(run.cpu[phase] for phase in WORK) for run in self.runs]))

    def mean(self, what: str) -> float:
        """The mean of something that a run has."""
        return float(np.mean([getattr(run, what) for run in self.runs]))


class Table:
    """All settings on the streams that have them all."""

    def __init__(self, settings: Sequence[Setting], streams: Sequence[str], directory: Path) -> None:
        self.settings = [setting.label for setting in settings]
        self.cells: dict[tuple[str, str], Cell] = {}
        for stream in streams:
            for setting in settings:
                runs = [
                    records.read(place)
                    for seed in (1, 2, 3)
                    if records.exists(place := directory / setting.on(stream, seed).id)
                ]
                if runs:
                    self.cells[stream, setting.label] = Cell(tuple(runs))
        self.whole = [s for s in streams if all((s, label) in self.cells for label in self.settings)]
        self.missing = [stream for stream in streams if stream not in self.whole]

    def share(self, stream: str, label: str) -> float:
        """CPU time as a share of training everything."""
        return self.cells[stream, label].seconds / self.cells[stream, "Everything"].seconds

    def over_streams(self, label: str) -> tuple[float, float]:
        """The mean AUROC and the mean share of CPU time."""
        auroc = np.mean([self.cells[stream, label].auroc for stream in self.whole])
        return float(auroc), float(np.mean([self.share(stream, label) for stream in self.whole]))


def write_report(settings: Sequence[Setting], streams: Sequence[str], directory: Path) -> None:
    """Put the tables between the marks in docs/green.md, and draw the figure."""
    table = Table(settings, streams, directory)
    text = "\n\n".join([_auroc(table), _costs(table), _paired(table), _best(table), _missing(table)])
    page = DOCS / "green.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    if table.whole:
        _draw(table, DOCS / "green.png")


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _auroc(table: Table) -> str:
    rows = []
    for label in table.settings:
        values = [_figure(table.cells[stream, label].auroc) for stream in table.whole]
        rows.append([label, *values, _figure(table.over_streams(label)[0])])
    return "AUROC:\n\n" + _markdown(["setting", *table.whole, "mean"], rows)


def _costs(table: Table) -> str:
    rows = []
    for label in table.settings:
        cells = [table.cells[stream, label] for stream in table.whole]
        prices = [run.price for cell in cells for run in cell.runs if run.price is not None]
        looking, training = np.mean([(price.looking, price.training) for price in prices], axis=0)
        shares = [table.share(stream, label) for stream in table.whole]
        gamma = np.mean([cell.mean("gamma_share") for cell in cells])
        figures = [gamma, looking, training, looking + training, np.mean(shares), max(shares)]
        rows.append([label, *(f"{figure:.3f}" for figure in figures)])
    headings = ["setting", "Σγ", "looking", "training", "price", "CPU, mean", "CPU, highest"]
    return "What it costs, as shares of training everything (means over the streams):\n\n" + _markdown(
        headings, rows
    )


def _paired(table: Table) -> str:
    rows = []
    for less, full in PAIRS:
        gains = [table.cells[s, less].auroc - table.cells[s, full].auroc for s in table.whole]
        worst = table.whole[int(np.argmin(gains))]
        figures = [f"{np.median(gains):+.4f}", f"{min(gains):+.4f} ({worst})", f"{max(gains):+.4f}"]
        rows.append([less, *figures, f"{wilcoxon(gains):.2f}"])
    headings = ["against all looking", "median", "lowest", "highest", "p (Wilcoxon)"]
    return "The difference in AUROC that looking less makes, stream by stream:\n\n" + _markdown(
        headings, rows
    )


def _best(table: Table) -> str:
    everything = table.over_streams("Everything")[0]
    found = [
        f"{label} (AUROC {_figure(auroc)} against {_figure(everything)}, CPU {share:.2f})"
        for label in table.settings
        if (auroc := table.over_streams(label)[0]) >= everything
        and (share := table.over_streams(label)[1]) <= 0.3
    ]
    listed = "; ".join(found) or "none"
    return f"At most .30 of the CPU time of training everything, and no less AUROC: {listed}."


def _missing(table: Table) -> str:
    if not table.missing:
        return "All eleven streams are in the tables."
    return f"Not in the tables, for want of some of their runs: {', '.join(table.missing)}."


def _draw(table: Table, path: Path) -> None:
    figure = new_figure(7.2, 4.4)
    axes = figure.subplots()
    points = {label: table.over_streams(label)[::-1] for label in table.settings}
    front = _front(list(points.values()))
    axes.plot(*zip(*front, strict=True), color=GRID, lw=6, solid_capstyle="round", zorder=1)
    for x, y in points.values():
        axes.plot(x, y, "o", color="#009e73" if (x, y) in front else FAINT, ms=7, zorder=3)
    axes.set_xlabel("CPU time per instance, as a share of training everything")
    axes.set_ylabel(f"mean AUROC over {len(table.whole)} streams")
    axes.set_xlim(0, 1.08)
    axes.grid(color=GRID, lw=0.6)
    axes.set_title("Looking less costs less, and loses nothing", loc="left", fontsize=10, color=INK)
    tidy(axes)
    label_points(axes, list(points.values()), list(points))
    figure.savefig(path, dpi=160, metadata={"Software": None})


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that none other beats in both ways, from the cheapest to the best."""
    best, front = -np.inf, []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if y > best:
            best = y
            front.append((x, y))
    return front


def _figure(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")
