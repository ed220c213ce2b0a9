"""The contract of streams: block size, take, restart, copy and pickle do not change the instances."""

import copy
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heros import DataError, ParameterError, streams

N = 137


def pairs():
    for i in range(N):
        features = {"x": float(i), "colour": "rgb"[i % 3]}
        if i > 50:
            features["late"] = i / 2
        yield features, "ab"[i % 2]


def table():
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "x": pa.array(rng.normal(size=N), mask=np.arange(N) % 10 == 4),
            "colour": pa.array(["red", "green", "blue"])
            .take(pa.array(rng.integers(3, size=N)))
            .dictionary_encode(),
            "n": rng.integers(9, size=N),
            "label": pa.array(["yes", "no"]).take(pa.array(rng.integers(2, size=N))),
        }
    )


def write_text(path):
    columns = table().to_pydict()
    rows = zip(*columns.values(), strict=True)
    lines = [",".join("?" if value is None else str(value) for value in row) for row in rows]
    lines.insert(0, "x,colour,n,label")
    if path.suffix == ".gz":
        with pa.output_stream(str(path), compression="gzip") as file:
            file.write("\n".join(lines).encode())
    else:
        path.write_text("\n".join(lines))


KINDS = [
    "agrawal",
    "rbf",
    "led",
    "drift",
    "nested drift",
    "drift of a file",
    "taken",
    "arrays",
    "frame",
    "iterator",
    "csv",
    "csv.gz",
    "parquet",
    "arrow",
    "feather",
]


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Return a new stream of each kind."""
    folder = tmp_path_factory.mktemp("streams")
    write_text(folder / "s.csv")
    write_text(folder / "s.csv.gz")
    pq.write_table(table(), folder / "s.parquet", row_group_size=40)
    pa.feather.write_feather(table(), folder / "s.feather", chunksize=30)
    with pa.ipc.new_stream(folder / "s.arrow", table().schema) as writer:
        writer.write_table(table(), max_chunksize=50)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(N, 3)), rng.integers(3, size=N)
    makers = {
        "agrawal": lambda: streams.Agrawal(5, balance=True).take(N),
        "rbf": lambda: streams.RandomRBF(speed=0.1).take(N),
        "led": lambda: streams.LED(4).take(N),
        "drift": lambda: streams.Drift(streams.LED(1), streams.LED(2), 60, 30).take(N),
        "nested drift": lambda: streams.Drift(
            streams.Drift(streams.LED(1), streams.LED(2), 30, 9), streams.LED(7), 80, 30
        ).take(N),
        "drift of a file": lambda: streams.Drift(
            streams.read(folder / "s.csv"), streams.read(folder / "s.csv"), 90, 30
        ),
        "taken": lambda: streams.Agrawal(1).take(2 * N).take(N),
        "arrays": lambda: streams.from_arrays(X, y),
        "frame": lambda: streams.from_frame(table()),
        "iterator": lambda: streams.from_iter(pairs),
        **{
            kind: lambda kind=kind: streams.read(folder / f"s.{kind}")
            for kind in ("csv", "csv.gz", "parquet", "arrow", "feather")
        },
    }
    assert list(makers) == KINDS
    return makers


def same(found, expected):
    """Return whether two results are equal, except for columns that the shorter one's schema lacks."""
    width = min(found.shape[1], expected.shape[1])
    np.testing.assert_array_equal(found[:, : width - 1], expected[:, : width - 1])
    assert np.isnan(expected[:, width - 1 : -1]).all()
    np.testing.assert_array_equal(found[:, -1], expected[:, -1])


def joined(blocks, width):
    """Return blocks as one matrix; blocks from before schema growth get NaN for new columns."""
    parts = [
        np.column_stack([X, np.full((len(y), width - X.shape[1]), np.nan), y]) for X, y in blocks if len(y)
    ]
    return np.concatenate(parts) if parts else np.empty((0, width + 1))


def all_rows(stream, size=4096):
    blocks = list(stream.blocks(size))
    return joined(blocks, stream.schema.n_features)


@pytest.mark.parametrize("kind", KINDS)
@given(size=st.integers(1, 2 * N))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_block_size_gives_the_same_instances(make, kind, size):
    whole = make[kind]()
    expected = all_rows(whole)
    assert len(expected) > 0
    stream = make[kind]()
    blocks = list(stream.blocks(size))
    assert all(len(y) == size for _, y in blocks[:-1])
    assert all(X.flags.c_contiguous and X.dtype == np.float64 and y.dtype == np.int64 for X, y in blocks)
    np.testing.assert_array_equal(joined(blocks, stream.schema.n_features), expected)
    assert stream.schema == whole.schema
    assert stream.position == len(expected)


@pytest.mark.parametrize("kind", KINDS)
@given(before=st.integers(0, N), after=st.integers(1, N), how=st.sampled_from(["copy", "deepcopy", "pickle"]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_copy_in_mid_stream_goes_on_by_itself(make, kind, before, after, how):
    stream = make[kind]()
    stream.draw(before)
    copied = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda original: pickle.loads(pickle.dumps(original)),
    }[how](stream)
    expected = [stream.draw(after)]
    assert copied.position == min(before, stream.position)
    expected.extend(stream.blocks(50))
    found = [copied.draw(after), *copied.blocks(31)]
    width = stream.schema.n_features
    np.testing.assert_array_equal(joined(found, width), joined(expected, width))
    assert (copied.schema, copied.position, copied.name) == (stream.schema, stream.position, stream.name)


@pytest.mark.parametrize("kind", KINDS)
@given(read=st.integers(0, 2 * N))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_restarted_stream_gives_the_same_again(make, kind, read):
    stream = make[kind]()
    stream.draw(read)
    stream.restart()
    assert stream.position == 0
    np.testing.assert_array_equal(all_rows(stream, 20), all_rows(make[kind]()))


@pytest.mark.parametrize("kind", KINDS)
@given(before=st.integers(0, N), n=st.integers(0, N))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_take_gives_the_next_instances_and_does_not_move_the_stream(make, kind, before, n):
    whole = make[kind]()
    everything = all_rows(whole)
    stream = make[kind]()
    stream.draw(before)
    taken = stream.take(n)
    expected = everything[before : before + n]
    same(all_rows(taken, 10), expected)
    assert taken.n_instances in (None, len(expected))
    assert stream.position == min(before, len(everything))
    taken.restart()
    same(all_rows(taken, 1000), expected)
    same(all_rows(stream), everything[before:])


def test_how_long_a_stream_is():
    endless = streams.Agrawal(1)
    assert (endless.n_instances, endless.take(7).n_instances) == (None, 7)
    arrays = streams.from_arrays(np.zeros((10, 1)), [0, 1] * 5)
    arrays.draw(4)
    assert (arrays.n_instances, arrays.take(3).n_instances, arrays.take(100).n_instances) == (10, 3, 6)
    assert streams.from_iter(pairs).take(3).n_instances is None
    assert streams.Drift(arrays, arrays, 5).n_instances is None


def test_drift_points_are_counted_from_where_the_stream_starts():
    stream = streams.Drift(
        streams.Drift(streams.LED(1), streams.LED(2), 100),
        streams.Drift(streams.LED(3), streams.LED(4), 50, 9),
        300,
    )
    assert [(p.position, p.width) for p in stream.drifts] == [(100, 1), (300, 1), (350, 9)]
    stream.draw(150)
    assert [p.position for p in stream.take(180).drifts] == [150]
    assert [p.position for p in stream.take(1000).drifts] == [150, 200]


def test_a_drift_copies_its_sides():
    before, after = streams.LED(1), streams.LED(2)
    stream = streams.Drift(before, after, 10)
    stream.draw(100)
    assert (before.position, after.position) == (0, 0)


def test_a_drift_ends_where_the_wanted_instance_cannot_be_had():
    X = np.arange(10.0)[:, None]
    before = streams.from_arrays(X, np.zeros(10), classes=[0, 1])
    after = streams.from_arrays(X + 100, np.ones(10), classes=[0, 1])
    stream = streams.Drift(before, after, position=4, width=1)
    values, _ = stream.draw(100)
    n_before = int((values < 100).sum())
    assert 0 < n_before < 10
    np.testing.assert_array_equal(np.sort(values[values >= 100]), np.arange(100.0, 110))
    assert len(stream.draw(100)[1]) == 0
    for size in (1, 3, 7):
        stream.restart()
        np.testing.assert_array_equal(np.concatenate([block for block, _ in stream.blocks(size)]), values)


def test_a_drift_between_streams_that_grow_apart_is_refused():
    def grows():
        yield {"a": 1}, "x"
        yield {"a": 1, "b": 2}, "x"

    def stays():
        yield {"a": 1}, "x"
        yield {"a": 1}, "x"

    stream = streams.Drift(streams.from_iter(grows), streams.from_iter(stays), position=100)
    with pytest.raises(DataError) as error:
        list(stream.blocks(4))
    assert str(error.value) == "The two streams of iterator → iterator no longer have the same schema."


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", True])
def test_a_block_size_that_is_no_count_is_refused(size):
    with pytest.raises(ParameterError) as error:
        streams.LED().blocks(size)
    assert (
        str(error.value)
        == f"The 'size' parameter of blocks must be a whole number >= 1. Got {size!r} instead."
    )


def test_a_stream_shows_its_name_and_position():
    stream = streams.LED(drift=2)
    stream.draw(1500)
    assert repr(stream) == "<LED 'LED(drift=2)' at 1,500>"
