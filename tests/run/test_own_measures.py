"""User-selected measures, built-in and user-defined, in runs, curves, records, checkpoints and reports."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import kill_resume
from heros import DataError, Heros, HerosError, ParameterError, evaluate, measures, pools, streams
from heros.run import checkpoints, records
from heros.run.report import write_report


def make():
    return Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)


def stream(n=1000):
    return streams.Agrawal(function=2).take(n)


class Misses:
    """A measure with only the required methods."""

    name = "misses"

    def __init__(self):
        self.value = 0

    def update(self, y, output):
        self.value += int((output.argmax(axis=1) != y).sum())


class Cost:
    """A measure with all optional methods, not derived from `Measure`: a missed positive costs 5, a false alarm 1."""

    name, label, better = "cost", "cost <€>", "lower"

    def __init__(self, missed=5.0):
        self.missed, self.total, self.count = missed, 0.0, 0

    def update(self, y, output):
        said = output.argmax(axis=1)
        self.total += self.missed * float(((y == 1) & (said == 0)).sum()) + float(
            ((y == 0) & (said == 1)).sum()
        )
        self.count += len(y)

    @property
    def value(self):
        return self.total / self.count

    def fresh(self):
        return Cost(self.missed)

    def merge(self, other):
        self.total, self.count = self.total + other.total, self.count + other.count

    def state(self):
        return {"sums": np.array([self.total, self.count])}

    def restore(self, state):
        self.total, self.count = state["sums"].tolist()


def test_the_measures_asked_for_are_those_one_gets():
    run = evaluate(
        make(), stream(), window=300, measures=[measures.F1(), measures.PrAuc(), measures.Accuracy()]
    )
    assert list(run.figures) == ["f1", "pr_auc", "accuracy"]
    assert list(run.curves.figures) == ["f1", "pr_auc", "accuracy"]
    assert run.f1 == run.figures["f1"]
    assert len(run.curves.pr_auc) == 4
    with pytest.raises(AttributeError, match="'Run' object has no attribute 'auroc'"):
        _ = run.auroc
    with pytest.raises(AttributeError, match="'Curves' object has no attribute 'auroc'"):
        _ = run.curves.auroc


def test_the_counts_are_there_if_a_measure_keeps_them():
    assert evaluate(make(), stream(300), measures=[measures.LogLoss()]).confusion is None
    run = evaluate(make(), stream(300), measures=[measures.LogLoss(), measures.F1()])
    assert run.confusion.counts.sum() == 300
    assert run.f1 == np.nanmean(run.confusion.f1)
    assert evaluate(make(), stream(300), measures=[]).figures == {}


def test_objects_of_ones_own_are_measured_with_and_not_changed():
    misses, cost = Misses(), Cost(missed=2.0)
    both = [misses, cost, measures.Accuracy()]
    for _ in range(2):
        run = evaluate(make(), stream(), window=300, measures=both)
        assert run.misses == round(1000 * (1 - run.accuracy))
        assert run.curves.misses.tolist() == [
            round(n * (1 - share)) for n, share in zip((300, 300, 300, 100), run.curves.accuracy, strict=True)
        ]
        lengths = np.diff(run.curves.end, prepend=0)
        assert np.average(run.curves.cost, weights=lengths) == pytest.approx(run.cost)
        assert run.cost != evaluate(make(), stream(), measures=[Cost()]).cost
    assert (misses.value, cost.count) == (0, 0)


def test_a_measure_of_ones_own_is_recorded_and_reported(tmp_path):
    run = evaluate(make(), stream(), window=300, measures=[Cost(), Misses(), measures.Auroc()])
    place = records.save(run, tmp_path)
    document = json.loads((place / "record.json").read_text())
    assert document["results"]["cost"] == run.cost
    assert document["measures"][0] == {"name": "cost", "label": "cost <€>", "better": "lower", "note": ""}
    again = records.read(place)
    assert (again.figures, again.measures) == (run.figures, run.measures)
    np.testing.assert_array_equal(again.curves.cost, run.curves.cost)
    assert records.load(tmp_path)["misses"].to_pylist() == [run.misses]
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"<td>{run.cost:.4f}</td>" in page
    assert "<th>cost &lt;€&gt;</th>" in page
    assert 'aria-label="Misses, per window"' in page


def test_runs_with_different_measures_share_a_table_and_a_report(tmp_path):
    records.save(evaluate(make(), stream(400), measures=[measures.F1()]), tmp_path, id="a")
    records.save(evaluate(make(), stream(400)), tmp_path, id="b")
    table = records.load(tmp_path)
    assert table["auroc"].null_count == table["f1"].null_count == 1
    assert write_report(tmp_path, tmp_path / "report.html") == 2


@pytest.mark.parametrize("exact", [True, False])
def test_measures_go_on_from_checkpoints(exact, tmp_path):
    chosen = [measures.PrAuc(), Cost(), measures.BalancedAccuracy(), measures.Auroc(), measures.F1()]
    settings = {"window": 150, "measures": chosen, "exact": exact}
    model = make()
    expected = kill_resume.outcome(evaluate(model, stream(), **settings), model)
    evaluate(make(), stream(), checkpoint=tmp_path, every=200, keep=9, **settings)
    for one in checkpoints.found(tmp_path)[1:]:
        model = make()
        run = evaluate(model, stream(), checkpoint=tmp_path, every=200, keep=9, resume=one.path, **settings)
        assert kill_resume.outcome(run, model) == expected


def test_a_measure_without_state_is_no_measure_for_checkpoints(tmp_path):
    text = (
        r"^The 'measures' parameter of evaluate must be measures with methods 'state\(\)' and 'restore\(state\)', "
        r"which checkpoints need\. Got .*Misses.* instead\.$"
    )
    with pytest.raises(ParameterError, match=text):
        evaluate(make(), stream(), measures=[Misses()], checkpoint=tmp_path / "none")
    assert not (tmp_path / "none").exists()


class Made:
    def __init__(self, **attributes):
        vars(self).update({"name": "made", "update": lambda y, output: None, "value": 0.0} | attributes)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("f1", "must be a list. Got 'f1' instead."),
        (["f1"], "must be a measure: an object with a 'name' like 'my_cost', a method 'update(y, output)' and a 'value'. Got 'f1'"),
        ([measures.F1], "must be a measure: an object with a 'name'"),
        ([Made(name="My cost")], "must be a measure: an object with a 'name' like 'my_cost'"),
        ([Made(name=None)], "must be a measure"),
        ([Made(update=None)], "must be a measure"),
        ([Made(better="more")], "must be a measure whose 'better' is 'higher' or 'lower' ('made'). Got 'more'"),
        ([measures.F1(), measures.F1()], "must be measures with distinct names that are not attributes of Run or Curves. Got 'f1'"),
        ([Made(name="reward")], "with distinct names that are not attributes of Run or Curves. Got 'reward'"),
        ([Made(name="end")], "are not attributes of Run or Curves. Got 'end'"),
        ([Made(name="cpu_seconds")], "are not attributes of Run or Curves. Got 'cpu_seconds'"),
        ([Made(lock=(i for i in ()))], "must be measures that can be copied or have a method 'fresh'"),
    ],
)  # fmt: skip
def test_what_is_no_measure_is_said(given, text):
    with pytest.raises(ParameterError) as error:
        evaluate(make(), stream(), measures=given)
    assert str(error.value).startswith("The 'measures' parameter of evaluate must be ")
    assert text in str(error.value)


def test_a_value_that_is_no_number_is_said():
    with pytest.raises(
        DataError, match=r"^The value of the measure 'made' must be a number\. Got 'much' instead\.$"
    ):
        evaluate(make(), stream(), measures=[Made(value="much")])


def test_what_a_measure_raises_goes_on():
    def broken(y, output):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        evaluate(make(), stream(), measures=[Made(update=broken)])


def test_a_figure_that_there_is_none_of_is_kept_as_none(tmp_path):
    run = evaluate(make(), stream(200), measures=[Made(value=math.nan)])
    assert math.isnan(records.read(records.save(run, tmp_path)).made)


def test_state_that_is_no_numbers_is_said(tmp_path):
    class Wordy(Cost):
        name = "wordy"

        def fresh(self):
            return Wordy()

        def state(self):
            return {"words": np.array(["much"])}

    with pytest.raises(HerosError, match="must hold numbers to be written"):
        evaluate(make(), stream(), measures=[Wordy()], checkpoint=tmp_path, every=100)
