"""The same faults for Redis, NATS, Kafka and MQTT: every row is learnt once, or its loss is reported. Only with --all."""

import json
import os
import sys
import threading
import time
import warnings

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import queues
from queues import NAME, KafkaAside, Mqtt, Nats, Redis
from test_gaps import stops_and_goes_on_if_told_to
from test_queues import fresh, killed_and_resumed, learnt, once, polled, rows

from heros import DataNotice, HerosError, evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*The connection is lost:heros.DataNotice")
SERVERS = {"redis": Redis, "nats": Nats, "kafka": KafkaAside, "mqtt": Mqtt}


@pytest.fixture(params=SERVERS)
def server(request, tmp_path, thorough):
    if not thorough:
        pytest.skip("only with --all")
    running = SERVERS[request.param](tmp_path, durable=True)
    running.kind = request.param
    yield running
    running.stop()


class Once:
    """Call a function once, when a source has returned a number of rows."""

    def __init__(self, at, action):
        self.at, self.action, self.rows = at, action, 0

    def watch(self, source):
        fetch = source.fetch

        def fetched(most, timeout):
            got = fetch(min(most, 50), timeout)
            self.rows += len(got) if isinstance(got, list) else 0
            if self.rows >= self.at and self.action is not None:
                action, self.action = self.action, None
                action()
            return got

        source.fetch = fetched


def consumed(server, directory, event, **settings):
    """Return a model that resumes from its last checkpoint after every error, and the errors."""
    errors, deadline = [], time.monotonic() + 120
    while time.monotonic() < deadline:
        model = fresh()
        try:
            with server.source(target="y", follow=False, **settings) as source:
                event.watch(source)
                evaluate(model, source, window=100, block=50, checkpoint=directory, every=70, resume=True)
        except HerosError as error:
            errors.append(str(error))
            time.sleep(0.3)
        else:
            return learnt(model), errors
    raise AssertionError(f"it did not end: {errors[-1:]}")


def test_a_broker_that_is_killed_and_comes_back(server, tmp_path):
    todo = rows(600)
    server.send(todo)
    back = threading.Timer(1.0, server.restart)

    def away():
        server.kill()
        back.start()

    known, errors = consumed(server, tmp_path / "kept", Once(200, away))
    back.join()
    assert known == once(todo)
    assert all(" be " in error and "\n" not in error for error in errors), errors


def test_whoever_waits_for_messages_goes_on_when_the_broker_is_back(server):
    """A source without an end either reports that the broker is unavailable or reconnects; it never hangs silently."""
    todo = rows(60)
    server.send(todo[:40])
    deadline = time.monotonic() + 90
    with server.source(target="y") as source:
        polled(source, 30)
        where, got = source.where(), 30
        server.kill()
        told = None
        try:
            source.poll(30, 0.5)  # rows that it already had, nothing, or an error
            got, where = source.position, source.where()
        except HerosError as error:
            told = str(error)
        server.restart()
        server.send(todo[40:])
        try:
            while told is None and got < 60 and time.monotonic() < deadline:
                source.poll(60 - got, 1.0)
                got, where = source.position, source.where()
        except HerosError as error:
            told = str(error)
    assert told is None or "cannot be read" in told
    if got < 60:
        assert time.monotonic() < deadline, f"silent after {got} rows"
        with server.source(target="y") as source:
            source.seek(where)
            polled(source, 60 - got)
            got = source.position
    assert got == 60


def test_consumer_and_broker_are_killed_together(server, tmp_path, monkeypatch):
    monkeypatch.setitem(queues.ALL, server.kind, type(server))
    known, expected = killed_and_resumed(server.kind, tmp_path, server)
    assert known == expected


def test_a_broker_that_lost_its_data_is_told(server, tmp_path):
    """MQTT brokers do not number messages: received messages are in the journal, and equal messages are new."""
    server.send(rows(100))
    with server.source(target="y") as source:
        polled(source, 60)
        where = source.where()
    server.stop()
    place = tmp_path / "another"
    place.mkdir()
    other = type(server)(place, durable=True)
    try:
        if server.kind == "mqtt":
            other.url = f"{other.url.partition(' ')[0]} {server.url.partition(' ')[2]}"
            other.source(target="y").close()  # this call subscribes
            other.send(rows(100)[60:90])
            with other.source(target="y") as source:
                source.seek(where)
                polled(source, 40 + 30)  # the journal has the earlier messages
            return
        other.send(rows(30))
        stops_and_goes_on_if_told_to(other, where, "created again", 30, timeout=10)
    finally:
        other.stop()


POISON = [
    b" ", b"{", b"null", b"[]", b'"text"', b"\xff\xfe\x00", b"[" * 100_000, b"{}", b'{"y": "high"}',
    b'{"a": 1}', b'{"a": NaN, "y": Infinity}', b'{"a": 1, "y": NaN}', b'{"a": ' + b"9" * 5000 + b', "y": "low"}',
    b'{"a": "\\ud800", "y": "low"}', b'{"a": 1, "y": ["high"]}', b'{"a": 1, "y": {"high": 1}}', b"\x00",
    b'{"a": [1, 2], "y": "low"}', b'{"a": 1, "city": "' + b"c" * 100_000 + b'", "y": "low"}',
]  # fmt: skip


def test_poison_costs_a_row_each_and_the_same_everywhere(server, tmp_path):
    todo = rows(1500)
    mixed = [one for at, row in enumerate(todo) for one in ([POISON[at // 70]] if at % 70 == 5 and at // 70 < len(POISON) else []) + [row]]  # fmt: skip
    server.send(mixed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        with server.source(target="y", follow=False) as source:
            model = fresh()
            run = evaluate(model, source, window=100)
        if server.kind != "mqtt":  # MQTT messages cannot be read again
            with server.source(target="y", follow=False) as source:
                again = fresh()
                directory = tmp_path / "kept"
                evaluate(again, source, window=100, block=37, checkpoint=directory, every=70)
            assert learnt(again) == learnt(model)
    assert run.n_instances + run.bad_rows.count == 1500 + len(POISON)
    assert run.bad_rows.count >= len(POISON) - 6


def test_a_clock_that_jumps_changes_nothing(server, tmp_path, monkeypatch):
    todo, real, jumps = rows(300), time.time, iter(range(1, 1 << 30))
    server.send(todo[:150])
    if server.kind == "redis":  # the server's clock was a year ahead when it received a message
        with server._redis.Redis.from_url(server.url) as client:
            client.xadd(NAME, {"data": json.dumps(todo[150])}, id=f"{int((real() + 3e7) * 1000)}-0")
        server.send(todo[151:])
    else:
        server.send(todo[150:])
    monkeypatch.setattr(time, "time", lambda: real() + (-1) ** next(jumps) * 86_400)
    known, errors = consumed(server, tmp_path / "kept", Once(0, None))
    assert (known, errors) == (once(todo), [])
