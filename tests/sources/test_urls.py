"""Sources by URL, in Python and on the command line."""

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

sys.path.insert(0, os.path.dirname(__file__))
from queues import ALL, Mqtt
from test_queues import numbers, rows

from heros import Heros, ParameterError, evaluate, streams
from heros._base.registry import policy_of, pool_of
from heros.cli import app
from heros.streams.live import connect
from heros.streams.live.kafka import KafkaTopic
from heros.streams.live.mqtt import MqttTopic

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
        ("kafka://host:9092", "must be like kafka://host:9092/topic, with one of kafka, mqtt"),
        ("amqp://host/queue", "must be like kafka://host:9092/topic, with one of kafka, mqtt"),
        (
            "redis://host/s?group=g",
            "must be an address with settings among classes, columns, db, expired, follow",
        ),
        ("redis://host/s?db=first", "whole numbers for numeric settings. Got 'first'"),
        ("redis://host/s?labels=t", "an address with id= if it has labels=, and with a target"),
        ("redis://host/s?id=order", "for the settings of late labels. Got 'id'"),
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
    assert "--target must be given for a queue: messages have no last column." in result.output
