"""Results depend only on the rows, and not on arrival times, pieces or block sizes."""

import io
import os
import random
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heros import DataError, Heros, ParameterError, evaluate, policies, pools, streams
from heros.streams.live import END, IDLE, Signal
from heros.streams.pipe import read_pipe

SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow])


def small():
    pool = pools.MLP([{"hidden": 4}, {"hidden": 4, "optimizer": "sgd", "learning_rate": 0.1}])
    return Heros(pool, policies.Explore(policies.Zeta(0.05), 0.2), k=1, warmup=3, seed=1)


def learnt(stream, mosts, timeouts):
    """Return each row with its schema and the prediction of a model that is trained on the stream."""
    model, rows, said, idle = small(), [], [], 0
    while True:
        try:
            came = stream.poll(mosts(), timeouts())
        except streams.TooManyBadRows:
            came = END
        if came is END:
            break
        if came is IDLE:
            idle += 1
            continue
        X, y = came
        schema = stream.schema
        assert X.shape == (len(y), schema.n_features)
        rows += [(row.tobytes(), label.item(), schema) for row, label in zip(X, y, strict=True)]
        answers = model.bind(schema).test_then_train(X, y).outputs
        said += [answer.tobytes() for answer in answers]
    return rows, said


@st.composite
def growing_rows(draw):
    """Return rows in which values, classes, missing values and bad rows appear at any time, or numeric labels."""
    n, seed = draw(st.integers(1, 400)), draw(st.integers(0, 1 << 20))
    task = draw(st.sampled_from(["classification", "regression"]))
    rng, rows = random.Random(seed), []
    for i in range(n):
        x = {"a": round(rng.gauss(0, 1), 3), "b": "bcdefgh"[rng.randrange(1 + min(6, i // 60))]}
        if rng.random() < 0.02:
            x[rng.choice("ab")] = None
        label = "xyz"[rng.randrange(1 + min(2, i // 130))]
        if task == "regression":
            label = "much" if rng.random() < 0.02 else round(rng.gauss(0, 1) * (1000 if i > 200 else 1), 3)
        if rng.random() < 0.02:
            x["a"] = "bad"
        rows.append((x, label))
    return task, rows


def csv_of(rows):
    cells = (("" if x["a"] is None else x["a"], "" if x["b"] is None else x["b"], y) for x, y in rows)
    return b"a,b,label\n" + "".join(f"{a},{b},{y}\n" for a, b, y in cells).encode()


class Pieces:
    """A file object that returns its bytes in pieces, some of them with a delay."""

    def __init__(self, data, rng):
        self.rng, self.pieces = rng, []
        while data:
            n = rng.choice([1, 3, 10, 100, 1000])
            self.pieces.append(data[:n])
            data = data[n:]

    def read1(self, _):
        if self.rng.random() < 0.1:
            time.sleep(0.001)
        return self.pieces.pop(0) if self.pieces else b""


def of_pipe(file, task):
    return read_pipe(file, nominal=["b"], task=task)


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@given(made=growing_rows(), seed=st.integers(0, 1 << 20))
@SETTINGS
def test_a_pipe_gives_the_same_however_its_bytes_come(made, seed):
    task, rows = made
    data, rng = csv_of(rows), random.Random(seed)
    expected = learnt(of_pipe(io.BytesIO(data), task), lambda: 1000, lambda: None)
    found = learnt(
        of_pipe(Pieces(data, rng), task),
        lambda: rng.choice([1, 2, 7, 50, 1000]),
        lambda: rng.choice([0, 0.001, 1]),
    )
    assert found == expected


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@given(made=growing_rows(), seed=st.integers(0, 1 << 20))
@SETTINGS
def test_an_iterator_gives_the_same_however_its_pairs_come(made, seed):
    (task, rows), rng = made, random.Random(seed)

    def late():
        for row in rows:
            if rng.random() < 0.02:
                time.sleep(0.001)
            yield row

    async def later():
        for row in late():
            yield row

    expected = learnt(streams.from_iter(rows, task=task), lambda: 1000, lambda: None)
    for pairs in (late, late(), later):
        stream = streams.from_iter(pairs, task=task)
        found = learnt(stream, lambda: rng.choice([1, 2, 7, 50, 1000]), lambda: rng.choice([0, 0.001, 1]))
        assert found == expected
        assert stream.position == len(found[0])


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@given(made=growing_rows(), size=st.integers(1, 200))
@SETTINGS
def test_draw_gives_the_rows_that_poll_gives(made, size):
    """`draw` spans schema growth: its rows have the width of the final schema."""
    task, rows = made
    polled, drawn = (streams.from_iter(rows, task=task) for _ in range(2))
    expected, _ = learnt(polled, lambda: size, lambda: None)
    found = []
    with suppress(streams.TooManyBadRows):
        for X, y in drawn.blocks(size):
            found += [(row, label.item()) for row, label in zip(X, y, strict=True)]
    assert drawn.schema == polled.schema
    assert drawn.bad_rows == polled.bad_rows
    assert len(found) == len(expected)
    for (row, label), (bits, same_label, schema) in zip(found, expected, strict=True):
        assert label == same_label
        assert row[: schema.n_features].tobytes() == bits
        assert np.isnan(row[schema.n_features :]).all()


def test_a_real_pipe_is_read_as_far_as_it_has_come():
    """150 rows are returned before a block is full; column types need the first hundred lines."""
    ours, theirs = os.pipe()
    lines = [f"{i % 7},{'xy'[i % 2]}\n".encode() for i in range(150)]
    os.write(theirs, b"a,label\n" + b"".join(lines[:100]) + b"3,")
    with open(ours, "rb") as file:
        stream = read_pipe(file)
        assert len(stream.poll(1000, 0.01)[1]) == 100
        assert stream.poll(1000, 0.01) is IDLE
        os.write(theirs, b"x\n" + b"".join(lines[101:]))
        assert len(stream.poll(1000, 0.01)[1]) == 50
        os.close(theirs)
        assert [stream.poll(1000, 5), stream.poll(1000, 5)] == [END, END]


@pytest.mark.parametrize("of", ["pipe", "iterator"])
def test_evaluate_learns_what_has_come(of):
    """The pipe stays open until all rows have been returned."""
    ours, theirs = os.pipe()
    gate = threading.Event()
    rows = [({"a": float(i % 5)}, "xy"[i % 2]) for i in range(150)]

    def wait_and_close():
        deadline = time.monotonic() + 30
        while stream.position < 150 and time.monotonic() < deadline:
            time.sleep(0.01)
        gate.set()
        os.close(theirs)

    def pairs():
        yield from rows
        gate.wait(60)

    os.write(theirs, b"a,label\n" + b"".join(f"{x['a']},{y}\n".encode() for x, y in rows))
    closer = threading.Thread(target=wait_and_close)
    with open(ours, "rb") as file:
        stream = read_pipe(file) if of == "pipe" else streams.from_iter(pairs)
        closer.start()
        began = time.monotonic()
        run = evaluate(small(), stream, block=1000, window=50)
        closer.join()
    assert run.n_instances == 150
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_stream_that_breaks_off_in_a_block_while_it_grows_goes_on_the_same(tmp_path, task):
    def line(breaks):
        def pairs():
            rng = random.Random(5)
            for i in range(5000):
                if breaks and i == 1250:
                    raise OSError("the line is dead")
                yield {"a": rng.gauss(0, 1), "b": f"v{rng.randrange(1 + i // 1300)}"}, rng.randrange(2)

        return streams.from_iter(pairs, name="line", task=task)

    expected = small()
    whole = evaluate(expected, line(False), block=1000)
    kept = {"block": 1000, "checkpoint": tmp_path, "every": 10_000}
    with pytest.raises(OSError, match="the line is dead"):
        evaluate(small(), line(True), **kept)
    model = small()
    run = evaluate(model, line(False), resume=True, **kept)
    assert (run.figures, run.gamma_spent) == (whole.figures, whole.gamma_spent)
    assert model.schema == expected.schema
    x = np.array([0.5, 1.0])
    assert model.answers(x).tobytes() == expected.answers(x).tobytes()


def test_a_file_grows_with_a_chunk_and_no_block_spans_that(tmp_path, monkeypatch):
    """The block size does not affect a model, even if new values appear late."""
    monkeypatch.setattr("heros.streams.text.READ_BYTES", 400)
    rng, path = random.Random(2), tmp_path / "rows.csv"
    rows = [({"a": rng.random(), "b": f"v{rng.randrange(1 + i // 50)}"}, "xy"[i % 2]) for i in range(300)]
    path.write_bytes(csv_of(rows))
    results = []
    for size in (1, 7, 64, 1000):
        rows, said = learnt(streams.read(path), lambda size=size: size, lambda: None)
        results.append((rows, said))
    assert all(result == results[0] for result in results)
    assert len({schema for *_, schema in results[0][0]}) > 3


def test_rows_before_the_first_feature_wait_for_it():
    def pairs():
        yield {}, "x"
        yield {"a": None}, "y"
        gate.wait(10)
        yield {"a": 1.0}, "x"

    gate = threading.Event()
    stream = streams.from_iter(pairs)
    assert stream.poll(10, 0.05) is IDLE
    gate.set()
    X, y = stream.poll(10, 10)
    np.testing.assert_array_equal(X, [[np.nan], [np.nan], [1.0]])
    assert (y.tolist(), stream.schema.features[0].missing) == ([0, 1, 0], True)


def test_what_is_wrong_is_raised_when_its_turn_comes():
    pairs = [({"a": float(i)}, "x") for i in range(9)] + [({"a": "one"}, "x"), ({"a": 2.0}, "x")]
    stream = streams.from_iter(pairs, name="rows", on_bad_row="raise")
    assert len(stream.poll(20, 1)[1]) == 9
    for _ in range(2):
        with pytest.raises(DataError, match=r"^rows, row 10: the 'a' column must be a number\b.* Got 'one' "):
            stream.poll(10, 1)
    file = read_pipe(io.BytesIO(b"a,label\n1,x\n2,x\nbad,x\n3,x\n"), on_bad_row="raise")
    assert len(file.poll(10, 1)[1]) == 2
    with pytest.raises(DataError, match=r"^standard input, line 4: the 'a' column must be a number"):
        file.poll(10, 1)


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
def test_the_first_hundred_lines_tell_the_types_whatever_comes_with_them():
    """A column with names only after a hundred lines of numbers is always numeric."""
    data = b"a,label\n" + b"1,x\n" * 100 + b"red,x\n" * 500
    for file in (io.BytesIO(data), Pieces(data, random.Random(1))):
        stream = read_pipe(file)
        assert stream.schema.features[0].values is None
        assert len(stream.draw(1000)[1]) == 100
        with pytest.raises(streams.TooManyBadRows, match="Got 20 bad rows in 120 rows"):
            stream.draw(1000)


def test_quotes_may_span_the_hundredth_line():
    data = b"a,label\n" + b"1,x\n" * 99 + b'2,"y\nz"\n' + b"3,x\n"
    for file in (io.BytesIO(data), Pieces(data, random.Random(1))):
        stream = read_pipe(file)
        _, y = stream.draw(1000)
        assert [stream.schema.classes[i] for i in y[-2:]] == ["y\nz", "x"]


def test_asking_for_nothing_or_a_wrong_time_is_refused():
    stream = streams.LED()
    for call, said in (
        (lambda: stream.poll(0), "The 'most' parameter of poll must be a whole number >= 1. Got 0 instead."),
        (
            lambda: stream.poll(1, -1),
            "The 'timeout' parameter of poll must be a number >= 0. Got -1 instead.",
        ),
    ):
        with pytest.raises(ParameterError) as error:
            call()
        assert str(error.value) == said


def test_taken_and_drifting_streams_are_polled_like_others():
    stream = streams.from_iter(({"n": i}, i % 2) for i in range(100))
    taken, n = stream.take(5), 0
    while not isinstance(came := taken.poll(4, 1), Signal):
        n += len(came[1])
    assert (n, taken.position, stream.position, came) == (5, 5, 5, END)
    drift = streams.Drift(streams.LED(1), streams.LED(2), 50).take(100)
    X, y = drift.poll(1000, 0)
    drift.restart()
    np.testing.assert_array_equal(X, drift.draw(100)[0])
    assert (len(y), drift.poll(10)) == (100, END)
