"""What a budget costs and whether it is held: `Heros(budget=...)` on the streams of the league.

    python benchmarks/budget.py run       the runs missing in budget.csv; may be stopped and started again
    python benchmarks/budget.py table     asked, used and AUROC per stream, and the means

The first 40,000 instances of each stream, seed 1. CPU time is that of the step, as in `Heros.cpu_seconds`.
Budgets are run in turns with the default, stream by stream.
"""

from __future__ import annotations

import argparse
import csv
import math
import warnings
from pathlib import Path

from heros import Heros, evaluate, streams

RESULTS = Path(__file__).with_name("budget.csv")
FIELDS = ("stream", "budget", "used_us", "auroc", "awake", "floor")
BUDGETS = ("", "5 us", "10 us", "20 us", "50 us", "100 us")
PROTOTYPE = ("electricity", "wisdm", "covtype", "nomao", "airlines", "agr_a", "led_a", "rbf_f")
STREAMS = (*PROTOTYPE, "agr_g", "led_g", "rbf_m")
INSTANCES = 40_000


def known(path: Path) -> list[dict[str, str]]:
    """Return the rows so far."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def one(stream: str, budget: str) -> dict[str, object]:
    """Run one model and return its row; the empty budget is the default without one."""
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
    """Make the runs that are missing, and append each as soon as it is done."""
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


def table(path: Path) -> None:
    """Print asked, used and AUROC."""
    rows = {(row["stream"], row["budget"]): row for row in known(path)}
    names = list(dict.fromkeys(stream for stream, _ in rows))
    for budget in dict.fromkeys(budget for _, budget in rows):
        print(f"\n{budget or 'default'}")
        for stream in names:
            if (row := rows.get((stream, budget))) is not None:
                floor = f"  floor {row['floor']}" if row["floor"] else ""
                print(f"  {stream:12} {float(row['used_us']):7.2f} us  {float(row['auroc']):.4f}  "
                      f"{float(row['awake']):5.1f} awake{floor}")  # fmt: skip
        for label, those in (("prototype's eight", PROTOTYPE), ("all eleven", STREAMS)):
            some = [rows[stream, budget] for stream in those if (stream, budget) in rows]
            if len(some) == len(those):
                mean = sum(float(row["auroc"]) for row in some) / len(some)
                used = math.exp(sum(math.log(float(row["used_us"])) for row in some) / len(some))
                print(f"  {label}: {used:.2f} us (geometric mean), AUROC {mean:.4f}")


def main() -> None:
    """Run what is missing, or show what there is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("--streams", nargs="+", default=list(STREAMS))
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.streams, arguments.budgets, arguments.results)
    table(arguments.results)


if __name__ == "__main__":
    main()
