"""Follow CONTRIBUTING.md to add a small measure."""

import json

import pytest

BRIER = '''"""The mean squared distance between probabilities and what happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Mean
from heros.measures.checks import expect_answers

__all__ = ["Brier"]


class Brier(Mean):
    """Brier's score: the mean over instances of Σ (p_c − [c happened])²."""

    name, label, better = "brier", "Brier", "lower"

    def _sums(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> tuple[float, float]:
        y, output = expect_answers(y, output, "Brier")
        return float(((output - np.eye(output.shape[1])[y]) ** 2).sum()), len(y)
'''

USED = """
import sys
from pathlib import Path
import numpy as np
from heros import Heros, evaluate, measures, pools, streams
from heros.run.report import write_report
from heros.run import checkpoints, records

place = Path(sys.argv[1])
def make():
    return Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)
def run(n=1000, **more):
    chosen = {"window": 150, "measures": [measures.Brier(), measures.Auroc()], **more}
    return evaluate(make(), streams.Agrawal(function=2).take(n), **chosen)

whole = run()
X, y = streams.Agrawal(function=2).draw(1000)
p = make().bind(streams.Agrawal().schema).test_then_train(X, y).probabilities
expected = ((p - np.eye(2)[y]) ** 2).sum(axis=1)
assert np.isclose(whole.brier, expected.mean()) and whole.figures["brier"] == whole.brier
assert np.allclose(whole.curves.brier, [part.mean() for part in np.split(expected, range(150, 1000, 150))])
merged = run(2100, window=1, exact=False)
assert len(merged.curves.brier) == 525 and np.isclose(merged.curves.brier.mean(), merged.brier)

again = records.read(records.save(whole, place / "records"))
assert again.brier == whole.brier and np.array_equal(again.curves.brier, whole.curves.brier)
assert again.measures == whole.measures and again.measures[0].better == "lower"
assert records.load(place / "records")["brier"].to_pylist() == [whole.brier]
write_report(place / "records", place / "report.html")
page = (place / "report.html").read_text()
assert "<th>Brier</th>" in page and f"<td>{whole.brier:.4f}</td>" in page and "Brier, per window" in page

run(checkpoint=place / "kept", every=400)
resumed = run(checkpoint=place / "kept", resume=checkpoints.found(place / "kept")[1].path)
assert resumed.brier == whole.brier and np.array_equal(resumed.curves.brier, whole.curves.brier)
print("as it should be")
"""


@pytest.mark.long
def test_a_measure_is_a_file_and_its_export(house, tmp_path):
    house.add("measures/brier.py", BRIER)
    house.insert("measures/__init__.py", "from heros.measures.classification import (",
                 "from heros.measures.brier import Brier")  # fmt: skip
    first = (
        '    "F1", "MAE", "MAPE", "R2", "RMSE", "Accuracy", "Auroc", "BalancedAccuracy", "CalibrationError",'
    )
    house.insert("measures/__init__.py", first, '    "Brier",')
    assert house.touched == {"measures/brier.py", "measures/__init__.py"}

    assert house.python("-c", USED, str(tmp_path)) == "as it should be\n"
    words = ["run", "agr_a", "--n", "500", "--measure", "brier"]
    assert json.loads(house.heros(*words, "--json"))["results"]["brier"] > 0
    assert "Brier  " in house.heros(*words)
    said = house.contract("tests/measures/test_contract.py", "-k", "Brier")
    assert "Brier()" in said
    assert "passed" in said
    assert "failed" not in said
