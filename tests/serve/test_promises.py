"""The promises of docs/serve.md on failures, limits and restarts; the page names these tests."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("httptools", reason="heros serve is not installed")

from faults.system import no_room_beyond
from heros import Heros, HerosError, ParameterError, pools
from heros.cli import app
from heros.ensemble.keyed import Keyed
from heros.serve.checkpoint import CheckpointDirectory, Waiting
from heros.serve.learners import ModelPerKey, OneModel
from heros.serve.limits import Limits, NotNow, Wrong
from heros.serve.server import Running
from heros.serve.service import Service
from heros.serve.status import memory
from heros.storage import archive
from serve.serving import many, model, one, rows, served, soon
from serve.test_wire import command

DOCS = Path(__file__).parents[2] / "docs" / "serve.md"


def teach(service, n, start=0, **more):
    for x, y in rows(n, start):
        service.learn({"x": x, "y": y, **more})


NAMED = re.compile(r"`(tests/\w+/\w+\.py)::(\w+)`")


def test_every_promise_names_a_test_that_is_there():
    text = DOCS.read_text(encoding="utf-8")
    named = NAMED.findall(text)
    assert len(named) >= 60
    for file, name in named:
        assert f"def {name}(" in (DOCS.parents[1] / file).read_text(encoding="utf-8"), name
    guarantees = text.partition("## What the service guarantees")[2].partition("\n## ")[0].split("\n- ")[1:]
    limits = re.findall(r"^\| .*$", text.partition("| limit |")[2].partition("\n\n")[0], re.M)
    assert (len(guarantees), len(limits)) >= (11, 10)
    notes = dict(re.findall(r"^\[\^(\w+)\]: (.*)$", text, re.M))
    assert all(NAMED.search(note) for note in notes.values())
    assert sorted(re.findall(r"(?<=.)\[\^(\w+)\](?!:)", text)) == sorted(notes)  # each note is used once
    assert [one for one in (*guarantees, *limits) if not re.search(r"\[\^\w+\]", one)] == []


def test_a_label_is_learnt_once():
    with served(one()) as client:
        client.post("/learn?wait=1", json={"x": {"size": 1.0}, "y": "odd"})
        assert client.post("/predict", json={"id": 7, "x": {"size": 1.0}}).status_code == 200
        label = {"id": 7, "y": "odd"}
        assert [client.post("/learn?wait=1", json=label).status_code for _ in range(3)] == [202, 404, 404]
        assert client.running.service.history.learnt == 2


# -- checkpoints ----------------------------------------------------------------------------------------


def test_a_checkpoint_that_fails_is_told_at_once_and_tried_again(tmp_path, monkeypatch, caplog):
    service = one(store=CheckpointDirectory(tmp_path), every=20)
    monkeypatch.setattr("heros.serve.service.RETRY", 0.3)
    full = True

    def write(*content, of=service.store.write):
        if full:
            raise HerosError("The file service.heros cannot be written: No space left on device.")
        return of(*content)

    monkeypatch.setattr(service.store, "write", write)
    with served(service) as client, caplog.at_level(logging.WARNING, "heros.serve"):
        teach(service, 20)
        assert soon(lambda: client.get("/health").status_code == 503)
        health = client.get("/health").json()
        assert health["status"] == "checkpoints fail"
        assert "No space left on device" in health["checkpoint_error"]
        assert "heros_checkpoint_failed 1.0" in client.get("/metrics").text
        assert "No space left" in client.get("/state").json()["checkpoint_error"]
        assert "No space left on device" in caplog.text
        assert client.post("/predict", json={"x": {"size": 1.0}}).status_code == 200
        full = False
        assert soon(lambda: client.get("/health").json()["status"] == "ok")
        assert soon(lambda: "heros_checkpoint_failed 0.0" in client.get("/metrics").text)
        assert "again" in caplog.records[-1].message
        assert service.checkpoints == 1


def test_models_for_which_the_disk_has_no_room_are_kept_and_labels_refused(tmp_path, monkeypatch):
    """Accepted labels are learnt when there is space again; until then, others are refused with a reason."""
    monkeypatch.setattr("heros.serve.service.RETRY", 0.3)
    store = CheckpointDirectory(tmp_path)
    keyed = Keyed(model(), capacity=3, directory=tmp_path / "keys")
    service, accepted = Service(ModelPerKey(keyed), store=store, seconds=0.5), []
    with served(service) as client:

        def send():
            x, y = next(rows(1, len(accepted)))
            reply = client.post("/learn", json={"key": f"{len(accepted) % 20}", "x": x, "y": y})
            accepted.extend([x] if reply.status_code == 202 else [])
            return reply

        for _ in range(40):
            assert send().status_code == 202
        service.wait()
        with no_room_beyond(0):
            assert soon(lambda: send().status_code == 507)
            assert "keys.sqlite cannot be written" in send().json()["detail"]
            health = client.get("/health")
            assert health.status_code == 503
            assert "cannot be written" in health.json()["storage_error"]
            assert client.post("/predict", json={"key": "3", "x": {"size": 1.0}}).status_code == 200
            assert keyed.in_memory <= 3
        assert soon(lambda: client.get("/health").json()["storage_error"] is None)
        assert send().status_code == 202
        service.wait()
        assert service.failed == 0
        assert keyed.overall().instances == service.counts.learnt == len(accepted)
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as again:
        assert again.learner.models.overall().instances == again.counts.learnt == len(accepted)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_checkpoint_needs_little_memory_for_waiting_instances(tmp_path, keyed):
    def service():
        store = CheckpointDirectory(tmp_path)
        return many(tmp_path / "keys", store=store, seconds=None) if keyed else one(store=store, seconds=None)

    n, rng, key = 5_000, np.random.default_rng(1), 7 if keyed else None
    rows = [b'{"x": "%b"}' % rng.bytes(500).hex().encode() for _ in range(n)]
    held = [Waiting(row, key, rng.random(20)) for row in rows]
    with service() as running:
        running.learn({"x": {"size": 1.0}, "y": "odd"} | ({"key": key} if keyed else {}))
        for id, waiting in enumerate(held):
            running.pending.hold(id, waiting, time.monotonic())
        running.checkpoint().result(60)  # imports modules
        tracemalloc.start()
        try:
            running.checkpoint().result(60)
            assert tracemalloc.get_traced_memory()[1] < sum(one.bytes() for one in held) / 2
        finally:
            tracemalloc.stop()
    with service() as again:
        assert len(again.pending) == n
        for id in range(0, n, 49):
            found = again.pending.get(id)
            assert (found.row, found.key) == (held[id].row, key)
            assert (found.predicted == held[id].predicted).all()


def test_checkpoints_are_written_by_time(tmp_path):
    service = one(store=CheckpointDirectory(tmp_path), seconds=0.3)
    try:
        time.sleep(0.8)
        assert service.checkpoints == 0  # no instance was learnt
        teach(service, 5)
        assert soon(lambda: service.checkpoints == 1)
        time.sleep(0.8)
        assert service.checkpoints == 1
        service.predict({"id": "waits", "x": {"size": 1.0}})
        assert soon(lambda: service.checkpoints == 2)
    finally:
        service.stop()


def test_killed_it_loses_no_more_than_a_checkpoint_ago(tmp_path):
    (tmp_path / "pool.toml").write_text('kind = "mlp"\n[grid]\nhidden = [8]\nlearning_rates = [0.05]\n')
    arguments = [
        "serve",
        "--pool",
        "pool.toml",
        "--k",
        "1",
        "--port",
        "0",
        "--checkpoint",
        "kept",
        "--every",
        "1s",
    ]
    process, address = command(*arguments, cwd=tmp_path)
    batch = [{"x": x, "y": y} for x, y in rows(50)]
    assert httpx.post(f"{address}/learn/batch", json={"instances": batch}).status_code == 202
    assert soon(lambda: httpx.get(f"{address}/state").json()["checkpoints"] >= 1, 30)
    process.kill()
    process.communicate(timeout=30)
    process, address = command(*arguments, cwd=tmp_path)
    try:
        assert httpx.get(f"{address}/model").json()["instances"] == 50
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_directory_belongs_to_one_service_at_a_time(tmp_path):
    with (
        one(store=CheckpointDirectory(tmp_path)),
        pytest.raises(HerosError, match=rf"is in use: process {os.getpid()} on .+, since"),
    ):
        CheckpointDirectory(tmp_path)
    CheckpointDirectory(tmp_path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix file modes")
@pytest.mark.parametrize("keyed", [False, True])
def test_what_was_sent_can_be_read_by_nobody_else(tmp_path, keyed):
    before = os.umask(0o022)
    try:
        place = tmp_path / "kept"
        store = CheckpointDirectory(place)
        with many(place / "keys", store=store) if keyed else one(store=store) as service:
            teach(service, 5, **({"key": "a"} if keyed else {}))
    finally:
        os.umask(before)
    files = [path for path in place.rglob("*") if path.is_file()]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [place, *files]}
    assert ("keys.sqlite" if keyed else "service.heros") in modes
    assert not any(mode & 0o077 for mode in modes.values()), modes


# -- restarts -------------------------------------------------------------------------------------------


def other_pool():
    return Heros(pools.MLPGrid(hidden=[32], learning_rates=[0.01]), k=1, seed=1)


def test_keys_of_another_pool_are_refused_at_the_start(tmp_path):
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as service:
        teach(service, 20, key="roof")
    with pytest.raises(
        HerosError, match=r"The pool must be the same as in .*\"hidden\":8.*Got.*\"hidden\":32"
    ):
        Service(
            ModelPerKey(Keyed(other_pool(), directory=tmp_path / "keys")), store=CheckpointDirectory(tmp_path)
        )
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path)) as service:  # no state was damaged
        assert service.history.learnt == 20


def test_a_directory_of_one_model_is_not_one_of_keys(tmp_path):
    with one(store=CheckpointDirectory(tmp_path / "plain")) as service:
        teach(service, 5)
    with pytest.raises(HerosError, match=r"must hold one model per key\. Got a single model"):
        many(tmp_path / "plain" / "keys", store=CheckpointDirectory(tmp_path / "plain"))
    with many(tmp_path / "many" / "keys", store=CheckpointDirectory(tmp_path / "many")) as service:
        teach(service, 5, key=1)
    with pytest.raises(HerosError, match=r"must hold a single model\. Got one model per key"):
        one(store=CheckpointDirectory(tmp_path / "many"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--pool", "mlp"),
        ("--task", "regression"),
        ("--k", "3"),
        ("--policy", "random"),
        ("--watch", "trained"),
        ("--class-weight", "balanced"),
    ],
)
def test_options_that_contradict_the_checkpoint_are_refused(tmp_path, monkeypatch, option, value):
    with one(store=CheckpointDirectory(tmp_path / "kept")) as service:
        teach(service, 5)
    monkeypatch.setattr("heros.serve.server.serve", None)  # this limit is not reached
    asked = ["serve", "--port", "0", "--checkpoint", str(tmp_path / "kept"), option, value]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2, done.output
    assert f"The {option[2:].replace('-', '_')} must be the same as in the checkpoint in" in done.stderr


def test_without_options_new_keys_begin_with_the_model_of_the_checkpoint(tmp_path, monkeypatch):
    file, kept, found = tmp_path / "trained.heros", tmp_path / "kept", []
    trained = Heros(pools.NaiveBayesGrid(), k=1, seed=1)
    trained.learn([{"a": i, "colour": "red"} for i in range(9)], ["no", "yes", "no"] * 3).save(file)
    store = CheckpointDirectory(kept)
    store.begin_with(file)
    with Service(ModelPerKey(Keyed(Heros.load(file), directory=kept / "keys")), store=store) as service:
        service.learn({"key": "roof", "x": {"a": 1, "colour": "red"}, "y": "no"})

    def serve(service, **_):
        with service:
            found.append((service.history.learnt, service.predict({"key": "new", "x": {"a": 4}})))

    monkeypatch.setattr("heros.serve.server.serve", serve)
    asked = ["serve", "--port", "0", "--keys", "--checkpoint", str(kept)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    ((learnt, said),) = found
    assert (learnt, said["probabilities"]) == (1, trained.predict_proba({"a": 4}))
    done = CliRunner().invoke(app, [*asked, "--pool", "mlp"])
    assert done.exit_code == 2, done.output
    assert "The pool must be the same as in the checkpoint in" in done.stderr


def test_another_model_file_is_refused_if_there_is_a_checkpoint(tmp_path):
    """After a model is trained again, a restarted service must not silently serve the old model."""
    first, second, kept = tmp_path / "first.heros", tmp_path / "second.heros", tmp_path / "kept"
    for file, colour in ((first, "red"), (second, "blue")):
        model = Heros(pools.NaiveBayesGrid(), k=1, seed=1)
        model.learn([{"a": i, "colour": colour} for i in range(9)], ["no", "yes", "no"] * 3).save(file)

    def opened(file):
        store = CheckpointDirectory(kept)
        try:
            if file is not None:
                store.begin_with(file)
            return Service(OneModel(Heros.load(first if file is None else file)), store=store)
        except HerosError:
            store.close()
            raise

    with opened(first) as service:
        service.learn({"x": {"a": 1, "colour": "red"}, "y": "no"})
    for file in (first, None):  # the service continues with the same file, or without one
        with opened(file) as service:
            assert service.history.learnt == 1
    with pytest.raises(HerosError, match=r"Got another model file\. Leave out --model"):
        opened(second)


@pytest.mark.parametrize(
    "option", [["--epsilon", "0.1"], ["--policy", "best"], ["--level", "0.9"], ["--k", "2"]]
)
def test_an_option_that_contradicts_a_saved_model_is_named(option, tmp_path):
    path = tmp_path / "m.heros"
    Heros(pools.MLP([{}, {}]), k=1, seed=1).learn([{"a": 1.0}, {"a": 2.0}], ["n", "y"]).save(path)
    said = CliRunner().invoke(app, ["serve", "--model", str(path), *option])
    assert said.exit_code == 2
    assert f"cannot change {option[0]}, which is part of the saved model." in said.stderr


# -- limits ---------------------------------------------------------------------------------------------


def test_waiting_instances_are_bounded_in_bytes():
    with one(waiting_bytes=2_000_000) as service:
        before = memory()
        for i in range(2000):
            service.predict({"id": i, "x": {f"f{j}": "z" * 100 for j in range(100)}})  # 20 MB in total
        assert service.pending.bytes <= 2_000_000
        assert 100 < len(service.pending) < 400
        assert service.counts.expired == 2000 - len(service.pending)
        assert memory() - before < 15_000_000
        with pytest.raises(Wrong, match="at most 2,000,000 bytes"):
            service.predict({"id": "large", "x": {f"f{j}": "z" * 40_000 for j in range(100)}})
        assert len(service.pending) > 100


def test_growth_is_bounded_per_instance():
    with one() as service:
        service.learn({"x": {f"f{i}": i for i in range(500)}, "y": "a"})  # the first one defines the schema
        with pytest.raises(Wrong, match=r"must add at most 100 features and values\. Got 101"):
            service.learn({"x": {f"g{i}": f"v{i}" for i in range(101)}, "y": "a"})
        service.learn({"x": {f"g{i}": f"v{i}" for i in range(100)}, "y": "a"})
        service.wait()
        assert service.learner.schema.n_features == 600


def test_growth_is_bounded_per_second(monkeypatch):
    """Instances without new features or values are still accepted."""
    service = one(limits=Limits(growth=0.3))
    opened = service.learner.open
    monkeypatch.setattr(service.learner, "open", lambda schema: (time.sleep(0.1), opened(schema)))
    with served(service) as client:
        teach(service, 20)
        service.wait()

        def grow(i):
            return client.post("/learn", json={"x": {"colour": f"new {i}"}, "y": "odd"})

        statuses = []
        while 429 not in statuses and len(statuses) < 200:
            statuses.append(grow(len(statuses)).status_code)
            service.wait()
        assert set(statuses) == {202, 429}
        service._growth_debt += 60  # a slow machine must not pay off the debt meanwhile
        assert "schema grows too fast" in grow(len(statuses)).json()["detail"]
        teach(service, 20)
        batch = [{"x": {"colour": colour}, "y": "odd"} for colour in ("red", "another new one")]
        taken = client.post("/learn/batch", json={"instances": batch}).json()
        assert taken["accepted"] == 1
        assert "schema grows too fast" in taken["refused"][0]["why"]
        service._growth_debt = 0.4  # paid off within a second
        assert soon(lambda: grow(1000).status_code == 202)


@pytest.mark.parametrize("path", ["/leaderboard", "/choice"])
def test_looking_at_keys_keeps_to_the_memory(path):
    keyed = Keyed(model(), capacity=3)
    with served(Service(ModelPerKey(keyed))) as client:
        for key in range(12):
            teach(client.running.service, 5, key=f"{key}")
        client.running.service.wait()
        for key in range(12):
            assert client.get(path, params={"key": f"{key}"}).status_code == 200
            assert keyed.in_memory <= 3


def test_instances_to_learn_are_bounded_in_bytes():
    with one(limits=Limits(queue_bytes=100_000)) as service:
        hold = threading.Event()
        service.after(hold.wait)
        request = {"x": {f"f{j}": float(j) for j in range(100)}, "y": "a"}
        for _ in range(27):
            service.learn(request)
        with pytest.raises(NotNow, match="training queue is full"):
            service.learn(request)
        hold.set()
        service.wait()
        assert service.counts.learnt > 10
        teach(service, 1)


@pytest.mark.parametrize("path", ["/predict", "/learn", "/predict/batch", "/learn/batch"])
def test_long_names_are_refused_on_every_route(path):
    long = "n" * 300
    cases = [{"x": {long: 1.0}}, {"x": {"a": {long: 1.0}}}, {"x": {"a": 1.0}, "key": long}]
    with served(many()) as client:
        client.post("/learn?wait=1", json={"x": {"a": 1.0}, "y": "b", "key": "k"})
        for case in cases:
            request = {"key": "k"} | case | ({"y": "b"} if "learn" in path else {})
            said = client.post(path, json={"instances": [request]} if "batch" in path else request)
            assert said.status_code == 422, (case, said.text)
            assert "at most 200 characters" in said.json()["detail"]
        for view in ("/leaderboard", "/choice"):
            assert client.get(view, params={"key": long}).status_code == 422


@pytest.fixture(scope="module")
def local():
    """A service that allows only hosts of this machine."""
    with served(one()) as client:
        yield client


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "[::1]:80.evil.example",
        "[::1",
        "::1",
        "[localhost]",
        "[127.0.0.1]",
        "[::1%evil.example]",
        "localhost:80.evil.example",
        "localhost:evil",
        "localhost:80:80",
        "localhost:-1",
        "evil.example@localhost",
        "localhost/evil.example",
        "127.0.0.1:8000@evil.example",
        "localhost, evil.example",
    ],
)
def test_another_host_is_refused(host, local):
    body = {"x": {"size": 1.0}, "y": "a"}
    assert local.post("/learn", json=body, headers={"host": host}).status_code == 403
    for path in ("/", "/state", "/model", "/metrics"):
        assert local.get(path, headers={"host": host}).status_code == 403
    assert local.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:{port}",
        "127.0.0.1:{port}",
        "[::1]:80",
        "[::1]",
        "[::FFFF:127.0.0.1]:80",
        "localhost:",
        "LOCALHOST",
        "192.168.1.5",
    ],
)
def test_a_host_of_this_machine_is_accepted(host, local):
    port = local.running.socket.getsockname()[1]
    assert local.get("/model", headers={"host": host.format(port=port)}).status_code == 200


def test_a_host_may_be_allowed():
    with served(one(), allow_hosts=["models.example"]) as client:
        assert client.get("/model", headers={"host": "models.example:80"}).status_code == 200
        assert client.get("/model", headers={"host": "other.example"}).status_code == 403


@pytest.mark.parametrize(
    "name",
    [
        "http://models.example",
        "models.example/path",
        "models.example:8000",
        " models.example",
        "models example",
        "*.example",
        "[::1]",
        "",
    ],
)
def test_an_allowed_host_that_can_never_match_is_refused(name):
    service = one()
    with pytest.raises(
        ParameterError, match=f"'allow_hosts' .* without scheme, port.* Got {re.escape(repr(name))}"
    ):
        Running(service, port=0, allow_hosts=["models.example", name])
    service.stop()


@pytest.mark.parametrize(
    "token", [" correct horse", "correct horse ", "correct horse\n", "\tcorrect horse\r\n"]
)
def test_a_token_that_can_never_match_is_refused(token):
    service = one()
    with pytest.raises(
        ParameterError, match="'token' parameter of serve must be a string without spaces"
    ) as refused:
        Running(service, port=0, token=token)
    assert "horse" not in str(refused.value)
    service.stop()


def test_an_empty_token_in_the_environment_is_refused():
    """The service started without a token if a secret was missing."""
    said = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0"], env={"HEROS_TOKEN": ""})
    assert said.exit_code == 2
    assert "The environment variable HEROS_TOKEN must contain a token or be unset." in said.output


def test_an_empty_path_is_no_checkpoint_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["serve", "--checkpoint", "", "--port", "0"])
    assert said.exit_code != 0
    assert "checkpoint" in said.output
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(HerosError, match=r"'checkpoint' .* must be the path of a directory. Got ''"):
        CheckpointDirectory("")


def test_idle_connections_do_not_shut_others_out():
    with served(one(limits=Limits(connections=50, seconds=30.0))) as client:
        address = client.running.socket.getsockname()
        with ExitStack() as stack:
            for i in range(120):
                idle = stack.enter_context(socket.create_connection(address, timeout=20))
                if i % 2:
                    idle.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n")
            assert httpx.get(f"{client.base_url}/health", timeout=20).status_code == 200
            assert (
                httpx.post(f"{client.base_url}/predict", json={"x": {"size": 1}}, timeout=20).status_code
                == 200
            )
            assert len(client.running.server.connections) <= 50


def silent(address, requests):
    """Return a connection of a client that requests the page and reads no reply."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.settimeout(20)
    client.connect(address)
    client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * requests)
    return client


@pytest.mark.skipif(sys.platform == "win32", reason="counts open files as on Unix")
def test_clients_that_read_no_replies_do_not_shut_others_out(monkeypatch):
    """If there are too many connections, some are closed before the timeout, and so are their files."""
    monkeypatch.setattr("heros.serve.http.READING", 1e6)
    with served(one(limits=Limits(connections=10))) as client, ExitStack() as stack:
        server, address = client.running.server, client.running.socket.getsockname()
        before = len(os.listdir("/dev/fd"))
        for i in range(30):
            stack.enter_context(silent(address, 400))
            if i < 10:
                assert soon(lambda i=i: sum(one.unsent > 0 for one in list(server.connections)) > i)
            assert httpx.get(f"{client.base_url}/health", timeout=20).status_code == 200
        assert len(server.connections) <= 10
        assert soon(lambda: len(os.listdir("/dev/fd")) <= before + 30 + 10)


@pytest.mark.parametrize("requests", [400, 1], ids=["full", "closing"])
def test_a_client_that_reads_no_reply_is_disconnected(requests, monkeypatch):
    monkeypatch.setattr("heros.serve.http.READING", 0.3)
    with served(one(limits=Limits(seconds=0.2))) as client:
        server = client.running.server
        big = b"x" * 50_000_000  # more than the system's buffers hold
        monkeypatch.setattr(client.running.api, "_page", big if requests == 1 else big[:100_000])
        with silent(client.running.socket.getsockname(), requests) as other:
            if requests == 1:
                other.shutdown(socket.SHUT_WR)
            assert soon(lambda: any(one.unsent for one in list(server.connections)))
            assert soon(lambda: not any(one.unsent for one in list(server.connections)))


def test_replies_that_nobody_reads_are_bounded_in_bytes(monkeypatch):
    """Each of 2,000 clients could leave a reply of 200 MB unread, for a minute or as long as it reads a byte."""
    with served(one(limits=Limits(replies=60_000_000))) as client, ExitStack() as stack:
        connections, address = client.running.server.connections, client.running.socket.getsockname()
        monkeypatch.setattr(client.running.api, "_page", b"x" * 25_000_000)
        for _ in range(6):
            stack.enter_context(silent(address, 1))
            assert soon(lambda: all(one.unsent for one in list(connections)))
            assert soon(lambda: sum(one.unsent for one in list(connections)) <= 60_000_000)
        assert len(client.get("/").content) == 25_000_000
        assert 1 <= len([one for one in list(connections) if one.unsent]) <= 2


def test_other_requests_are_answered_while_a_large_reply_is_made(monkeypatch):
    """The reply to a batch of 5,000 instances kept all other clients waiting for seconds."""
    with served(one()) as client:
        parts, formatted = [], client.running.service.formatted
        monkeypatch.setattr(
            client.running.service,
            "formatted",
            lambda *some: (parts.append(len(some[0])), formatted(*some))[1],
        )
        instances = [{"id": i, "x": {**x, "colur": 1}} for i, (x, _) in enumerate(rows(50))]
        said = client.post("/predict/batch", json={"instances": instances}).json()["predictions"]
        assert [(one["id"], one["prediction"]) for one in said] == [(i, None) for i in range(50)]
        assert parts == [20, 20, 10]


def test_only_labels_wait_for_training():
    """On a full disk, predictions with wait=true waited for ever, until there were too many requests."""
    with served(one()) as client:
        hold = threading.Event()
        client.running.service.after(hold.wait)
        try:
            said = client.post("/predict?wait=true", json={"x": {"size": 1}}, timeout=10)
        finally:
            hold.set()
        assert said.status_code == 200


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix limits on files")
def test_connections_are_as_many_as_there_are_files_for(tmp_path):
    heros = Path(sys.executable).with_name("heros")
    limited = ["sh", "-c", 'ulimit -n 160 && exec "$0" "$@"', str(heros), "serve", "--port", "0"]
    process = subprocess.Popen(limited, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        address = re.search(r"http://\S+:(\d+)", process.stderr.readline())
        with ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(socket.create_connection(("127.0.0.1", int(address[1])), timeout=20))
            assert httpx.get(f"{address[0]}/health", timeout=20).status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_health_answers_when_there_is_too_much_to_do():
    with served(one(limits=Limits(requests=1))) as client:
        hold = threading.Event()
        client.running.service.after(hold.wait)
        waiting = threading.Thread(
            target=lambda: httpx.post(
                f"{client.base_url}/learn?wait=1", json={"x": {"size": 1.0}, "y": 1}, timeout=20
            )
        )
        waiting.start()
        assert soon(lambda: client.running.api.requests.now == 1)
        said = client.get("/health").status_code, client.get("/model").status_code
        hold.set()
        waiting.join()
        assert said == (200, 429)


@pytest.mark.parametrize(
    ("pool", "task", "what"),
    [(pools.Forest(), "regression", "numbers"), (pools.RegressionTrees(), None, "classes")],
)
def test_a_pool_that_cannot_learn_the_task_is_refused_at_the_start(pool, task, what):
    with pytest.raises(ParameterError, match=f"The pool of the service must be able to predict {what}. "):
        Service(OneModel(Heros(pool, k=1, task=task)))


def test_large_bodies_are_parsed_one_at_a_time(monkeypatch):
    service = one()
    with served(service) as client:
        client.post("/learn?wait=1", json={"x": {"size": 1.0}, "y": "odd"})
        order, outputs = [], service.outputs
        monkeypatch.setattr(
            service, "outputs", lambda some: (order.append(some[0]["x"]["size"]), outputs(some))[1]
        )

        def ask(size):
            batch = [{"x": {"size": size, "words": ["not a feature"] * 9}}] * 500
            answer = httpx.post(f"{client.base_url}/predict/batch", json={"instances": batch}, timeout=20)
            assert answer.status_code == 200

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(4)))
    assert len(order) == 4 * 25
    assert len(list(groupby(order))) == 4  # a batch begins only after the previous batch has ended


# -- faults ---------------------------------------------------------------------------------------------


def test_learning_goes_on_if_publishing_raises(monkeypatch, caplog):
    service = one()
    publish, broken = service.learner.publish, True

    def raising():
        if broken:
            raise RuntimeError("no copy")
        publish()

    with served(service) as client, caplog.at_level(logging.WARNING, "heros.serve"):
        client.post("/learn?wait=1", json={"x": {"size": 1.0}, "y": "odd"})
        monkeypatch.setattr(service.learner, "publish", raising)
        teach(service, 300)
        assert soon(lambda: service.counts.learnt == 301)
        assert soon(lambda: client.get("/health").status_code == 503)
        assert "no copy" in client.get("/health").json()["publish_error"]
        assert "no copy" in caplog.text
        broken = False
        teach(service, 5)
        assert soon(lambda: client.get("/health").status_code == 200)
    assert service.counts.learnt == 306


def test_a_status_that_cannot_be_made_is_told(monkeypatch, caplog):
    with served(one()) as client:
        assert "heros_status_failed 0.0" in client.get("/metrics").text
        with monkeypatch.context() as broken:
            broken.setattr("heros.serve.status._curve", lambda service: 1 / 0)
            assert soon(lambda: client.get("/state").json()["status_error"] is not None)
            health = client.get("/health")
            assert (health.status_code, health.json()["status"]) == (
                503,
                "metrics and the page are out of date",
            )
            assert health.json()["status_error"] == "ZeroDivisionError: division by zero"
            assert "heros_status_failed 1.0" in client.get("/metrics").text
            assert client.post("/learn?wait=true", json={"x": {"size": 1.0}, "y": 1}).status_code == 202
        assert soon(lambda: client.get("/health").status_code == 200)  # although no client requests the state
        assert caplog.text.count("cannot be updated") == 1


def test_a_status_that_waits_for_a_slow_disk_is_told(monkeypatch):
    """While a write to the disk took minutes, the metrics were old, and nothing said so."""
    monkeypatch.setattr("heros.serve.status.OVERDUE", 0.2)
    service, done = one(), threading.Event()
    with served(service) as client:
        try:
            service.after(done.wait)
            assert soon(lambda: "heros_status_failed 1.0" in client.get("/metrics").text)
            health = client.get("/health")
            assert health.status_code == 503
            assert "The training thread has not updated" in health.json()["status_error"]
        finally:
            done.set()
        assert soon(lambda: client.get("/health").status_code == 200)


def test_a_thread_that_fails_is_told_and_stops(monkeypatch):
    service = one()
    with served(service) as client:
        monkeypatch.setattr(service, "_learn_block", lambda block: 1 / 0)
        service.learn({"x": {"size": 1.0}, "y": "odd"})
        assert soon(lambda: service.fault is not None)
        health = client.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "training stopped")
        assert "ZeroDivisionError" in health.json()["fault"]
        said = client.post("/learn", json={"x": {"size": 1.0}, "y": "odd"})
        assert (said.status_code, "division" in said.json()["detail"]) == (503, True)
        assert "ZeroDivisionError" in client.get("/state").json()["fault"]
        service.after(lambda: None).result(20)  # waiting clients get a reply
    stopped = threading.Thread(target=service.stop)
    stopped.start()
    stopped.join(20)
    assert not stopped.is_alive()


def test_a_clock_that_is_set_back_changes_nothing(monkeypatch, tmp_path):
    real = time.time
    with one(longest=0.5, store=CheckpointDirectory(tmp_path)) as service:
        service.predict({"id": "a", "x": {"size": 1.0}})
        monkeypatch.setattr(time, "time", lambda: real() - 3600)
        service.predict({"id": "b", "x": {"size": 1.0}})
        time.sleep(0.6)
        service.predict({"id": "c", "x": {"size": 1.0}})
        assert list(service.pending) == ["c"]
    with one(longest=60, store=CheckpointDirectory(tmp_path)) as service:
        assert list(service.pending) == ["c"]
    monkeypatch.setattr(time, "time", lambda: real() + 120)  # two minutes after the service was stopped
    with one(longest=60, store=CheckpointDirectory(tmp_path)) as service:
        service.predict({"id": "d", "x": {"size": 1.0}})
        assert list(service.pending) == ["d"]


def test_a_refused_row_leaves_no_trace():
    with many() as service:
        teach(service, 10, key="known")
        service.wait()
        schema = service._encoder.schema
        for x, y in (
            ({"size": "wide"}, "odd"),
            ({"size": 1.0, "new": "z" * 300}, "odd"),
            ({"size": 1.0}, [1]),
        ):
            with pytest.raises(Wrong):
                service.learn({"x": x, "y": y, "key": "refused"})
            with pytest.raises(Wrong):
                service.predict({"x": [x], "key": "refused"})
        service.wait()
        assert (list(service.learner.models), service.queued) == (["known"], 0)
        assert service._encoder.schema is schema


# -- forged files -----------------------------------------------------------------------------------------


def mutated(rng, value):
    """Return another value of the same type or of another type."""
    wild = [None, -1, 0, 1.5, 1e300, 2**70, "x", "", [], {}, [1, "a"], {"a": 1}, True, [[]], "\ud800"]
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = str(rng.choice(list(value)))
        if rng.random() < 0.2:
            return {key: one for key, one in value.items() if key != name}
        return value | {name: mutated(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = int(rng.integers(len(value)))
        return value[:at] + ([mutated(rng, value[at])] if rng.random() < 0.8 else []) + value[at + 1 :]
    return wild[rng.integers(len(wild))]


def changed(rng, arrays):
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    with np.errstate(invalid="ignore"):  # NaN has no integer
        small = array.astype(np.int8)
    made = [
        array[:-1] if array.ndim else array,
        np.concatenate([array.ravel(), array.ravel()[:1]]),
        array.astype(np.float64) * np.nan,
        -array.astype(np.float64) - 1,
        array.reshape(-1, 1),
        np.zeros(0),
        rng.integers(-(2**62), 2**62, array.shape),
        small,
    ]
    return arrays | {name: made[rng.integers(len(made))]}


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_made_up_checkpoint_is_a_clear_error_or_a_service_that_works(tmp_path, task, thorough):
    label = {"classification": str, "regression": float}[task]
    with one(task, store=CheckpointDirectory(tmp_path)) as service:
        for i, (x, _) in enumerate(rows(60)):
            service.learn({"x": x, "y": label(i % 2)})
        service.wait()
        for i in range(5):
            service.predict({"id": f"id {i}", "x": {"size": 1.0}})
    path = tmp_path / "service.heros"
    document, arrays = archive.read(path, "service")
    rng, refused = np.random.default_rng(1), []
    for case in range(200 if thorough else 20):
        content, values = document, arrays
        if case % 2:
            content = mutated(rng, document)
        else:
            values = changed(rng, arrays)
        if not isinstance(content, dict) or "\\ud800" in json.dumps(content):
            continue
        archive.write(path, "service", content, values)
        store = CheckpointDirectory(tmp_path)
        try:
            service = one(task, store=store)
        except HerosError as error:
            refused.append(str(error))
            continue
        finally:
            store.close()
        try:
            service.store = None
            with served(service) as client:
                asked = [
                    client.post("/predict", json={"id": "id 1", "x": {"size": 1.0}}),
                    client.post("/predict", json={"x": {"size": 1.0}}),
                    client.post("/learn?wait=1", json={"x": {"size": 1.0}, "y": label(1)}),
                    client.post("/learn?wait=1", json={"id": "id 2", "y": label(1)}),
                    *map(client.get, ("/state", "/metrics", "/health", "/model", "/leaderboard")),
                ]
                assert all(one.status_code < 500 for one in asked), [(one.url, one.text) for one in asked]
                assert (service.fault, service.last_error) == (None, None)
        finally:
            service.stop()
    assert len(refused) > (20 if thorough else 5)
    told = "must hold a complete checkpoint. The error was: "
    assert all(told in why and len(why) < 600 for why in refused), refused
