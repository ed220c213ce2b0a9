"""HEROS in CapyMOA: both evaluations give the same results, on CapyMOA's streams and on ours."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

from heros import DataError, Heros, ParameterError, evaluate, pools, streams

capymoa = pytest.importorskip("capymoa", reason="CapyMOA is not installed (and needs Java)")

from capymoa.classifier import NaiveBayes  # noqa: E402
from capymoa.evaluation import (  # noqa: E402
    prequential_evaluation,
    prequential_evaluation_multiple_learners,
)
from capymoa.stream import NumpyStream, Schema  # noqa: E402
from capymoa.stream.generator import SEA, AgrawalGenerator, RandomTreeGenerator  # noqa: E402

from heros.ensemble.settings import SETTINGS  # noqa: E402
from heros.integrations.capymoa import HEROS, HEROSRegressor, from_capymoa, schema_of  # noqa: E402

SMALL = pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05, 0.005])
N = 1500


@pytest.mark.parametrize("generator", [SEA, RandomTreeGenerator, AgrawalGenerator])
def test_capymoas_evaluation_gives_what_ours_gives(generator):
    stream = generator()
    learner = HEROS(stream.get_schema(), SMALL, k=4, random_seed=3)
    theirs = prequential_evaluation(stream, learner, max_instances=N, window_size=500)
    ours = evaluate(Heros(SMALL, k=4, seed=3), from_capymoa(generator()).take(N), window=500)
    assert theirs.accuracy() / 100 == pytest.approx(ours.accuracy, abs=1e-12)
    assert theirs.cumulative.kappa() / 100 == pytest.approx(ours.kappa, abs=1e-12)
    assert [a / 100 for a in theirs.windowed.accuracy()] == pytest.approx(
        ours.curves.accuracy.tolist(), abs=1e-12
    )
    assert str(learner) == "HEROS"


def test_several_learners_in_one_pass():
    stream = SEA()
    learners = {"HEROS": HEROS(stream.get_schema(), SMALL, k=4), "NB": NaiveBayes(stream.get_schema())}
    results = prequential_evaluation_multiple_learners(stream, learners, max_instances=N)
    ours = evaluate(Heros(SMALL, k=4, seed=1), from_capymoa(SEA).take(N))
    assert results["HEROS"].accuracy() / 100 == pytest.approx(ours.accuracy, abs=1e-12)
    assert results["NB"].accuracy() > 70


def test_probabilities_are_the_cores():
    learner = HEROS(RandomTreeGenerator().get_schema(), SMALL, k=4, random_seed=7)
    core = Heros(SMALL, k=4, seed=7, schema=schema_of(RandomTreeGenerator().get_schema()))
    stream = RandomTreeGenerator()
    for _ in range(400):
        instance = stream.next_instance()
        assert np.array_equal(learner.predict_proba(instance), core.predict_proba(instance.x))
        learner.train(instance)
        core.learn(instance.x, instance.y_index)


def test_a_generator_of_moa_is_the_one_we_have():
    """CapyMOA runs MOA's Agrawal generator; our generator produces the same instances."""
    theirs, ours = from_capymoa(AgrawalGenerator), streams.Agrawal(function=1)
    X, y = theirs.draw(500)
    expected_X, expected_y = ours.draw(500)
    assert [f.name for f in theirs.schema.features] == [f.name for f in ours.schema.features]
    assert np.array_equal(X, expected_X)
    assert np.array_equal(y, expected_y)


def test_nominal_features_missing_values_and_a_class_that_is_not_last():
    schema = Schema.from_custom(
        ["a", "class", "b"], target="class", categories={"class": ["no", "yes"], "b": ["x", "y", "z"]}
    )
    known = schema_of(schema)
    assert [(f.name, f.values) for f in known.features] == [("a", None), ("b", ("x", "y", "z"))]
    assert known.classes == ("no", "yes")
    learner = HEROS(schema, SMALL)
    x = capymoa.core.LabeledInstance.from_array(schema, np.array([np.nan, 2.0]), 1)
    learner.train(x)
    assert learner.predict_proba(x).shape == (2,)


def test_a_stream_that_ends_restarts_and_is_copied():
    X, y = np.arange(20.0).reshape(10, 2), np.array([0, 1, 0, 1, 0, 1, 0, 0, 1, 1])

    def make():
        return NumpyStream(X, y)

    for stream in (from_capymoa(make()), from_capymoa(make)):
        got, labels = stream.draw(100)
        assert np.array_equal(got, X)
        assert np.array_equal(labels, y)
        assert stream.n_instances == 10
        stream.restart()
        stream.draw(2)
        part = stream.take(3)
        first = part.draw(3)[0]
        part.restart()
        assert np.array_equal(first, X[2:5])
        assert np.array_equal(part.draw(3)[0], X[2:5])
    stream = from_capymoa(make)
    stream.draw(4)
    for twin in (copy.copy(stream), pickle.loads(pickle.dumps(from_capymoa(SEA)))):
        assert twin.position == (4 if twin.name == stream.name else 0)
    assert np.array_equal(copy.copy(stream).draw(2)[0], stream.draw(2)[0])
    with pytest.raises(
        DataError, match=r"is a Java object, which cannot be copied. Pass from_capymoa a function"
    ):
        copy.copy(from_capymoa(make()))


def test_what_is_refused():
    regression = Schema.from_custom(["a", "target"], target="target")
    with pytest.raises(
        ParameterError, match=r"^The 'schema' parameter of HEROS must be a CapyMOA schema of a class"
    ):
        HEROS(regression)
    with pytest.raises(
        ParameterError, match=r"^The 'stream' parameter of from_capymoa must be a CapyMOA stream or"
    ):
        from_capymoa([1, 2])


def test_parameters_are_captured_as_capymoa_wants():
    learner = HEROS(SEA().get_schema(), SMALL, k=4, warmup=10, random_seed=2)
    twin = HEROS.from_params(SEA().get_schema(), learner.get_params(), random_seed=2)
    assert (twin.heros.pool, twin.heros.k, twin.heros.warmup, twin.heros.seed) == (SMALL, 4, 10, 2)


def test_all_settings_of_heros_are_there():
    asked = {*SETTINGS} - {"seed"} | {"random_seed"}
    for learner in (HEROS, HEROSRegressor):
        assert asked <= {*inspect.signature(learner).parameters}
    schema = SEA().get_schema()
    heros = HEROS(schema, SMALL, watch="trained", burst=30, class_weight="balanced").heros
    assert (heros.burst, heros.class_weight) == (30, "balanced")


NUMBERS = pools.Join(pools.MLP([{"hidden": 16}]), pools.Linear([{}, {"optimizer": "pa"}]), costs=[2, 1])


def numbers():
    X, y = streams.Friedman().draw(600)
    return NumpyStream(X, y, target_type="numeric")


def test_capymoas_evaluation_of_numbers_gives_what_ours_gives():
    learner = HEROSRegressor(numbers().get_schema(), NUMBERS, k=2, random_seed=3)
    theirs = prequential_evaluation(numbers(), learner, window_size=200)
    ours = evaluate(Heros(NUMBERS, k=2, seed=3), from_capymoa(numbers), window=200)
    assert ours.n_instances == 600
    assert theirs.cumulative.rmse() == pytest.approx(ours.rmse, rel=1e-9)
    assert theirs.cumulative.mae() == pytest.approx(ours.mae, rel=1e-9)
    assert str(learner) == "HEROSRegressor"


def test_numbers_and_classes_are_told_apart():
    with pytest.raises(ParameterError, match="must be a CapyMOA schema of a classification task"):
        HEROS(numbers().get_schema())
    with pytest.raises(ParameterError, match="must be a CapyMOA schema of a regression task"):
        HEROSRegressor(SEA().get_schema())


def test_regressors_of_three_libraries_in_one_pool():
    from capymoa.regressor import FIMTDD, KNNRegressor  # noqa: PLC0415
    from river.tree import HoeffdingTreeRegressor  # noqa: PLC0415
    from sklearn.linear_model import SGDRegressor  # noqa: PLC0415

    members = [FIMTDD, KNNRegressor, HoeffdingTreeRegressor(), SGDRegressor()]
    model = Heros(pools.Models(members, costs=[1] * 4), k=4, warmup=0, seed=1)
    run = evaluate(model, streams.Friedman().take(600), progress=False)
    assert run.r2 > 0.3
    X, _ = streams.Friedman(seed=2).draw(5)
    again = pickle.loads(pickle.dumps(model))  # Java objects are pickled too
    assert np.array_equal(again.predict(X), model.predict(X))
