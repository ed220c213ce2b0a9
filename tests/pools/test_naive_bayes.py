"""Naive Bayes, compared with its slow version, scikit-learn and River; fading, growth."""

from __future__ import annotations

import numpy as np
import pytest
from river.naive_bayes import GaussianNB as RiverGaussian
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from heros import Feature, Heros, ParameterError, Schema, policies, pools, streams
from reference_linear import NaiveBayes
from tree_cases import Steps, random_case

PLAIN = {"variance_prior": 0.0}


def schema_of(values, classes):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in values]
    features = tuple(Feature(f"f{i}", kind, missing=True) for i, kind in enumerate(kinds))
    return Schema(features, tuple(map(str, range(classes))))


def alone(configuration, schema):
    return pools.NaiveBayes([configuration]).bind(schema, np.random.default_rng(1))


@pytest.mark.matrix(most=4)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "configuration",
    [{}, {"fading": 0.9, "smoothing": 0.1}, {"fading": 0.5}, {"fading": 0.99, "variance_prior": 5.0}],
    ids=str,
)
def test_equal_to_the_slow_twin(seed, configuration):
    case = random_case(seed, 250)
    bound = alone(configuration, schema_of(case.values, case.classes))
    twin = NaiveBayes(case.values, case.classes, **configuration)
    chosen = np.random.default_rng(seed).random(len(case.y)) < 0.7
    turns = iter(chosen)
    found = Steps(bound.native).run(case.X, case.y, lambda: np.array([next(turns)]))
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-6)
        if chosen[t]:
            twin.learn(x, y)


def test_equal_to_scikit_learns_gaussians():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 400)
    X = rng.normal(y[:, None] * [0.5, 0, -0.3], 1 + y[:, None] * [0, 0.5, 0.1]) * [1, 100, 1e-3]
    y[:3] = [0, 1, 2]
    bound = alone(PLAIN, schema_of([0, 0, 0], 3))
    found = Steps(bound.native).run(X, y)
    theirs = GaussianNB(var_smoothing=0).partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    for t in range(30, len(y)):
        np.testing.assert_allclose(found[t], theirs.predict_proba(X[t : t + 1])[0], atol=1e-9)
        theirs.partial_fit(X[t : t + 1], y[t : t + 1])


def test_equal_to_scikit_learns_categories():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([(rng.random(300) < 0.3 + 0.4 * y), rng.integers(0, 5, 300)]).astype(float)
    bound = alone({"smoothing": 0.7}, schema_of([2, 5], 2))
    found = Steps(bound.native).run(X, y)
    theirs = CategoricalNB(alpha=0.7, min_categories=[2, 5]).partial_fit(X[:20], y[:20], classes=[0, 1])
    for t in range(20, len(y)):
        np.testing.assert_allclose(found[t], theirs.predict_proba(X[t : t + 1])[0], atol=1e-9)
        theirs.partial_fit(X[t : t + 1], y[t : t + 1])


def test_the_classes_are_rivers():
    """River uses sample variances (n − 1): with many instances, the predictions agree."""
    X, y = streams.load("rbf_m").draw(3000)
    found = Steps(alone(PLAIN, schema_of([0] * 10, 5)).native).run(X, y)
    river = RiverGaussian()
    same = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        row = dict(enumerate(x.tolist()))
        same += t >= 1000 and river.predict_one(row) == found[t].argmax()
        river.learn_one(row, int(label))
    assert same >= 0.99 * 2000


def test_fading_follows_a_change():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    hits = {}
    for fading in (1.0, 0.99):
        found = Steps(alone({"fading": fading}, schema_of([0] * 3, 2)).native).run(X, y)
        hits[fading] = (found.argmax(axis=1) == y)[2500:].mean()
    assert hits[0.99] > 0.9
    assert hits[1.0] < 0.5


def test_weights_never_leave_the_range_of_doubles():
    """With a fading of ½, the weights exceed 2^300 every 300 instances; predictions depend on recent instances."""
    case = random_case(3, 2000)
    bound = alone({"fading": 0.5}, schema_of(case.values, case.classes))
    found = Steps(bound.native).run(case.X, case.y)
    late = alone({"fading": 0.5}, schema_of(case.values, case.classes))
    again = Steps(late.native).run(case.X[1000:], case.y[1000:])
    assert np.isfinite(bound.state()["statistics"]).all()
    np.testing.assert_allclose(found[1500:], again[500:], atol=1e-6)


def test_growth_keeps_what_was_counted():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 3, 300)])
    y = (X[:, 0] > 0).astype(int)
    grown = alone({}, schema_of([0, 3], 2))
    Steps(grown.native).run(X, y)
    larger = schema_of([0, 5, 0, 2], 3)
    grown.grow(larger, np.random.default_rng(1))
    missing = np.column_stack([X, np.full((300, 2), np.nan)])
    large = alone({}, larger)
    Steps(large.native).run(missing, y)
    more = np.column_stack(
        [rng.normal(size=50), rng.integers(0, 5, 50), rng.normal(size=50), rng.integers(0, 2, 50)]
    )
    labels = rng.integers(0, 3, 50)
    found, expected = (Steps(b.native).run(more, labels) for b in (grown, large))
    assert np.array_equal(found, expected)


def test_numbers_beyond_what_any_class_holds_possible():
    schema = Schema.of(["a", "b"], ["0", "1"])
    model = Heros(pools.NaiveBayes([{}]), policies.Everything(), 1, seed=1, schema=schema)
    model.learn([[0.0, 1.0], [1e-300, 2.0], [1.0, 1e300]], [0, 1, 1])
    p = model.predict_proba([[1e308, -1e308], [1e308, 1e308], [0.5, 1.0]])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.NaiveBayes([]), "The 'configurations' parameter of NaiveBayes must be a list of at least one model. Got [] instead."),
        (lambda: pools.NaiveBayes([{"fading": 0.4}]), "The 'fading' parameter of NaiveBayes must be in [0.5, 1]. Got 0.4 instead."),
        (lambda: pools.NaiveBayes([{"smoothing": 0}]), "The 'smoothing' parameter of NaiveBayes must be above 0. Got 0 instead."),
        (lambda: pools.NaiveBayes([{"variance_prior": -1}]), "The 'variance_prior' parameter of NaiveBayes must be a number >= 0. Got -1 instead."),
        (lambda: pools.NaiveBayes([{}], costs="bytes"), "The 'costs' parameter of NaiveBayes must be 'equal', 'measured' or numbers. Got 'bytes' instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
