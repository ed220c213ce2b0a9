"""Every value in the paper's tables can be traced to a commit, a machine and an instruction set."""

import csv
import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heros_paper import ASSUMPTIONS
from heros_paper.paired import read_paired

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "paper" / "records"
PARTS = sorted(path.parent.name for path in RECORDS.glob("*/records.parquet"))
ISAS = {"avx512", "avx2", "neon", "baseline"}


@pytest.fixture(scope="module")
def history():
    """Return the ancestor commits; skip the test if the clone does not have all of them."""
    git = ["git", "-C", str(ROOT)]
    asked = subprocess.run(
        [*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=False
    )
    if asked.stdout.strip() != "false":
        pytest.skip("needs a clone with its whole history")
    log = subprocess.run([*git, "log", "--format=%H"], capture_output=True, text=True, check=True)
    return set(log.stdout.split())


@pytest.mark.parametrize("part", PARTS)
def test_every_record_names_its_machine_its_instruction_set_and_a_commit_of_ours(part, history):
    runs = [
        json.loads(text) for text in pq.read_table(RECORDS / part / "records.parquet")["document"].to_pylist()
    ]
    assert runs
    assert not [run["id"] for run in runs if run.get("commit") not in history]
    assert not [run["id"] for run in runs if not run["machine"]["cpu"] or run["machine"]["isa"] not in ISAS]


def test_so_does_what_was_tried_otherwise(history):
    with (RECORDS / "assumptions" / "runs.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == len(ASSUMPTIONS)
    assert not [one for one in found if one["commit"] not in history or one["isa"] not in ISAS]


@pytest.mark.parametrize("base", ["mlp", "trees"])
def test_so_does_what_was_measured_in_turn(base, history):
    measured = read_paired(RECORDS / "paired" / f"{base}.csv")
    assert measured
    assert not [one for one in measured if one.commit not in history or not one.cpu or one.isa not in ISAS]
