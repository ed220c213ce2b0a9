"""Sources of rows, including user-defined ones."""

import json
import pickle

import numpy as np
import pytest

from heros import DataError, Heros, ParameterError, Schema, evaluate, pools, streams
from heros.streams import live as sources
from heros.streams.live import END, IDLE, RowSource, expect_source
from heros.streams.live.late import LateSource
from heros.streams.live.messages import MessageSource

SMALL = pools.MLP([{"hidden": 4}, {"hidden": 8}])
SCHEMA = Schema.of(["a"], classes=["no", "yes"])


def refused(call, kind=DataError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


class Log(RowSource):
    """Two logs that return rows in turn, like the partitions of a queue."""

    def __init__(self, rows, **how):
        super().__init__("log", **how)
        self.rows, self.at, self.acknowledged = rows, [0, 0], []

    def fetch(self, most, timeout):
        got = []
        while len(got) < most and any(self.left(which) for which in (0, 1)):
            behind = self.left(1) > 0 and self.at[1] < self.at[0]
            which = 1 if behind or not self.left(0) else 0
            self.at[which] += 1
            got.append((self.rows[which][self.at[which] - 1], {f"partition {which}": self.at[which]}))
        return got or END

    def left(self, which):
        return len(self.rows[which]) - self.at[which]

    def go_to(self, position):
        self.at = [position.get(f"partition {which}", 0) for which in (0, 1)]

    def acknowledge(self, where):
        self.acknowledged.append(where["instances"])


def rows(n, seed):
    rng = np.random.default_rng(seed)
    for i in range(n):
        row = {"a": float(rng.normal()), "b": f"v{rng.integers(1 + i // 20)}", "y": int(rng.integers(2))}
        yield {**row, "a": "bad"} if i % 17 == 5 else {**row, "y": None} if i % 10 == 7 else row


def log(**how):
    return Log([list(rows(90, 1)), list(rows(70, 2))], target="y", **how)


def drained(source, most=7):
    found = []
    while (came := source.poll(most, 0)) is not END:
        if came is IDLE:
            continue
        X, y = came
        found += [
            (row.tobytes(), int(label), source.schema.n_features) for row, label in zip(X, y, strict=True)
        ]
    return found


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_from_any_place_the_rest_is_the_same():
    """A position is after the last returned row, not the last fetched row; it includes schema and bad rows."""
    whole = log()
    expected = drained(whole)
    assert whole.position == len(expected) == 160 - whole.bad_rows.count
    first, given = log(), 0
    while (came := first.poll(5, 0)) is not END:
        given += len(came[1])
        where = json.loads(json.dumps(first.where()))
        second = log()
        second.seek(where)
        assert (second.schema, second.position, second.bad_rows) == (first.schema, given, first.bad_rows)
        assert drained(second) == expected[given:]
        assert (second.schema, second.bad_rows) == (whole.schema, whole.bad_rows)


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_a_run_goes_on_from_a_position_and_acknowledges_what_is_kept(tmp_path):
    def model():
        return Heros(SMALL, k=1, seed=1)

    whole = evaluate(model(), log(), window=50, block=16)
    kept = {"window": 50, "block": 16, "checkpoint": tmp_path, "every": 40, "keep": 9}
    source = log()
    run = evaluate(model(), source, **kept)
    assert run.log_loss == whole.log_loss
    assert source.acknowledged == sorted(source.acknowledged)
    assert len(source.acknowledged) >= 4
    for path in sorted(tmp_path.glob("checkpoint-*"))[:-1]:
        source = log()
        source.rows = [None, None]  # reading it again would fail
        source.go_to = lambda position, source=source: Log.go_to(_filled(source), position)
        run = evaluate(model(), source, **kept, resume=path)
        assert (run.log_loss, run.n_instances) == (whole.log_loss, whole.n_instances)
        assert run.bad_rows == whole.bad_rows


def _filled(source):
    source.rows = [list(rows(90, 1)), list(rows(70, 2))]
    return source


def test_an_end_is_the_end():
    source = Log([list(rows(3, 1)), []], target="y")
    fetched = iter([[({"a": 1.0, "y": 0}, {})], END, [({"a": 2.0, "y": 0}, {})]])
    source.fetch = lambda most, timeout: next(fetched)
    assert len(source.poll(5, 0)[1]) == 1
    assert [source.poll(5, 0), source.poll(5, 0)] == [END, END]


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_the_first_instances_are_counted_from_the_start_also_after_a_resume():
    expected = drained(log())
    source = log()
    source.stop_after(50)
    source.poll(30, 0)
    where, given = source.where(), source.position
    assert drained(source) == expected[given:50]
    assert source.poll(5, 0) is END
    resumed = log()
    resumed.stop_after(50)
    resumed.seek(where)
    assert drained(resumed) == expected[given:50]
    with pytest.raises(ParameterError, match="The 'n' parameter of stop_after must be"):
        source.stop_after(0)


def test_a_bad_row_that_is_not_skipped_stays_the_next():
    source = Log([list(rows(90, 1)), []], target="y", on_bad_row="raise")
    while True:
        try:
            source.poll(100, 0)
        except DataError as error:
            said = str(error)
            break
    assert said == "log, row 6: the 'a' column must be a number. Got 'bad' instead."
    assert source.where()["position"] == {"partition 0": 5}


class Messages(MessageSource):
    """A source of given messages."""

    kind = "list"

    def __init__(self, messages, **how):
        super().__init__("messages", target="y", follow=False, **how)
        self.messages = messages

    def _bring(self, most, wait):
        got, self.messages = self.messages[:most], self.messages[most:]
        return [(row, {"at": 0}) for row in got]

    def _at_end(self):
        return True

    def go_to(self, position):
        pass


def wide(n, first=0):
    return {f"f{i}": 1 for i in range(first, first + n)} | {"id": first, "y": "no"}


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_a_message_with_too_many_names_is_a_bad_row():
    """Models grow with the schema, so a single message could otherwise stop the run."""
    source = Messages([wide(10_000), *[wide(1)] * 100, wide(1001, 9500), wide(10_000, 20_000)])
    drained(source, 1000)
    assert (source.bad_rows.count, source.position, source.schema.n_features) == (3, 100, 2)
    source = Messages([wide(1), wide(1001, 1), wide(1000, 1)])
    drained(source)
    assert (source.bad_rows.count, source.schema.n_features) == (1, 1002)
    known = Schema.of([f"f{i}" for i in range(10_001)], classes=["no", "yes"])
    source = Messages([wide(10_001)], schema=known, ignore=["id"])
    drained(source)
    assert source.position == 1
    source = Messages([{"a": 1, "y": f"class {i}"} for i in range(1010)])
    drained(source)
    assert (source.bad_rows.count, source.schema.n_classes) == (10, 1000)
    labels = Messages([{"id": 0, "y": "no"}, {"id": 1, "y": "no"}])
    source = LateSource(Messages([wide(1), wide(1001, 1)]), labels, id="id", target="y")
    drained(source)
    assert (source.bad_rows.count, source.schema.n_features) == (1, 1)


def test_what_is_wrong_with_a_row_source_is_said():
    assert refused(lambda: Log([], target=3), ParameterError) == (
        "The 'target' parameter of Log must be the name of a feature, or None. Got 3 instead."
    )
    assert refused(lambda: Log([], on_bad_row="drop"), ParameterError) == (
        "The 'on_bad_row' parameter of Log must be 'skip' or 'raise'. Got 'drop' instead."
    )
    assert refused(lambda: Log([[1], []], target="y", on_bad_row="raise").poll(1)) == (
        "log, row 1: the row must be a pair (features, label), or a mapping with 'y'. Got 1 instead."
    )
    assert refused(lambda: Log([[{"a": 1}], []], target="y", on_bad_row="raise").poll(1)) == (
        "log, row 1: the 'label' column must have a value, because it is the target. "
        "Got a missing value instead."
    )
    bare = Log([[], []])
    bare.fetch = lambda most, timeout: [({"a": 1.0}, "yes")]
    assert refused(lambda: bare.poll(1)) == (
        "The 'fetch' of Log must return pairs (row, position). Got ({'a': 1.0}, 'yes') instead."
    )
    assert refused(lambda: log().seek({"position": {}})) == (
        "The position of Log must be a value returned by its method 'where'. The error was: 'instances'"
    )


class Own:
    """A source with only a schema and one method."""

    schema = SCHEMA

    def __init__(self, *answers):
        self.answers = list(answers)

    def poll(self, most, timeout):
        return self.answers.pop(0) if self.answers else END


def block(n):
    return np.arange(float(n))[:, None] % 2, np.arange(n) % 2


def test_any_object_with_a_schema_and_poll_is_a_source():
    run = evaluate(Heros(SMALL, seed=1), Own(block(7), IDLE, block(13), IDLE), window=10)
    assert (run.n_instances, run.stream) == (20, "Own")
    arrays = [np.concatenate(parts) for parts in zip(block(7), block(13), strict=True)]
    same = evaluate(Heros(SMALL, seed=1), streams.from_arrays(*arrays, schema=SCHEMA), window=10)
    assert run.log_loss == same.log_loss


@pytest.mark.parametrize("wrong", [3, [1, 2], streams.LED, Own, object(), "agr_a", None])
def test_what_is_no_source_is_refused(wrong):
    known = "a stream, e.g. heros.streams.load('agr_a') or read('data.csv')"
    rule = f"{known}, or a source with 'schema' and 'poll'"
    assert refused(lambda: expect_source(wrong, "stream", "evaluate"), ParameterError) == (
        f"The 'stream' parameter of evaluate must be {rule}. Got {wrong!r} instead."
    )


def test_a_source_of_ones_own_that_breaks_a_rule():
    def polled(*answers):
        return lambda: expect_source(Own(*answers), "stream", "evaluate").poll(5, 0)

    rule = "The 'poll' of Own must return a block (X, y), IDLE or END."
    assert [refused(polled(answer)) for answer in (None, [1, 2], (1, 2), (block(3)[0], [0, 1]))] == [
        f"{rule} Got None instead.",
        f"{rule} Got [1, 2] instead.",
        f"{rule} Got float64 () and int64 () arrays instead.",
        f"{rule} Got float64 (3, 1) and int64 (2,) arrays instead.",
    ]
    assert refused(polled(block(6))) == (
        "The 'poll' of Own must return 1 to 5 instances, IDLE or END. Got 6 instances instead."
    )
    own = Own()
    own.schema = None
    assert refused(lambda: expect_source(own, "stream", "evaluate").schema) == (
        "The 'schema' of Own must be a heros.Schema. Got None instead."
    )
    own.where = lambda: {}
    assert "a source that has both 'where' and 'seek' or neither of these methods" in refused(
        lambda: expect_source(own, "stream", "evaluate"), ParameterError
    )


def test_signals_are_themselves_wherever_they_come_from():
    assert pickle.loads(pickle.dumps(END)) is END
    assert sources.END is END
