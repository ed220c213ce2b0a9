"""Malformed input of every kind raises a HerosError with a clear message."""

import re
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from family_cases import CLASSES
from heros import (
    DataError,
    Feature,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    measures,
    policies,
    pools,
    scores,
    streams,
)
from heros._base.parameters import number, one_of, whole

SCHEMA = Schema.of(["a", ("b", "x", "y", "z")], classes=["no", "yes"])


def small(pool=None):
    return Heros(pool or pools.MLP([{"hidden": 4}]), k=1, seed=1, schema=SCHEMA)


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (
            np.array([[1 + 2j, 0]]),
            "X must be an array of numbers (nominal values as codes). Got an array of complex128",
        ),
        (np.array([["1", "0"]]), "Got an array of <U1 instead."),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"), "Got an array of datetime64[D] instead."),
        (
            np.zeros(2, dtype=[("a", "f8"), ("b", "f8")])[:, None],
            "Got an array of [('a', '<f8'), ('b', '<f8')] instead.",
        ),
        (
            [[10**400, 0]],
            "X must be an array of numbers (nominal values as codes). The error was: int too large to convert",
        ),
        ([[1.0], [1.0, 2.0]], "X must be an array of numbers"),
        (
            np.broadcast_to(np.float32(0), (2**40, 2)),
            "fits into memory. Got the shape (1099511627776, 2) instead.",
        ),
        (
            np.ma.masked_array([[1.0, 0.0]], mask=[[True, False]]),
            "Column 'a' (0) of row 0 must be a finite number",
        ),
        *(
            (
                np.array([[1.0, value]], dtype=object),
                f"Got an array that contains {type(value).__name__} instead.",
            )
            for value in ("1", b"1", 1j, np.datetime64("2020-01-01"), np.timedelta64(1), datetime.now(UTC))
        ),
    ],
)
def test_instances_that_are_none(X, text):
    model = small()
    for ask in (model.predict_proba, lambda X: model.test_then_train(X, [0])):
        with pytest.raises(DataError) as error:
            ask(X)
        assert text in str(error.value)
    assert model.instances == 0


def test_what_is_masked_is_missing_in_one_instance_as_in_several():
    schema = Schema((Feature("a", missing=True), Feature("b")), ("no", "yes"))
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1, schema=schema).learn([[1, 2], [3, 4]], [0, 1])
    one = np.ma.array([50.0, 0.5], mask=[True, False])
    several = model.predict_proba([[np.nan, 0.5]])[0]
    np.testing.assert_array_equal(model.predict_proba(one), several)
    np.testing.assert_array_equal(model.predict_proba(one.astype(object)), several)
    with pytest.raises(DataError, match=re.escape("Column 'b' (1) of row 0 must be a finite number")):
        model.predict_proba(np.ma.array([0.5, 50.0], mask=[False, True]))


@pytest.mark.parametrize("y", [np.ma.masked, np.ma.array(1, mask=True), np.ma.array([1], mask=[True])[0]])
def test_a_label_that_is_masked_is_not_learnt(y):
    model = small()
    with pytest.raises(DataError, match="must have a label for every instance"):
        model.learn([1.0, 0.0], y)
    assert model.instances == 0


def test_numbers_of_any_kind_are_numbers_in_an_array_of_objects():
    X = np.array([[Decimal("0.5"), True], [np.float32(2), np.int8(2)]], dtype=object)
    np.testing.assert_array_equal(small().predict_proba(X), small().predict_proba([[0.5, 1.0], [2.0, 2.0]]))


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([[0], [1, 1]], "y must be an array of class indices"),
        ([2], "The label of row 0 must be a class index in [0, 1]. Got 2 instead."),
        ([np.nan], "The label of row 0 must be a class index in [0, 1]. Got nan instead."),
        (["hm"], "The label of row 0 must be one of the classes 'no', 'yes'. Got 'hm' instead."),
        (
            np.ma.masked_array([1], mask=[True]),
            "y must have a label for every instance. Got masked values instead.",
        ),
    ],
)
def test_labels_that_are_none(y, text):
    model = small()
    with pytest.raises(DataError) as error:
        model.test_then_train([[1.0, 0.0]], y)
    assert text in str(error.value)
    assert model.instances == 0


@pytest.mark.parametrize("pool", CLASSES.values(), ids=CLASSES)
def test_instances_in_any_layout_give_what_a_plain_array_gives(pool):
    rng = np.random.default_rng(1)
    X, y = np.column_stack([rng.normal(size=50), rng.integers(0, 3, 50)]), rng.integers(0, 2, 50)
    expected = small(pool).test_then_train(X, y).probabilities
    unaligned = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
    unaligned[...] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    for layout in (
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        unaligned,
        read_only,
        X.astype(object),
        X.tolist(),
    ):
        np.testing.assert_array_equal(small(pool).test_then_train(layout, y).probabilities, expected)


@pytest.mark.parametrize("pool", CLASSES.values(), ids=CLASSES)
def test_numbers_at_the_end_of_the_range_leave_probabilities_that_are_numbers(pool):
    model = small(pool)
    huge = np.finfo(np.float64).max
    X = [[huge, 0.0], [-huge, 1.0], [huge, 2.0], [-huge, 0.0], [5e-324, 1.0]] * 20
    p = model.test_then_train(X, [0, 1] * 50).probabilities
    assert np.isfinite(p).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_column_with_a_million_categories():
    values = [str(i) for i in range(1_000_000)]
    schema = Schema((Feature("id", tuple(values)),), ("no", "yes"))
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 1_000_000, (800, 1)).astype(float), rng.integers(0, 2, 800)
    for pool in (
        pools.MLP([{"hidden": 1}]),
        pools.Hoeffding([{}, {"binary_splits": True}]),
        pools.Neighbours([{}]),
        pools.LinearGrid(),
        pools.NaiveBayes([{}]),
        pools.LabelMemory([{}]),
        pools.Boosted([{"rounds": 3}]),
        pools.Retrained([{"trees": 3}]),
    ):
        model = Heros(pool, k=1, seed=1, schema=schema).learn(X, y)  # quadratic in the values: hours
        assert np.isfinite(model.predict_proba(X[:3])).all()
    with pytest.raises(HerosError, match="do not fit into memory"):
        Heros(pools.MLP([{"hidden": 1 << 20}]), k=1, schema=schema)


def test_an_iterator_with_thirty_thousand_categories():
    pairs = (({"id": f"v{i}"}, "yes" if i % 2 else "no") for i in range(30_000))
    stream = streams.from_iter(pairs, most_values=None)
    X, _ = stream.draw(30_000)  # quadratic in the values: minutes
    assert len(stream.schema.features[0].values) == 30_000
    np.testing.assert_array_equal(X[:, 0], np.arange(30_000))


def test_a_pool_that_could_not_grow_stays_as_it_was():
    model = Heros(pools.MLP([{"hidden": 1 << 18}]), k=1, seed=1, schema=SCHEMA)
    before = model.predict_proba([1.0, 2.0])
    wide = Schema((*SCHEMA.features, Feature("c", tuple(map(str, range(1_000_000))))), SCHEMA.classes)
    with pytest.raises(HerosError, match="do not fit into memory"):
        model.bind(wide)
    np.testing.assert_array_equal(model.predict_proba([1.0, 2.0]), before)
    grown = Schema((*SCHEMA.features, Feature("c")), SCHEMA.classes)
    assert np.isfinite(model.bind(grown).predict_proba([1.0, 2.0, 3.0])).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Feature(3), "The 'name' parameter of Feature must be a string. Got 3 instead."),
        (
            lambda: Feature("a", ["x"]),
            "The 'values' parameter of Feature must be a tuple of strings. Got ['x'] instead.",
        ),
        (lambda: Feature("a", range(10**9)), "must be a tuple of strings. Got range(0, 1000000000) instead."),
        (lambda: Schema(("a",), ("no",)), "The 'features' parameter of Schema must be a tuple of features."),
        (
            lambda: Schema.of([3], ["no"]),
            "a list of names, (name, value, ...) tuples and features. Got 3 instead.",
        ),
        (
            lambda: small().bind("x"),
            "The 'schema' parameter of Heros must be a heros.Schema. Got 'x' instead.",
        ),
        (
            lambda: pools.MLP(3),
            "The 'configurations' parameter of MLP must be one mapping per model. Got 3 instead.",
        ),
        (lambda: pools.Hoeffding([None]), "must be one mapping per model. Got None instead."),
        (
            lambda: pools.MLP([{}], costs=["a"]),
            "The 'costs' parameter of MLP must be one number per model (1).",
        ),
        (
            lambda: scores.Adwin().bind(-1),
            "The 'models' parameter of bind must be a whole number in [1, 1048576].",
        ),
        (
            lambda: streams.RandomRBF(features=10**6, centroids=10**6),
            "must be at most 10 if there are 1000000 features.",
        ),
        (
            lambda: streams.Agrawal().draw(2**62),
            "The 'n' parameter of draw must be small enough that n instances fit into memory",
        ),
        (
            lambda: streams.Drift(streams.LED(), streams.LED(), 2**63),
            "The 'position' parameter of Drift must be a whole",
        ),
        (
            lambda: whole(np.array([1]), "k", "Heros", 1),
            "must be a whole number >= 1. Got array([1]) instead.",
        ),
        (
            lambda: number(10**400, "w", "Reward", 0),
            "The 'w' parameter of Reward must be a number >= 0. Got 1000",
        ),
        (lambda: number("1", "w", "Reward", 0), "must be a number >= 0. Got '1' instead."),
        (
            lambda: one_of(np.array(["a", "b"]), "x", "y", ("a",), "'a'"),
            "The 'x' parameter of y must be 'a'.",
        ),
    ],
)
def test_parameters_that_break_their_rule(make, text):
    with pytest.raises(ParameterError) as error:
        make()
    assert text in str(error.value)
    assert len(str(error.value)) < 5000


@pytest.mark.parametrize(
    ("values", "k", "rng", "text"),
    [
        (
            (["a"], [1.0]),
            1,
            np.random.default_rng(1),
            "The 'scores' parameter of Zeta must be a vector of finite numbers.",
        ),
        (
            ([1.0], [np.inf]),
            1,
            np.random.default_rng(1),
            "The 'costs' parameter of Zeta must be a vector of finite numbers.",
        ),
        (
            ([1.0], [1.0]),
            1.5,
            np.random.default_rng(1),
            "The 'k' parameter of Zeta must be in [1, 1]. Got 1.5 instead.",
        ),
        (
            ([1.0], [1.0]),
            1,
            7,
            "The 'rng' parameter of Zeta must be a numpy.random.Generator. Got 7 instead.",
        ),
    ],
)
def test_choices_from_nonsense(values, k, rng, text):
    with pytest.raises(ParameterError) as error:
        policies.Zeta(0.1).choose(*values, k, rng)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (
            lambda: measures.auroc([0, 1], [[0.5, np.nan], [0.5, 0.5]]),
            "The probabilities of auroc must be numbers in [0, 1]. Got nan",
        ),
        (
            lambda: measures.auroc([0], [[0.5, 0.5], [0.5, 0.5]]),
            "auroc needs one label per instance (2). Got 1 instead.",
        ),
        (
            lambda: measures.log_loss([5], [[0.5, 0.5]]),
            "The labels of log_loss must be class indices in [0, 1]. Got 5 instead.",
        ),
        (lambda: measures.log_loss(["a"], [[0.5, 0.5]]), "Got an array of <U1 instead."),
        (
            lambda: measures.Confusion().update([0], [3], 2),
            "The labels of Confusion must be class indices in [0, 1].",
        ),
        (
            lambda: measures.RunningAuroc().update([0], [[2.0]]),
            "The probabilities of RunningAuroc must be numbers in [0, 1].",
        ),
        (
            lambda: scores.Cumulative().bind(1).update(np.array([np.nan])),
            "An outcome must be in [0, 1]. Got nan instead.",
        ),
    ],
)
def test_measures_of_nonsense(measure, text):
    with pytest.raises(DataError) as error:
        measure()
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dense_room", np.array([2**31 - 1], dtype=np.int32)),
        ("sparse_room", np.array([2**31 - 1], dtype=np.int32)),
        ("mean", np.array([np.nan, 0.0])),
        ("steps", np.array([2**63 - 1])),
        ("weights", np.zeros(3, dtype=np.float32)),
        ("weights", None),
        ("output_start", np.zeros(3, dtype=np.float32)),
    ],
)
def test_a_damaged_state_of_perceptrons_is_refused_and_changes_nothing(name, value):
    model = small().learn([[1.0, 2.0]], [1])
    before = model.predict_proba([1.0, 2.0])
    with pytest.raises(DataError, match="The state does not fit"):
        model.bound.restore({**model.bound.state(), name: value})
    np.testing.assert_array_equal(model.predict_proba([1.0, 2.0]), before)


def test_a_state_in_which_a_number_has_a_category_is_refused():
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1, schema=Schema.of(["a", "b"], ["no", "yes"]))
    damaged = {**model.bound.state(), "code": np.array([-1, 0], dtype=np.int32)}
    with pytest.raises(DataError, match="an input belongs to no known feature"):
        model.bound.restore(damaged)


@pytest.mark.parametrize(
    ("name", "value"),
    [("block_reals", np.nan), ("node_counts", -1.0), ("leaf_reals", np.inf), ("block_ints", -1)],
)
def test_a_damaged_state_of_trees_is_refused_and_changes_nothing(name, value):
    model = small(pools.Hoeffding([{}])).learn([[1.0, 2.0], [2.0, 1.0]], [1, 0])
    before = model.predict_proba([1.0, 2.0])
    state = model.bound.state()
    state[name] = np.full_like(state[name], value)
    with pytest.raises(DataError, match="The state does not fit"):
        model.bound.restore(state)
    np.testing.assert_array_equal(model.predict_proba([1.0, 2.0]), before)


def test_a_damaged_state_of_scores_is_refused():
    model = small()
    for name in ("values", "invested", "costs", "cpu"):
        state = model._learner.step.state()
        state[name] = np.full_like(state[name], np.nan)
        with pytest.raises(DataError, match="The state does not fit"):
            model._learner.step.restore(state)
    state = model.__getstate__()
    state["learnt"] = state["learnt"]._replace(arrays={"pool": {}})
    with pytest.raises(DataError, match="The state of a Heros must have the groups"):
        Heros.__new__(Heros).__setstate__(state)


def test_a_broken_arrow_file_is_refused_where_arrow_trusts_it(tmp_path):
    table = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode(), "label": ["p", "q", "p"]})
    path = tmp_path / "x.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    data = path.read_bytes()
    codes = np.array([0, 1, 0], dtype=np.int32).tobytes()
    assert data.count(codes) == 1
    path.write_bytes(data.replace(codes, np.array([0, 1 << 20, 0], dtype=np.int32).tobytes()))
    with pytest.raises(DataError, match=r"x\.arrow cannot be read completely"):
        streams.read(path).draw(3)


def test_nominal_values_of_an_arff_file_need_their_brace(tmp_path):
    path = tmp_path / "x.arff"
    path.write_text("@attribute a {x, y\n@attribute c {p, q}\n@data\nx,p\n")
    with pytest.raises(DataError, match="line 1: an attribute must have distinct values in braces"):
        streams.read(path)


@pytest.mark.parametrize("pool", CLASSES.values(), ids=CLASSES)
def test_a_state_holds_arrays_and_nothing_that_only_looks_like_one(pool):
    """A NumPy date offers an invalid buffer: without a type check, the process crashes."""
    model = small(pool).learn([[1.0, 0.0]] * 9, [0, 1, 0] * 3)
    state, before = model.bound.state(), model.predict_proba([2.0, 1.0])
    for name in state:
        for other in (np.datetime64("2020-01-01"), np.timedelta64(1), np.float64(1), memoryview(b"12345678")):
            with pytest.raises(ValueError, match=r"The state does not fit: |The '(state|costs)' par"):
                model.bound.restore(state | {name: other})
    model.bound.restore(state)
    assert (model.predict_proba([2.0, 1.0]) == before).all()
