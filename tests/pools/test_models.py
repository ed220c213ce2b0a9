"""Pools of any Python models, compared with a plain loop and with each library alone; failing models."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from river import compose, linear_model, multiclass, naive_bayes, preprocessing, tree
from sklearn.linear_model import SGDClassifier

import reference
from heros import Feature, Heros, HerosError, ParameterError, Schema, evaluate, policies, pools, streams
from heros.run import records
from member_cases import TWELVE, Fragile, Majority, Nearest, Witness

SCHEMA = Schema.of(["a", "b"], ["no", "yes"])


def agrawal(n):
    return streams.Agrawal(function=2).take(n)


def data(n):
    return agrawal(n).draw(n)


def easy(n):
    """Return two features, of which the first determines the class."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    return np.column_stack([y + 0.3 * rng.standard_normal(n), rng.standard_normal(n)]), y


def heros(models, policy=None, k=None, *, schema=SCHEMA, on_error="set_aside", **settings):
    pool = pools.Models(models, costs=range(1, len(models) + 1), on_error=on_error)
    policy = policies.Everything() if policy is None else policy
    return Heros(pool, policy, pool.n_models if k is None else k, schema=schema, **settings)


# -- the step ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["best", "average", "weighted"])
@pytest.mark.parametrize(
    ("policy", "twin"),
    [
        (policies.Zeta(0.05), lambda L, c: reference.zeta(L, c, 4, 0.05)),
        (policies.PerformBest(), lambda L, c: reference.perform_best(L, c, 4)),
        (policies.Budget(0.3), lambda L, c: reference.budget(L, c, 4, 0.3)),
    ],
    ids=["zeta", "perform_best", "budget"],
)
def test_the_step_equals_a_plain_loop(policy, twin, answer):
    X, y = data(700)
    schema = agrawal(1).schema
    model = heros(TWELVE, policy, 4, schema=schema, answer=answer, warmup=50)
    block = model.test_then_train(X, y)
    members = copy.deepcopy(TWELVE)
    for member in members:
        member.bind(schema)
    p, who, chosen, spent, reward = reference.step_loop(
        members, model.costs, twin, X, y, 2, answer=answer, warmup=50
    )
    assert np.array_equal(block.answered, who)
    assert np.array_equal(block.chosen, chosen)
    np.testing.assert_allclose(block.probabilities, p, rtol=1e-12)
    np.testing.assert_allclose(block.spent, spent, rtol=1e-12)
    np.testing.assert_allclose(block.reward, reward, rtol=1e-9)


def test_every_model_is_asked_once_and_the_chosen_are_taught_once():
    X, y = easy(200)
    model = heros([Witness(), Witness(), Witness()], policies.Random(), 1, warmup=10, seed=1)
    chosen = model.test_then_train(X, y).chosen
    for i, name in enumerate(model.pool.names):
        witness = model.bound[name]
        assert witness.asked == X[:, 0].tolist()
        assert witness.taught == list(zip(X[chosen[:, i], 0].tolist(), y[chosen[:, i]].tolist(), strict=True))
    assert chosen[10:].sum(axis=1).tolist() == [1] * 190


@pytest.mark.parametrize("policy", [policies.Explore(policies.Zeta(0.05), 0.2), policies.Cand()], ids=str)
def test_a_policy_in_python_equals_the_compiled_one(policy):
    class InPython:
        def choose(self, scores, costs, k, rng):
            return policy.choose(scores, costs, k, rng)

    X, y = data(1000)
    runs = [
        heros(TWELVE, p, 4, schema=agrawal(1).schema, seed=3).test_then_train(X, y)
        for p in (policy, InPython())
    ]
    assert np.array_equal(runs[0].chosen, runs[1].chosen)
    assert np.array_equal(runs[0].probabilities, runs[1].probabilities)


def test_evaluate_and_records_take_it_like_any_pool(tmp_path):
    model = heros([Majority(), ("near", Nearest(0))], policies.Zeta(0.05), 1, schema=None, seed=1)
    run = evaluate(model, agrawal(500), window=100)
    again = records.read(records.save(run, tmp_path))
    assert records.run_id(run) == "Agrawal_function_2_/models2/zeta_0.05/k1/seed1"
    assert (again.auroc, again.settings) == (run.auroc, run.settings)
    assert [c["name"] for c in again.settings["models"]] == ["Majority", "near"]
    assert run.cpu["evaluate"] > 0
    assert run.cpu["train"] > 0


# -- each library alone -----------------------------------------------------------------------------------


def named(schema, x):
    return {
        f.name: float(v) if f.values is None else f.values[int(v)]
        for f, v in zip(schema.features, x, strict=True)
        if not np.isnan(v)
    }


def river_loop(model, schema, X, y):
    answers = []
    for x, label in zip(X, y.tolist(), strict=True):
        row = named(schema, x)
        p = model.predict_proba_one(row)
        answers.append([p.get(c, 0.0) for c in range(schema.n_classes)] if p else [0.5, 0.5])
        model.learn_one(row, label)
    return np.array(answers)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tree.HoeffdingTreeClassifier(grace_period=50),
        lambda: (
            compose.SelectType(float) | preprocessing.StandardScaler() | linear_model.LogisticRegression()
        ),
    ],
    ids=["tree", "pipeline"],
)
def test_a_river_model_does_what_it_does_in_river(make):
    """Models get feature names and nominal values as text; missing values are left out."""
    X, y = data(800)
    schema = agrawal(1).schema
    schema = Schema(tuple(Feature(f.name, f.values, missing=True) for f in schema.features), schema.classes)
    X[::7, 0] = X[::5, 3] = np.nan
    block = heros([make()], schema=schema).test_then_train(X, y)
    np.testing.assert_allclose(block.probabilities, river_loop(make(), schema, X, y), rtol=1e-12)


def test_a_scikit_learn_model_does_what_it_does_there():
    X, y = easy(200)
    block = heros([SGDClassifier(loss="log_loss", random_state=1)]).test_then_train(X, y)
    alone, expected = SGDClassifier(loss="log_loss", random_state=1), [[0.5, 0.5]]
    for x, label, after in zip(X[:-1], y[:-1], X[1:], strict=True):
        alone.partial_fit([x], [label], classes=[0, 1])
        expected.append(alone.predict_proba([after])[0])
    np.testing.assert_allclose(block.probabilities, expected, rtol=1e-12)


def test_models_that_only_name_a_class():
    X, y = easy(300)
    code = multiclass.OutputCodeClassifier(linear_model.LogisticRegression(), code_size=5, seed=1)
    for model in (SGDClassifier(random_state=1), code):
        p = heros([model]).test_then_train(X, y).probabilities
        assert set(np.unique(p[1:])) == {0.0, 1.0}
        assert (p.argmax(axis=1) == y).mean() > 0.7


def test_a_capymoa_tree_equals_moas_and_ours():
    """Numbers and nominal values arrive unchanged: predictions equal those of pools.Hoeffding."""
    classifier = pytest.importorskip("capymoa.classifier", reason="needs capymoa: pip install capymoa")
    X, y = data(3000)
    schema = agrawal(1).schema
    moa = partial(classifier.HoeffdingTree, grace_period=100, confidence=1e-7, disable_prepruning=False)
    theirs = heros([moa], schema=schema)
    ours = Heros(pools.Hoeffding([{"grace_period": 100}]), policies.Everything(), 1, schema=schema)
    np.testing.assert_allclose(
        theirs.test_then_train(X, y).probabilities, ours.test_then_train(X, y).probabilities, atol=1e-9
    )
    twin = pickle.loads(pickle.dumps(theirs))
    assert np.array_equal(twin.predict_proba(X), theirs.predict_proba(X))


def test_a_capymoa_model_made_for_other_instances_is_refused():
    classifier = pytest.importorskip("capymoa.classifier", reason="needs capymoa: pip install capymoa")
    from heros.pools.adapters import capymoa_schema  # noqa: PLC0415

    learner = classifier.NaiveBayes(capymoa_schema(SCHEMA))
    model = heros([learner]).learn(*easy(50))
    assert model.scores[0] > 0.6
    assert copy.deepcopy(model).predict_proba([1.0, 0.0]).tolist() == model.predict_proba([1.0, 0.0]).tolist()
    with pytest.raises(HerosError, match="created for a different number of features or classes"):
        heros([learner], schema=Schema.of(["a"], ["no", "yes"]))


def test_libraries_mix_in_one_pool():
    X, y = easy(600)
    scaled = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    model = heros(
        [Nearest(0), scaled, naive_bayes.GaussianNB, SGDClassifier(loss="log_loss", random_state=1)],
        policies.Zeta(0.05),
        2,
    )
    block = model.test_then_train(X, y)
    assert model.pool.names == ("Nearest", "Pipeline", "GaussianNB", "SGDClassifier")
    assert (block.probabilities.argmax(axis=1) == y)[100:].mean() > 0.9
    assert not model.bound.set_aside


# -- copies ------------------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_pickled_is_no_obstacle_to_learning():
    model = heros([Majority()])
    model.bound["Majority"].secret = lambda: None
    model.learn(*easy(20))
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(model)
    assert model.instances == 20


def test_the_pool_works_with_copies_and_what_was_learnt_before_is_kept():
    X, y = easy(100)
    taught = Nearest(0)
    taught.bind(SCHEMA)
    for x, label in zip(X, y, strict=True):
        taught.learn(x, label)
    before = list(taught.means)
    model = heros([taught])
    assert model.predict_proba(X[0]).argmax() == y[0]
    model.learn(X, y)
    assert taught.means == before
    assert model.bound["Nearest"].means != before


def test_a_heros_can_be_a_member():
    inner = Heros(pools.MLPGrid(hidden=[8], learning_rates=[0.05]), k=1, seed=1)
    X, y = easy(400)
    model = heros([inner, Majority()])
    assert (model.test_then_train(X, y).probabilities.argmax(axis=1) == y)[200:].mean() > 0.9


# -- when a model fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "what"), [("predict_proba", "predict"), ("learn", "learn")])
def test_a_model_that_raises_is_named_and_set_aside(method, what):
    """A failed model is no longer called and never predicts; other models are not affected."""
    X, y = easy(400)
    model = heros([Fragile(method, at=50), Nearest(0), Majority()], policies.Cheapest(), 2, warmup=0)
    message = rf"The model 'Fragile' \(0\) failed to {what}. The error was ZeroDivisionError: no luck. The model is excluded."
    with pytest.warns(RuntimeWarning, match=message):
        block = model.test_then_train(X, y)
    assert list(model.bound.set_aside) == ["Fragile"]
    assert model.bound["Fragile"].calls[method] == 51
    assert not block.chosen[51:, 0].any()
    assert block.chosen[51:, 1].all()  # its place among the k stays empty
    assert (block.answered[60:] != 0).all()
    np.testing.assert_allclose(block.spent[51:], model.costs[1])
    without = heros([Nearest(0), Majority()], policies.Cheapest(), 1, warmup=0)
    without.learn(X, y)
    assert model.bound["Nearest"].means == without.bound["Nearest"].means
    assert model.instances == 400
    twin = pickle.loads(pickle.dumps(model))
    assert twin.bound.set_aside == model.bound.set_aside
    assert not twin.test_then_train(X, y).chosen[:, 0].any()


def test_with_raise_the_exception_goes_on_and_what_came_before_is_kept():
    X, y = easy(30)
    model = heros([Fragile("predict_proba", at=20), Witness()], on_error="raise", warmup=0)
    with pytest.raises(
        HerosError, match=r"The model 'Fragile' \(0\) failed to predict. The error was Zero"
    ) as error:
        model.learn(X, y)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert model.instances == len(model.bound["Witness"].taught) == 20
    assert model.cpu_seconds["train"] > 0


def test_with_raise_the_others_are_still_trained_on_the_instance():
    X, y = easy(30)
    model = heros([Fragile("learn", at=20), Witness()], on_error="raise", warmup=0)
    with pytest.raises(HerosError, match=r"The model 'Fragile' \(0\) failed to learn. The error was Zero"):
        model.learn(X, y)
    assert model.instances == len(model.bound["Witness"].taught) == 21


def test_when_all_are_set_aside_the_answer_is_uniform():
    X, y = easy(20)
    model = heros([Fragile(at=5)], warmup=0)
    with pytest.warns(RuntimeWarning, match="The model is excluded"):
        block = model.test_then_train(X, y)
    assert (block.probabilities[5:] == 0.5).all()
    assert not block.chosen[5:].any()


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ([1.0, 2.0, 3.0], "ValueError: expected 2 probabilities, got an array of shape (3,)"),
        ([-0.5, 1.5], "ValueError: a probability is negative: -0.5"),
        ("yes", "ValueError: could not convert string to float: 'yes'"),
    ],
)
def test_what_is_no_probability_is_a_fault(says, fault):
    model = heros([Fragile(at=99, says=says)], on_error="raise")
    with pytest.raises(HerosError) as error:
        model.predict_proba([0.0, 0.0])
    assert str(error.value) == f"The model 'Fragile' (0) failed to predict. The error was {fault}"


def test_probabilities_are_scaled_and_what_is_not_finite_counts_as_wrong():
    X, y = easy(50)
    nothing, counts, nan = (Fragile(at=99, says=s) for s in ([0, 0], [3, 1], [np.nan, 1.0]))
    model = heros([nothing, counts, nan], answer="average")
    assert model.predict_proba(X[0]).tolist() == [0.625, 0.375]  # of the first two models
    model.learn(X, y)
    assert model.scores.tolist() == pytest.approx([(y == 0).mean(), (y == 0).mean(), 0])
    assert model.diverged.tolist() == [False, False, True]
    assert not model.bound.set_aside


# -- schemas that grow -------------------------------------------------------------------------------------


def test_river_follows_a_growing_schema_and_scikit_learn_is_set_aside():
    X, y = easy(200)
    model = heros([tree.HoeffdingTreeClassifier(), SGDClassifier(random_state=1), Majority()])
    model.learn(X, y)
    larger = Schema.of(["a", "b", ("c", "x", "y", "z")], ["no", "yes", "maybe"])
    with pytest.warns(RuntimeWarning, match=r"'SGDClassifier' \(1\) failed to adapt to an extended schema"):
        model.bind(larger)
    X3 = np.column_stack([np.tile(X, (3, 1)), np.arange(600) % 3])
    block = model.test_then_train(X3, np.arange(600) % 3)
    assert block.probabilities.shape == (600, 3)
    assert (block.probabilities.argmax(axis=1) == np.arange(600) % 3)[450:].mean() > 0.95
    assert not block.chosen[:, 1].any()


def test_before_it_has_learnt_a_scikit_learn_model_can_follow():
    model = heros([SGDClassifier(random_state=1)], on_error="raise")
    model.bind(Schema.of(["a", "b", "c"], ["no", "yes", "maybe"]))
    model.learn([[0.0, 1.0, 2.0]], [2])
    with pytest.raises(HerosError, match="a trained model does not support new features or classes"):
        model.bind(Schema.of(["a", "b", "c", "d"], ["no", "yes", "maybe"]))


# -- costs and parameters ----------------------------------------------------------------------------------


class Busy(Majority):
    def learn(self, x, y):
        sum(range(20_000))
        super().learn(x, y)


def test_costs_given_by_a_function_and_measured():
    models = [Majority(), Majority(0.5), Busy()]
    assert pools.Models(models, costs=lambda m: m.fading).costs == pytest.approx((0.4, 0.2, 0.4), abs=0.05)
    measured = pools.Models(models).bind(SCHEMA, np.random.default_rng(1)).costs
    assert measured.sum() == pytest.approx(1)
    assert measured[2] > 0.8
    failing = pools.Models([Majority(), Fragile("learn", at=3), Busy()])
    measured = failing.bind(SCHEMA, np.random.default_rng(1)).costs
    assert measured[1] == measured[2] > measured[0]  # a model that cannot be timed gets the highest cost


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Models([]), "The 'models' parameter of Models must be a list of at least one model. Got [] instead."),
        (lambda: pools.Models([3]), "The 'models' parameter of Models must be River models (learn_one), scikit-learn models (partial_fit), CapyMOA models (train) or objects with the method learn and either predict_proba or predict. Got 3 instead."),
        (lambda: pools.Models([Majority()], costs="free"), "The 'costs' parameter of Models must be 'measured', a function or numbers. Got 'free' instead."),
        (lambda: pools.Models([Majority()], costs=[1, 2]), "The 'costs' parameter of Models must be one number per model (1). Got [1, 2] instead."),
        (lambda: pools.Models([Majority()], costs=[1], on_error="ignore"), "The 'on_error' parameter of Models must be 'set_aside' or 'raise'. Got 'ignore' instead."),
        (lambda: pools.Models([("a", Majority()), ("a 1", Majority()), ("a", Majority())]), "The 'models' parameter of Models must be models with distinct names. Got ['a 1', 'a 1', 'a 2'] instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_a_pool_in_words():
    pool = pools.Models(
        [Majority(), Majority(0.5), ("t", partial(tree.HoeffdingTreeClassifier, grace_period=9))]
    )
    assert repr(pool) == "Models(Majority 1, Majority 2, t)"
    assert [c["model"] for c in pool.configurations] == [
        "member_cases.Majority",
        "member_cases.Majority",
        "river.tree.hoeffding_tree_classifier.HoeffdingTreeClassifier(grace_period=9)",
    ]
