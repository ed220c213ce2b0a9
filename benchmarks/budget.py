"""The cost of a budget and whether models keep it: `Heros(budget=...)` on the streams of the league.

    python benchmarks/budget.py run       make the runs missing in budget.csv; can be stopped and restarted
    python benchmarks/budget.py table     print budget, use and AUROC per stream, and the means
    python benchmarks/budget.py report    write the tables to docs/policies.md, with the figure
    python benchmarks/budget.py rivals --times DIR    other learners for the figure, after `heros-league time`

Runs use the first 40,000 instances of each stream and seed 1. CPU time is the time of the steps, as in
`Heros.cpu_seconds`. All budgets and the default are run one after the other on each stream. For other
learners, the figure shows the AUROC over whole streams from the league's records. Their CPU time is that of
the first instances, measured by `heros-league time` on the same machine.
"""

from __future__ import annotations

import argparse
import csv
import math
import warnings
from pathlib import Path

from heros import Heros, evaluate, streams
from heros.run import Run, records

RESULTS = Path(__file__).with_name("budget.csv")
FIELDS = ("stream", "budget", "used_us", "auroc", "awake", "floor")
BUDGETS = ("", "5 us", "10 us", "20 us", "30 us", "50 us", "60 us", "100 us")
EIGHT = ("electricity", "wisdm", "covtype", "nomao", "airlines", "agr_a", "led_a", "rbf_f")
STREAMS = (*EIGHT, "agr_g", "led_g", "rbf_m")
INSTANCES = 40_000
DOCS = Path(__file__).parent.parent / "docs"
RIVALS = Path(__file__).with_name("budget_rivals.csv")
BEGIN, END = "<!-- budgets: begin -->", "<!-- budgets: end -->"


def known(path: Path) -> list[dict[str, str]]:
    """Return the existing rows."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def one(stream: str, budget: str) -> dict[str, object]:
    """Run one model and return its row; an empty budget means the default model without a budget."""
    model = Heros(budget=budget or None, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the floor is in the row
        run = evaluate(model, streams.load(stream).take(INSTANCES), progress=False, predictions=False)
    dial = run.settings.get("dial", {})
    return {
        "stream": stream,
        "budget": budget,
        "used_us": f"{1e6 * sum(model.cpu_seconds.values()) / run.n_instances:.3f}",
        "auroc": f"{run.figures['auroc']:.5f}",
        "awake": f"{dial.get('awake', model.pool.n_models):.2f}",
        "floor": dial.get("floor") or "",
    }


def run(names: list[str], budgets: list[str], path: Path) -> None:
    """Make the missing runs, and append each run as soon as it is done."""
    done = {(row["stream"], row["budget"]) for row in known(path)}
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for stream in names:
            for budget in budgets:
                if (stream, budget) not in done:
                    writer.writerow(one(stream, budget))
                    file.flush()


class Results:
    """Return the existing rows by stream and budget."""

    def __init__(self, path: Path) -> None:
        self.rows = {(row["stream"], row["budget"]): row for row in known(path)}
        self.budgets = list(dict.fromkeys(budget for _, budget in self.rows))

    def used(self, stream: str, budget: str) -> float:
        """Return the CPU time per instance in microseconds."""
        return float(self.rows[stream, budget]["used_us"])

    def mean(self, budget: str, streams_of: tuple[str, ...]) -> tuple[float, float]:
        """Return the geometric mean of CPU time and the mean AUROC; NaN if a run is missing."""
        if any((stream, budget) not in self.rows for stream in streams_of):
            return math.nan, math.nan
        used = [math.log(self.used(stream, budget)) for stream in streams_of]
        auroc = [float(self.rows[stream, budget]["auroc"]) for stream in streams_of]
        return math.exp(sum(used) / len(used)), sum(auroc) / len(auroc)


def table(path: Path) -> str:
    """Return the used CPU time and the AUROC, per stream and as means, as Markdown."""
    results = Results(path)
    lines = [f"| budget | {' | '.join(STREAMS)} |", "|---" * (len(STREAMS) + 1) + "|"]
    for budget in results.budgets:
        cells = []
        for stream in STREAMS:
            row = results.rows.get((stream, budget))
            floor = "" if row is None or not row["floor"] else " (floor)"
            cells.append(
                "–" if row is None else f"{float(row['used_us']):.1f}{floor}, {_figure(row['auroc'])}"
            )
        lines.append(f"| {_name(budget)} | {' | '.join(cells)} |")
    lines += [
        "",
        "| budget | eleven streams: µs | AUROC | eight streams: µs | AUROC |",
        "|---|---|---|---|---|",
    ]
    for budget in results.budgets:
        means = (*results.mean(budget, STREAMS), *results.mean(budget, EIGHT))
        cells = [f"{mean:.1f}" if i % 2 == 0 else _figure(mean) for i, mean in enumerate(means)]
        lines.append(f"| {_name(budget)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _name(budget: str) -> str:
    return f'`budget="{budget}"`' if budget else "`Heros()`"


def _figure(value: float | str) -> str:
    return f"{float(value):.4f}".removeprefix("0")


def write_rivals(times: Path, learners: list[str]) -> None:
    """Write the CPU time and the AUROC of other learners, as means over the streams."""
    from heros_league.entrants import EVERYBODY  # noqa: PLC0415
    from heros_league.starts import Start  # noqa: PLC0415

    league = Path(__file__).parents[1] / "league"
    with RIVALS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("learner", "us", "auroc"))
        for learner in learners:
            ids = [Start(learner, stream).id for stream in STREAMS]
            short = [records.read(times / id) for id in ids]
            used = [math.log(1e6 * run.cpu_seconds / run.n_instances) for run in short]
            auroc = [_recorded(league, id).figures["auroc"] for id in ids]
            label = EVERYBODY[learner].label
            writer.writerow((label, f"{math.exp(sum(used) / len(ids)):.1f}", f"{sum(auroc) / len(ids):.5f}"))


def _recorded(league: Path, id: str) -> Run:
    """Return a run from the league's second edition, or else from the first."""
    second = league / "second" / id
    return records.read(second if records.exists(second) else league / "records" / id)


def report(path: Path) -> None:
    """Insert the table between the marks in docs/policies.md, and draw the figure."""
    from heros_paper.figures.style import GRID, INK, label_points, new_figure, tidy  # noqa: PLC0415

    results = Results(path)
    page = DOCS / "policies.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{table(path)}\n\n{END}{after}", encoding="utf-8")
    points = {(budget or "Heros()"): results.mean(budget, STREAMS) for budget in results.budgets}
    figure = new_figure(7.2, 4.0)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.plot(*zip(*sorted(points.values()), strict=True), color=GRID, lw=6, solid_capstyle="round", zorder=1)
    for x, y in points.values():
        axes.plot(x, y, "o", color="#009e73", ms=7, zorder=3)
    rivals = {row["learner"]: (float(row["us"]), float(row["auroc"])) for row in known(RIVALS)}
    for x, y in rivals.values():
        axes.plot(x, y, "o", mfc="white", mec=INK, ms=6, zorder=3)
    points |= rivals
    axes.set_xlabel("CPU time of an instance in µs (geometric mean over the streams)")
    axes.set_ylabel(f"mean AUROC over {len(STREAMS)} streams")
    axes.set_title("AUROC and CPU time under a budget", loc="left", fontsize=10, color=INK)
    tidy(axes)
    label_points(axes, list(points.values()), list(points))
    figure.savefig(DOCS / "budget.png", dpi=160, metadata={"Software": None})


def main() -> None:
    """Make the missing runs, or show the existing ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "table", "report", "rivals"])
    parser.add_argument("--times", type=Path)
    parser.add_argument("--learners", nargs="+", default=["arf", "srp", "bagging", "lightgbm_5k"])
    parser.add_argument("--streams", nargs="+", default=list(STREAMS))
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.streams, arguments.budgets, arguments.results)
    if arguments.command == "rivals":
        write_rivals(arguments.times, arguments.learners)
    if arguments.command == "report":
        report(arguments.results)
    print(table(arguments.results))


if __name__ == "__main__":
    main()
