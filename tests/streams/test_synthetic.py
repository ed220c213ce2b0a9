"""MOA's generators, compared with MOA itself and with slow versions; their parameters."""

import hashlib
import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_streams as reference
from heros import ParameterError, _core, streams

MOA = json.loads((Path(__file__).parents[1] / "data" / "moa.json").read_text())
SEEDS = st.integers(-(2**63), 2**63 - 1)


def build(kind, settings):
    sides = {name: build(*value) if isinstance(value, list) else value for name, value in settings.items()}
    return getattr(streams, kind)(**sides)


@pytest.mark.parametrize("case", MOA, ids=lambda case: case["moa"])
def test_the_instances_are_those_of_moa(case):
    X, y = build(case["stream"], case["settings"]).draw(case["rows"])
    rows = np.column_stack([X, y])
    if "sha256" in case:
        assert rows[0].tolist() == case["first"]
        assert hashlib.sha256(rows.tobytes()).hexdigest() == case["sha256"]
    else:  # with Gaussian draws: labels are equal; values differ in the last bits of a logarithm
        assert hashlib.sha256(y.tobytes()).hexdigest() == case["labels_sha256"]
        for got, expected in ((rows[0], "first"), (rows[-1], "last"), (rows.mean(axis=0), "means")):
            np.testing.assert_allclose(got, case[expected], rtol=0, atol=1e-9)


def test_moa_was_asked_for_every_function_drift_count_and_kind():
    asked = [(case["stream"], case["settings"]) for case in MOA]
    assert {s["function"] for kind, s in asked if kind == "Agrawal"} == set(range(1, 11))
    assert {s["drift"] for kind, s in asked if kind == "LED"} == set(range(8))
    assert {kind for kind, _ in asked} == {"Agrawal", "LED", "RandomRBF", "Drift"}


def expect_rows(stream, twin, n=200, exact=True):
    X, y = stream.draw(n)
    rows = list(itertools.islice(twin, n))
    np.testing.assert_array_equal(y, [label for _, label in rows])
    if exact:
        np.testing.assert_array_equal(X, [row for row, _ in rows])
    else:
        np.testing.assert_allclose(X, [row for row, _ in rows], rtol=0, atol=1e-9)


@given(
    function=st.integers(1, 10),
    seed=SEEDS,
    perturbation=st.floats(0, 1, allow_subnormal=False),
    balance=st.booleans(),
)
def test_agrawal_equals_its_slow_twin(function, seed, perturbation, balance):
    chosen = {"function": function, "seed": seed, "perturbation": perturbation, "balance": balance}
    expect_rows(streams.Agrawal(**chosen), reference.agrawal(**chosen), n=60)


@given(drift=st.integers(0, 7), seed=SEEDS, noise=st.integers(0, 100))
def test_led_equals_its_slow_twin(drift, seed, noise):
    chosen = {"drift": drift, "seed": seed, "noise": noise}
    expect_rows(streams.LED(**chosen), reference.led(**chosen), n=60)


@given(
    classes=st.integers(2, 9),
    features=st.integers(1, 12),
    centroids=st.integers(1, 20),
    model_seed=SEEDS,
    instance_seed=SEEDS,
    drifting=st.integers(0, 25),
    speed=st.floats(0, 2, allow_subnormal=False),
)
def test_random_rbf_equals_its_slow_twin(**chosen):
    expect_rows(streams.RandomRBF(**chosen), reference.random_rbf(**chosen), n=40, exact=False)


@given(
    position=st.integers(0, 300),
    width=st.integers(1, 400),
    seed=SEEDS,
)
def test_drift_equals_its_slow_twin(position, width, seed):
    stream = streams.Drift(streams.LED(drift=1), streams.LED(drift=5, seed=3), position, width, seed)
    twin = reference.drift(reference.led(drift=1), reference.led(drift=5, seed=3), position, width, seed)
    expect_rows(stream, twin)


def test_nested_drifts_equal_their_slow_twin():
    stream = streams.Drift(
        streams.Drift(streams.Agrawal(2), streams.Agrawal(4), 100, 20), streams.Agrawal(6), 250, 90, seed=5
    )
    twin = reference.drift(
        reference.drift(reference.agrawal(2), reference.agrawal(4), 100, 20), reference.agrawal(6), 250, 90, 5
    )
    expect_rows(stream, twin, n=500)


def test_a_balanced_stream_alternates_and_starts_with_class_1():
    _, y = streams.Agrawal(function=3, balance=True).draw(10)
    assert y.tolist() == [1, 0] * 5


def test_blocks_are_ready_for_the_core():
    X, y = streams.RandomRBF(classes=3).draw(7)
    assert (X.dtype, y.dtype, X.flags.c_contiguous) == (np.float64, np.int64, True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: streams.Agrawal(function=0),
            "The 'function' parameter of Agrawal must be a whole number in [1, 10]. Got 0 instead.",
        ),
        (
            lambda: streams.Agrawal(function=2.5),
            "The 'function' parameter of Agrawal must be a whole number in [1, 10]. Got 2.5 instead.",
        ),
        (
            lambda: streams.Agrawal(seed=-(2**63) - 1),
            "The 'seed' parameter of Agrawal must be a whole number of 64 bits. "
            "Got -9223372036854775809 instead.",
        ),
        (
            lambda: streams.Agrawal(perturbation=1.5),
            "The 'perturbation' parameter of Agrawal must be in [0, 1]. Got 1.5 instead.",
        ),
        (
            lambda: streams.Agrawal(perturbation=float("nan")),
            "The 'perturbation' parameter of Agrawal must be in [0, 1]. Got nan instead.",
        ),
        (
            lambda: streams.Agrawal(balance="yes"),
            "The 'balance' parameter of Agrawal must be True or False. Got 'yes' instead.",
        ),
        (
            lambda: streams.LED(drift=8),
            "The 'drift' parameter of LED must be a whole number in [0, 7]. Got 8 instead.",
        ),
        (
            lambda: streams.LED(noise=101),
            "The 'noise' parameter of LED must be a whole number in [0, 100]. Got 101 instead.",
        ),
        (
            lambda: streams.RandomRBF(classes=1),
            "The 'classes' parameter of RandomRBF must be a whole number in [2, 1000000]. Got 1 instead.",
        ),
        (
            lambda: streams.RandomRBF(features=0),
            "The 'features' parameter of RandomRBF must be a whole number in [1, 1000000]. Got 0 instead.",
        ),
        (
            lambda: streams.RandomRBF(centroids=True),
            "The 'centroids' parameter of RandomRBF must be a whole number in [1, 1000000]. "
            "Got True instead.",
        ),
        (
            lambda: streams.RandomRBF(speed=-0.1),
            "The 'speed' parameter of RandomRBF must be a number >= 0. Got -0.1 instead.",
        ),
        (
            lambda: streams.RandomRBF(model_seed="1"),
            "The 'model_seed' parameter of RandomRBF must be a whole number of 64 bits. Got '1' instead.",
        ),
        (
            lambda: streams.Drift(streams.LED(), streams.LED(), position=-1),
            "The 'position' parameter of Drift must be a whole number in [0, 4611686018427387904]. Got -1 instead.",
        ),
        (
            lambda: streams.Drift(streams.LED(), streams.LED(), position=1, width=0),
            "The 'width' parameter of Drift must be a whole number in [1, 4611686018427387904]. Got 0 instead.",
        ),
        (
            lambda: streams.Drift([1, 2], streams.LED(), position=1),
            "The 'before' parameter of Drift must be a stream. Got [1, 2] instead.",
        ),
    ],
)
def test_a_parameter_that_breaks_its_rule_is_refused(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def whole(value):
    return np.array([value], dtype=np.int32)


GENERATORS = {
    "agrawal": lambda: _core.Agrawal(1, 1, 0.0, False),
    "led": lambda: _core.LED(1, 1, 10),
    "rbf": lambda: _core.RandomRBF(2, 3, 4, 1, 1, 4, 0.1),  # classes, features, centroids
    "drift": lambda: _core.Drift(10, 5, 1),
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("agrawal", "function", whole(11)),
        ("agrawal", "perturbation", np.array([np.nan])),
        ("agrawal", "perturbation", np.array([1.5])),
        ("agrawal", "balance", np.array([2], dtype=np.uint8)),
        ("agrawal", "wanted", whole(2)),
        ("led", "drift", whole(8)),
        ("led", "noise", whole(-1)),
        ("led", "noise", whole(101)),
        ("rbf", "classes", whole(0)),
        ("rbf", "features", whole(0)),
        ("rbf", "speed", np.array([np.inf])),
        ("rbf", "centres", np.zeros(5)),
        ("rbf", "centres", np.full(12, np.nan)),
        ("rbf", "directions", np.zeros(24)),
        ("rbf", "directions", np.full(12, np.inf)),
        ("rbf", "labels", np.array([0, 1, 2, 0], dtype=np.int32)),
        ("rbf", "labels", np.array([0, 1, -1, 0], dtype=np.int32)),
        ("rbf", "labels", np.zeros(0, dtype=np.int32)),
        ("rbf", "deviations", np.zeros(3)),
        ("rbf", "deviations", np.full(4, np.nan)),
        ("rbf", "weights", np.ones(3)),
        ("rbf", "weights", np.zeros(4)),
        ("rbf", "weights", np.array([1.0, -0.5, 1.0, 1.0])),
        ("rbf", "weights", np.array([1.0, np.nan, 1.0, 1.0])),
        ("rbf", "weights", np.full(4, 1e308)),  # their sum is infinite
        ("rbf", "random_spare", np.array([np.nan])),
        ("drift", "position", np.array([-1])),
        ("drift", "width", np.array([0])),
        ("drift", "count", np.array([-1])),
        ("drift", "count", np.array([2**63 - 1])),
        ("drift", "random_bits", np.array([2**48], dtype=np.uint64)),
    ],
)
def test_a_state_that_does_not_fit_is_refused(kind, name, value):
    generator = GENERATORS[kind]()
    state = {**generator.__getstate__(), name: value}
    fresh = type(generator).__new__(type(generator))
    with pytest.raises(ValueError, match=f"The state does not fit: {name}"):
        fresh.__setstate__(state)


def test_arrays_that_do_not_fit_are_not_filled():
    with pytest.raises(ValueError, match="do not fit the stream"):
        _core.LED(1, 1, 10).fill(np.empty((3, 23)), np.empty(3, dtype=np.int64))
    with pytest.raises(ValueError, match="do not fit the stream"):
        _core.LED(1, 1, 10).fill(np.empty((3, 24)), np.empty(4, dtype=np.int64))


def test_a_native_generator_pickles_with_its_gaussian_in_hand():
    generator = _core.RandomRBF(2, 3, 4, 1, 1, 4, 0.1)
    X, y = np.empty((3, 3)), np.empty(3, dtype=np.int64)
    generator.fill(X, y)  # after an odd number of Gaussian draws, one is stored
    copy = pickle.loads(pickle.dumps(generator))
    again, labels = np.empty_like(X), np.empty_like(y)
    generator.fill(X, y)
    copy.fill(again, labels)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
