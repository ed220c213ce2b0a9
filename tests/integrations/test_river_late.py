"""Late labels in River."""

import pickle

import pytest

from heros import DataError, ParameterError, pools

river = pytest.importorskip("river")
from river import linear_model, metrics, preprocessing  # noqa: E402

from heros.integrations.river import HerosClassifier, HerosRegressor, LateClassifier, LateRegressor  # noqa: E402


def heros():
    return HerosClassifier(pools.MLPGrid(hidden=[4]), k=2, seed=1)


def pipeline():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def rows(n):
    return [({"size": i % 7, "n": float(i * i % 11)}, i * i % 11 > 5) for i in range(n)]


@pytest.mark.parametrize("make", [heros, pipeline])
def test_it_learns_in_the_order_of_the_labels_from_answers_of_the_time(make):
    late, alone, metric = LateClassifier(make(), metrics.Accuracy()), make(), metrics.Accuracy()
    todo, given = rows(200), {}
    for i, (x, _) in enumerate(todo):
        given[i] = alone.predict_proba_one(x)
        assert late.answer_one(i, x) == given[i]
        if i >= 30:
            before, y = todo[i - 30]
            alone.learn_one(before, y)
            assert late.learn_one(i - 30, y)
            if given[i - 30]:
                metric.update(y, max(given[i - 30], key=given[i - 30].get))
        if i == 100:
            late = pickle.loads(pickle.dumps(late))
    assert (late.waiting, late.counts.answered, late.counts.learnt) == (30, 200, 170)
    assert late.metric.get() == metric.get()


def test_those_whose_label_never_comes():
    time = iter(range(1000))
    late = LateClassifier(heros(), most=10, expired=False)
    old = LateClassifier(heros(), longest=5, clock=lambda: next(time))
    for i, (x, _) in enumerate(rows(30)):
        late.answer_one(i, x)
        old.answer_one(i, x)
    assert (late.waiting, late.counts.expired, late.model.heros.instances) == (10, 20, 20)
    assert old.waiting < 6
    assert old.model.heros.schema is None
    assert not late.learn_one(0, True)
    assert late.counts.unknown == 1


def test_an_id_is_asked_again():
    late = LateClassifier(heros())
    assert late.answer_one("a", {"x": 1}) == late.answer_one("a", {"x": 1})
    assert late.counts.answered == 1
    with pytest.raises(DataError, match="The id 'a' must be new"):
        late.answer_one("a", {"x": 2})
    with pytest.raises(ParameterError, match="The 'most' parameter of LateClassifier"):
        LateClassifier(heros(), most=0)


@pytest.mark.parametrize(
    "make", [lambda: HerosRegressor(pools.LinearGrid(), k=2, seed=1), linear_model.LinearRegression]
)
def test_numbers_that_come_late(make):
    late, alone, metric = LateRegressor(make(), metrics.MAE(), most=40), make(), metrics.MAE()
    todo, given = [(x, x["size"] + 0.1 * x["n"]) for x, _ in rows(200)], {}
    for i, (x, _) in enumerate(todo):
        given[i] = alone.predict_one(x)
        assert late.answer_one(i, x) == given[i] == late.answer_one(i, x)
        if i >= 30:
            before, y = todo[i - 30]
            alone.learn_one(before, y)
            assert late.learn_one(i - 30, y)
            metric.update(y, given[i - 30])
        if i == 100:
            late = pickle.loads(pickle.dumps(late))
    assert (late.waiting, late.counts.answered, late.counts.learnt) == (30, 200, 170)
    assert late.metric.get() == metric.get()
    with pytest.raises(ParameterError, match="The 'most' parameter of LateRegressor"):
        LateRegressor(make(), most=0)


class BrokenMetric(metrics.Accuracy):
    def update(self, *given):
        raise TypeError("broken")


def test_an_instance_is_learnt_once_even_if_the_metric_raises_an_error():
    late = LateClassifier(heros(), BrokenMetric())
    late.answer_one(0, {"size": 1})
    assert late.learn_one(0, "small")
    late.answer_one(1, {"size": 2})
    with pytest.raises(TypeError, match="broken"):
        late.learn_one(1, "large")
    assert not late.learn_one(1, "large")
    assert (late.model.heros.instances, late.counts.learnt, late.waiting) == (2, 2, 0)


def test_an_instance_with_nan_may_be_sent_again():
    late = LateClassifier(heros())
    late.model.learn_one({"size": 1.0, "n": 2.0}, "small")
    first = late.answer_one(0, {"size": float("nan"), "n": 1.0})
    assert late.answer_one(0, {"size": float("nan"), "n": 1.0}) == first
    for other in ({"size": 1.0, "n": 1.0}, {"size": float("nan")}, {"size": float("nan"), "n": 2.0}):
        with pytest.raises(DataError, match="has no label yet"):
            late.answer_one(0, other)
