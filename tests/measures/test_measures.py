"""Measures, compared with slow versions and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from heros import DataError
from heros.measures import (
    Confusion,
    RunningAuroc,
    RunningPrAuc,
    auroc,
    auroc_per_class,
    average_precision,
    log_loss,
)
from heros.measures.ranking import BINS, Histogram


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]) | st.floats(0, 1)), min_size=2
    )
)
def test_auroc_counts_pairs(pairs):
    positive = np.array([p for p, _ in pairs])
    score = np.array([s for _, s in pairs])
    got = auroc(positive.astype(np.int64), np.column_stack([1 - score, score]))
    if positive.all() or not positive.any():
        assert math.isnan(got)
    else:
        assert got == pytest.approx(reference.auroc(positive, score))


def test_auroc_of_many_classes_is_the_mean_over_those_present():
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 4, 500), rng.dirichlet(np.ones(4), 500)
    assert auroc(y, p) == pytest.approx(sk.roc_auc_score(y, p, multi_class="ovr", average="macro"))
    with_one_more = np.column_stack([p, np.zeros(500)])
    assert auroc(y, with_one_more) == pytest.approx(auroc(y, p))
    assert np.isnan(auroc_per_class(y, with_one_more)).tolist() == [False] * 4 + [True]


def test_confusion_per_class_and_growing():
    confusion = Confusion()
    confusion.update(np.array([0, 1, 1]), np.array([0, 1, 0]), classes=2)
    confusion.update(np.array([2, 2]), np.array([2, 0]), classes=4)
    assert confusion.counts.sum() == 5
    assert confusion.accuracy == 0.6
    np.testing.assert_allclose(confusion.recall, [1, 0.5, 0.5, np.nan])
    np.testing.assert_allclose(confusion.precision, [1 / 3, 1, 1, np.nan])
    assert math.isnan(Confusion().accuracy)
    assert math.isnan(Confusion().kappa)


def test_log_loss_of_the_impossible_is_finite():
    assert log_loss(np.array([0]), np.array([[0.0, 1.0]])) == pytest.approx(-math.log(1e-15))


@pytest.mark.parametrize("classes", [2, 5])
def test_running_auroc_is_within_its_own_bound_of_the_exact_one(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 20_000)
    logits = rng.normal(size=(len(y), classes)) * 8
    logits[np.arange(len(y)), y] += 6
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    running = RunningAuroc()
    for part in np.array_split(np.arange(len(y)), 7):
        running.update(y[part], p[part])
    assert 0 < running.error < 5e-4
    assert abs(running.value - auroc(y, p)) <= running.error


def test_running_auroc_of_a_class_that_comes_later():
    y = np.array([0, 1, 0, 1, 2, 2, 0, 1])
    p = np.array(
        [
            [0.7, 0.3],
            [0.4, 0.6],
            [0.6, 0.4],
            [0.55, 0.45],
            *[[0.3, 0.3, 0.4]] * 2,
            [0.5, 0.2, 0.3],
            [0.2, 0.6, 0.2],
        ],
        dtype=object,
    )
    running = RunningAuroc()
    running.update(y[:4], np.array(list(p[:4])))
    running.update(y[4:], np.array(list(p[4:])))
    full = np.array([[*row, 0.0] if len(row) == 2 else row for row in p], dtype=float)
    assert running.value == pytest.approx(auroc(y, full))


def test_a_histogram_counts_every_instance_once_per_class_however_many_are_asked_for():
    rng = np.random.default_rng(3)
    counted, slow = Histogram(), np.zeros((4, 2, BINS), dtype=int)
    for classes in (4, 2, 4, 3):  # a model that knows fewer classes gives the others probability 0
        y, p = rng.integers(0, classes, 50), rng.dirichlet(np.ones(classes), 50)
        counted.update(y, p)
        for label, row in zip(y, p, strict=True):
            for c in range(4):
                odds = math.log(row[c] / (1 - row[c])) if c < classes else -math.inf
                place = (min(max(odds, -40), 40) / 40 + 1) / 2 * (BINS - 1)
                slow[c, int(label == c), round(place)] += 1
    assert np.array_equal(counted.counts, slow)


def test_a_histogram_that_goes_on_leaves_the_state_it_was_given_as_it_was():
    kept = np.asfortranarray(np.ones((2, 2, BINS), dtype=np.int64))
    kept.flags.writeable = False
    counted = Histogram()
    counted.restore({"counts": kept}, "RunningAuroc")
    counted.update(np.array([1]), np.array([[0.5, 0.5]]))
    assert counted.counts.sum() == kept.sum() + 2


@pytest.mark.parametrize("kind", [RunningAuroc, RunningPrAuc])
def test_a_histogram_of_many_classes_has_wider_bins_and_bounded_memory(kind):
    rng = np.random.default_rng(7)
    classes = 300
    y, p = rng.integers(0, classes, 2000), rng.dirichlet(np.ones(classes) / 20, 2000)
    p[np.arange(2000), y] += 0.2
    p /= p.sum(axis=1, keepdims=True)
    running, grown, merged = kind(), kind(), kind()
    running.update(y, p)
    for most in (2, 64, 65, 130, classes):  # classes appear one after the other
        some = y < most
        y, p, y_later, p_later = y[~some], p[~some], y[some], p[some]
        grown.update(y_later, np.where(np.arange(classes) < most, p_later, 0)[:, :most])
        part = kind()
        part.update(y_later, np.where(np.arange(classes) < most, p_later, 0)[:, :most])
        merged.merge(part)
        assert grown.counts.nbytes <= 1 << 25
    assert running.counts.shape == grown.counts.shape == (classes, 2, 1 << 12)
    assert (merged.counts == grown.counts).all()
    again = kind()
    again.restore({"counts": grown.counts}, "Auroc")
    assert again.value == grown.value
    with pytest.raises(DataError, match=r"\(None, 2, 4096\)"):
        again.restore({"counts": np.zeros((classes, 2, 1 << 15), np.int64)}, "Auroc")


@pytest.mark.parametrize(("kind", "exact"), [(RunningAuroc, auroc), (RunningPrAuc, average_precision)])
def test_with_wider_bins_the_error_still_bounds_the_distance(kind, exact):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 100, 3000)
    p = rng.dirichlet(np.ones(100), 3000)
    running = kind()
    running.update(y, p)
    assert abs(running.value - exact(y, p)) <= running.error < 0.01
