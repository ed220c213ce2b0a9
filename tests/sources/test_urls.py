"""Sources by URL, in Python and on the command line."""

import asyncio
import json
import operator
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

sys.path.insert(0, os.path.dirname(__file__))
from queues import ALL, Mqtt
from test_queues import numbers, rows

from heros import Heros, HerosError, ParameterError, evaluate, streams
from heros._base.addresses import expect_servers
from heros._base.registry import policy_of, pool_of
from heros.cli import app
from heros.streams.live import connect
from heros.streams.live.kafka import KafkaTopic
from heros.streams.live.mqtt import MqttTopic
from heros.streams.live.nats import JetStream
from heros.streams.live.redis import RedisStream

POOL = 'kind = "mlp"\n[grid]\nhidden = [4]\noptimizers = ["adam"]\n'


@pytest.fixture(params=list(ALL))
def server(request, tmp_path):
    there = ALL[request.param](tmp_path)
    yield there
    there.stop()


def run(directory, *arguments):
    (directory / "pool.toml").write_text(POOL)
    how = ["--target", "y", "--json", "--pool", str(directory / "pool.toml"), "--window", "50"]
    result = CliRunner().invoke(app, ["run", *arguments, *how])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_run_by_address_stopped_and_resumed(server, tmp_path, task):
    where = f"{server.address}?follow=no"
    if isinstance(server, Mqtt):
        where += f"&journal={tmp_path / 'journal'}"
    todo = rows(400) if task == "classification" else numbers(400)
    server.send(todo)
    keep = ["--checkpoint", str(tmp_path / "kept"), "--every", "90", "--resume", "--task", task]
    first = run(tmp_path, where, *keep, "--n", "250")
    assert first["n_instances"] == 250
    second = run(tmp_path, where, *keep)
    assert second["n_instances"] == 400
    pairs = [({name: row[name] for name in row if name != "y"}, row["y"]) for row in todo]
    model = Heros(pool_of(str(tmp_path / "pool.toml")), policy_of("zeta:0.05", 0.2), seed=1)
    same = evaluate(model, streams.from_iter(pairs, task=task), window=50, exact=False)
    assert second["results"] | same.figures == second["results"]
    assert list(same.figures)[:2] == (["auroc", "accuracy"] if task == "classification" else ["rmse", "mae"])


def test_lines_on_standard_input_with_numbers(tmp_path):
    todo = [*numbers(300), {"a": 1.0, "city": "c0", "y": "many"}, {"a": 1.0, "city": "c0"}]
    (tmp_path / "pool.toml").write_text(POOL)
    how = [
        "run",
        "-",
        "--target",
        "y",
        "--task",
        "regression",
        "--pool",
        str(tmp_path / "pool.toml"),
        "--json",
    ]
    lines = "".join(json.dumps(row) + "\n" for row in todo)
    refused = CliRunner().invoke(app, [*how, "--on-bad-row", "raise"], input=lines)
    assert refused.exit_code == 2
    assert "must be a number" in refused.output
    assert "'many'" in refused.output
    done = CliRunner().invoke(app, how, input=lines)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["n_instances"], document["stream"]["bad_rows"]["count"]) == (300, 2)
    assert document["results"]["mae"] < 1000


def test_what_an_address_may_say(monkeypatch):
    made = []
    monkeypatch.setattr(KafkaTopic, "__init__", lambda self, *given, **how: made.append((given, how)))
    monkeypatch.setattr(MqttTopic, "__init__", lambda self, *given, **how: made.append((given, how)))
    connect("kafka://a:1,b:2/orders?group=g&partitions=0,2&nominal=city,zip&follow=no", target="y")
    connect("mqtt://me:secret@host/sensors/+/data", directory="kept")
    connect("kafka://a:1/t?columns=size,y&classes=no,yes")
    given, how = made.pop()
    assert (given, how["classes"], how["decode"](b"1,no")) == (
        ("a:1", "t"), ["no", "yes"], {"size": "1", "y": "no"},
    )  # fmt: skip
    assert made == [
        (
            ("a:1,b:2", "orders"),
            {"group": "g", "partitions": [0, 2], "nominal": ["city", "zip"], "follow": False, "target": "y"},
        ),
        (
            ("mqtt://me:secret@host", "sensors/+/data"),
            {"journal": Path("kept/mqtt.journal")},
        ),
    ]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "kafka://host:9092",
            "must be an address such as kafka://host:9092/topic, with one of the schemes kafka, mqtt",
        ),
        (
            "amqp://host/queue",
            "must be an address such as kafka://host:9092/topic, with one of the schemes kafka, mqtt",
        ),
        (
            "redis://host/s?group=g",
            "must be an address with no other settings than classes, columns, db, expired, follow",
        ),
        ("redis://host/s?db=first", "whole numbers for numeric settings. Got 'first'"),
        ("redis://host/s?labels=t", "an address with id= and a target, because labels= requires both"),
        (
            "redis://host/s?id=order",
            "because id=, expired=, longest= and waiting= require labels=. Got 'id'",
        ),
        ("redis://host/s?labels=t&id=i&longest=day", "with a number of seconds for 'longest'. Got 'day'"),
        ("nats://host/s?follow=perhaps", "'yes' or 'no' for 'follow' and 'keep'. Got 'perhaps'"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(address, said):
    with pytest.raises(ParameterError) as error:
        connect(address)
    assert said in str(error.value)


def test_messages_have_no_last_column():
    result = CliRunner().invoke(app, ["run", "redis://127.0.0.1:1/s"])
    assert result.exit_code == 2
    assert "--target must be given for a queue, because messages have no last column." in result.output


@pytest.mark.parametrize(
    ("address", "topics"),
    [
        ("mqtt://host/sensors/#", ["sensors/#"]),
        ("mqtt://host/#?follow=no", ["#"]),
        ("mqtts://host:8883/sensors/+/data/%23", ["sensors/+/data/#"]),
        ("mqtt://host/+/a?labels=+/b/#&id=order&nominal=my+city", ["+/a", "+/b/#"]),
    ],
)
def test_wildcards_of_mqtt_are_part_of_the_topic(monkeypatch, address, topics):
    made = []
    monkeypatch.setattr(MqttTopic, "__init__", lambda self, *given, **how: made.append(given[1]))
    monkeypatch.setattr("heros.streams.live.urls.LateSource", lambda *given, **how: made.append(how))
    connect(address, target="y")
    assert made[: len(topics)] == topics
    assert "labels" not in address or made[2]["nominal"] == ["my city"]


def test_labels_from_another_topic_have_a_journal_of_their_own(monkeypatch):
    made = []
    monkeypatch.setattr(MqttTopic, "__init__", lambda self, *given, **how: made.append(how["journal"]))
    monkeypatch.setattr("heros.streams.live.urls.LateSource", lambda *given, **how: None)
    connect("mqtt://host/a?labels=b&id=order&journal=kept/j", target="y")
    connect("mqtt://host/a?labels=b&id=order", target="y", directory="kept")
    assert made == ["kept/j", "kept/j-labels", Path("kept/mqtt.journal"), Path("kept/labels/mqtt.journal")]


@pytest.mark.parametrize("scheme", ["kafka", "redis", "nats", "mqtt"])
@pytest.mark.parametrize("port", ["abc", "99999", "0", "-1", "1:2", "", "٣"])
def test_a_malformed_port_is_said(scheme, port):
    address = f"{scheme}://me:secret@host:{port}/t"
    with pytest.raises(
        ParameterError, match=r"'address' parameter of connect .* a port in \[1, 65535\]"
    ) as told:
        connect(address, target="y")
    assert "secret" not in str(told.value)


def test_a_malformed_server_is_said():
    for kind, parameter, servers in (
        (KafkaTopic, "servers", "host:9092,other:abc"), (KafkaTopic, "servers", 3), (KafkaTopic, "servers", ""),
        (RedisStream, "url", "redis://host:abc"), (RedisStream, "url", "nonsense"), (RedisStream, "url", None),
        (JetStream, "url", "nats://host:99999"), (JetStream, "url", None), (MqttTopic, "url", "mqtt://host:abc"),
    ):  # fmt: skip
        with pytest.raises(
            ParameterError, match=f"The '{parameter}' parameter of {kind.__name__} must be (like|an addr)"
        ):
            kind(servers, "t")
    with pytest.raises(ParameterError, match="The 'address' parameter of connect must be"):
        connect("kafka://[::1/t", target="y")


@pytest.mark.parametrize("servers", ["a", "a:1", "a:1,b:2", "SSL://a:9093", "[::1]:9092", "[::1]"])
def test_servers_that_are_well_formed(servers):
    assert expect_servers(servers, "servers", "KafkaTopic", "host:9092") == servers
    for scheme in ("redis", "nats", "mqtt"):
        address = f"{scheme}://user:p%40ss@{servers.rpartition('/')[2]}"
        assert expect_servers(address, "url", "Me", "x") == address


def test_a_nats_server_that_is_not_there_is_said_with_what_to_do(capfd):
    pytest.importorskip("nats")
    with pytest.raises(
        HerosError, match=r"nats://127\.0\.0\.1:1/s cannot be read: NoServersError\(\)\. Start the server, or"
    ):
        connect("nats://me:secret@127.0.0.1:1/s", target="y")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("js.errors.NotFoundError", "NotFoundError.*Create a stream that stores this subject"),
        ("js.errors.ServiceUnavailableError", "Start the server with JetStream"),
        ("errors.NoRespondersError", "Start the server with JetStream"),
        ("errors.TimeoutError", "TimeoutError.*Start the server, or correct the address"),
        ("errors.AuthorizationError", "Give a valid user name and password"),
    ],
)
def test_what_nats_refuses_is_said_with_the_address(monkeypatch, error, said):
    nats = pytest.importorskip("nats")
    raised = operator.attrgetter(error)(nats)

    async def refused(self):
        raise raised

    async def connected(self):
        return SimpleNamespace(
            jetstream=lambda: None, close=lambda: asyncio.sleep(0), stats={"reconnects": 0}
        )

    monkeypatch.setattr(JetStream, "_connected", refused)
    with pytest.raises(HerosError, match=f"The JetStream nats://host/s cannot be read: .*{said}"):
        connect("nats://host/s", target="y")
    monkeypatch.setattr(JetStream, "_connected", connected)
    monkeypatch.setattr(JetStream, "_about", refused)
    with (
        connect("nats://host/s", target="y") as source,
        pytest.raises(HerosError, match=f"The JetStream nats://host/s cannot be read: .*{said}"),
    ):
        source.fetch(1, 1.0)
