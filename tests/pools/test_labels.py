"""Memories of labels: slow version, late labels, seasons, growth, and streams without order."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from heros import (
    DataError,
    Feature,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    Stack,
    policies,
    pools,
    streams,
)
from heros.ensemble.late import LateLabels
from heros.integrations.onnx import to_onnx
from reference_labels import FollowingClasses, FollowingNumbers

NUMBER = Schema.of(["size"])


def schema_of(classes):
    return Schema.of(["size"], classes=list(map(str, range(classes))))


def alone(configuration=None, schema=NUMBER, **settings):
    pool = pools.LabelMemory([configuration or {}], **settings)
    return Heros(pool, policies.Everything(), 1, seed=1, schema=schema)


def nothing(n):
    return np.zeros((n, 1))


def chain(classes, n, seed=1):
    """Return labels that depend on the last two labels."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(classes, 0.3), (classes, classes))
    labels = [0, 0]
    for _ in range(n - 2):
        labels.append(int(rng.choice(classes, p=table[labels[-2], labels[-1]])))
    return np.array(labels)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    "configuration", [{}, {"order": 2}, {"fading": 0.9, "order": 2}, {"fading": 1}], ids=str
)
def test_classes_equal_the_slow_twin(configuration, late):
    y = chain(4, 250)
    rng = np.random.default_rng(1)
    delays = rng.integers(0, 12, 250) if late else np.zeros(250, dtype=int)
    weights = rng.integers(0, 3, 250) / 2
    found = alone(configuration, schema_of(4)).test_then_train(nothing(250), y, weights, delays).outputs
    twin = FollowingClasses(4, **configuration)
    for t, label in enumerate(y.tolist()):
        before = y[: max(0, t - delays[t])][::-1].tolist()
        np.testing.assert_allclose(found[t], twin.predict(before), atol=1e-9)
        if weights[t]:
            twin.learn(before, label, weights[t])


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("configuration", [{}, {"seasons": 0}, {"seasons": 1, "fading": 0.99}], ids=str)
def test_numbers_equal_the_slow_twin(configuration, late):
    rng = np.random.default_rng(2)
    n, days = 400, np.arange(400)
    y = 5 + 0.01 * days + np.sin(2 * np.pi * days / 6) + rng.normal(0, 0.3, n)
    y[200:] += np.sin(2 * np.pi * days[200:] / 11)
    delays = rng.integers(0, 9, n) if late else np.zeros(n, dtype=int)
    model = alone(configuration, memory=64)
    found = model.test_then_train(nothing(n), y, delay=delays).outputs[:, 0]
    twin, seasons = FollowingNumbers(64, **configuration), set()
    for t, label in enumerate(y.tolist()):
        newest = t - 1 - int(delays[t])
        assert found[t] == pytest.approx(twin.predict(newest, t), abs=1e-7)
        twin.learn(newest, label, True)
        seasons.add(tuple(twin.lags))
    assert model.bound.seasons == tuple(lag for lag in twin.lags if lag)
    assert len(seasons) >= 2
    assert np.allclose(list(model.bound.coefficients(0).values()), twin.coefficients(), atol=1e-7)


def test_seasons_are_found_and_used():
    rng = np.random.default_rng(1)
    daily = np.tile(rng.normal(0, 2, 24), 125)
    weekly = np.tile(rng.normal(0, 1, 168), 18)[:3000]
    y = 100 + daily[:3000] + weekly + rng.normal(0, 0.2, 3000)
    model = alone()
    found = model.test_then_train(nothing(3000), y).outputs[:, 0]
    assert set(model.bound.seasons) == {24, 168}
    assert np.std(found[1500:] - y[1500:]) < 0.35 * np.std(y)
    without = alone({"seasons": 0}).test_then_train(nothing(3000), y).outputs[:, 0]
    assert np.std(found[1500:] - y[1500:]) < 0.5 * np.std(without[1500:] - y[1500:])


def test_a_walk_is_predicted_by_its_last_number_and_noise_by_its_mean():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=2000)
    for y, best in ((steps.cumsum(), 1.0), (steps, 1.0), (np.arange(2000.0), 0.0)):
        found = alone().test_then_train(nothing(2000), y).outputs[:, 0]
        assert np.sqrt(np.mean((found - y)[500:] ** 2)) <= 1.03 * best * steps[500:].std() + 3e-3


def test_late_labels_are_learnt_at_the_distance_at_which_they_arrive():
    """Labels in a cycle of five arrive four instances late: the memory must predict five labels ahead."""
    y = np.arange(600) % 5
    rng = np.random.default_rng(1)
    y[rng.random(600) < 0.05] = 4
    hits = {}
    for told in (True, False):
        model = alone({}, schema_of(5))
        late, hit = LateLabels(model), []
        for t in range(600):
            answer = late.answer(t, [0.0]) if told else model.predict_proba([0.0])
            hit.append(answer.argmax() == y[t])
            if t >= 4 and told:
                late.learn(t - 4, int(y[t - 4]))
            elif t >= 4:
                model.learn([0.0], int(y[t - 4]))
        hits[told] = np.mean(hit[100:])
    assert hits[True] > 0.85
    assert hits[False] < 0.3


def test_late_numbers_find_their_season():
    y = np.tile(np.random.default_rng(1).normal(0, 2, 7), 100)
    late = LateLabels(alone())
    errors = []
    for t in range(700):
        errors.append(late.answer(t, [0.0])[0] - y[t])
        if t >= 10:
            late.learn(t - 10, y[t - 10])
    assert np.abs(errors[-100:]).max() < 0.05


def test_late_labels_go_on_from_a_file(tmp_path):
    y = np.arange(300) % 5
    late = LateLabels(alone({}, schema_of(5)))
    for t in range(150):
        late.answer(t, [0.0])
        if t >= 4:
            late.learn(t - 4, int(y[t - 4]))
    late.save(tmp_path / "late.heros")
    again = LateLabels.load(tmp_path / "late.heros")
    for t in range(150, 300):
        assert np.array_equal(late.answer(t, [0.0]), again.answer(t, [0.0]))
        for one in (late, again):
            one.learn(t - 4, int(y[t - 4]))
    assert late.answer(300, [0.0]).argmax() == 0


def test_rows_beyond_the_next_are_predicted_without_the_memory():
    """A memory that learnt one label ahead gives no information on the hundredth row of a batch."""
    stream = streams.Agrawal(function=2)
    X, y = stream.draw(1000)
    y = np.repeat(np.arange(2), 500)
    pool = pools.Join(pools.NaiveBayes([{}]), pools.LabelMemory([{}]), costs=[1, 1])
    model = Heros(pool, policies.Everything(), 2, answer="average", seed=1, schema=stream.schema).learn(X, y)
    other = Heros(pool.pools[0], policies.Everything(), 1, seed=1, schema=stream.schema).learn(X, y)
    batch, plain = model.predict_proba(X[:10]), other.predict_proba(X[:10])
    assert not np.allclose(batch[0], plain[0])
    assert np.array_equal(batch[1:], plain[1:])
    assert np.array_equal(batch[0], model.predict_proba(X[0]))
    assert not model.diverged.any()


def test_a_batch_that_was_predicted_before_its_labels_came():
    """If labels are declared late by their place in the batch, the memory predicts the whole batch."""
    y = np.repeat(np.arange(3), 50)
    y = np.tile(y, 20)
    model = alone({}, schema_of(3))
    for start in range(0, 3000, 10):
        p = model.predict_proba(nothing(10))
        model.learn(nothing(10), y[start : start + 10], delay=np.arange(10))
    assert (p.argmax(axis=1) == y[-10:]).all()


@pytest.mark.parametrize("numeric", [False, True])
def test_streams_without_order_lose_nothing(numeric):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=3000)
    y = y if numeric else (y > 0.5).astype(int)
    schema = Schema.of(list("abcd"), classes=None if numeric else ["no", "yes"])
    base = pools.default_regression() if numeric else pools.default()
    losses = []
    for pool in (base, pools.Join(base, pools.LabelMemory([{}]), costs=[*base.costs, 0.01])):
        model = Heros(pool, policies.Everything(), 1, answer=Stack(), seed=1, schema=schema)
        out = model.test_then_train(X, y).outputs
        p = out[:, 0] if numeric else out[np.arange(3000), y]
        losses.append(np.mean((p - y) ** 2) if numeric else -np.log(p).mean())
    assert losses[1] < losses[0] * 1.01


def test_growth_keeps_what_was_counted():
    y = np.tile([0, 1, 2, 1], 100)
    grown = alone({"order": 2}, schema_of(3))
    grown.learn(nothing(400), y)
    larger = Schema((Feature("size"), Feature("colour", ("red",), missing=True)), tuple("01234"))
    grown.bind(larger)
    large = alone({"order": 2}, larger)
    rows = np.column_stack([nothing(400), np.full(400, np.nan)])
    large.learn(rows, y)
    more = np.random.default_rng(1).integers(0, 5, 100)
    assert np.array_equal(
        grown.test_then_train(rows[:100], more).outputs, large.test_then_train(rows[:100], more).outputs
    )


@pytest.mark.parametrize("order", [1, 2])
def test_very_many_classes_take_little_memory(order):
    """If the table would be too large, classes share contexts, also while new classes appear."""
    model = alone({"order": order}, schema_of(3))
    rng = np.random.default_rng(1)
    for classes in (3, 100, 3000):
        model.bind(schema_of(classes))
        model.learn(nothing(200), rng.integers(0, classes, 200))
    p = model.predict_proba(nothing(1)[0])
    assert p.sum() == pytest.approx(1)
    assert model.state()["pool"]["counts"].size < 1.2 * (1 << 18)
    assert np.allclose(model.bound.follows(0).sum(axis=1), 1)


def test_labels_are_kept_whichever_models_are_trained():
    """A model that was not trained on the last label still knows it."""

    class Never:
        def choose(self, scores, costs, k, rng):
            return np.zeros(len(scores), dtype=bool)

    y = np.arange(300) % 2
    model = alone({}, schema_of(2))
    model.learn(nothing(299), y[:299])
    model.policy = Never()
    model.learn(nothing(1), y[299:])
    assert model.predict_proba([0.0]).argmax() == 0
    assert model.bound.remembered == 300


def test_weights_never_leave_the_range_of_doubles():
    y = chain(3, 2000)
    model = alone({"fading": 0.5}, schema_of(3))
    found = model.test_then_train(nothing(2000), y).outputs
    again = alone({"fading": 0.5}, schema_of(3)).test_then_train(nothing(1000), y[1000:]).outputs
    assert np.isfinite(model.state()["pool"]["counts"]).all()
    np.testing.assert_allclose(found[1500:], again[500:], atol=1e-6)


def test_numbers_of_any_size():
    rng = np.random.default_rng(1)
    for scale in (1e-80, 1e99):
        y = scale * rng.random(500)
        model = alone()
        out = model.test_then_train(nothing(500), y).outputs[:, 0]
        assert np.isfinite(out).all()
        assert not model.diverged.any()
    constant = alone().test_then_train(nothing(300), np.full(300, 3.0)).outputs[:, 0]
    assert (constant[1:] == 3).all()


def test_a_copy_goes_on_bit_for_bit():
    y = np.sin(np.arange(900) / 3) + np.random.default_rng(1).normal(0, 0.1, 900)
    model = alone()
    model.learn(nothing(600), y[:600], delay=3)
    again = copy.deepcopy(model)
    assert np.array_equal(
        model.test_then_train(nothing(300), y[600:], delay=np.arange(300) % 5).outputs,
        again.test_then_train(nothing(300), y[600:], delay=np.arange(300) % 5).outputs,
    )


def test_what_is_asked_of_the_other_task_is_refused():
    with pytest.raises(HerosError, match="Call coefficients"):
        alone().bound.follows(0)
    with pytest.raises(HerosError, match="Call follows"):
        alone({}, schema_of(2)).bound.coefficients(0)


@pytest.mark.parametrize("delay", [-1, 1.5, [1, 2], "late", 1 << 62])
def test_delays_are_numbers_of_labels(delay):
    with pytest.raises(DataError, match="delay must be a number of labels"):
        alone({}, schema_of(2)).learn(nothing(3), [0, 1, 0], delay=delay)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.LabelMemory([]), "The 'configurations' parameter of LabelMemory must be a list of at least one model. Got [] instead."),
        (lambda: pools.LabelMemory([{"fading": 0.4}]), "The 'fading' parameter of LabelMemory must be in [0.5, 1]. Got 0.4 instead."),
        (lambda: pools.LabelMemory([{"order": 3}]), "The 'order' parameter of LabelMemory must be a whole number in [1, 2]. Got 3 instead."),
        (lambda: pools.LabelMemory([{"seasons": -1}]), "The 'seasons' parameter of LabelMemory must be a whole number in [0, 2]. Got -1 instead."),
        (lambda: pools.LabelMemory([{}], memory=3), "The 'memory' parameter of LabelMemory must be a whole number in [4, 1048576]. Got 3 instead."),
        (lambda: pools.LabelMemory([{}], costs="bytes"), "The 'costs' parameter of LabelMemory must be 'equal', 'measured' or numbers. Got 'bytes' instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_a_memory_of_labels_is_no_onnx_model(tmp_path):
    """The predictions do not depend on the instance, so there is no program to export."""
    model = alone({}, schema_of(2)).learn(nothing(5), [0, 1, 0, 1, 0])
    with pytest.raises(ParameterError, match=r"member= selects another model\). Got 'LabelMemory' instead"):
        to_onnx(model, tmp_path / "model.onnx")
