"""Instances as active inputs: slow version, missing values and growing schemas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from heros import _core


def dense(encoder, x):
    index, value = encoder.encode(x)
    assert np.all(np.diff(index) > 0), "inputs in rising order"
    assert np.all(value != 0), "an input of 0 is not active"
    vector = np.zeros(encoder.inputs)
    vector[index] = value
    return vector


@given(
    st.lists(st.sampled_from([0, 0, 1, 2, 3, 7]), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
    st.floats(0, 0.5),
    st.sampled_from([3.0, 1.0, 0.25]),
)
@settings(deadline=None)
def test_equals_its_slow_twin(values, seed, missing, divisor):
    rng = np.random.default_rng(seed)
    encoder = _core.Encoder(divisor)
    encoder.grow(np.array(values, dtype=np.int32))
    history = []
    for _ in range(25):
        x = np.array([rng.integers(0, n) if n else rng.normal(50, 7) for n in values], dtype=float)
        x[rng.random(len(values)) < missing] = np.nan
        seen = not np.isnan(x).all()
        expected = reference.encode(values, history, x, divisor) if seen else np.zeros(encoder.inputs)
        np.testing.assert_allclose(dense(encoder, x), expected, rtol=1e-5, atol=1e-6)
        encoder.learn(x)
        history.append(x)


def test_encoding_changes_nothing():
    encoder = _core.Encoder(3.0)
    encoder.grow(np.array([0, 3], dtype=np.int32))
    for x in ([1.0, 0], [5.0, 2], [2.0, 1]):
        encoder.learn(np.array(x))
    first = dense(encoder, np.array([9.0, 1]))
    dense(encoder, np.array([1e6, 2]))
    assert np.array_equal(first, dense(encoder, np.array([9.0, 1])))


def test_a_constant_feature_is_never_active():
    encoder = _core.Encoder(3.0)
    encoder.grow(np.array([0], dtype=np.int32))
    for _ in range(5):
        assert encoder.encode(np.array([3.5]))[0].size == 0
        encoder.learn(np.array([3.5]))


def test_large_offsets_do_not_ruin_the_moments():
    encoder = _core.Encoder(3.0)
    encoder.grow(np.array([0], dtype=np.int32))
    values = 1e9 + np.arange(1000) % 10
    for v in values:
        encoder.learn(np.array([v]))
    seen = np.append(values, 1e9 + 9)
    expected = (seen[-1] - seen.mean()) / (3 * (seen - 1e9).std())
    assert dense(encoder, np.array([1e9 + 9]))[0] == pytest.approx(expected, rel=1e-4)


def test_growing_keeps_the_inputs_that_exist():
    encoder = _core.Encoder(3.0)
    encoder.grow(np.array([0, 3, 2], dtype=np.int32))  # inputs 0 and 2 are scaled; then 3 categories
    assert encoder.inputs == 5
    for x in ([1.0, 0, 1], [4.0, 1, 0]):
        encoder.learn(np.array(x))
    before = dense(encoder, np.array([2.0, 2, 1]))
    encoder.grow(np.array([0, 5, 2, 0], dtype=np.int32))  # two more categories and a feature
    assert encoder.inputs == 8
    after = dense(encoder, np.array([2.0, 2, 1, 7.0]))
    assert np.array_equal(after[:5], before)
    new = dense(encoder, np.array([2.0, 4, 1, 7.0]))
    assert np.array_equal(np.flatnonzero(new), [0, 1, 7])


def test_a_binary_feature_with_a_third_value_turns_one_hot():
    encoder = _core.Encoder(3.0)
    encoder.grow(np.array([2], dtype=np.int32))
    encoder.learn(np.array([0.0]))
    assert np.flatnonzero(dense(encoder, np.array([1.0]))).tolist() == [0]
    encoder.grow(np.array([3], dtype=np.int32))
    assert [np.flatnonzero(dense(encoder, np.array([float(v)]))).tolist() for v in range(3)] == [
        [1],
        [2],
        [3],
    ]
