"""Changes without labels: in numbers, categories and missing values of inputs, and in predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from heros import DataError, ParameterError, Schema, streams
from heros.drift import Change, FeatureChange, Monitor
from heros.drift.monitor import chi2_test, ks_test

SCHEMA = Schema.of(["age", "size", ("colour", "red", "blue", "green")], classes=["no", "yes"])


def rows(n, seed=1, age=40.0, red=1 / 3):
    rng = np.random.default_rng(seed)
    colours = rng.choice(3, n, p=[red, (1 - red) / 2, (1 - red) / 2])
    return np.column_stack([rng.normal(age, 10, n), rng.random(n), colours]).astype(float)


def test_nothing_changes_where_nothing_does():
    monitor = Monitor(SCHEMA)
    assert monitor.update(rows(100_000)) == ()
    assert (monitor.seen, monitor.changes) == (100_000, ())


@pytest.mark.parametrize(
    ("later", "names"),
    [
        (lambda: rows(500, 2, age=46), ["age"]),
        (lambda: rows(500, 2, red=0.6), ["colour"]),
        (lambda: rows(500, 2, age=46, red=0.6), ["age", "colour"]),
        (lambda: np.where(np.arange(3) == 1, np.where(np.arange(500)[:, None] % 4, rows(500, 2), np.nan), rows(500, 2)), ["size"]),
    ],
)  # fmt: skip
def test_what_changed_is_named(later, names):
    monitor = Monitor(SCHEMA)
    monitor.update(rows(3000))
    [change] = monitor.update(later())
    assert (change.kind, change.at, change.since) == ("inputs", 3500, 3000)
    assert sorted(feature.name for feature in change.features) == names
    assert Change.from_plain(change.plain()) == change
    assert monitor.update(later()) == (), "what came is what is usual now"


def test_the_sentence_says_what_moved():
    monitor = Monitor(SCHEMA)
    monitor.update(rows(3000))
    [change] = monitor.update(rows(500, 2, red=0.7))
    assert str(change).startswith("At instance 3,500 the inputs changed (since about 3,000): colour (red 3")


def test_predictions_change_by_themselves():
    rng = np.random.default_rng(1)
    monitor = Monitor(SCHEMA)
    for i in range(10):
        p = rng.beta(2, 5 if i < 7 else 1, 500)
        found = monitor.update(rows(500, i), np.column_stack([1 - p, p]))
        assert [change.kind for change in found] == (["predictions"] if i == 7 else [])
    assert {feature.name for feature in monitor.changes[0].features} == {"no", "yes"}


def test_it_does_not_matter_how_rows_come():
    X = np.concatenate([rows(2000), rows(1500, 2, age=60)])
    P = np.column_stack([X[:, 1], 1 - X[:, 1]])
    at_once, one_by_one, named, kept = (Monitor(SCHEMA) for _ in range(4))
    at_once.update(X, P)
    assert len(at_once.changes) == 1
    for x, p in zip(X, P, strict=True):
        one_by_one.update(x, p)
        row = {"age": x[0], "size": x[1], "colour": SCHEMA.features[2].values[int(x[2])]}
        named.update(row, {"no": p[0], "yes": p[1]})
    assert at_once.changes == one_by_one.changes == named.changes
    kept.update(X[:1234], P[:1234])
    again = Monitor(SCHEMA)
    again.restore(kept.state())
    again.update(X[1234:], P[1234:])
    assert again.changes == at_once.changes
    again = pickle.loads(pickle.dumps(kept))
    again.update(X[1234:], P[1234:])
    assert again.changes == at_once.changes


@pytest.mark.parametrize("seed", range(5))
def test_the_tests_are_those_of_scipy(seed):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 1, 1000), rng.normal(0.1, 1, 500)
    expected = stats.ks_2samp(a, b, method="asymp")
    distance, chance = ks_test(a, b)
    assert distance == pytest.approx(expected.statistic)
    assert chance == pytest.approx(expected.pvalue, rel=0.2)
    a, b = rng.choice(4, 1000).astype(float), rng.choice(4, 500, p=[0.3, 0.3, 0.2, 0.2]).astype(float)
    counts = np.stack([np.bincount(x.astype(int), minlength=4) for x in (a, b)])
    expected = stats.chi2_contingency(counts, correction=False).pvalue
    assert chi2_test(a, b, 4)[1] == pytest.approx(expected, rel=1, abs=1e-9)  # an approximate value


def test_what_does_not_fit_is_refused():
    monitor = Monitor(SCHEMA)
    with pytest.raises(
        DataError,
        match=r"x must be one or several instances with 3 features each\. Got an array of shape \(2, 2\) instead\.",
    ):
        monitor.update([[1, 2], [3, 4]])
    with pytest.raises(DataError, match=r"predictions must be one row of 2 values per instance \(1\)\."):
        monitor.update([1, 2, 0], [[0.1, 0.2, 0.7]])
    with pytest.raises(
        ParameterError, match=r"The 'window' parameter of Monitor must be a whole number in \[50,"
    ):
        Monitor(SCHEMA, window=3)
    with pytest.raises(
        DataError, match=r"The state of a Monitor must have an array 'inputs_usual' of shape \(n, 3\)\."
    ):
        monitor.restore({"seen": np.array([1])})
    with pytest.raises(ParameterError, match="The 'schema' parameter of Monitor must be a"):
        Monitor(None)


def dated(days_per_window, n=6000, seed=1):
    """Return orders sorted by time, with a datetime column; only the time changes."""
    rng = np.random.default_rng(seed)
    moments = np.sort(rng.random(n)) * days_per_window * n / 500
    when = np.datetime64("2025-11-03T00:00") + (moments * 86_400).astype("timedelta64[s]")
    labels = rng.choice(["no", "yes"], n)
    frame = {"ordered at": [str(one) for one in when], "price": rng.normal(20, 5, n), "late": labels}
    return streams.from_frame(frame, target="late", dates=["ordered at"])


@pytest.mark.parametrize("days_per_window", [0.1, 1, 9, 23, 80])
def test_dates_that_only_go_on_are_no_change(days_per_window):
    """Day and day of the year are ignored; weekday and hour need windows of enough weeks or days."""
    stream = dated(days_per_window)
    assert [feature.part for feature in stream.schema.features[:4]] == [
        "day", "weekday", "day of year", "hour",
    ]  # fmt: skip
    monitor = Monitor(stream.schema)
    assert monitor.update(stream.draw(6000)[0]) == ()


@pytest.mark.parametrize(
    ("values", "columns", "parts"),
    [
        (lambda x: x - x % 3, [1], ["weekday"]),
        (lambda x: x / 2, [3], ["hour"]),
        (lambda x: np.where(np.arange(500)[:, None] % 4, x, np.nan), [0, 1, 2, 3], ["day", "day of year", "hour", "weekday"]),
    ],
)  # fmt: skip
def test_other_weekdays_hours_and_missing_dates_are_changes(values, columns, parts):
    stream = dated(80)
    X = stream.draw(6000)[0]
    X[5500:, columns] = values(X[5500:, columns])
    [change] = Monitor(stream.schema).update(X)
    assert change.at == 6000
    assert sorted(feature.name for feature in change.features) == sorted(
        f"ordered at ({part})" for part in parts
    )


def test_the_figures_of_a_change_differ_visibly():
    assert str(FeatureChange("day", None, 20454.31, 20487.18, 0, 0, 0.5, 0)) == "day (mean 20454 to 20487)"
    assert "from 20454 to 20487" in str(Change("error", 2, 1, 20454.31, 20487.18, numeric=True))
    assert str(FeatureChange("x", None, 39.913, 54.087, 0, 0, 0.5, 0)) == "x (mean 39.9 to 54.1)"


@pytest.mark.parametrize(
    ("x", "predictions", "said"),
    [
        ([[40, np.inf, 0]], None, r"The feature 'size' \(row 0\) must be finite, or NaN .* Got inf instead"),
        (
            [[40, 1, 0], [40, 1, 3]],
            None,
            r"The feature 'colour' \(row 1\) .* in \[0, 2\]\), .* Got 3 instead",
        ),
        ([40, 1, -1], None, r"The feature 'colour' \(row 0\) must be a code of a value.* Got -1 instead"),
        ([40, 1, 0.5], None, r"The feature 'colour' \(row 0\) must be a code of a value.* Got 0.5 instead"),
        ([["old", 1, 0]], None, "x must hold numbers. The error was: could not convert string to float"),
        ([40, 1, 0], [0.5, np.inf], r"The prediction of 'yes' \(row 0\) must be finite. Got inf instead"),
        (
            [40, 1, 0],
            {"no": 1.0},
            "predictions must have a probability for each class. The class 'yes' is missing",
        ),
        ([40, 1, 0], ["a", "b"], "predictions must hold numbers"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_changes_nothing(x, predictions, said):
    monitor = Monitor(SCHEMA)
    with pytest.raises(DataError, match=said):
        monitor.update(x, predictions)
    assert monitor.seen == 0
    monitor.update([np.nan, np.nan, np.nan], [np.nan, 0.5])
    assert monitor.seen == 1


def test_a_state_for_another_window_or_a_damaged_state_is_refused():
    state = Monitor(SCHEMA, window=500)
    state.update(rows(300))
    kept = state.state()
    other = Monitor(SCHEMA, window=100)
    with pytest.raises(DataError, match="fewer than 100 instances"):
        other.restore(kept)
    assert other.seen == 0
    infinite = kept["inputs_recent"].copy()
    infinite[0, 0] = np.inf
    predicted = np.zeros((7, 2))
    wrong = [{"inputs_recent": infinite}, {"predictions_recent": predicted}, {"predictions_usual": predicted + np.inf}]  # fmt: skip
    for damage in (*wrong, {"seen": np.empty(0)}, {"seen": np.array([-5])}):
        with pytest.raises(DataError):
            Monitor(SCHEMA).restore(kept | damage)
    with pytest.raises(DataError, match="seen"):
        Monitor(SCHEMA).restore({name: array for name, array in kept.items() if name != "seen"})


def test_predictions_that_are_passed_in_some_calls_only_are_refused():
    monitor = Monitor(SCHEMA)
    monitor.update(rows(10))
    with pytest.raises(DataError, match="every call"):
        monitor.update(rows(10), np.full((10, 2), 0.5))
    monitor = Monitor(SCHEMA)
    monitor.update(rows(10), np.full((10, 2), 0.5))
    with pytest.raises(DataError, match="every call"):
        monitor.update(rows(10))
    assert monitor.seen == 10
