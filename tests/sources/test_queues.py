"""Queues as sources: the same rows give the same model, each learnt once, despite kills."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
from queues import ALL, NAME, QUEUES

from heros import (
    DataError,
    Heros,
    HerosError,
    MissingExtra,
    ParameterError,
    evaluate,
    policies,
    pools,
    streams,
)
from heros.streams.live import END, IDLE
from heros.streams.live.messages import csv_decoder
from heros.streams.live.redis import RedisStream

POOL = pools.MLPGrid(hidden=[4], optimizers=["adam"])


def rows(n=1500, seed=1):
    """Return rows whose features, values and classes appear over time."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        row = {"a": float(rng.normal()), "city": f"c{rng.integers(1 + min(i // 300, 9))}"}
        if i > 700:
            row["b"] = float(rng.normal())
        row["y"] = "high" if row["a"] > 0.3 else "low" if i < 400 or row["a"] > -1 else "very low"
        made.append(row)
    return made


def numbers(n=1500, seed=1):
    """Return the same rows with a number as the label."""
    return [
        {**row, "y": 1000 + 20 * row["a"] + 5 * row.get("b", 0) + len(row["city"])} for row in rows(n, seed)
    ]


def fresh():
    return Heros(POOL, policies.Explore(policies.Zeta(0.05), 0.2), k=2, seed=1)


def learnt(model):
    return {
        f"{group}/{name}": array.tobytes()
        for group, arrays in model.state().items()
        for name, array in arrays.items()
        if name != "cpu"
    }


def once(todo=None, task=None):
    """Return a digest of a model trained once on the rows."""
    model = fresh()
    pairs = [({name: row[name] for name in row if name != "y"}, row["y"]) for row in todo or rows()]
    evaluate(model, streams.from_iter(pairs, task=task), window=100)
    return learnt(model)


@pytest.fixture(scope="module", params=list(QUEUES))
def queue(request, tmp_path_factory):
    server = QUEUES[request.param](tmp_path_factory.mktemp(request.param))
    server.send(rows())
    yield server
    server.stop()


@pytest.fixture(params=list(QUEUES))
def empty(request, tmp_path):
    server = QUEUES[request.param](tmp_path)
    yield server
    server.stop()


def test_all_rows_in_their_order(queue):
    model = fresh()
    with queue.source(target="y", follow=False) as source:
        run = evaluate(model, source, window=100)
        assert source.poll(10, 0.1) is END
    assert run.n_instances == 1500
    assert learnt(model) == once()


@pytest.mark.parametrize("stop", [1, 399, 1000])
def test_from_where_it_stood(queue, stop):
    with queue.source(target="y", follow=False) as whole, queue.source(target="y", follow=False) as rest:
        while whole.position < stop:
            whole.poll(min(100, stop - whole.position))
        rest.seek(whole.where())
        while (got := whole.poll(100)) is not END:  # no timeout: blocks depend on the rows alone
            X, y = rest.poll(100)
            assert (X.tobytes(), y.tobytes()) == (got[0].tobytes(), got[1].tobytes())
            assert rest.schema == whole.schema
        assert rest.poll(100) is END
        assert rest.position == 1500


CONSUMERS = """
import os, pickle, sys
sys.path.insert(0, {here!r})
from test_queues import fresh, learnt
from queues import ALL
from heros import evaluate
server = object.__new__(ALL[{kind!r}])
server.url = {url!r}

def consume(result):
    model = fresh()
    with server.source(target="y", follow=False) as source:
        print("connected", flush=True)
        evaluate(model, source, window=100, block=50, checkpoint={directory!r}, every=70, resume=True)
    if result:
        pickle.dump(learnt(model), open(result, "wb"))

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            consume(line.strip())
            code = 0
        finally:
            os._exit(code)
    print(child, flush=True)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


KILLS = int(os.environ.get("HEROS_KILLS", "2"))


class Consumers:
    """Consumer processes, one after the other, forked from a process that has imported all modules."""

    def __init__(self, code):
        self._parent = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def start(self, result=""):
        """Start a consumer, which writes its final state to `result`; return its process."""
        self._parent.stdin.write(f"{result}\n")
        said = self._parent.stdout.readline()
        self._early = said == "connected\n"  # the child was faster than its parent
        return int(self._parent.stdout.readline() if self._early else said)

    def connected(self):
        """Wait until the consumer has begun to read."""
        return self._early or self._parent.stdout.readline() == "connected\n"

    def ended(self):
        """Return the consumer's exit code, or the negative signal number."""
        line = self._parent.stdout.readline()
        while line == "connected\n":
            line = self._parent.stdout.readline()
        return int(line.split()[1])

    def stop(self):
        self._parent.stdin.close()
        self._parent.wait()
        self._parent.stdout.close()


def killed_and_resumed(kind, directory, server=None):
    """Return the final state of a consumer that was killed at random times, and the expected state.

    If a server is given, it is killed at the same times.
    """
    todo = rows(max(1500, 120 * KILLS))
    broker, server = server, server or ALL[kind](directory)
    server.send(todo)
    here, result = os.path.dirname(__file__), directory / "learnt"
    code = CONSUMERS.format(here=here, kind=kind, url=server.url, directory=str(directory / "checkpoints"))
    rng, ends, consumers = np.random.default_rng(3), [], Consumers(code)
    for _ in range(KILLS):
        process = consumers.start()
        if rng.random() < 0.8:  # other consumers may not even be connected
            consumers.connected()
        time.sleep(float(rng.uniform(0.0, 0.6)))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        if broker is not None:
            broker.kill()
        ends.append(consumers.ended())
        if broker is not None:
            broker.restart()
    alive = ends.count(-signal.SIGKILL)
    print(f"{kind}: {alive} of {KILLS} kills hit a consumer at work, {len(todo):,} rows")
    consumers.start(result)
    ends.append(consumers.ended())
    consumers.stop()
    server.stop()
    assert alive > 0
    assert set(ends) <= {0, -signal.SIGKILL}
    return pickle.loads(result.read_bytes()), once(todo)


@pytest.mark.parametrize("kind", list(QUEUES))
def test_killed_again_and_again_every_row_is_learnt_once(kind, tmp_path):
    known, expected = killed_and_resumed(kind, tmp_path)
    assert known == expected


def polled(source, n):
    """Poll until this many more rows have arrived."""
    got = 0
    for _ in range(200):
        block = source.poll(n - got, 0.2)
        got += 0 if block is IDLE else len(block[1])
        if got == n:
            return
    raise AssertionError(f"{got} of {n} came")


def test_what_comes_later_is_waited_for(empty):
    empty.send(rows(10))
    with empty.source(target="y") as source:
        polled(source, 10)
        assert source.poll(100, 0.05) is IDLE
        sender = threading.Timer(0.3, empty.send, [rows(15)[10:]])
        sender.start()
        polled(source, 5)
        sender.join()


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
def test_a_message_that_is_no_row_is_refused_or_counted(empty):
    todo = rows(20)
    empty.send([*todo[:10], b"{broken", b'"no row"', b"\xff\xfe", *todo[10:]])
    with empty.source(target="y", follow=False) as source:
        model = fresh()
        run = evaluate(model, source)
        assert (run.n_instances, run.bad_rows.count) == (20, 3)
        assert learnt(model) == once(todo)
    strict = empty.source(target="y", follow=False, on_bad_row="raise")
    with strict as source, pytest.raises(DataError, match=r"row 11.*broken"):
        evaluate(fresh(), source)


def test_lines_of_csv(empty):
    empty.send([b"1.5,red,yes", b",blue,no"])
    decode = csv_decoder(["size", "colour", "y"])
    with empty.source(target="y", follow=False, decode=decode) as source:
        X, y = source.poll(1)
        assert (X.tolist(), y.tolist()) == ([[0.0, 1.5]], [0])
        X, y = source.poll(1)
        assert np.isnan(X[0, 1])
        assert (source.schema.features[0].values, source.schema.classes) == (("red", "blue"), ("yes", "no"))


@pytest.mark.parametrize("kind", ["redis", "nats"])  # librdkafka waits for unavailable brokers
def test_nobody_there_is_said(kind):
    pytest.importorskip(kind)
    server = object.__new__(QUEUES[kind])
    server.url = f"{kind}://127.0.0.1:1"
    with pytest.raises(HerosError, match="cannot be read"), server.source() as source:
        source.poll(1, 1)


def test_redis_entries_of_fields_and_what_need_not_be_kept(tmp_path):
    redis = pytest.importorskip("redis")
    server = QUEUES["redis"](tmp_path)
    with redis.Redis.from_url(server.url) as client:
        for i in range(6):
            client.xadd(NAME, {"size": i, "colour": "red", "y": "ab"[i % 2]})
        with server.source(target="y", keep=False) as source:
            assert source.poll(1)[0].tolist() == [[0.0, 0.0]]
            source.poll(1)
            source.acknowledge(source.where())
            assert client.xlen(NAME) == 5  # the last learnt row determines the position
    server.stop()


def test_kafka_all_partitions_each_in_its_order(tmp_path):
    server = QUEUES["kafka"](tmp_path)
    for partition in range(3):
        server.send([{"n": i, "p": partition, "y": 0} for i in range(200)], partition)
    with server.source(target="y", partitions=None, follow=False) as source:
        found, halfway = [], None
        while (got := source.poll(50)) is not END:
            found += got[0].tolist()
            halfway = halfway or (source.position >= 300 and (len(found), source.where()))
        assert sorted(found) == [[float(n), float(p)] for n in range(200) for p in range(3)]
        assert [[n for n, p in found if p == part] for part in range(3)] == [[*range(200)]] * 3
        at, where = halfway
        source.seek(where)  # the same consumer seeks back
        again = []
        while (got := source.poll(50)) is not END:
            again += got[0].tolist()
        assert sorted(again) == sorted(found[at:])
        source.seek(where)
        assert source.poll(1) is not END


def test_a_setting_that_kafka_refuses_is_said_and_a_partition_is_read_once(tmp_path):
    server = QUEUES["kafka"](tmp_path)
    with pytest.raises(ParameterError, match=r"'options' .*No such configuration property: .colour"):
        server.source(target="y", options={"colour": "red"})
    for options in ({"auto.offset.reset": "latest"}, {"enable.partition.eof": False}, {1: 2}, "x"):
        with pytest.raises(ParameterError, match=r"'options' .*without bootstrap"):
            server.source(target="y", options=options)
    for partitions in (0, "0", ["0"], [0.5], [-1], [2**40], []):
        with pytest.raises(ParameterError, match="'partitions'"):
            server.source(target="y", partitions=partitions)
    server.send(rows(10))
    with server.source(target="y", partitions=[0, 0], follow=False) as source:
        polled(source, 10)
        assert source.poll(1) is END


def test_kafka_tells_its_group_what_a_checkpoint_holds(tmp_path):
    kafka = pytest.importorskip("confluent_kafka")
    server = QUEUES["kafka"](tmp_path)
    server.send(rows(30))
    with server.source(target="y", follow=False, group="g") as source:
        evaluate(fresh(), source, checkpoint=tmp_path / "c", every=10)
    consumer = kafka.Consumer({"bootstrap.servers": server.servers, "group.id": "g"})
    (at,) = consumer.committed([kafka.TopicPartition(server.topic, 0)], timeout=30)
    consumer.close()
    assert at.offset == 30


def test_without_the_extra_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r"\(extra 'redis'\)\. Install them with: pip install 'redis>="):
        RedisStream("redis://localhost", "sensors")
