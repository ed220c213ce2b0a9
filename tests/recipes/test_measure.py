"""The recipe for a measure, followed: one file and one export line, and it is everywhere."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import Heros, evaluate, measures, pools, streams
from heros.cli import app
from heros.measures import Measure
from heros.report import write_report
from heros.storage import checkpoints, records

FILE = '''
"""The mean squared distance between probabilities and what happened."""

import math

import numpy as np

from heros.measures.base import Measure, expect_array, expect_same
from heros.measures.checks import expect_answers

__all__ = ["Brier"]


class Brier(Measure):
    """Brier's score: the mean over instances of Σ (p_c − [c happened])²."""

    name, label, better = "brier", "Brier", "lower"

    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, y, output):
        y, output = expect_answers(y, output, "Brier")
        self.total += float(((output - np.eye(output.shape[1])[y]) ** 2).sum())
        self.count += len(y)

    @property
    def value(self):
        return self.total / self.count if self.count else math.nan

    def state(self):
        return {"sums": np.array([self.total, float(self.count)])}

    def restore(self, state):
        total, count = expect_array(state, "sums", np.float64, (2,), "Brier").tolist()
        self.total, self.count = total, int(count)

    def merge(self, other):
        expect_same(self, other)
        self.total, self.count = self.total + other.total, self.count + other.count
'''


@pytest.fixture
def brier(tmp_path, monkeypatch):
    """The file as heros/measures/brier.py, and its export."""
    path = tmp_path / "brier.py"
    path.write_text(FILE)
    spec = spec_from_file_location("heros.measures.brier", path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(measures, "Brier", module.Brier, raising=False)
    return measures.Brier


def run_with(brier, n=1000, **more):
    model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)
    settings = {"window": 150, "measures": [brier(), measures.Auroc()]} | more
    return evaluate(model, streams.Agrawal(function=2).take(n), **settings)


def test_it_is_measured_and_drawn_over_time(brier):
    run = run_with(brier)
    X, y = streams.Agrawal(function=2).draw(1000)
    model = Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)
    p = model.bind(streams.Agrawal().schema).test_then_train(X, y).probabilities
    expected = ((p - np.eye(2)[y]) ** 2).sum(axis=1)
    assert run.brier == run.figures["brier"] == pytest.approx(expected.mean())
    assert run.curves.brier == pytest.approx(
        [part.mean() for part in np.split(expected, range(150, 1000, 150))]
    )
    assert np.average(
        run_with(brier, n=2100, window=1, exact=False).curves.brier, weights=[4] * 525
    ) == pytest.approx(run_with(brier, n=2100).brier)


def test_it_is_in_records_and_tables(brier, tmp_path):
    run = run_with(brier)
    place = records.save(run, tmp_path / "records")
    assert json.loads((place / "record.json").read_text())["results"]["brier"] == run.brier
    again = records.read(place)
    assert (again.brier, again.measures) == (run.brier, run.measures)
    np.testing.assert_array_equal(again.curves.brier, run.curves.brier)
    assert records.load(tmp_path / "records")["brier"].to_pylist() == [run.brier]


def test_it_is_in_the_report(brier, tmp_path):
    run = run_with(brier)
    records.save(run, tmp_path / "records")
    write_report(tmp_path / "records", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<th>Brier</th>" in page
    assert f"<td>{run.brier:.4f}</td>" in page
    assert "Brier, per window" in page


def test_it_goes_on_from_a_checkpoint(brier, tmp_path):
    whole = run_with(brier)
    run_with(brier, checkpoint=tmp_path / "kept", every=400)
    middle = checkpoints.found(tmp_path / "kept")[1].path
    again = run_with(brier, checkpoint=tmp_path / "kept", resume=middle)
    assert again.brier == whole.brier
    np.testing.assert_array_equal(again.curves.brier, whole.curves.brier)


@pytest.mark.usefixtures("brier")
def test_the_command_line_knows_it():
    assert "brier" in Measure.names()
    words = ["run", "agr_a", "--n", "500", "--measure", "brier"]
    assert "Brier" in CliRunner().invoke(app, words).stdout
    assert json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["results"]["brier"] > 0


def test_it_is_gone_when_its_file_is():
    assert "brier" not in Measure.names()
