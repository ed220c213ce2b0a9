"""Weights of instances and of classes, in training and in L."""

import copy
import warnings
from decimal import Decimal
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from typer.testing import CliRunner

from family_cases import CLASSES
from heros import DataError, DataNotice, Heros, ParameterError, Schema, evaluate, pools, scores, streams
from heros.cli import app
from heros.data.weights import Weights, notify_unknown_classes
from heros.ensemble.task import Regression
from heros.policies import Everything
from reference import balanced_weights, whole_times

STREAM = streams.Agrawal(function=2)
X, Y = STREAM.take(300).draw(300)
POOLS = CLASSES | {"default": None}


def fresh(pool, **settings):
    return Heros(pool, seed=1, schema=STREAM.schema, **settings)


@pytest.mark.parametrize("name", POOLS)
def test_a_weight_of_one_changes_nothing(name):
    plain, weighed = fresh(POOLS[name]), fresh(POOLS[name])
    a, b = plain.test_then_train(X, Y), weighed.test_then_train(X, Y, sample_weight=np.ones(len(Y)))
    assert (a.probabilities == b.probabilities).all()
    assert (a.chosen == b.chosen).all()
    assert (plain.scores == weighed.scores).all()
    mapped = fresh(POOLS[name], class_weight={"groupA": 1.0})
    assert (mapped.test_then_train(X, Y).probabilities == a.probabilities).all()


@pytest.mark.parametrize("name", POOLS)
def test_weights_do_not_depend_on_blocks_and_are_kept(name, tmp_path):
    weights = np.random.default_rng(1).exponential(1.5, len(Y))
    whole, cut = (fresh(POOLS[name], class_weight="balanced") for _ in range(2))
    whole.learn(X, Y, sample_weight=weights)
    for i in range(120):
        cut.learn(X[i], Y[i], sample_weight=weights[i])
    cut.save(tmp_path / "model.heros")
    cut = copy.deepcopy(Heros.load(tmp_path / "model.heros"))
    assert cut.class_weight == "balanced"
    cut.learn(X[120:], Y[120:], sample_weight=weights[120:])
    assert (whole.scores == cut.scores).all()
    assert (whole.predict_proba(X) == cut.predict_proba(X)).all()


@pytest.mark.parametrize("name", POOLS)
def test_nothing_is_trained_on_what_counts_nothing(name):
    model = fresh(POOLS[name]).learn(X, Y)
    before, scores_before, trained = model.predict_proba(X), model.scores, model.trained
    block = model.test_then_train(X[:50], Y[:50], sample_weight=0)
    assert not block.chosen.any()
    assert (model.trained == trained).all()
    assert (model.scores == scores_before).all()
    if name in ("trees", "bayes", "forest"):  # other families still update running moments
        assert (model.predict_proba(X) == before).all()


@pytest.mark.parametrize(
    ("pool", "weights"),
    [
        (
            pools.MLP([{"hidden": 4, "optimizer": "sgd", "learning_rate": 0.01}]),
            lambda m: m.bound.weights(0)["2.weight"],
        ),
        (pools.Linear([{"optimizer": "sgd", "learning_rate": 0.01}]), lambda m: m.bound.weights(0)),
    ],
    ids=["mlp", "linear"],
)
def test_a_weight_scales_the_gradient(pool, weights):
    start = fresh(pool, k=1, warmup=0, policy=Everything()).learn(X[:50], Y[:50])
    steps = {}
    for weight in (1.0, 2.5):
        model = copy.deepcopy(start).learn(X[50], Y[50], sample_weight=weight)
        steps[weight] = np.asarray(weights(model)) - np.asarray(weights(start))
    assert np.abs(steps[1.0]).max() > 0
    np.testing.assert_allclose(steps[2.5], 2.5 * steps[1.0], rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize(
    "pool",
    [
        pools.NaiveBayes([{"fading": 1.0}]),
        pools.Hoeffding([{"max_bytes": 1 << 20}]),
        pools.Neighbours([{"neighbours": 5, "window": 1000}]),
    ],
    ids=["bayes", "trees", "neighbours"],
)
def test_a_weight_of_three_counts_as_three(pool):
    schema = Schema.of([("a", "x", "y", "z"), ("b", "u", "v", "w")], classes=["no", "yes"])
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (60, 2)).astype(float)
    labels = (rows[:, 0] == 2).astype(int)
    times = rng.integers(0, 4, 60)
    weighed, repeated = (Heros(pool, Everything(), 1, seed=1, warmup=0, schema=schema) for _ in range(2))
    weighed.learn(rows, labels, sample_weight=times)
    repeated.learn(np.repeat(rows, times, axis=0), np.repeat(labels, times))
    np.testing.assert_allclose(weighed.predict_proba(rows), repeated.predict_proba(rows), rtol=1e-9)


def test_what_instances_count_is_what_the_slow_twin_says():
    labels = np.random.default_rng(3).choice(3, 400, p=[0.9, 0.08, 0.02])
    weights, times = Weights("balanced").of(labels.astype(float), None, ("a", "b", "c"))
    assert weights.tolist() == balanced_weights(labels.tolist())
    assert abs(times.sum() - weights.sum()) < 1
    exact = np.round(weights * 8) / 8
    _, times = Weights().of(labels.astype(float), exact, ("a", "b", "c"))
    assert times.tolist() == whole_times(exact.tolist())


def test_running_scores_count_weights():
    model = fresh(POOLS["linear"], score=scores.Cumulative(), class_weight={"groupA": 3.0, "groupB": 0.5})
    hits, total = np.zeros(model.pool.n_models), 0
    _, times = Weights(model.class_weight).of(Y.astype(float), None, STREAM.schema.classes)
    for x, y, n in zip(X, Y, times, strict=True):
        before = model.scores * total
        model.learn(x, y)
        total += n
        gained = model.scores * total - before
        assert set(np.round(gained / max(n, 1), 6)) <= {0.0, 1.0}
        hits += gained
    np.testing.assert_allclose(model.scores, hits / total)


def uneven(n=6000, share=0.03):
    rng = np.random.default_rng(5)
    y = rng.random(n) < share
    return rng.normal(size=(n, 4)) + 0.8 * y[:, None], np.where(y, "rare", "usual")


@pytest.mark.parametrize("pool", [None, pools.HoeffdingGrid()], ids=["default", "trees"])
def test_balanced_classes_are_recognised_better(pool):
    plain = evaluate(Heros(pool, seed=1), uneven())
    balanced = evaluate(Heros(pool, seed=1, class_weight="balanced"), uneven())
    assert balanced.imbalance.recall > plain.imbalance.recall + 0.2
    assert balanced.imbalance.balanced_accuracy > plain.imbalance.balanced_accuracy + 0.1


def test_rows_have_weights_too():
    one, two = (Heros(POOLS["linear"], k=3, seed=1) for _ in range(2))
    rows = [{"a": 1.0}, {"a": 2.0, "b": "x"}, {"a": 3.0, "b": "y"}]
    one.learn(rows, ["no", "yes", "no"], sample_weight=[1, 2.5, 0.5])
    for row, label, weight in zip(rows, ["no", "yes", "no"], [1, 2.5, 0.5], strict=True):
        two.learn(row, label, sample_weight=weight)
    assert one.predict_proba(rows) == two.predict_proba(rows)


def test_what_will_not_do_is_refused():
    with pytest.raises(
        ParameterError, match="'class_weight' parameter of Heros must be 'balanced', a mapping"
    ):
        Heros(class_weight="even")
    with pytest.raises(ParameterError, match="'class_weight' parameter of Heros must be"):
        Heros(class_weight={"a": -1})
    with pytest.raises(ParameterError, match="must be None, because the target is a number"):
        Heros(POOLS["linear"], task=Regression(), class_weight="balanced")
    with pytest.raises(ParameterError, match="must be None, because the target is a number"):
        Heros(POOLS["linear"], class_weight="balanced", schema=streams.Friedman().schema)
    model = fresh(POOLS["linear"])
    for weights, text in (
        ([1.0], r"one weight per instance \(300\). Got shape \(1,\)"),
        (np.full(300, -1.0), r"must be in \[0, 10000\]. Got \[-1.0"),
        (np.full(300, np.nan), r"must be in \[0, 10000\]"),
        ("heavy", "sample_weight must be an array of numbers"),
    ):
        with pytest.raises(DataError, match=text):
            model.learn(X, Y, sample_weight=weights)
    assert model.instances == 0

    class Coin:
        def predict_proba(self, x):
            return [0.5, 0.5]

        def learn(self, x, y):
            pass

    own = pools.Models([Coin()], costs=[1])
    with pytest.raises(
        ParameterError, match=r"compiled models, because the pool Models does not support weights"
    ):
        fresh(own, class_weight="balanced")
    with pytest.raises(ParameterError, match="Models does not support weights"):
        fresh(own).learn(X, Y, sample_weight=np.ones(300))


def test_weights_of_numbers():
    rows, targets = streams.Friedman().draw(400)
    plain, weighed, same = (Heros(seed=1, schema=streams.Friedman().schema) for _ in range(3))
    plain.learn(rows, targets)
    same.learn(rows, targets, sample_weight=np.ones(400))
    weighed.learn(rows, targets, sample_weight=np.where(rows[:, 0] > 0.5, 3.0, 0.1))
    assert (plain.predict(rows) == same.predict(rows)).all()
    assert not (plain.predict(rows) == weighed.predict(rows)).all()


@pytest.mark.parametrize("prediction", ["mean", "adaptive"])
def test_a_tree_of_numbers_that_weighs_two_has_seen_two(prediction):
    rows, targets = streams.Friedman().draw(1500)
    pool = pools.RegressionTrees([{"prediction": prediction, "grace_period": 50, "split_confidence": 0.01}])

    def tree():
        return Heros(pool, Everything(), 1, seed=1, schema=streams.Friedman().schema, warmup=0)

    twice, heavy, none = tree(), tree(), tree()
    twice.learn(np.repeat(rows, 2, axis=0), np.repeat(targets, 2))
    heavy.learn(rows, targets, sample_weight=np.full(len(rows), 2.0))
    none.learn(rows, targets, sample_weight=np.zeros(len(rows)))
    assert twice.bound.stats()[0].leaves == heavy.bound.stats()[0].leaves > 3
    close = 1e-9 if prediction == "mean" else 0.05  # numbers are scaled by statistics that ignore weights
    np.testing.assert_allclose(
        heavy.predict(rows), twice.predict(rows), rtol=close, atol=close * targets.std()
    )
    assert none.bound.stats()[0].leaves == 1


def test_a_run_has_weights():
    weights = np.random.default_rng(1).uniform(0, 2, len(Y))
    pool = POOLS["linear"]
    expected = fresh(pool).test_then_train(X, Y, sample_weight=weights).probabilities
    run = evaluate(fresh(pool), source(), weights=weights, window=70)
    assert (run.predictions.outputs == expected).all()
    table = frame(weights)
    by_column, plain = Heros(pool, seed=1), Heros(pool, seed=1)
    weighed = evaluate(by_column, table, target="group", weights="counts")
    other = evaluate(plain, table.drop_columns(["counts"]), target="group", weights=weights)
    assert (weighed.predictions.outputs == other.predictions.outputs).all()
    assert "counts" not in [feature.name for feature in by_column.schema.features]


def frame(weights):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return pa.table(columns | {"group": Y.astype(str), "counts": weights})


def source():
    return streams.from_arrays(X, Y, schema=STREAM.schema)


def test_a_run_with_weights_is_resumed_with_the_same(tmp_path):
    weights, pool = np.random.default_rng(1).uniform(0, 2, len(Y)), POOLS["linear"]
    whole = evaluate(fresh(pool), source(), weights=weights)
    settings = {"checkpoint": tmp_path, "every": 100, "window": 50}
    stopped = evaluate(fresh(pool), source(), weights=weights, callback=lambda w: w.end == 150, **settings)
    assert stopped.interrupted
    with pytest.raises(ParameterError, match="'weights' parameter"):
        evaluate(fresh(pool), source(), resume=True, **settings)
    gone_on = evaluate(fresh(pool), source(), weights=weights, resume=True, **settings)
    assert (gone_on.predictions.outputs == whole.predictions.outputs).all()


def test_weights_of_a_run_that_will_not_do_are_refused():
    table = frame(np.ones(len(Y)))
    with pytest.raises(ParameterError, match=r"one of the columns .*'counts' instead|Did you mean 'counts'"):
        evaluate(fresh(None), table, weights="count")
    with pytest.raises(ParameterError, match="of with_weights must be one of the numeric features salary"):
        evaluate(fresh(None), STREAM.take(10), weights="counts")
    with pytest.raises(DataError, match=r"weights must have one number per instance \(10\). Got 3 instead"):
        evaluate(fresh(None), STREAM.take(10), weights=[1, 2, 3])
    rows = streams.from_iter(({"a": row[0]}, str(y)) for row, y in zip(X.tolist(), Y, strict=True))
    with pytest.raises(DataError, match=r"weights must have one number per instance. Got only 3"):
        evaluate(Heros(POOLS["linear"], seed=1), rows, weights=[1, 2, 3])


def test_a_file_has_a_column_of_weights(tmp_path):
    weights = np.random.default_rng(1).uniform(0, 2, len(Y)).round(3)
    table, pool = frame(weights), POOLS["linear"]
    pa_csv.write_csv(table, tmp_path / "weighed.csv")
    expected = evaluate(Heros(pool, seed=1), table, target="group", weights="counts").predictions.outputs
    stream = streams.read(tmp_path / "weighed.csv", target="group", weights="counts")
    assert "counts" not in [feature.name for feature in stream.schema.features]
    assert (evaluate(Heros(pool, seed=1), stream).predictions.outputs == expected).all()
    stream.restart()
    some = stream.take(7)
    some.draw(5)
    assert some.weighed == "counts"
    assert some.weights().tolist() == weights[:5].tolist()
    for said in (
        streams.read(tmp_path / "weighed.csv", target="group").with_weights("counts"),
        streams.read(tmp_path / "weighed.csv", columns={"group": "target", "counts": "weights"}),
        streams.read(tmp_path / "weighed.csv", weights="counts"),  # the last column is then not the target
    ):
        assert (evaluate(Heros(pool, seed=1), said).predictions.outputs == expected).all()
    later = streams.read(tmp_path / "weighed.csv", target="group")
    assert (evaluate(Heros(pool, seed=1), later, weights="counts").predictions.outputs == expected).all()
    X_, y_ = table.drop_columns(["group"]), table.column("group")
    assert (evaluate(Heros(pool, seed=1), (X_, y_), weights="counts").predictions.outputs == expected).all()


def test_a_row_without_a_weight_is_a_bad_row(tmp_path):
    file = tmp_path / "weighed.csv"
    file.write_text("a,n,label\n1,1,no\n2,-3,yes\n3,,no\n4,2,yes\n")
    with pytest.raises(DataError, match=r"line 3: the 'n' column must be a weight in \[0, 10000\]. Got -3"):
        list(streams.read(file, weights="n", on_bad_row="raise").blocks())
    stream = streams.read(file, weights="n")
    with pytest.warns(DataNotice, match="Bad rows are skipped"):
        assert stream.draw(9)[0].tolist() == [[1], [4]]
    assert stream.weights().tolist() == [1, 2]
    assert stream.bad_rows.count == 2
    negative = streams.from_arrays([[1.0, 1.0], [2.0, -1.0]], ["a", "b"]).with_weights("x2")
    with pytest.raises(DataError, match=r"'x2' must be numbers in \[0, 10000\]. Got -1 in instance 2"):
        negative.draw(2)


def test_columns_that_cannot_be_weights_are_refused(tmp_path):
    file = tmp_path / "weighed.csv"
    file.write_text("a,n,label\n1,1,no\n2,3,yes\n")
    for said, text in (
        ({"weights": "m"}, r"'weights' parameter of read must be one of the columns \['a', 'n', 'label'\]"),
        ({"weights": "label", "target": "label"}, "a column other than the target"),
        ({"weights": "n", "ignore": ["n"]}, "a column that is not in 'ignore'"),
        ({"weights": "n", "nominal": ["n"]}, "a column that is not in 'nominal'"),
        ({"weights": 1}, "the name of a column"),
    ):
        with pytest.raises(ParameterError, match=text):
            streams.read(file, **said)
    with pytest.raises(DataError, match="must have a target column and a feature column"):
        streams.read(file, weights="n", ignore=["a"])
    weighed = streams.read(file, weights="n")
    with pytest.raises(
        ParameterError, match="left out, because the column 'n' of the stream has the weights"
    ):
        evaluate(Heros(POOLS["linear"], seed=1), weighed, weights=[1, 2])
    found = streams.look(file, weights="n")
    assert [column.kind for column in found.columns] == ["numbers", "weights", "target"]
    assert found.features == 1


def test_a_run_with_a_column_of_weights_is_resumed_with_the_same(tmp_path):
    file, pool = tmp_path / "weighed.csv", POOLS["linear"]
    weights = np.random.default_rng(1).uniform(0, 2, len(Y)).round(3)
    pa_csv.write_csv(frame(weights), file)

    def weighed():
        return streams.read(file, weights="counts")

    whole = evaluate(Heros(pool, seed=1), weighed())
    settings = {"checkpoint": tmp_path / "kept", "every": 100, "window": 50}
    evaluate(Heros(pool, seed=1), weighed(), callback=lambda w: w.end == 150, **settings)
    gone_on = evaluate(Heros(pool, seed=1), weighed(), resume=True, **settings)
    assert (gone_on.predictions.outputs == whole.predictions.outputs).all()
    weights[3] += 1
    pa_csv.write_csv(frame(weights), file)
    with pytest.raises(ParameterError, match="instances differ"):
        evaluate(Heros(pool, seed=1), weighed(), resume=True, **settings)


def test_a_weight_of_an_unknown_class_is_told(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("size,late\n" + "".join(f"{i % 7}.5,{('yes', 'no')[i % 2]}\n" for i in range(60)))
    said = r"The class weights include 'yess', but the classes so far are 'no', 'yes'\. Did you mean 'yes'\?"
    model = Heros(pools.Linear([{}]), k=1, seed=1, class_weight={"yess": 5, "no": 1})
    with pytest.warns(DataNotice, match=said):
        evaluate(model, streams.read(path, target="late"))
    told = CliRunner().invoke(
        app, ["run", str(path), "--target", "late", "--class-weight", "yess=5,no=1", "--n", "30"]
    )
    assert told.exit_code == 0
    assert "class weights include 'yess'" in told.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNotice)
        known = Heros(pools.Linear([{}]), k=1, seed=1, class_weight={"yes": 5})
        evaluate(known, streams.read(path, target="late"))


@pytest.mark.parametrize(
    ("key", "classes"),
    [
        (Enum("Colour", {"RED": "red"}, type=str).RED, ("red", "blue")),
        (Enum("Size", {"L": 3}, type=int).L, ("3", "1")),
        (3.0, ("3", "1")),
        (3, ("3.0", "1.0")),
        (Decimal("2.50"), ("2.5", "1")),
        (np.int64(3), ("3", "1")),
        (True, ("true", "false")),
    ],
)
def test_a_class_weight_names_its_class_as_a_label_does(key, classes):
    model = Heros(pools.Linear([{}]), seed=1, class_weight={key: 5})
    weights, _ = Weights(model.class_weight).of(np.array([0.0, 1.0]), None, classes)
    assert weights.tolist() == [5, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNotice)
        notify_unknown_classes(model.class_weight, classes)


@pytest.mark.parametrize(
    "given", [{None: 5}, {float("nan"): 5}, {b"yes": 5}, {10**5000: 5}, {1: 5, "1": 7}], ids=range(5)
)
def test_keys_of_class_weights_must_be_distinct_classes(given):
    with pytest.raises(ParameterError, match="must be a mapping of distinct classes"):
        Heros(class_weight=given)


class Breaks:
    """A policy that raises an error at the 50th instance."""

    times = 0

    def choose(self, scores, costs, k, rng):
        self.times += 1
        if self.times == 50:
            raise RuntimeError("broken")
        return np.arange(len(scores)) < k


def test_classes_of_instances_that_were_not_learnt_are_not_counted():
    plain, refused = (fresh(CLASSES["mlp"], class_weight="balanced") for _ in range(2))
    for model in (plain, refused):
        model.learn(X[:150], Y[:150], sample_weight=0.7)
    for wrong in ({"sample_weight": -1}, {"sample_weight": [1, 2]}, {"delay": -1}):
        with pytest.raises(DataError):
            refused.learn(X, Y, **wrong)
    a, b = (model.test_then_train(X[150:], Y[150:]) for model in (plain, refused))
    assert (a.probabilities == b.probabilities).all()

    broken = fresh(CLASSES["mlp"], policy=Breaks(), k=1, warmup=0, class_weight="balanced")
    with pytest.raises(RuntimeError, match="broken"):
        broken.learn(X, Y, sample_weight=np.full(len(Y), 0.7))
    weights = Weights("balanced")
    n = broken.instances
    assert 0 < n < len(Y)
    weights.of(Y[:n].astype(np.float64), 0.7, STREAM.schema.classes)
    for name, array in weights.state().items():
        assert (broken.state()["weights"][name] == array).all()
