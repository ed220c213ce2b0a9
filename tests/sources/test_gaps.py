"""Lost messages of a queue: a gap is reported with its size and stops the run, unless on_gap="go on"."""

import asyncio
import json
import os
import sys

import pytest
from typer.testing import CliRunner

sys.path.insert(0, os.path.dirname(__file__))
from queues import NAME, Kafka, Nats, Redis
from test_queues import polled, rows

from heros import DataError, DataNotice, ParameterError
from heros.cli import app
from heros.streams.live import END, IDLE
from heros.streams.live.kafka import KafkaTopic
from heros.streams.live.urls import connect


def redis_trimmed(server, keep):
    with server._redis.Redis.from_url(server.url) as client:
        client.xtrim(NAME, maxlen=keep, approximate=False)


def nats_trimmed(server, keep):
    async def purge():
        connection = await server._nats.connect(server.url)
        await connection.jetstream().purge_stream("all", keep=keep)
        await connection.close()

    asyncio.run(purge())


def redis_new(server):
    with server._redis.Redis.from_url(server.url) as client:
        client.delete(NAME)


def nats_new(server):
    async def delete():
        connection = await server._nats.connect(server.url)
        await connection.jetstream().delete_stream("all")
        await connection.close()

    asyncio.run(delete())


SERVERS = {"redis": (Redis, redis_trimmed, redis_new), "nats": (Nats, nats_trimmed, nats_new)}


@pytest.fixture(params=SERVERS)
def queue(request, tmp_path):
    kind, trimmed, anew = SERVERS[request.param]
    server = kind(tmp_path)
    server.trimmed, server.anew = trimmed, anew
    yield server
    server.stop()


def stood(server, n):
    with server.source(target="y") as source:
        polled(source, n)
        return source.where()


def goes_on_if_told_to(server, where, told, n, **how):
    """A gap is a notice, and the n rows after it are read."""
    with server.source(target="y", on_gap="go on", **how) as source:
        source.seek(where)
        with pytest.warns(DataNotice, match=told):
            polled(source, n)
        return source.position


def stops_and_goes_on_if_told_to(server, where, told, n, *, timeout=5, **how):
    """A gap is an error; with on_gap="go on" it is a notice."""
    with server.source(target="y", **how) as source:
        source.seek(where)
        with pytest.raises(DataError, match=told):
            source.poll(10, timeout)
    goes_on_if_told_to(server, where, told, n)


def test_a_trimmed_queue_has_a_gap_with_its_size(queue):
    queue.send(rows(100))
    where = stood(queue, 20)
    queue.trimmed(queue, 50)
    with queue.source(target="y") as source:
        source.seek(where)
        with pytest.raises(DataError, match=r"must have all messages.*Got a gap of 30.*on_gap='go on'"):
            source.poll(10, 5)
    assert goes_on_if_told_to(queue, where, "Got a gap of 30", 50) == 70


def test_a_queue_that_has_all_of_it_has_no_gap(queue):
    queue.send(rows(100))
    where = stood(queue, 20)
    queue.trimmed(queue, 80)  # the position after the last row read
    with queue.source(target="y") as source:
        source.seek(where)
        polled(source, 80)
    queue.send(rows(10))
    with queue.source(target="y") as source:  # from the start: earlier missing messages are not a gap
        polled(source, 90)


@pytest.mark.parametrize("new", [30, 60, 120], ids=["shorter", "as long", "longer"])
def test_a_queue_that_was_made_anew_is_told(queue, new):
    queue.send(rows(100))
    where = stood(queue, 60)
    queue.anew(queue)
    queue.send(rows(new))
    stops_and_goes_on_if_told_to(queue, where, "created again", new)


def test_a_queue_that_was_made_anew_while_it_is_read_is_told(queue):
    queue.send(rows(20))
    with queue.source(target="y") as source:
        polled(source, 20)
        queue.anew(queue)
        queue.send(rows(40))
        with pytest.raises(DataError, match="created again"):
            polled(source, 40)


def test_an_entry_of_redis_that_somebody_deleted_is_no_new_stream(tmp_path):
    server = Redis(tmp_path)
    server.send(rows(30))
    where = stood(server, 20)
    with server._redis.Redis.from_url(server.url) as client:
        client.xdel(NAME, where["position"]["id"])
    with server.source(target="y") as source:
        source.seek(where)
        polled(source, 10)
    server.stop()


def test_a_jetstream_whose_consumer_the_server_removed_goes_on(tmp_path):
    server = Nats(tmp_path)
    server.send(rows(30))

    async def remove_consumers():  # as the server does after a minute in which nothing was read
        connection = await server._nats.connect(server.url)
        stream = connection.jetstream()
        for one in await stream.consumers_info("all"):
            await stream.delete_consumer("all", one.name)
        await connection.close()

    with server.source(target="y") as source:
        polled(source, 10)
        asyncio.run(remove_consumers())
        polled(source, 20)
    server.stop()


def test_a_limit_of_messages_per_subject_is_told_because_gaps_cannot_be_counted(tmp_path):
    server = Nats(tmp_path)

    async def publish(**config):
        connection = await server._nats.connect(server.url)
        stream = connection.jetstream()
        await stream.add_stream(name="all", max_msgs_per_subject=5, **config)
        for row in rows(8):
            await stream.publish(NAME, json.dumps(row).encode())
        await connection.close()

    asyncio.run(publish(subjects=[NAME, "other"]))
    with server.source(target="y", follow=False) as source:
        with pytest.warns(DataNotice, match="at most 5 messages per subject"):
            polled(source, 5)
        assert source.poll(1, 1) is END
    server.stop()


def test_a_jetstream_of_several_subjects_is_described_once_per_read(tmp_path):
    server = Nats(tmp_path)

    async def publish():
        connection = await server._nats.connect(server.url)
        stream = connection.jetstream()
        await stream.add_stream(name="all", subjects=[NAME, "other"])
        for row in rows(20):
            await stream.publish(NAME, json.dumps(row).encode())
            await stream.publish("other", b"{}")
        await connection.close()

    asyncio.run(publish())
    with server.source(target="y") as source:
        asked, about = [], source._about
        source._about = lambda: asked.append(1) or about()
        polled(source, 20)
        assert len(asked) <= 3
    server.stop()


def test_a_jetstream_whose_server_is_away_says_so_once(tmp_path, caplog):
    server = Nats(tmp_path)
    server.send(rows(10))
    with server.source(target="y") as source:
        polled(source, 10)
        server.kill()
        with pytest.warns(DataNotice, match="The connection is lost"):
            source.poll(1, 0.3)
        assert source.poll(1, 0.3) is IDLE
    assert not caplog.records


def test_kafka_offsets_that_are_gone_are_a_gap(tmp_path, monkeypatch):
    server = Kafka(tmp_path)
    server.send(rows(100))
    where = stood(server, 20)
    monkeypatch.setattr(KafkaTopic, "_bounds", lambda self, partition: (50, 100))
    with server.source(target="y") as source:
        source.seek(where)
        with pytest.raises(DataError, match=r"offset 19 of partition 0\. Got a gap of 30 messages"):
            source.poll(10, 5)
    goes_on_if_told_to(server, where, "Got a gap of 30", 50, follow=False)


def test_a_kafka_topic_that_was_made_anew_is_told(tmp_path):
    server = Kafka(tmp_path)
    server.send(rows(100))
    where = stood(server, 60)
    other = Kafka(tmp_path)  # the topic was created again under the same name
    other.send(rows(30))
    for follow in (True, False):
        stops_and_goes_on_if_told_to(other, where, "created again", 30, timeout=10, follow=follow)


def test_an_address_and_the_command_line_say_what_happens_at_a_gap(tmp_path, monkeypatch):
    server = Kafka(tmp_path)
    server.send(rows(60))
    command = ["run", f"{server.address}?follow=no&partitions=0", "--target", "y", "--pool", "linear"]
    command += ["--checkpoint", str(tmp_path / "kept"), "--every", "20"]
    assert CliRunner().invoke(app, [*command, "--n", "20"]).exit_code == 0
    monkeypatch.setattr(KafkaTopic, "_bounds", lambda self, partition: (30, 60))
    stopped = CliRunner().invoke(app, [*command, "--n", "50", "--resume"])
    assert (stopped.exit_code, "a gap of 10 messages" in stopped.stderr) == (2, True)
    gone_on = CliRunner().invoke(app, [*command, "--n", "50", "--resume", "--on-gap", "go-on"])
    assert (gone_on.exit_code, "a gap of 10 messages" in gone_on.stderr) == (0, True)
    with connect(f"{server.address}?on_gap=go-on", target="y") as source:
        assert not source._stops
    refused = CliRunner().invoke(app, ["run", "x.csv", "--on-gap", "go-on"])
    assert (refused.exit_code, "applies only to queues" in refused.stderr) == (2, True)


def test_what_cannot_be_meant_is_said(tmp_path):
    with pytest.raises(ParameterError, match=r"'on_gap' .* must be 'stop' or 'go on'"):
        Kafka(tmp_path).source(target="y", on_gap="skip")


def test_messages_trimmed_while_they_are_read_are_a_gap(queue):
    queue.send(rows(100))
    with queue.source(target="y") as source:
        polled(source, 20)
        queue.trimmed(queue, 50)
        with pytest.raises(DataError, match=r"must have all messages.*Got a gap of 30"):
            polled(source, 80)
    with queue.source(target="y", on_gap="go on") as source:
        polled(source, 20)
        queue.trimmed(queue, 10)
        with pytest.warns(DataNotice, match="Got a gap of 20") as told:
            polled(source, 10)
        assert len(told) == 1
