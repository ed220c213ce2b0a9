"""Accepted labels are learnt by the models of their keys, even if other keys fail."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing

import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")


from heros import DataError
from heros.ensemble.keyed import Keyed
from heros.serve.changes import Webhook
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.learners import ModelPerKey, NotLearnt
from heros.serve.limits import Unknown, Wrong
from heros.serve.server import Running, serve
from heros.serve.service import Service
from heros.storage.keystore import FILE, KeyStore, NotKept, Tally
from serve.serving import await_picture, many, model, one, rows, served, soon
from storage.test_keystore import damage_models


def test_an_action_that_nobody_waits_for_any_more_does_not_end_training():
    with one() as service:
        block, free = threading.Event(), threading.Event()
        service.after(lambda: (block.set(), free.wait(20)))
        assert block.wait(20)
        assert service.after(service.publish).cancel()
        for x, y in rows(20):
            service.learn({"x": x, "y": y})
        free.set()
        service.wait()
        assert (service.fault, service.history.learnt) == (None, 20)


def test_a_key_whose_model_cannot_be_read_costs_no_other_key(tmp_path, caplog, monkeypatch):
    with many(tmp_path) as service:
        service.learn({"key": "a", "x": {"size": 1.0}, "y": "odd"})
        service.wait()
        learn = Keyed.test_then_train

        def damaged(self, key, *rest):
            if key == "b":
                raise DataError("The model of b is damaged.")
            return learn(self, key, *rest)

        monkeypatch.setattr(Keyed, "test_then_train", damaged)
        free = threading.Event()
        service.after(lambda: free.wait(20))  # all rows are in one block
        with caplog.at_level(logging.ERROR, "heros.serve"):
            for i, (x, y) in enumerate(rows(30)):
                service.learn({"key": "abc"[i % 3], "x": x, "y": y})
            free.set()
            service.wait()
        assert (service.history.learnt, service.failed) == (21, 10)
        assert "accepted instances of the key 'b' are lost" in caplog.text
        with pytest.raises(Wrong, match="The model of the key 'b' cannot be read"):
            service.learn({"key": "b", "x": {"size": 1.0}, "y": "odd"})
        service.learn({"key": "c", "x": {"size": 1.0}, "y": "odd"})
        service.wait()
        assert service.history.learnt == 22


def test_a_damaged_model_of_the_busiest_key_does_not_freeze_the_status(tmp_path):
    with Keyed(model(), directory=tmp_path) as keyed:
        for i, (x, y) in enumerate(rows(40)):
            keyed.learn("busy" if i % 4 else "calm", x, y)
        keyed.commit()
    with closing(sqlite3.connect(tmp_path / FILE)) as file, file:
        find = "SELECT id, learnt FROM models JOIN figures ON id = model WHERE key = ?"
        number, learnt = file.execute(find, ['"busy"']).fetchone()
        damaged = bytearray(learnt)
        damaged[len(damaged) // 2] ^= 1
        file.execute("UPDATE models SET learnt = ? WHERE id = ?", [bytes(damaged), number])
    with served(many(tmp_path)) as client:
        batch = [{"key": "calm", "x": x, "y": y} for x, y in rows(20)]
        assert client.post("/learn/batch?wait=true", json={"instances": batch}).json()["accepted"] == 20
        await_picture(client, 20)
        state = client.get("/state").json()
        assert (state["leaders_key"], state["model_instances"]) == ("calm", 30)
        assert "heros_learnt_total 20.0" in client.get("/metrics").text
        assert client.get("/leaderboard?key=busy").status_code == 503
        assert client.get("/health").status_code == 200


def test_a_store_that_another_process_locks_for_a_while_keeps_its_rows(tmp_path):
    store = KeyStore(tmp_path)
    store.put("a", b"model", Tally(3))
    store._file.execute("PRAGMA busy_timeout=0")
    store._file.execute("ROLLBACK")  # between two transactions
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotKept, match="locked"):
        store.commit(None)
    other.execute("ROLLBACK")
    other.close()
    store.put("a", b"model", Tally(3))
    store.commit(None)
    store.close()


def test_a_late_label_with_another_key_is_refused():
    with many() as service:
        service.learn({"key": "a", "x": {"size": 1.0}, "y": "odd"})
        service.wait()
        service.predict({"key": "a", "id": 7, "x": {"size": 2.0}})
        with pytest.raises(Unknown, match="belongs to another key"):
            service.learn({"key": "b", "id": 7, "y": "odd"})
        assert service.counts.unknown == 1
        service.learn({"key": "a", "id": 7, "y": "odd"})
        service.wait()
        assert service.learner.models.figures("a").instances == 2
        assert "b" not in service.learner.models


def test_an_explanation_is_of_the_key_as_it_was_given():
    explained = Keyed(model(explainable=True))
    with Service(ModelPerKey(explained)) as service:
        for key, label in ((1, "odd"), ("1", "even")):
            for x, _ in rows(30):
                service.learn({"key": key, "x": x, "y": label})
        service.wait()
        told = [service.learner.explain({"size": 1.0}, None, key).prediction for key in (1, "1")]
        direct = [service.learner.models[key].explain({"size": 1.0}).prediction for key in (1, "1")]
        assert told == direct


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_costs_no_accepted_instance(tmp_path, caplog, first):
    if signal.getsignal(first) is signal.SIG_IGN:
        pytest.skip("SIGHUP is ignored here, as under nohup")
    service = Service(ModelPerKey(Keyed(model())), store=CheckpointDirectory(tmp_path))
    begun, free = threading.Event(), threading.Event()
    service.learn({"key": "a", "x": {"size": 1.0}, "y": "odd"})
    service.wait()
    service.after(lambda: (begun.set(), free.wait(30)))
    for x, y in rows(50):
        service.learn({"key": "a", "x": x, "y": y})
    running = Running(service, port=0)

    def twice():
        assert running.started.wait(20)
        assert begun.wait(20)
        os.kill(os.getpid(), first)
        while not service._stopping:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        free.set()

    sender = threading.Thread(target=twice)
    sender.start()
    with caplog.at_level(logging.WARNING, "heros.serve"):
        running.work()
    sender.join()
    assert service.history.learnt == 51
    assert "accepted instances have not been used for training yet" in caplog.text


def test_the_address_is_told_when_a_signal_ends_the_service_with_a_checkpoint(tmp_path):
    service = one(store=CheckpointDirectory(tmp_path))
    service.learn({"x": {"size": 1.0}, "y": "odd"})
    missed = []
    before = signal.signal(signal.SIGTERM, lambda *_: missed.append("killed") or service.stop())
    try:
        serve(service, port=0, started=lambda address: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert missed == []
    with one(store=CheckpointDirectory(tmp_path)) as again:
        assert again.history.learnt == 1


@pytest.mark.parametrize(
    "reply",
    [b"nonsense\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"],
    ids=["malformed", "redirected"],
)
def test_a_webhook_survives_any_reply(reply, monkeypatch):
    monkeypatch.setattr("heros.serve.changes.FIRST", 0.01)
    monkeypatch.setattr("heros.serve.changes.TRIES", 2)
    good = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
    received = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for text in (reply, reply, good):
                connection, _ = server.accept()
                with connection:
                    received.append(connection.recv(65536).split(b" ", 1)[0])
                    connection.sendall(text)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        hook = Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/")
        hook.put({"event": 1})
        hook.put({"event": 2})
        thread.join(20)
        hook.close()
    assert received == [b"POST"] * 3
    assert hook.counts["failed"] == 1
    assert hook.counts["delivered"] == 1


def test_many_requests_on_one_connection_are_all_answered_in_order():
    with served(one()) as client:
        client.post("/learn?wait=1", json={"x": {"size": 1.0}, "y": "odd"})
        address = (client.base_url.host, client.base_url.port)
        body = b'{"x":{"size":2.0},"y":"odd"}'
        first = b"POST /learn?wait=true HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        many_more = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 400
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(first % (len(body), body) + many_more)
            received = b""
            while received.count(b"HTTP/1.1 ") < 401:
                part = connection.recv(1 << 16)
                assert part, "the connection was closed"
                received += part
        assert received.startswith(b"HTTP/1.1 202")
        assert received.count(b"HTTP/1.1 200") == 400


def checkpoints_of_keys(directory, n):
    """Write a number of checkpoints, each after three labels of three keys."""
    with many(directory / "keys", store=CheckpointDirectory(directory), seconds=None) as service:
        for start in range(n):
            for i, (x, y) in enumerate(rows(3, 3 * start)):
                service.learn({"key": "abc"[i], "x": x, "y": y})
            service.checkpoint().result(20)


def test_checkpoints_of_models_per_key_that_are_missing_are_told(tmp_path, caplog):
    checkpoints_of_keys(tmp_path, 2)
    older = (tmp_path / "keys" / FILE).read_bytes()
    checkpoints_of_keys(tmp_path, 2)  # each stop writes one more checkpoint
    assert not caplog.text
    (tmp_path / "keys" / FILE).write_bytes(older)
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path), seconds=None) as service:
        told = (
            "Number of newest checkpoints that are missing in keys.sqlite: 3. The file or its write-ahead "
            "log is damaged"
        )
        assert told in caplog.text
        assert (service.history.learnt, len(service.notices)) == (6, 1)
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path), seconds=None) as service:
        assert service.notices == []


def test_checkpoints_of_models_per_key_do_not_depend_on_the_log(tmp_path, caplog):
    with many(tmp_path / "0" / "keys", store=CheckpointDirectory(tmp_path / "0"), seconds=None) as service:
        for start in range(5):
            for i, (x, y) in enumerate(rows(30, start)):
                service.learn({"key": i % 10, "x": x, "y": y})
            service.checkpoint().result(20)
        shutil.copytree(tmp_path / "0", tmp_path / "1")
    for log in (tmp_path / "1" / "keys").glob(f"{FILE}-*m"):
        log.unlink()
    (tmp_path / "1" / "keys" / f"{FILE}-wal").unlink()
    with many(tmp_path / "1" / "keys", store=CheckpointDirectory(tmp_path / "1"), seconds=None) as service:
        assert (service.history.learnt, service.learner.seen, caplog.text) == (150, 150, "")


def test_a_key_whose_model_is_missing_does_not_begin_anew(tmp_path, caplog):
    checkpoints_of_keys(tmp_path, 3)
    with closing(sqlite3.connect(tmp_path / "keys" / FILE)) as file, file:
        find = "SELECT model FROM figures WHERE key = ?"
        file.execute(f"DELETE FROM models WHERE id = ({find})", ['"b"'])
    with many(tmp_path / "keys", store=CheckpointDirectory(tmp_path), seconds=None) as service:
        for i, (x, y) in enumerate(rows(3)):
            service.learn({"key": "abc"[i], "x": x, "y": y})
        service.wait()
        assert "1 accepted instances of the key 'b' are lost" in caplog.text
        assert 'the model for the key "b" is missing' in caplog.text
        assert (service.failed, service.history.learnt) == (1, 11)
        assert all(error is None for error in service.errors.values())
        with pytest.raises(Wrong, match="The model of the key 'b' cannot be read"):
            service.learn({"key": "b", "x": {"size": 1.0}, "y": "odd"})
        with pytest.raises(DataError, match="is missing"):
            service.predict({"key": "b", "x": {"size": 1.0}})
        assert all(error is None for error in service.errors.values())


def test_a_write_that_fails_once_at_the_end_of_a_long_stop_is_repeated(monkeypatch):
    """The time for retries began with the stop, so a queue that took longer was lost at the first failure."""
    monkeypatch.setattr("heros.serve.service.RETRY", 0.2)
    service = many()
    learn, failed = service.learner.learn, []

    def failing_once(block):
        time.sleep(0.3)
        if failed:
            yield from learn(block)
        else:
            failed.append(1)
            raise NotLearnt("The disk is full", list(block))

    monkeypatch.setattr(service.learner, "learn", failing_once)
    for x, y in rows(20):
        service.learn({"key": "a", "x": x, "y": y})
    service.stop()
    assert (service.history.learnt, service.failed) == (20, 0)


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("first", ["learn", "predict"])
def test_a_store_of_models_that_cannot_be_read_is_told_by_health(tmp_path, monkeypatch, first):
    monkeypatch.setattr("heros.serve.service.RETRY", 0.2)
    checkpoints_of_keys(tmp_path, 3)
    running = many(tmp_path / "keys", store=CheckpointDirectory(tmp_path), seconds=None)
    with served(running) as client:
        damage_models(tmp_path / "keys")
        running.learner.models._store._file.execute("PRAGMA cache_size=0")
        if first == "predict":
            asked = client.post("/predict", json={"key": "a", "x": {"size": 1.0}})
            assert (asked.status_code, "is damaged" in asked.json()["detail"]) == (503, True)
        else:
            labels = [{"key": key, "x": {"size": 1.0}, "y": "odd"} for key in "abc"]
            assert client.post("/learn/batch", json={"instances": labels}).status_code == 202
            assert soon(lambda: running.storage_error is not None)
            assert client.post("/learn", json=labels[0]).status_code == 507
        health = client.get("/health")
        assert (health.status_code, health.json()["failed"]) == (503, 0)
        assert "keys.sqlite is damaged" in health.json()["storage_error"]
