"""Running scores: against slow twins, and ADWIN against River's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from heros.errors import ParameterError
from heros.scores import Adwin, Cumulative, Fading, Window


def drifting_hits(seed, n=6000):
    """Hits whose probability jumps now and then."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.random(n // 500 + 1), rng.integers(100, 900, n // 500 + 1))
    p = np.resize(levels, n)
    return (rng.random(n) < p).astype(float)


def means(score, outcomes):
    bound = score.bind(1)
    values = []
    for outcome in outcomes:
        bound.update(np.array([outcome]))
        values.append(bound.values[0])
    return np.array(values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("delta", [1e-5, 0.002])
def test_adwin_equals_its_slow_twin(seed, restart, delta):
    hits = drifting_hits(seed, 3000)
    twin = reference.Adwin(delta, restart)
    expected = [twin.update(hit) for hit in hits]
    np.testing.assert_allclose(means(Adwin(delta, restart), hits), expected, rtol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=400), st.sampled_from([1e-5, 0.05, 0.9]))
@settings(deadline=None)
def test_adwin_takes_any_outcome_in_0_1(outcomes, delta):
    twin = reference.Adwin(delta)
    expected = [twin.update(outcome) for outcome in outcomes]
    np.testing.assert_allclose(means(Adwin(delta), outcomes), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_adwin_equals_river(seed):
    """River's window, and River's detector, which forgets everything one instance after a change."""
    drift = pytest.importorskip("river.drift")
    hits = drifting_hits(100 + seed, 20_000)
    detector = drift.ADWIN(delta=1e-5)
    window = type(detector._helper)(delta=1e-5, clock=32, max_buckets=5, min_window_length=5, grace_period=10)
    by_detector, by_window = [], []
    for hit in hits:
        detector.update(hit)
        window.update(hit)
        by_detector.append(detector.estimation)
        by_window.append(window.get_total() / window.get_width())
    assert window.get_n_detections() > 0, "a sequence without a change shows nothing"
    np.testing.assert_allclose(means(Adwin(1e-5), hits), by_window, rtol=1e-12)
    np.testing.assert_allclose(means(Adwin(1e-5, restart=True), hits), by_detector, rtol=1e-12)


def test_the_others_equal_their_definitions():
    hits = drifting_hits(1, 800)
    upto = range(1, len(hits) + 1)
    np.testing.assert_allclose(means(Cumulative(), hits), [hits[:n].mean() for n in upto])
    np.testing.assert_allclose(means(Window(50), hits), [reference.window_mean(hits[:n], 50) for n in upto])
    np.testing.assert_allclose(
        means(Fading(0.99), hits), [reference.fading_mean(hits[:n], 0.99) for n in upto]
    )


@pytest.mark.parametrize(
    "score", [Adwin(), Adwin(restart=True), Cumulative(), Window(64), Fading()], ids=repr
)
def test_models_do_not_mix_and_state_continues_exactly(score):
    columns = np.stack([drifting_hits(seed, 3000) for seed in range(4)], axis=1)
    together = score.bind(4)
    for row in columns[:1500]:
        together.update(row)
    other = score.bind(4)
    other.restore(together.state())
    for row in columns[1500:]:
        together.update(row)
        other.update(row)
    alone = [means(score, columns[:, i])[-1] for i in range(4)]
    assert together.values.tolist() == other.values.tolist() == alone


def test_a_state_that_does_not_fit_is_refused():
    small, large = Adwin().bind(2), Adwin().bind(3)
    with pytest.raises(ValueError, match="The state does not fit"):
        small.restore(large.state())
    with pytest.raises(ValueError, match="The state does not fit"):
        small.restore({})


def test_adwin_needs_constant_memory():
    short, long = Adwin().bind(1), Adwin().bind(1)
    for _ in range(10):
        short.update(np.ones(1))
    for _ in range(5000):
        long.update(np.ones(1))
    assert sum(a.nbytes for a in short.state().values()) == sum(a.nbytes for a in long.state().values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adwin(0), "The 'delta' parameter of Adwin must be in (0, 1). Got 0 instead."),
        (
            lambda: Window(0),
            "The 'size' parameter of Window must be a whole number in [1, 16777216]. Got 0 instead.",
        ),
        (
            lambda: Window(2**62),
            f"The 'size' parameter of Window must be a whole number in [1, 16777216]. Got {2**62} instead.",
        ),
        (lambda: Fading(1.0), "The 'factor' parameter of Fading must be in (0, 1). Got 1.0 instead."),
    ],
)
def test_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
