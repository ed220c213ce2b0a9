"""The contract of measures, which are discovered automatically: merging, states, new classes, slow versions."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from heros import DataError, ParameterError
from heros.checks import check_measure
from heros.measures import F1, Auroc, Confusion, Kappa, Measure, PrAuc, RunningPrAuc, average_precision

NAMES = Measure.names()
EVERY = [Measure.of(name) for name in NAMES] + [Auroc(exact=False), PrAuc(exact=False)]


def drawn(classes, n, seed=0):
    """Return predictions that are better than chance, some of them tied."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    logits = rng.normal(size=(n, classes)).round(1)
    logits[np.arange(n), y] += 1
    p = np.exp(logits)
    return y, p / p.sum(axis=1, keepdims=True)


def drawn_for(measure, classes, n, seed=0):
    """Return classes with probabilities, or numbers with predictions, intervals and running means."""
    if not measure.numeric:
        return drawn(classes, n, seed)
    rng = np.random.default_rng(seed)
    y = rng.normal(-3, 2, n)
    said = y + rng.normal(size=n)
    return y, np.column_stack([said, said - 1, said + 1, rng.normal(-3, 0.1, n)])


def updated(measure, *parts):
    measure = measure.fresh()
    for part in parts:
        measure.update(*part)
    return measure


def same(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-12) or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("measure", EVERY, ids=repr)
class TestEvery:
    def test_passes_the_public_check_and_has_a_label(self, measure):
        check_measure(measure)
        assert measure.label

    def test_two_over_parts_give_what_one_over_both_gives(self, measure):
        for classes in ((3, 3), (2, 4), (4, 2)):  # new classes appear in one of the two parts
            one, two = drawn_for(measure, classes[0], 400), drawn_for(measure, classes[1], 300, seed=1)
            first, second = updated(measure, one), updated(measure, two)
            first.merge(second)
            whole = updated(measure, one, two)
            assert same(first.value, whole.value)
            assert math.isfinite(whole.value)
            for key, array in whole.state().items():
                np.testing.assert_allclose(first.state()[key], array, rtol=1e-12)

    def test_goes_on_from_its_state(self, measure):
        one, two = drawn_for(measure, 3, 500), drawn_for(measure, 5, 100, seed=1)
        again = measure.fresh()
        again.restore(pickle.loads(pickle.dumps(updated(measure, one).state())))
        again.update(*two)
        assert again.value == updated(measure, one, two).value

    def test_a_stretch_added_is_counted_and_its_own_figure_given(self, measure):
        one, two = drawn_for(measure, 3, 500), drawn_for(measure, 3, 100, seed=1)
        total = measure.fresh()
        figures = [total.add(*one), total.add(*two)]
        exact = Measure.of(measure.name)
        assert figures == [updated(exact, part).value for part in (one, two)]
        assert same(total.value, updated(measure, one, two).value)

    def test_in_bounded_memory_its_state_does_not_grow(self, measure):
        sizes = []
        for n in (200, 2000):
            bounded = measure.bounded()
            bounded.update(*drawn_for(measure, 3, n))
            assert bounded.predictions is None
            sizes.append(sum(array.nbytes for array in bounded.state().values()))
        assert sizes[0] == sizes[1]

    def test_takes_back_no_state_but_its_own(self, measure):
        state = updated(measure, drawn_for(measure, 3, 50)).state()
        for key, array in state.items():
            for wrong in (None, array[:-1], array.astype(np.float32), array[None], -1 - array):
                broken = {name: value for name, value in state.items() if name != key}
                broken |= {} if wrong is None else {key: wrong}
                if wrong is not None and wrong.shape != array.shape and len(state) == 1 and array.ndim == 3:
                    continue  # a histogram with one class fewer is valid
                with pytest.raises(
                    DataError, match=rf"(state|labels|probabilities) of {type(measure).__name__} must"
                ):
                    measure.fresh().restore(broken)

    def test_is_merged_with_its_like_only(self, measure):
        other = Confusion() if measure.name != "kappa" else F1()
        with pytest.raises(ParameterError, match=f"must be a measure of type {type(measure).__name__}"):
            measure.fresh().merge(other)

    def test_refuses_what_is_no_prediction(self, measure):
        classes = (([2], [[0.5, 0.5]]), ([0], [[np.nan, 1.0]]), ([0, 1], [[0.5, 0.5]]))
        numbers = (([np.nan], np.ones((1, 4))), ([0], np.full((1, 4), np.inf)), ([0, 1], np.ones((1, 4))))
        for y, p in numbers if measure.numeric else classes:
            with pytest.raises(DataError):
                measure.fresh().update(np.array(y), np.array(p))


def test_an_exact_one_takes_in_no_histogram_but_the_reverse():
    one, two = drawn(2, 300), drawn(2, 200, seed=1)
    running = updated(Auroc(exact=False), one)
    running.merge(updated(Auroc(), two))
    assert running.value == updated(Auroc(exact=False), one, two).value
    with pytest.raises(
        ParameterError,
        match=r"must be an exact measure, because this measure is exact\. Got Auroc\(exact=False\)",
    ):
        Auroc().merge(running)


def test_every_measure_equals_scikit_learns():
    sk = pytest.importorskip("sklearn.metrics")
    y, p = drawn(4, 700)
    predicted = p.argmax(axis=1)
    numbers, said = drawn_for(Measure.of("mae"), 0, 700)
    naive = sk.mean_absolute_error(numbers, said[:, 3])
    of_numbers = {
        "coverage": np.mean(np.abs(numbers - said[:, 0]) <= 1),
        "interval_width": 2.0,
        "mae": sk.mean_absolute_error(numbers, said[:, 0]),
        "mape": sk.mean_absolute_percentage_error(numbers, said[:, 0]),
        "r2": sk.r2_score(numbers, said[:, 0]),
        "relative_error": sk.mean_absolute_error(numbers, said[:, 0]) / naive,
        "rmse": sk.root_mean_squared_error(numbers, said[:, 0]),
    }
    expected = {
        "accuracy": sk.accuracy_score(y, predicted),
        "auroc": sk.roc_auc_score(y, p, multi_class="ovr", average="macro"),
        "balanced_accuracy": sk.balanced_accuracy_score(y, predicted),
        "calibration_error": reference.calibration_error(y, p),
        "f1": sk.f1_score(y, predicted, average="macro"),
        "kappa": sk.cohen_kappa_score(y, predicted),
        "log_loss": sk.log_loss(y, p),
        "pr_auc": np.mean([sk.average_precision_score(y == c, p[:, c]) for c in range(4)]),
    }
    assert sorted(expected | of_numbers) == list(NAMES)
    for name, value in of_numbers.items():
        assert updated(Measure.of(name), (numbers, said)).value == pytest.approx(value, abs=1e-12), name
    for name, value in expected.items():
        assert updated(Measure.of(name), (y, p)).value == pytest.approx(value, abs=1e-12), name
    f1 = updated(F1(), (y, p))
    np.testing.assert_allclose(f1.per_class, sk.f1_score(y, predicted, average=None))


@given(
    st.integers(2, 4).flatmap(
        lambda classes: st.lists(
            st.tuples(st.integers(0, classes - 1), st.integers(0, classes - 1)), min_size=1, max_size=30
        )
    )
)
def test_counted_measures_equal_their_slow_twins(pairs):
    y = np.array([a for a, _ in pairs])
    predicted = np.array([b for _, b in pairs])
    classes = int(max(y.max(), predicted.max())) + 1
    p = np.eye(classes)[predicted]
    for name in ("f1", "balanced_accuracy"):
        got = updated(Measure.of(name), (y, p)).value
        assert got == pytest.approx(getattr(reference, name)(y, predicted, classes))
    kappa = updated(Kappa(), (y, p)).value
    if not math.isnan(kappa):
        assert kappa == pytest.approx(reference.kappa(y, predicted, classes))


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]) | st.floats(0, 1)),
        min_size=2,
        max_size=40,
    )
)
def test_average_precision_equals_its_slow_twin(pairs):
    positive, score = np.array([p for p, _ in pairs]), np.array([s for _, s in pairs])
    rest = 1 - score
    got = average_precision(positive.astype(np.int64), np.column_stack([rest, score]))
    if positive.all() or not positive.any():
        assert math.isnan(got)
    else:
        both = reference.average_precision(positive, score), reference.average_precision(~positive, rest)
        assert got == pytest.approx(sum(both) / 2)


@pytest.mark.parametrize("classes", [2, 5])
def test_running_average_precision_is_within_its_own_bound_of_the_exact_one(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 20_000)
    logits = rng.normal(size=(len(y), classes)) * 8
    logits[np.arange(len(y)), y] += 6
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    running = RunningPrAuc()
    for part in np.array_split(np.arange(len(y)), 7):
        running.update(y[part], p[part])
    assert 0 < running.error < 0.02
    assert abs(running.value - average_precision(y, p)) <= running.error
    assert abs(running.value - average_precision(y, p)) < 5e-4


def test_a_measure_that_is_not_there_is_said():
    with pytest.raises(
        ParameterError, match=r"The 'name' parameter of Measure\.of must be one of accuracy, auroc"
    ):
        Measure.of("cost")
