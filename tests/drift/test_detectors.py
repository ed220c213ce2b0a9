"""Drift detectors: compared with slow reference code and with River, for single numbers and arrays."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_drift
from heros import DataError, ParameterError
from heros.drift import ADWIN, KSWIN, PageHinkley

KINDS = [
    (ADWIN, {}),
    (ADWIN, {"delta": 0.1, "clock": 5, "max_buckets": 3, "min_window_length": 2, "grace_period": 30}),
    (PageHinkley, {"threshold": 10}),
    (PageHinkley, {"threshold": 5, "min_instances": 100, "delta": 0.05, "alpha": 0.99, "mode": "up"}),
    (PageHinkley, {"threshold": 3, "mode": "down"}),
    (KSWIN, {"seed": 3}),
    (KSWIN, {"alpha": 1e-4, "window_size": 300, "stat_size": 20, "seed": 4}),
]
TWINS = {
    ADWIN: reference_drift.adwin,
    PageHinkley: reference_drift.page_hinkley,
    KSWIN: reference_drift.kswin,
}


def names(case):
    return f"{case[0].__name__}{len(case[1])}"


def moving(seed, n):
    """Return numbers whose mean changes from time to time."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.random(n // 200 + 2), rng.integers(100, 700, n // 200 + 2))
    return np.resize(levels, n) + 0.2 * rng.normal(size=n)


def jumping_hits(seed, n):
    return (np.random.default_rng(seed).random(n) < np.clip(moving(seed, n), 0, 1)).astype(float)


@pytest.mark.matrix(most=4)
@pytest.mark.parametrize("case", KINDS, ids=names)
@pytest.mark.parametrize("values", [moving(1, 2000), jumping_hits(2, 2000)], ids=["numbers", "hits"])
def test_a_detector_equals_its_slow_twin(case, values):
    kind, given = case
    n = 900 if kind is PageHinkley else len(values)
    found = kind(**given).update_many(values[:n])
    assert found.tolist() == TWINS[kind](values[:n], **given)
    assert len(found) > 0, "a sequence without a change shows nothing"


@pytest.mark.matrix(most=4)
@pytest.mark.parametrize("case", KINDS, ids=names)
@pytest.mark.parametrize("make", [moving, jumping_hits])
@pytest.mark.parametrize("seed", range(3))
def test_a_detector_equals_river(case, make, seed):
    river = pytest.importorskip("river.drift")
    kind, given = case
    values = make(seed, 3000 if kind is KSWIN else 20_000)
    theirs, expected = getattr(river, kind.__name__)(**given), []
    for i, value in enumerate(values):
        theirs.update(float(value))
        if theirs.drift_detected:
            expected.append(i)
    ours = kind(**given)
    assert ours.update_many(values).tolist() == expected
    assert ours.n_detections == len(expected) > 0


def test_the_window_of_adwin_equals_rivers():
    river = pytest.importorskip("river.drift")
    ours, theirs = ADWIN(), river.ADWIN()
    for value in moving(5, 3000):
        ours.update(value)
        theirs.update(value)
        assert ours.width == theirs.width
        assert ours.estimation == pytest.approx(theirs.estimation, rel=1e-9)
        n = max(ours.width - 1, 1)  # River returns the sum of squares
        assert ours.variance == pytest.approx(theirs.variance / n, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [20, 30])
def test_the_chance_of_a_distance(n):
    """KSWIN's p-value, compared with path counting and with SciPy."""
    stats = pytest.importorskip("scipy.stats")
    for seed in range(20):
        values = np.random.default_rng(seed).integers(0, 40, 2 * n).astype(float)
        detector = KSWIN(0, 2 * n, n, seed=1)
        detector.update_many(values)
        older, newer = values[:n], values[n:]  # all older values are sampled
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # SciPy's own counting method fails here
            test = stats.ks_2samp(older, newer, method="exact")
        assert detector.p_value == pytest.approx(test.pvalue, rel=1e-9)
        assert detector.p_value == pytest.approx(reference_drift.ks_chance(n, round(test.statistic * n)))


@pytest.mark.parametrize("case", KINDS, ids=names)
@given(cuts=st.lists(st.integers(0, 1500), max_size=5), seed=st.integers(0, 5))
@settings(deadline=None)
def test_it_does_not_matter_how_numbers_come(case, cuts, seed):
    kind, given_ = case
    values = moving(seed, 1500)
    at_once, one_by_one, in_parts = kind(**given_), kind(**given_), kind(**given_)
    expected = at_once.update_many(values).tolist()
    assert [i for i, value in enumerate(values) if one_by_one.update(value)] == expected
    found, start = [], 0
    for stop in [*sorted(cuts), len(values)]:
        found += [start + int(at) for at in in_parts.update_many(values[start:stop])]
        in_parts, start = pickle.loads(pickle.dumps(in_parts)), stop
    assert found == expected
    assert in_parts.drift_detected == at_once.drift_detected == one_by_one.drift_detected


@pytest.mark.parametrize("case", KINDS, ids=names)
def test_state_is_arrays_and_comes_back(case):
    kind, given_ = case
    values = moving(7, 2000)
    detector = kind(**given_)
    detector.update_many(values[:1000])
    state = detector.state()
    assert all(isinstance(array, np.ndarray) for array in state.values())
    fresh, copied = kind(**given_), copy.deepcopy(detector)
    fresh.restore(state)
    expected = detector.update_many(values[1000:]).tolist()
    assert fresh.update_many(values[1000:]).tolist() == copied.update_many(values[1000:]).tolist() == expected


@pytest.mark.parametrize("case", KINDS, ids=names)
def test_a_state_that_does_not_fit_is_refused(case):
    kind, given_ = case
    detector = kind(**given_)
    detector.update_many(moving(7, 500))
    state = detector.state()
    for name, array in state.items():
        broken = {**state, name: np.concatenate([array, array])}
        if kind is KSWIN and name == "values":
            broken[name] = np.full(10_000, 1.0)
        with pytest.raises(DataError, match="The state does not fit"):
            detector.restore(broken)
        if array.dtype == np.float64 and len(array):
            with pytest.raises(DataError, match="The state does not fit"):
                detector.restore({**state, name: np.full_like(array, np.nan)})
    assert detector.state().keys() == state.keys()


def test_large_numbers_do_not_drown_in_rounding():
    values = np.concatenate([np.random.default_rng(1).random(1000), 1 + np.random.default_rng(2).random(500)])
    assert ADWIN().update_many(values + 1e9).tolist() == ADWIN().update_many(values).tolist() != []


@pytest.mark.parametrize("kind", [ADWIN, PageHinkley, KSWIN])
def test_what_is_no_number_is_refused_and_changes_nothing(kind):
    detector = kind()
    for bad in (float("nan"), float("inf")):
        with pytest.raises(DataError, match=r"Value 0 of a detector must be a finite number\. Got (nan|inf)"):
            detector.update(bad)
    with pytest.raises(DataError, match=r"Value 2 of a detector must be a finite number\. Got nan instead\."):
        detector.update_many([1, 2, np.nan])
    with pytest.raises(DataError, match=r"values must be a 1-d array of numbers\. Got list instead\."):
        detector.update_many([[1, 2]])
    assert detector.width == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ADWIN(0), "The 'delta' parameter of ADWIN must be in (0, 1]. Got 0 instead."),
        (lambda: ADWIN(clock=0), "The 'clock' parameter of ADWIN must be a whole number in [1, 1048576]. Got 0"),
        (lambda: PageHinkley(mode="left"), "The 'mode' parameter of PageHinkley must be 'up', 'down' or 'both'."),
        (lambda: PageHinkley(alpha=2), "The 'alpha' parameter of PageHinkley must be in [0, 1]. Got 2 instead."),
        (lambda: KSWIN(window_size=50), "The 'window_size' parameter of KSWIN must be at least twice 'stat_size' (30)."),
        (lambda: KSWIN(alpha=-1), "The 'alpha' parameter of KSWIN must be in [0, 1]. Got -1 instead."),
    ],
)  # fmt: skip
def test_parameters_are_checked(make, text):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(text)


def test_a_detector_says_what_it_is():
    assert repr(KSWIN(seed=1)) == "KSWIN(alpha=0.005, window_size=100, stat_size=30, seed=1)"
