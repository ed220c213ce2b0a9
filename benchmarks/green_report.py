"""Write the tables and the figure of docs/policies.md from the records of benchmarks/green.py.

python benchmarks/green_report.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from green import REAL, RECORDS, SETTINGS, SYNTHETIC, Setting
from heros import records
from heros.run import Run
from heros_paper.figures.style import FAINT, GRID, INK, label_points, new_figure, tidy
from heros_paper.ranks import wilcoxon

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- from the records: begin -->", "<!-- from the records: end -->"
PAIRS = (
    ("ζ(.05, .1), k 30, watch trained", "ζ(.05, .1), k 30, watch all"),
    ("Cand, k 30, watch trained", "Cand, k 30, watch all"),
)
EVERYTHING, TOGETHER = "Everything", "Everything, answer top 5"
PAPER = Path(__file__).parent.parent / "paper" / "records" / "grid"
SEEDS = range(1, 11)  # seeds that may have records
SMALL = 0.3  # share of the cost of training every model
MOST = 0.8  # minimum share of the streams for a setting to be drawn
WORK = ("evaluate", "choose", "train")  # phases of a step; other CPU time is for reading and measures


@dataclass(frozen=True)
class Cell:
    """The runs of a setting on a stream, one per seed."""

    runs: tuple[Run, ...]
    own: bool  # False: the paper's record of the same run on another machine

    @property
    def auroc(self) -> float:
        """The mean AUROC over the seeds."""
        return float(np.mean([run.auroc for run in self.runs]))

    @property
    def seconds(self) -> float:
        """The CPU seconds of the steps, as the mean over the seeds."""
        return float(np.mean([sum(run.cpu[phase] for phase in WORK) for run in self.runs]))

    @property
    def prices(self) -> list[tuple[float, float]]:
        """The costs of evaluation and training of the runs that have them."""
        known = [run.price for run in self.runs if run.price is not None]
        return [(price.looking, price.training) for price in known]

    def mean(self, what: str) -> float:
        """Return the mean of an attribute over the runs."""
        return float(np.mean([getattr(run, what) for run in self.runs]))


class Table:
    """The settings on the streams that have records."""

    def __init__(self, settings: Sequence[Setting], streams: Sequence[str], directory: Path) -> None:
        self.settings = [setting.label for setting in settings]
        self.streams = streams
        self.cells = {
            (stream, setting.label): cell
            for stream, setting in product(streams, settings)
            if (cell := _cell(setting, stream, directory)) is not None
        }

    def known(self, *labels: str) -> list[str]:
        """Return the streams on which all these settings were run."""
        return [s for s in self.streams if all((s, label) in self.cells for label in labels)]

    def timed(self, label: str) -> list[str]:
        """Return the streams on which the setting and Everything were run on one machine."""
        both = self.known(label, EVERYTHING)
        return [s for s in both if self.cells[s, label].own and self.cells[s, EVERYTHING].own]

    def share(self, stream: str, label: str) -> float:
        """Return CPU time as a share of training every model."""
        return self.cells[stream, label].seconds / self.cells[stream, EVERYTHING].seconds

    def auroc(self, label: str, streams: Sequence[str]) -> float:
        """Return the mean over streams."""
        return float(np.mean([self.cells[stream, label].auroc for stream in streams]))

    def price(self, label: str) -> tuple[float, float]:
        """Return the costs of evaluation and training, as a mean of the streams' means."""
        known = [self.cells[s, label].prices for s in self.known(label)]
        if label == EVERYTHING or not any(known):
            return (np.nan, np.nan)
        looking, training = np.mean([np.mean(prices, axis=0) for prices in known if prices], axis=0)
        return float(looking), float(training)


def _cell(setting: Setting, stream: str, directory: Path) -> Cell | None:
    for place, own in ((directory, True), (PAPER, False)):
        k = setting.k if own or setting.label != EVERYTHING else 30  # the paper's grid has a single k
        ids = [replace(setting, k=k).id(stream, seed) for seed in SEEDS]
        runs = [records.read(place / id) for id in ids if records.exists(place / id)]
        if runs:
            return Cell(tuple(runs), own)
    return None


def write_report(settings: Sequence[Setting], streams: Sequence[str], directory: Path) -> None:
    """Insert the tables between the marks in docs/policies.md, and draw the figure."""
    table = Table(settings, streams, directory)
    text = "\n\n".join([_state(table), _auroc(table), _paired(table), _costs(table), _best(table)])
    page = DOCS / "policies.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    _draw(table, DOCS / "green.png")


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _state(table: Table) -> str:
    runs = sum(len(cell.runs) for cell in table.cells.values() if cell.own)
    elsewhere = sum(not cell.own for cell in table.cells.values())
    cells = len(table.settings) * len(table.streams)
    return (
        f"{len(table.cells)} of {cells} cells are known: {len(table.cells) - elsewhere} from {runs} runs, "
        f"{elsewhere} from the paper's records of the same runs, on another machine."
    )


def _auroc(table: Table) -> str:
    rows = [
        [label, *(_cell_text(table, stream, label) for stream in table.streams), _mean(table, label)]
        for label in table.settings
    ]
    where = "p: from the paper's records, possibly of another machine; rounding changes AUROC by up to .0025"
    return f"AUROC ({where}):\n\n" + _markdown(["setting", *table.streams, "mean"], rows)


def _cell_text(table: Table, stream: str, label: str) -> str:
    cell = table.cells.get((stream, label))
    return "–" if cell is None else _figure(cell.auroc) + ("" if cell.own else "<sup>p</sup>")


def _mean(table: Table, label: str) -> str:
    whole = table.known(label) == list(table.streams)
    return _figure(table.auroc(label, table.streams)) if whole else "–"


def _costs(table: Table) -> str:
    rows = []
    for label in table.settings:
        timed = table.timed(label)
        looking, training = table.price(label)
        shares = [table.share(stream, label) for stream in timed]
        own = [s for s in table.known(label) if table.cells[s, label].own]
        gamma = np.mean([table.cells[s, label].mean("gamma_share") for s in own]) if own else np.nan
        measured = [np.mean(shares), max(shares)] if shares else [np.nan, np.nan]
        figures = [gamma, looking, training, looking + training, *measured]
        rows.append([label, *("–" if np.isnan(f) else f"{f:.3f}" for f in figures), str(len(timed))])
    headings = ["setting", "Σγ", "evaluation", "training", "price", "CPU, mean", "CPU, highest", "on streams"]
    return "Cost as a share of training every model (means over the streams):\n\n" + _markdown(headings, rows)


def _paired(table: Table) -> str:
    rows = []
    for less, full in PAIRS:
        streams = table.known(less, full)
        gains = [table.cells[s, less].auroc - table.cells[s, full].auroc for s in streams]
        worst = streams[int(np.argmin(gains))]
        figures = [f"{np.median(gains):+.4f}", f"{min(gains):+.4f} ({worst})", f"{max(gains):+.4f}"]
        rows.append([less, str(len(streams)), *figures, f"{wilcoxon(gains):.2f}"])
    headings = ["against watch all", "streams", "median", "lowest", "highest", "p (Wilcoxon)"]
    return "Change of AUROC from evaluating fewer models, per stream:\n\n" + _markdown(headings, rows)


def _best(table: Table) -> str:
    found = []
    for label in table.settings:
        streams = table.known(label, EVERYTHING, TOGETHER)
        price = sum(table.price(label))
        if not streams or not price <= SMALL:  # also skip an unknown price
            continue
        auroc, alone, together = (table.auroc(one, streams) for one in (label, EVERYTHING, TOGETHER))
        if auroc >= alone:
            found.append(
                f"{label}: AUROC {_figure(auroc)} at a price of {price:.2f}, against {_figure(alone)} for "
                f"training every model if the best model predicts, and {_figure(together)} if the best five "
                f"predict, over {len(streams)} streams"
            )
    return (
        f"At least as good, at most .30 of the price of training every model: {'; '.join(found) or 'none'}."
    )


def _draw(table: Table, path: Path) -> None:
    figure = new_figure(7.2, 4.4)
    axes = figure.subplots()
    drawn = [label for label in table.settings if len(table.known(label)) >= MOST * len(table.streams)]
    drawn = [label for label in drawn if label == EVERYTHING or not np.isnan(sum(table.price(label)))]
    streams = table.known(*drawn)
    points = {
        label: (1.0 if label == EVERYTHING else sum(table.price(label)), table.auroc(label, streams))
        for label in drawn
    }
    front = _front(list(points.values()))
    axes.plot(*zip(*front, strict=True), color=GRID, lw=6, solid_capstyle="round", zorder=1)
    for x, y in points.values():
        axes.plot(x, y, "o", color="#009e73" if (x, y) in front else FAINT, ms=7, zorder=3)
    axes.set_xlabel("cost of a step (evaluation and training), as a share of training every model")
    axes.set_ylabel(f"mean AUROC over {len(streams)} streams")
    axes.set_xlim(0, 1.08)
    axes.grid(color=GRID, lw=0.6)
    axes.set_title(
        "Evaluating fewer models costs less, at the same AUROC", loc="left", fontsize=10, color=INK
    )
    tidy(axes)
    label_points(axes, list(points.values()), list(points))
    figure.savefig(path, dpi=160, metadata={"Software": None})


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the settings that no other setting beats in both cost and AUROC, cheapest first."""
    best, front = -np.inf, []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if y > best:
            best = y
            front.append((x, y))
    return front


def _figure(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


if __name__ == "__main__":
    write_report(SETTINGS, [*REAL, *SYNTHETIC], RECORDS)
