"""Cost and savings of evaluating fewer models: settings with and without `watch`, on eleven whole streams.

    python benchmarks/green.py run      make the missing records; can be stopped and restarted
    python benchmarks/green.py run --streams covtype --seeds 1 2 3
    python benchmarks/green.py pack     pack the single records into one file

The records are in benchmarks/records/green; `benchmarks/green_report.py` makes tables and a figure of them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from heros import Top
from heros._base.registry import policy_id
from heros.ensemble.watch import Answer, Watch
from heros.policies import Cand, Cheapest, Everything, Explore, Policy, Zeta
from heros.pools import MLPGrid
from heros.run.executors import Processes, Serial
from heros.run.experiments import Experiment, run_all
from heros.run.records import pack
from heros.run.records.document import id_from
from heros.streams import NAMES

RECORDS = Path(__file__).parent / "records" / "green"
REAL = ("electricity", "nomao", "wisdm", "airlines", "covtype")
SYNTHETIC = tuple(name for name in NAMES if name not in REAL)


@dataclass(frozen=True)
class Setting:
    """A policy with its k, `watch` and `answer`; all settings use the paper's 50 perceptrons."""

    label: str
    policy: Policy
    k: int
    watch: Watch = "all"
    answer: Answer = "best"

    def id(self, stream: str, seed: int) -> str:
        """The id of the setting's record, also if the setting is no longer allowed."""
        settings = {"pool": "mlp50", "policy": policy_id(self.policy), "k": self.k, "seed": seed}
        return id_from(stream, settings | {"watch": self.watch, "answer": str(self.answer)})

    def on(self, stream: str, seed: int) -> Experiment:
        """Return the run of this setting."""
        return Experiment(
            stream,
            MLPGrid(),
            self.policy,
            self.k,
            seed=seed,
            watch=self.watch,
            answer=self.answer,
            compact=True,
        )


ZETA = Explore(Zeta(0.05), 0.1)
SETTINGS = (
    Setting("ζ(.05, .1), k 30, watch trained", ZETA, 30, "trained"),
    Setting("Cand, k 30, watch trained", Cand(), 30, "trained"),
    Setting("Cand, k 8, watch trained, answer top 5", Cand(), 8, "trained", Top(5)),
    Setting("ζ(.05, .1), k 30, watch all", ZETA, 30),
    Setting("Cand, k 30, watch all", Cand(), 30),
    Setting("Everything", Everything(), 50),
    Setting("Everything, answer top 5", Everything(), 50, answer=Top(5)),
    Setting("Cand, k 10, watch 8, answer top 5", Cand(), 10, 8, Top(5)),
    Setting("Cheapest, k 10, watch trained", Cheapest(), 10, "trained"),
)
ROUNDS = SETTINGS[:3], SETTINGS[3:7], SETTINGS[7:]  # settings that are not in the paper come first


def jobs(streams: list[str], seeds: list[int]) -> list[Experiment]:
    """Return all runs; seeds after the first are for real streams only."""
    pairs = [(stream, seed) for seed, stream in product(seeds, streams) if seed == 1 or stream in REAL]
    return [setting.on(*pair) for group in ROUNDS for pair in pairs for setting in group]


def main() -> None:
    """Make the missing runs, or pack their records."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "pack"])
    parser.add_argument("--streams", nargs="+", default=[*REAL[:4], *SYNTHETIC, "covtype"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.streams, arguments.seeds, arguments.jobs)
    else:
        print(f"{pack(RECORDS)} records in {RECORDS}")


def run(streams: list[str], seeds: list[int], jobs_at_once: int) -> None:
    """Make the missing records."""
    executor = Processes(jobs_at_once) if jobs_at_once > 1 else Serial()
    outcome = run_all(jobs(streams, seeds), RECORDS, executor=executor)
    print(f"{len(outcome.done)} runs made, {len(outcome.kept)} kept, {len(outcome.failed)} failed")
    for id, failure in outcome.failed.items():
        print(f"{id}: {failure.reason}")


if __name__ == "__main__":
    main()
