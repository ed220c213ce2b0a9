"""`import heros` is fast: large packages are imported only when they are used."""

import subprocess
import sys

import pytest

HEAVY = ("pyarrow", "rich", "typer", "pandas", "scipy", "sklearn", "matplotlib", "urllib.request", "tarfile")
FIT = """
import numpy as np
from heros import Heros, evaluate, pools, streams
rng = np.random.default_rng(1)
X, y = rng.random((500, 3)), rng.integers(0, 2, 500)
model = Heros(pools.MLPGrid(hidden=[8]), seed=1)
run = evaluate(model, streams.from_arrays(X, y))
model.learn(X, y).predict_proba(X)
print(model, model.leaderboard(), model.explain_choice(), model.pool_summary(), run.auroc)
"""


def imported(program):
    """Return the large packages that a new Python process has imported after a program."""
    look = f"\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", program + look]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()


@pytest.mark.parametrize(
    ("program", "allowed"),
    [
        ("import heros", set()),
        ("from heros import Heros, Run, evaluate, streams, records, checkpoints, meters, measures, export", {"tarfile"}),
        (FIT, {"tarfile"}),
        ("import heros.run.report, heros.run.records, heros.cli", {"rich", "typer", "tarfile"}),
    ],
    ids=["import", "every name", "fit and evaluate", "command line"],
)  # fmt: skip
def test_what_is_heavy_is_imported_by_those_who_use_it(program, allowed):
    assert set(imported(program)) <= allowed


def test_rows_are_learnt_and_predicted_without_a_file_reader():
    program = """
import sys
from heros import Heros, pools
model = Heros(pools.MLPGrid(hidden=[8]), seed=1)
model.learn({"size": 1, "placed": "2026-10-28"}, "no").predict_proba({"size": "2 %"})
print(*(name for name in sys.modules if name.startswith(("heros.streams", "pyarrow"))))
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_what_is_imported_later_is_there_when_asked_for():
    program = """
import heros
for name in heros.__all__:
    assert getattr(heros, name) is not None and name in dir(heros)
from heros import *
assert evaluate is heros.evaluate and streams is heros.streams
try:
    heros.nothing
except AttributeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "module 'heros' has no attribute 'nothing'\n"


def test_the_registry_finds_parts_that_nobody_has_imported():
    program = """
from heros._base.registry import parts, policy_of, pool_of, rebuilt
print(policy_of("zeta:0.05@0.2"), rebuilt({"kind": "Window", "size": 5}, "score"), pool_of("trees").n_models)
print(*parts("meter"))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "Explore(Zeta(0.05), 0.2) Window(size=5) 50\nCodeCarbon Cpu Perf Rapl\n"
