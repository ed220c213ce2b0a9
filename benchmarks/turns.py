"""Alternate two builds and print the ratio of their CPU times per instance, under the same load.

    python benchmarks/turns.py BEFORE/bin/python AFTER/bin/python

Each round starts both interpreters once per setting. The result is the median ratio over the rounds, because
the speed of the machine changes within minutes. Settings use names that both builds know. Real streams
are skipped if HEROS_DATA does not name their directory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from pathlib import Path

PROGRAM = """
import sys, time
from heros import Heros, policies, pools, streams
name, policy, kind, n = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
X, y = (stream := streams.load(name)).draw(n)
made = {
    "zeta": policies.Explore(policies.Zeta(0.05), 0.2),
    "everything": policies.Everything(),
    "cheapest": policies.Cheapest(),
    "cand": policies.Cand(),
}[policy]
pool = pools.MLPGrid() if kind == "mlp" else pools.HoeffdingGrid()
model = Heros(pool, made, 10 if policy == "cheapest" else 30, seed=1, schema=stream.schema)
model.learn(X[:500], y[:500])
start = time.process_time()
model.learn(X[500:], y[500:])
print(1e6 * (time.process_time() - start) / (n - 500))
"""
SETTINGS = [
    ("agr_a", "zeta", "mlp", 6000),
    ("rbf_m", "zeta", "mlp", 5000),
    ("covtype", "zeta", "mlp", 2000),
    ("agr_a", "cheapest", "mlp", 10000),
    ("rbf_m", "everything", "mlp", 4000),
    ("agr_a", "cand", "trees", 20000),
    ("electricity", "zeta", "trees", 20000),
]
REAL = ("covtype", "electricity")
SLOWER = 1.05


def microseconds(python: str, setting: tuple[str, str, str, int]) -> float:
    """Return the CPU time per instance of one build."""
    done = subprocess.run(
        [python, "-c", PROGRAM, *map(str, setting)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def in_turns(
    before: str, after: str, setting: tuple[str, str, str, int], rounds: int
) -> list[tuple[float, float]]:
    """Return the CPU times per instance of both builds, by round."""
    return [(microseconds(before, setting), microseconds(after, setting)) for _ in range(rounds)]


def middle_of(pairs: list[tuple[float, float]]) -> float:
    """Return the median of the rounds' ratios."""
    return statistics.median(after / before for before, after in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; after / before: median of {arguments.rounds} (lowest, highest)")
    slower = []
    for setting in SETTINGS:
        name = " ".join(setting[:3])
        if (
            setting[0] in REAL
            and not Path(os.environ.get("HEROS_DATA", ""), f"{setting[0]}.parquet").is_file()
        ):
            print(f"{name:28} SKIPPED: HEROS_DATA has no {setting[0]}.parquet")
            continue
        pairs = in_turns(arguments.before, arguments.after, setting, arguments.rounds)
        if middle_of(pairs) > SLOWER:  # more rounds distinguish a slower kernel from a busy machine
            pairs += in_turns(arguments.before, arguments.after, setting, 2 * arguments.rounds)
        ratios = sorted(after / before for before, after in pairs)
        before = statistics.median(before for before, _ in pairs)
        middle = middle_of(pairs)
        print(f"{name:28} {before:8.1f} µs  {middle:.3f} ({ratios[0]:.3f}, {ratios[-1]:.3f})", flush=True)
        if middle > SLOWER:
            slower.append(f"{name} by {100 * (middle - 1):.0f} %")
    print(f"slower by more than {100 * (SLOWER - 1):.0f} %: {', '.join(slower) or 'nothing'}")


if __name__ == "__main__":
    main()
