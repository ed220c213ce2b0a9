"""Workers of one group: each key's model learns its rows once, even if workers die or keys move."""

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

kafka = pytest.importorskip("confluent_kafka")
sys.path.insert(0, str(Path(__file__).parents[1] / "sources"))
from queues import Kafka  # noqa: E402

from heros import DataError, DataNotice, Heros, HerosError, ParameterError, pools  # noqa: E402  # noqa: E402
from heros.data import Encoder  # noqa: E402
from heros.data.schema import schema_of, schema_plain  # noqa: E402
from heros.ensemble.keyed import Keyed  # noqa: E402
from heros.run.workers import KafkaWorker, Snapshots  # noqa: E402
from heros.run.workers.partition import Partition  # noqa: E402
from heros.storage.keystore import FILE  # noqa: E402
from heros.streams.bad_rows import TooManyBadRows  # noqa: E402

PARTITIONS, KEYS = 4, 200
QUICK = {"heartbeat.interval.ms": 100, "session.timeout.ms": 3600}


def template(task="classification"):
    pool = pools.MLPGrid(hidden=[2], learning_rates=[0.05], optimizers=["adam", "sgd"])
    return Heros(pool, task=task, k=1, seed=1)


def made(n, seed=1):
    """Return rows of many keys; values and classes appear over time."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(KEYS, size=n)
    rows = []
    for i, key in enumerate(keys.tolist()):
        a = float(rng.normal())
        city = f"c{rng.integers(1 + 4 * i // n)}"
        rows.append(
            {
                "sensor": f"s{key}",
                "a": a,
                "city": city,
                "y": "high" if a > 0.2 else "low" if a > -1 else "none",
            }
        )
    return rows


def home(row):
    return int(row["sensor"][1:]) % PARTITIONS


def learnt(model):
    return {
        f"{group}/{name}": array.tobytes()
        for group, arrays in model.state().items()
        for name, array in arrays.items()
        if name != "cpu"
    }


def once(rows, directory):
    """Return every key's model from one worker that has read each partition once."""
    models = {}
    for number in range(PARTITIONS):
        one = partition(number, directory)
        for offset, row in enumerate(row for row in rows if home(row) == number):
            one.take(None, row, offset)
        one.learn()
        models |= {key: learnt(one.keyed[key]) for key in one.keyed}
        one.close()
    return models


def partition(number, directory, **how):
    settings = {"target": "y", "key": "sensor", "encoder": Encoder(), "skip": False, **how}
    place = Path(directory, f"scratch{time.time_ns()}")
    return Partition(number, Snapshots(Path(directory, "alone"), "t"), place, template(), **settings)


def kept(store, topic, directory, task="classification"):
    """Return every key's model in the snapshots, and its number of learnt rows."""
    models, instances = {}, {}
    snapshots = Snapshots(store, topic)
    for number in snapshots.partitions():
        place = Path(directory, f"kept{number}")
        place.mkdir()
        snapshots.fetch(number, place / FILE)
        with Keyed(template(task), directory=place) as keyed:
            keyed.bind(schema_of(keyed.position["schema"]))
            for key in keyed:
                assert key not in models  # in one partition only
                models[key], instances[key] = learnt(keyed[key]), keyed.figures(key).instances
    return models, instances


def test_a_message_with_too_many_names_is_a_bad_row_of_a_worker(tmp_path):
    worker = KafkaWorker("127.0.0.1:1", "t", group="g", model=template(), store=tmp_path, target="y")
    one = worker._new_partition(0, scratch=tmp_path / "scratch", encoder=worker._encoder())
    one.take("k", {"a": 1, "y": "no"}, 0)
    one.take("k", {f"f{i}": 1 for i in range(1001)} | {"y": "no"}, 1)
    with pytest.warns(DataNotice, match="add at most 1,000 features and values"):
        one.learn()
    assert (one.learnt, one.bad_rows.count) == (1, 1)
    one.close()
    worker._consumer.close()
    worker._scratch.cleanup()


class Dying(KafkaWorker):
    """A worker that can die: unsaved state is lost."""

    dead = False

    def die(self):
        self.dead = True
        self.stop()

    def _release_partitions(self, numbers):
        if self.dead:
            self._close_partitions(numbers)
        else:
            super()._release_partitions(numbers)


class Crew:
    """Run workers in threads."""

    def __init__(self, server, store, **how):
        self.server, self.store, self.how = server, store, how
        self.workers, self.errors = {}, []

    def start(self):
        worker = Dying(
            self.server.servers, self.server.topic, group=self.server.topic, model=template(), store=self.store, target="y",
            key="sensor", every=60, options=QUICK, **self.how,
        )  # fmt: skip
        thread = threading.Thread(target=self._run, args=[worker])
        self.workers[worker] = thread
        thread.start()

    def _run(self, worker):
        try:
            worker.run()
        except BaseException as error:  # raised by the test
            self.errors.append(error)

    def end(self, worker, die):
        worker.die() if die else worker.stop()
        self.workers.pop(worker).join()

    def wait(self, rows, seconds=90):
        """Wait until this many rows have been read, by any workers."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.errors:
            owned = [part for worker in list(self.workers) for part in worker.partitions.values()]
            if (
                len({part.number for part in owned}) == PARTITIONS
                and sum(part.next for part in owned) >= rows
            ):
                return
            time.sleep(0.05)
        raise AssertionError(f"not all rows were read: {self.errors}")


def rebalanced(directory, changes, rows, store):
    """Three workers, one of which leaves or dies and is replaced, repeatedly."""
    server, rng = Kafka(directory), np.random.default_rng(5)
    crew, sent = Crew(server, store), 0
    for change in range(changes + 1):
        portion = rows[sent : len(rows) * (change + 1) // (changes + 1)]
        for number in range(PARTITIONS):
            server.send([row for row in portion if home(row) == number], number)
        sent += len(portion)
        for _ in range(3 - len(crew.workers)):
            crew.start()
        crew.wait(sent - int(rng.integers(len(portion))))  # somewhere on the way
        if change < changes:
            crew.end(rng.choice(list(crew.workers)), die=change % 2 == 1)
    crew.wait(len(rows))
    for worker in list(crew.workers):
        crew.end(worker, die=False)
    assert not crew.errors
    return kept(store, server.topic, directory)


def test_no_key_is_learnt_twice_or_dropped_whoever_has_it(tmp_path, thorough):
    """One worker leaves, another one dies; with --all, this is repeated."""
    changes = int(os.environ.get("HEROS_REBALANCES", "5" if thorough else "2"))
    rows = made(200 * (changes + 1))
    models, instances = rebalanced(tmp_path, changes, rows, tmp_path / "store")
    assert sum(instances.values()) == len(rows)
    assert models == once(rows, tmp_path)


def test_a_partition_goes_on_from_its_snapshot_wherever_it_is(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    rows = [row for row in made(300) if home(row) == 1]
    expected = once(rows, tmp_path)
    for store in (tmp_path / "shared", "memory://models"):
        for stop in (0, len(rows) // 2, len(rows)):
            settings = {"target": "y", "key": "sensor", "skip": False}
            place = tmp_path / f"{stop}{str(store)[0]}"
            one = Partition(1, Snapshots(store, "t"), place, template(), encoder=Encoder(), **settings)
            for offset, row in enumerate(rows[:stop]):
                one.take(None, row, offset)
            one.learn()
            one.save()
            one.save()
            found = {key: learnt(one.keyed[key]) for key in one.keyed}
            one.close()
        assert found == expected
        assert Snapshots(store, "t").partitions() == [1]
    assert len(list((tmp_path / "shared" / "t-1").iterdir())) == 2
    assert len(fsspec.filesystem("memory").ls("/models/t-1")) == 2


def test_rows_that_break_a_rule(tmp_path):
    rows = [
        {"sensor": "a", "x": 1, "y": 0},
        "broken",
        {"sensor": None, "x": 1, "y": 0},
        {"sensor": "a", "y": 1},
    ]
    one = partition(0, tmp_path, skip=True)
    for offset, row in enumerate([*rows, rows[0]]):
        one.take(None, row, offset)
    one.take(None, rows[0], 2)  # again
    with pytest.warns(DataNotice, match="offset 1.*Bad rows are skipped"):
        assert one.learn() == 5
    assert (one.bad_rows.count, one.learnt, one.next) == (3, 2, 5)
    strict = partition(0, tmp_path)
    for offset, row in enumerate(rows):
        strict.take(None, row, offset)
    with pytest.raises(DataError, match="partition 0, offset 1: the row must be a mapping with 'y'"):
        strict.learn()
    assert (strict.learnt, strict.next) == (1, 1)
    one.close()
    strict.close()


def test_a_row_without_a_value_leaves_no_trace_if_it_is_the_first(tmp_path):
    one = partition(0, tmp_path, skip=True)
    one.take(None, {"sensor": "a", "x": None, "y": "never learnt"}, 0)
    one.take(None, {"sensor": "a", "x": 1, "y": "yes"}, 1)
    with pytest.warns(DataNotice, match="must have a feature"):
        one.learn()
    assert (one.bad_rows.count, one.learnt, one.keyed.template.schema.classes) == (1, 1, ("yes",))
    one.close()


def test_rows_without_a_target_do_not_end_it(tmp_path):
    one = partition(0, tmp_path, skip=True)
    for offset in range(100):
        one.take(None, {"sensor": "a", "x": offset, "y": offset % 2 if offset % 3 else None}, offset)
    with pytest.warns(DataNotice, match="Rows without a target are skipped"):
        one.learn()
    one.save()
    one.close()
    again = partition(0, tmp_path, skip=True)
    assert (again.learnt, again.bad_rows.count, again.bad_rows.unlabelled) == (66, 34, 34)
    again.close()


def test_bad_rows_are_counted_by_column_after_a_restart(tmp_path):
    one = partition(0, tmp_path, skip=True)
    for offset in range(60):
        one.take(
            None, {"sensor": "a", "x": offset if offset % 30 else "far" if offset else 1, "y": 1}, offset
        )
    one.take(None, "broken", 60)
    with pytest.warns(DataNotice):
        one.learn()
    one.save()
    one.close()
    again = partition(0, tmp_path, skip=True)
    assert again.bad_rows == one.bad_rows
    assert again.bad_rows.columns == {"x": {"'far'": 1}, "": {"'broken'": 1}}
    again.close()


def test_more_than_one_bad_row_in_twenty_ends_it_and_keeps_what_was_learnt(tmp_path):
    one = partition(0, tmp_path, skip=True)
    for offset in range(100):
        row = {"sensor": "a", "x": offset, "y": offset % 2}
        one.take(None, row if offset % 3 else "broken", offset)
    with (
        pytest.warns(DataNotice),
        pytest.raises(
            TooManyBadRows,
            match=r"partition 0 must have at most one bad row in 20 rows\. Got 20 bad "
            r"rows in 58",
        ),
    ):
        one.learn()
    assert (one.learnt, one.next) == (38, 58)
    one.save()
    one.close()
    again = partition(0, tmp_path)
    assert (again.learnt, again.next, again.keyed.figures("a").instances) == (38, 58, 38)
    again.close()


TABLE = [
    {
        "when": f"{1 + i % 28}.{1 + i % 12}.2026 {i % 24}:30",
        "price": f"€{i % 7},50",
        "place": {"city": "Bonn" if i % 3 else "Ulm", "high": i % 2 == 0},
        "tags": [i],
        **({"late": str(i)} if i > 60 else {}),
        "y": "n/a or so" if i % 5 == 0 else "yes",
    }
    for i in range(120)
]


def test_one_key_learns_what_a_model_alone_learns_from_rows_as_people_write_them(tmp_path):
    """Continue with a snapshot in the middle."""
    alone = template()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        for row in TABLE:
            alone.learn({name: row[name] for name in row if name != "y"}, row["y"])
        for part in (TABLE[:50], TABLE):
            one = partition(0, tmp_path)
            for offset, row in enumerate(part):
                one.take(None, {"sensor": "a", **row}, offset)
            one.learn()
            one.save()
            found = one.keyed["a"]
            one.close()
    assert learnt(found) == learnt(alone)
    assert found.schema == alone.schema
    assert schema_plain(found.schema) == schema_plain(alone.schema)


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("key", ["sensor", None])
def test_a_key_that_is_no_text_costs_a_row_at_most(tmp_path, key):
    server = Kafka(tmp_path)
    for i in range(10):
        message = json.dumps({"sensor": "s", "a": i % 3, "y": i % 2}).encode()
        server._producer.produce(server.topic, message, key=b"\xff" if i == 4 else b"s", partition=0)
    server._producer.flush(30)
    worker = KafkaWorker(
        server.servers, server.topic, group=server.topic, model=template(), store=tmp_path / "store", target="y",
        key=key, options=QUICK,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        worker.run(idle=2.0)
    assert kept(tmp_path / "store", server.topic, tmp_path)[1] == {"s": 10 if key else 9}


def test_a_key_in_a_field_that_is_no_utf8_costs_its_row_only(tmp_path):
    """JSON can contain half of a surrogate pair: such a key cannot be stored, and once stopped every worker."""
    one = partition(0, tmp_path, skip=True)
    for offset in range(10):
        key = r"\ud800" if offset == 4 else "s"
        one.take(None, json.loads(f'{{"sensor": "{key}", "a": {offset % 3}, "y": {offset % 2}}}'), offset)
    with pytest.warns(DataNotice, match="must have a key that can be encoded as UTF-8"):
        one.learn()
    one.save()
    assert (one.learnt, one.next, one.bad_rows.count, list(one.keyed)) == (9, 10, 1, ["s"])
    one.close()


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_keys_of_messages(tmp_path, task):
    server = Kafka(tmp_path)
    for i in range(40):
        message = json.dumps({"a": i % 3, "y": i % 2 / 4}).encode()
        server._producer.produce(server.topic, message, key=f"k{i % 5}", partition=i % 5 % PARTITIONS)
    server._producer.flush(30)
    worker = KafkaWorker(
        server.servers,
        server.topic,
        group=server.topic,
        model=template(task),
        store=tmp_path / "store",
        target="y",
        options=QUICK,
    )
    worker.run(idle=2.0)
    _, instances = kept(tmp_path / "store", server.topic, tmp_path, task)
    assert instances == {f"k{i}": 8 for i in range(5)}


def assigned(server, directory, **how):
    """Return the offset at which a worker continues after a snapshot at offset 40."""
    place, store = directory / "before", Snapshots(directory / "store", server.topic)
    settings = {"target": "y", "key": "k", "encoder": Encoder(), "skip": False}
    one = Partition(0, store, place, template(), **settings)
    for offset in range(40):
        one.take(None, {"k": "old", "a": offset % 3, "y": offset % 2}, offset)
    one.learn()
    one.save()
    one.close()
    made = {
        "group": server.topic,
        "model": template(),
        "store": store.place,
        "target": "y",
        "key": "k",
        **how,
    }
    worker = KafkaWorker(server.servers, server.topic, **made)
    try:
        worker._on_assign(worker._consumer, [kafka.TopicPartition(server.topic, 0)])
        return worker._consumer.poll(20).offset(), worker.partitions[0].ahead
    finally:
        worker._close_partitions([0])
        worker._consumer.close()
        worker._scratch.cleanup()


def test_messages_that_kafka_deleted_are_told(tmp_path, monkeypatch):
    server = Kafka(tmp_path)
    server.send([{"k": "new", "a": i % 3, "y": i % 2} for i in range(100)])
    monkeypatch.setattr(KafkaWorker, "_bounds", lambda *_: (60, 100))  # the mock cluster deletes no messages
    with pytest.raises(DataError, match=r"messages after offset 39 of partition 0. Got a gap of 20 messages"):
        assigned(server, tmp_path / "a")
    with pytest.warns(DataNotice, match=r"a gap of 20 messages\. Reading continues"):
        assert assigned(server, tmp_path / "b", on_gap="go on") == (60, 60)


def test_a_topic_that_was_created_again_is_told(tmp_path):
    server = Kafka(tmp_path)
    server.send([{"k": "new", "a": i % 3, "y": i % 2} for i in range(30)])
    with pytest.raises(DataError, match=r"Got a queue that was created again \(use another store\)"):
        assigned(server, tmp_path, on_gap="go on")
    server.send([{"k": "new", "a": i % 3, "y": i % 2} for i in range(30)])  # the topic is now longer
    assert assigned(server, tmp_path / "a") == (40, 40)


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(ParameterError, match="The 'model' parameter of KafkaWorker must be a Heros"):
        KafkaWorker("h", "t", group="g", model=3, store=tmp_path, target="y")
    with pytest.raises(ParameterError, match="'budget' parameter of KafkaWorker must be a time or an energy"):
        KafkaWorker("h", "t", group="g", model=Heros(budget="5 W"), store=tmp_path, target="y")
    (tmp_path / "file").write_text("")
    with pytest.raises(HerosError, match="cannot be written"):
        Snapshots(tmp_path / "file", "t").save(0, 1, tmp_path / "file")
    place = tmp_path / "scratch"
    place.mkdir()
    (place / FILE).write_bytes(b"no models at all, whatever it is called, for a hundred bytes and more" * 3)
    Snapshots(tmp_path / "store", "t").save(0, 5, place / FILE)
    with pytest.raises(HerosError, match="is damaged"):
        Partition(
            0, Snapshots(tmp_path / "store", "t"), tmp_path / "mine", template(), target="y", key=None,
            encoder=Encoder(), skip=False,
        )  # fmt: skip


def worker_of(store, **how):
    given = {"group": "g", "model": template(), "store": store, "target": "y", "key": "sensor", **how}
    worker = KafkaWorker("127.0.0.1:1", "t", **given)
    worker._consumer.close()
    worker._scratch.cleanup()


@pytest.mark.parametrize("place", ["store", "memory://of-one"])
@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            {"target": "z"},
            r'The target must be the same as in the store .*: "y"\. Got "z" \(use another store\)',
        ),
        ({"key": None}, r'The key must be the same as in the store .*: "sensor"\. Got null'),
        ({"model": template("regression")}, r"The task must be the same .*Classification.* Got .*Regression"),
        ({"model": Heros(template().pool, k=1, seed=2)}, r"must be the same as in the store .*\. Got "),
    ],
)
def test_a_store_belongs_to_one_target_key_and_model(tmp_path, place, other, said):
    store = place if "://" in place else tmp_path / place
    if "://" in place:
        pytest.importorskip("fsspec").filesystem("memory").store.clear()
    worker_of(store)
    worker_of(store)
    with pytest.raises(HerosError, match=said):
        worker_of(store, **other)
    worker_of(store)
    assert Snapshots(store, "t").partitions() == []


def test_damaged_settings_of_a_store_are_said(tmp_path):
    worker_of(tmp_path)
    (tmp_path / "t.json").write_text("[")
    with pytest.raises(DataError, match=r"The file t\.json in the store .* is damaged"):
        worker_of(tmp_path)


def saved(directory, offsets=(40, 80)):
    """Write a snapshot of partition 0 at each offset; return the files, newest first."""
    one = partition(0, directory)
    for end in offsets:
        for offset in range(one.next, end):
            one.take(None, {"sensor": "a", "x": offset, "y": offset % 2}, offset)
        one.learn()
        one.save()
    one.close()
    return sorted(Path(directory, "alone", "t-0").iterdir(), reverse=True)


def a_store_without_position(path):
    path.unlink()
    place = path.parent / "empty"
    with Keyed(template(), directory=place) as keyed:
        keyed.snapshot(None, path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:20_000]),
        lambda path: path.write_bytes(b"no models at all" * 300),
        a_store_without_position,
    ],
)
def test_a_damaged_snapshot_is_told_and_the_older_one_is_used(tmp_path, damage):
    newest = saved(tmp_path)[0]
    damage(newest)
    said = (
        "The snapshot of partition 0 at offset 80 .* is damaged: .* The snapshot at offset 40 is used instead"
    )
    with pytest.warns(DataNotice, match=said):
        again = partition(0, tmp_path)
    assert (again.learnt, again.next, again.keyed.figures("a").instances) == (40, 40, 40)
    for offset in range(40, 90):
        again.take(None, {"sensor": "a", "x": offset, "y": offset % 2}, offset)
    again.learn()
    whole = partition(0, tmp_path / "whole")
    for offset in range(90):
        whole.take(None, {"sensor": "a", "x": offset, "y": offset % 2}, offset)
    whole.learn()
    assert learnt(again.keyed["a"]) == learnt(whole.keyed["a"])
    again.save()
    again.close()
    whole.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last = partition(0, tmp_path)
    assert last.next == 90
    last.close()


def test_if_no_snapshot_can_be_read_the_worker_does_not_begin_again(tmp_path):
    for path in saved(tmp_path):
        path.write_bytes(b"")
    with (
        pytest.warns(DataNotice, match="at offset 80"),
        pytest.raises(DataError, match=r"The snapshot of partition 0 at offset 40 .* is damaged"),
    ):
        partition(0, tmp_path)


def test_a_message_without_a_value_is_a_bad_row(tmp_path):
    server = Kafka(tmp_path)
    for i in range(40):
        value = None if i == 7 else json.dumps({"a": i % 3, "y": i % 2}).encode()
        server._producer.produce(server.topic, value, key="k", partition=0)
    server._producer.flush(30)
    worker = KafkaWorker(
        server.servers, server.topic, group=server.topic, model=template(), store=tmp_path / "store", target="y",
        decode=lambda message: json.loads(message or b'{"a": 1, "y": 1}'), options=QUICK,
    )  # fmt: skip
    with pytest.warns(
        DataNotice, match="offset 7: the row must be a mapping with 'y'. Got .*without a value"
    ):
        worker.run(idle=2.0)
    assert kept(tmp_path / "store", server.topic, tmp_path)[1] == {"k": 39}


def worker(server, store, options=None):
    return KafkaWorker(
        server.servers, server.topic, group=server.topic, model=template(), store=store, target="y", options=options
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"partition.assignment.strategy": "cooperative-sticky"},
        {"group.protocol": "consumer"},
        {"auto.offset.reset": "earliest"},
        {"enable.partition.eof": True},
    ],
)
def test_settings_with_which_a_worker_would_fail_or_skip_messages_are_refused(tmp_path, options):
    with pytest.raises(ParameterError, match=r"'options' parameter of KafkaWorker"):
        worker(Kafka(tmp_path), tmp_path / "store", options)
    assert not (tmp_path / "store").exists()


def test_a_store_that_fsspec_does_not_know_is_a_clear_error(tmp_path):
    pytest.importorskip("fsspec")
    with pytest.raises(HerosError, match="The store nosuch://models cannot be opened: Protocol not known"):
        worker(Kafka(tmp_path), "nosuch://models")


def test_a_worker_runs_once(tmp_path):
    one = worker(Kafka(tmp_path), tmp_path / "store", QUICK)
    one.stop()
    one.run()
    with pytest.raises(HerosError, match="only once"):
        one.run()
