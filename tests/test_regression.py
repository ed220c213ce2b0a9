"""Regression: slow version of the task, detection of the task, extreme targets, measures of a run."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reference_regression as reference
from heros import (
    DataError,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    Stack,
    Top,
    evaluate,
    policies,
    pools,
    scores,
    streams,
)
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from heros.ensemble.task import Classification, Regression
from heros.measures import MAPE, Accuracy

SMALL = pools.Join(
    pools.MLP([{"hidden": 16}, {"optimizer": "sgd", "learning_rate": 0.01, "hidden": 16, "loss": "huber"}]),
    pools.Linear([{}, {"optimizer": "ftrl", "learning_rate": 0.1}, {"optimizer": "pa"}]),
    pools.Neighbours([{"window": 200}]),
    costs=[2, 1, 1],
)


def small(**settings):
    return Heros(SMALL, **{"k": 4, "seed": 1, "schema": streams.Friedman().schema, **settings})


def jumping(n):
    """Friedman's data, with some numbers on another scale."""
    X, y = streams.Friedman().draw(n)
    y[n // 3 : 2 * n // 3] = 1e3 * y[n // 3 : 2 * n // 3] - 5
    return X, y


class Fixed:
    """A model that learns nothing: a weighted sum of some features."""

    def __init__(self, *weights):
        self.weights = np.array(weights)

    def predict(self, x):
        return float(self.weights @ x[: len(self.weights)])

    def learn(self, x, y):
        pass


MEMBERS = [Fixed(9.0, 3.0), Fixed(0.0, 0.0, 0.0, 10.0), Fixed(5.0, 5.0, 0.0, 10.0, 5.0), Fixed(float("nan"))]


@pytest.mark.parametrize("answer", ["best", "average", "weighted", Top(2), Stack(2, 60, 0.05)], ids=str)
def test_the_task_equals_its_slow_twin(answer):
    """Outcomes, scores, predictions, intervals and the running mean; a model with a NaN is wrong and is not used."""
    X, y = jumping(1200)
    pool = pools.Models(MEMBERS, costs=[1] * 4)
    model = Heros(
        pool, policies.Everything(), 4, answer=answer, score=scores.Cumulative(), seed=1,
        schema=streams.Friedman().schema,
    )  # fmt: skip
    block = model.test_then_train(X, y)
    scale, interval = reference.TargetScale(), reference.Interval()
    total, L, stack = np.zeros(4), np.zeros(4), np.zeros(4)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        said = np.array([member.predict(x) for member in MEMBERS])
        sound = np.isfinite(said)
        expected, apart = reference.answer(answer, said, sound, L, stack, scale)
        got = block.outputs[t]
        half = interval.half()
        np.testing.assert_allclose(got, [expected, expected - half, expected + half, scale.mean], rtol=1e-9)
        scale_before = scale.unit[1]
        scale.learn(target)
        if t > 0:
            interval.learn(abs(target - expected))
        if isinstance(answer, Stack) and scale_before > 0:
            error = np.clip((target - expected) / scale_before, -10, 10)
            stack += answer.rate * error * apart / (1e-3 + apart @ apart)
        outcomes = [
            reference.closeness(s - target, scale.unit[1]) if ok else 0.0
            for s, ok in zip(said, sound, strict=True)
        ]
        total += outcomes
        L = total / (t + 1)
    np.testing.assert_allclose(model.scores, L, rtol=1e-9)
    assert model.diverged.tolist() == [False, False, False, True]


@pytest.mark.parametrize("answer", ["average", "weighted", Top(3, 0), Stack(3, 0, 0.01)], ids=str)
def test_a_model_far_off_does_not_outweigh_the_others(answer):
    """It counts as the farthest target that would be learnt: ten standard deviations off."""
    X, y = streams.Friedman().draw(400)
    wild = pools.Models([MEMBERS[1], MEMBERS[2], Fixed(*[1e5] * 5)], costs=[1] * 3)
    model = Heros(wild, policies.Everything(), 3, answer=answer, seed=1, schema=streams.Friedman().schema)
    block = model.test_then_train(X, y)
    assert abs(block.outputs[100:, 0] - y.mean()).max() < 11 * y.std()
    single = Heros(wild, policies.Everything(), 3, seed=1, schema=streams.Friedman().schema)
    assert single.test_then_train(X, y).outputs[0, 0] == MEMBERS[1].predict(X[0])  # a single model is used


def test_a_number_is_found_from_the_schema_or_asked_for():
    number, classes = Schema.of(["a"]), Schema.of(["a"], ["no", "yes"])
    assert Heros(schema=number).task == Regression()
    assert Heros(schema=classes).task == Classification()
    usual = Heros(task="regression")
    assert (usual.pool, usual.k) == (pools.default_regression(), pools.default_regression().n_models)
    assert Heros(task=Regression(0.5), schema=number).task.level == 0.5
    model = Heros(SMALL)
    model.policy, model.k = policies.Cheapest(), 2
    model.bind(number)
    assert (model.pool, model.policy, model.k) == (SMALL, policies.Cheapest(), 2)
    for task, schema in (("regression", classes), ("classification", number)):
        with pytest.raises(ParameterError, match="The 'schema' parameter of Heros must be a schema with"):
            Heros(task=task, schema=schema)
    with pytest.raises(ParameterError, match="in \\(0, 1\\)"):
        Regression(1.0)


def test_arrays_of_numbers_are_a_stream_of_numbers():
    rng = np.random.default_rng(1)
    X, whole = rng.normal(size=(300, 2)), np.arange(300)
    stream = streams.from_arrays(X, whole / 7)
    assert stream.schema.numeric
    assert np.array_equal(stream.draw(300)[1], whole / 7)
    with pytest.raises(DataError) as error:
        streams.from_arrays(X, whole)
    assert str(error.value) == (
        "The target 'y' of from_arrays has more than 100 different whole numbers. Set task='regression' if they "
        "are quantities, or task='classification' if they are classes."
    )
    assert streams.from_arrays(X, whole, task="regression").schema.numeric
    assert streams.from_arrays(X, whole, task="classification").schema.n_classes == 300
    assert streams.from_arrays(X, whole % 3 * 1.0).schema.n_classes == 3
    with pytest.raises(DataError, match=r"from_arrays: The target of row 2 must be a finite number"):
        streams.from_arrays(X[:3], [0.5, 1.0, np.nan])


def test_a_run_has_the_figures_of_numbers():
    stream = streams.Friedman().take(3000)
    run = evaluate(small(), stream, progress=False)
    assert list(run.figures) == ["rmse", "mae", "r2", "relative_error", "coverage", "interval_width"]
    assert 0.5 < run.r2 < 1
    assert run.relative_error < 0.6
    assert run.coverage == pytest.approx(0.9, abs=0.01)
    assert len(run.curves.rmse) == 3
    again = evaluate(small(), streams.Friedman().take(3000), measures=[MAPE()], progress=False)
    assert 0 < again.mape < 1
    with pytest.raises(ParameterError, match="must be measures for the model's task, regression"):
        evaluate(small(), streams.Friedman().take(10), measures=[Accuracy()])
    with pytest.raises(ParameterError, match="must be measures for the model's task, classification"):
        evaluate(Heros(), streams.Agrawal().take(10), measures=[MAPE()])


def test_a_run_goes_on_from_its_checkpoint_as_if_nothing_had_been(tmp_path):
    def run(n, **settings):
        model = small(schema=None)
        return model, evaluate(
            model, streams.Friedman("gradual", length=2500).take(n), window=300, block=128, progress=False, **settings
        )  # fmt: skip

    straight, expected = run(2500)
    run(1100, checkpoint=tmp_path, every=500)
    resumed, found = run(2500, checkpoint=tmp_path, every=500, resume=True)
    assert found.figures == expected.figures
    for name, curve in expected.curves.columns().items():
        assert name == "cpu" or np.array_equal(found.curves.columns()[name], curve), name
    X, _ = streams.Friedman().draw(50)
    assert np.array_equal(resumed.answers(X), straight.answers(X))


def finite(model):
    groups = model.state()
    return all(
        np.isfinite(array).all() for group in groups.values() for array in group.values() if array.dtype.kind == "f"
    )  # fmt: skip


@pytest.mark.parametrize("factor", [1e12, 1e-12, 1.0, -1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_the_unit_of_the_target_does_not_matter(factor, shift):
    """Predictions equal those of the same stream in another unit, converted to that unit."""
    X, y = streams.Friedman().draw(1500)
    one, two = small(), small()
    said = one.test_then_train(X, y).outputs[:, 0]
    other = two.test_then_train(X, factor * (y + shift)).outputs[:, 0] / factor - shift
    errors = np.array([said - y, other - y])[:, 1:]  # before the first target, even its unit is unknown
    assert np.sqrt(np.mean(errors[1] ** 2)) == pytest.approx(np.sqrt(np.mean(errors[0] ** 2)), rel=0.15)
    assert finite(two)
    assert not two.diverged.any()


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e12, -1e-12])
def test_a_constant_target_is_what_is_answered(constant):
    X, _ = streams.Friedman().draw(400)
    model = small()
    block = model.test_then_train(X, np.full(400, constant))
    assert (block.outputs[1:, 0] == constant).all()
    assert (block.outputs[2:, 1:3] == constant).all()
    assert finite(model)


@pytest.mark.parametrize("jump", [1e6, 1e-6])
def test_a_jump_of_the_scale_is_survived(jump):
    X, y = streams.Friedman().draw(6000)
    y[2000:] *= jump
    model = small()
    block = model.test_then_train(X, y)
    late = slice(5000, 6000)
    error = np.abs(block.outputs[late, 0] - y[late]).mean()
    assert finite(model)
    assert error < 0.6 * np.abs(y[late] - y[late].mean()).mean()
    held = np.mean((block.outputs[late, 1] <= y[late]) & (y[late] <= block.outputs[late, 2]))
    assert held > 0.85


def test_models_that_diverge_stay_alone_and_finite():
    wild = pools.MLP([{"optimizer": "sgd", "learning_rate": 0.5, "hidden": 512}, {"hidden": 16}])
    X, y = streams.Friedman().draw(2000)
    model = Heros(wild, policies.Everything(), 2, seed=1, schema=streams.Friedman().schema)
    block = model.test_then_train(X, y)
    assert model.diverged.tolist() == [True, False]
    assert model.trained[0] < 100
    assert finite(model)
    assert np.isfinite(block.outputs).all()


def test_asking():
    X, y = streams.Friedman().draw(600)
    model = small().learn(X, y)
    before = copy.deepcopy(model)
    assert isinstance(model.predict(X[0]), float)
    assert model.predict(X).shape == (600,)
    low, high = model.predict_interval(X[0])
    assert low < model.predict(X[0]) < high
    assert model.predict_interval(X).shape == (600, 2)
    assert np.array_equal(before.learn(X[:9], y[:9]).answers(X), model.learn(X[:9], y[:9]).answers(X))
    with pytest.raises(HerosError, match=r"no class probabilities. Call predict or predict_interval"):
        model.predict_proba(X)
    with pytest.raises(HerosError, match=r"no prediction intervals. Call predict_proba"):
        Heros(schema=streams.Agrawal().schema).predict_interval(streams.Agrawal().draw(1)[0])


def table(tmp_path, target, name="table.csv", n=200):
    X, _ = streams.Friedman().draw(n)
    lines = [f"{a:.3f},{b:.3f},{t}" for (a, b), t in zip(X[:, :2], target(X), strict=True)]
    path = tmp_path / name
    path.write_text("\n".join(["a,b,t", *lines]) + "\n")
    return path


def test_a_file_whose_target_is_a_number(tmp_path):
    stream = streams.read(table(tmp_path, lambda X: X[:, 0].round(3)))
    assert stream.schema.numeric
    X, y = stream.draw(200)
    assert np.array_equal(y, X[:, 0].round(3))
    whole = table(tmp_path, lambda X: (1000 * X[:, 0]).astype(int))
    with pytest.raises(
        DataError, match="set task='regression' if the values are quantities, or task='classification'"
    ):
        streams.read(whole)
    assert streams.read(whole, task="regression").schema.numeric
    assert not streams.read(whole, task="classification").schema.numeric
    assert streams.read(whole, numeric=["t"]).schema.numeric
    assert not streams.read(table(tmp_path, lambda X: (3 * X[:, 0]).astype(int))).schema.numeric
    with pytest.raises(DataError, match="the 't' column must have a value, because it is the target"):
        streams.read(table(tmp_path, lambda X: ["", *X[1:, 0]]), task="regression", on_bad_row="raise").draw(
            5
        )
    with pytest.raises(ParameterError, match="must be None if the target is a number"):
        streams.read(whole, task="regression", classes=["1", "2"])


def test_rows_with_names_and_pairs():
    model = Heros(SMALL, task="regression", k=2, seed=1)
    for i in range(200):
        model.learn({"size": i % 7, "colour": "red" if i % 2 else "blue"}, 2.5 * (i % 7) + i % 2)
    assert model.schema.numeric
    assert model.predict({"size": 3, "colour": "red"}) == pytest.approx(8.5, abs=2)
    assert model.predict_interval({"size": 3}).shape == (2,)
    pairs = [({"size": i % 7}, 0.5 * (i % 7)) for i in range(300)]
    stream = streams.from_iter(pairs, task="regression")
    run = evaluate(Heros(SMALL, k=2, seed=1), stream, progress=False)
    assert run.r2 > 0.9
    bad = streams.from_iter([({"a": 1}, 1.0), ({"a": 2}, None)], task="regression", on_bad_row="raise")
    with pytest.raises(DataError, match="must have a value, because it is the target"):
        bad.draw(2), bad.draw(1)


def test_the_command_line_learns_numbers(tmp_path):
    from typer.testing import CliRunner  # noqa: PLC0415

    from heros.cli import app  # noqa: PLC0415

    path = table(tmp_path, lambda X: (1000 * X[:, 0]).astype(int), n=1500)
    runner = CliRunner()
    done = runner.invoke(
        app, ["run", str(path), "--task", "regression", "--measure", "mape", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "RMSE" in done.output
    assert "MAPE" in done.output
    assert "R²" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    compared = runner.invoke(
        app, ["compare", str(path), "--task", "regression", "--pool", "linear", "--policy", "cheapest",
              "--policy", "everything"]
    )  # fmt: skip
    assert compared.exit_code == 0, compared.output
    assert "RMSE" in compared.output


def test_a_number_among_the_features_becomes_the_target():
    stream = streams.Agrawal().with_target("salary")
    X, y = stream.draw(50)
    whole, _ = streams.Agrawal().draw(50)
    assert np.array_equal(y, whole[:, 0])
    assert np.array_equal(X, whole[:, 1:])
    stream.restart()
    assert np.array_equal(np.concatenate([stream.draw(20)[1], stream.take(30).draw(30)[1]]), y)
    with pytest.raises(ParameterError, match="must be one of the numeric features salary"):
        streams.Agrawal().with_target("car")


@pytest.mark.parametrize(
    "make",
    [streams.Friedman, lambda: streams.Friedman("local", length=400), lambda: streams.Friedman("global", length=400),
     lambda: streams.Friedman("gradual", length=400), streams.Hyperplane, streams.Wave],
)  # fmt: skip
def test_generators_do_not_depend_on_how_they_are_read(make):
    X, y = make().draw(400)
    stream = make()
    parts = [stream.draw(n) for n in (1, 7, 192, 200)]
    assert np.array_equal(np.concatenate([part for part, _ in parts]), X)
    assert np.array_equal(np.concatenate([part for _, part in parts]), y)
    stream.restart()
    assert np.array_equal(stream.draw(400)[1], y)
    changed = [point.position for point in make().drifts]
    assert changed == ([] if not make().drifts else [100, 200, 300][: len(changed)])


def test_labels_that_come_late():
    X, y = streams.Friedman().draw(300)
    late, now = LateLabels(small(), most=10), small()
    said = []
    for order in range(300):
        said.append(late.answer(order, X[order]))
        assert late.learn(order, y[order])
        now.learn(X[order], y[order])
    assert np.array_equal(now.answers(X), late.model.answers(X))
    assert late.figures["mae"] == pytest.approx(np.abs(np.array(said)[:, 0] - y).mean())


def test_what_waits_for_a_number_is_kept_and_a_label_that_is_none_leaves_it_waiting(tmp_path):
    X, y = streams.Friedman().draw(60)
    late = LateLabels(small())
    for order in range(60):
        late.answer(order, X[order])
        if order % 2:
            late.learn(order, y[order])
    for bad in ("12", "soon", None, np.nan, np.inf, 1e200):
        with pytest.raises(DataError, match="number"):
            late.learn(0, bad)
    late.save(tmp_path / "late.heros")
    again = LateLabels.load(tmp_path / "late.heros")
    assert (again.waiting, again.figures) == (30, late.figures)
    for order in range(0, 60, 2):
        assert late.learn(order, y[order])
        assert again.learn(order, y[order])
    assert np.array_equal(late.model.answers(X), again.model.answers(X))
    assert late.figures == again.figures


def test_a_model_per_key_learns_that_it_is_numbers_from_the_schema():
    X, y = streams.Friedman().draw(50)
    with Keyed(Heros(SMALL, seed=1)) as keyed:
        keyed.bind(streams.Friedman().schema).learn("a", X, y)
        assert keyed.figures("a").mae < np.abs(y).mean()
