"""Explanations, importance, changes and prediction sets in the service."""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")


from heros import ParameterError
from heros.ensemble.keyed import Keyed
from heros.ensemble.task import Classification
from heros.serve import changes
from heros.serve.api import MOST_EXPLANATIONS
from heros.serve.changes import Webhook
from heros.serve.checkpoint import CheckpointDirectory
from heros.serve.learners import ModelPerKey, OneModel
from heros.serve.service import Service
from serve.serving import await_picture, model, numbers, one, served, soon


def parity(n, start=0, *, swapped=False):
    """Return instances whose class depends on the size; the colour is irrelevant."""
    for i in range(start, start + n):
        x = {"size": float(i * 7 % 11), "colour": ("red", "blue")[i % 2]}
        yield {"x": x, "y": str((x["size"] > 5) != swapped)}


def explainable(task="classification", **settings):
    return Service(OneModel(model(task=task, explainable=True)), **settings)


def learn(client, instances):
    assert client.post("/learn/batch?wait=true", json={"instances": list(instances)}).status_code == 202


def test_an_explanation_adds_up_to_the_prediction():
    with served(explainable()) as client:
        learn(client, parity(600))
        x = {"size": 9.0, "colour": "red"}
        said = client.post("/predict", json={"x": x}).json()
        told = client.post("/explain", json={"x": x}).json()
        assert told["of"] == said["prediction"] == "True"
        assert told["prediction"] == pytest.approx(said["probabilities"]["True"], abs=1e-6)
        total = told["base"] + sum(one["contribution"] for one in told["columns"])
        assert total == pytest.approx(told["prediction"], abs=1e-6)
        assert [(one["name"], one["value"]) for one in told["columns"]] == [("size", 9.0), ("colour", "red")]
        other = client.post("/explain", json={"x": x, "of": "False"}).json()
        assert other["prediction"] == pytest.approx(1 - told["prediction"])
        for wrong in ({}, {"x": 3}, {"x": x, "of": "maybe"}, {"x": x, "of": []}, {"x": x, "id": 1}):
            assert client.post("/explain", json=wrong).status_code == 422, wrong
        assert client.get("/explain").status_code == 405


def test_the_page_says_that_its_importance_lags():
    """The report measures at the end; page and API use running means, which differ for a while."""
    with served(Service(OneModel(model(explainable=True)))) as client:
        assert client.get("/").text.count("which follow a change with a delay") == 2  # bar chart and map
        route = client.get("/openapi.json").json()["paths"]["/importance"]["get"]
        assert "running means, which follow a change with a delay" in route["summary"]


def test_importance_over_http():
    with served(explainable()) as client:
        empty = client.get("/importance").json()
        assert empty["columns"] == []
        assert client.post("/explain", json={"x": {"size": 1}}).status_code == 409
        learn(client, parity(1500))
        told = client.get("/importance").json()
        found = dict(zip(told["columns"], told["values"], strict=True))
        assert found.keys() == {"size", "colour"}
        assert found["size"] > 5 * found["colour"]
        assert len(told["history"]) == len(told["end"]) >= 2
        await_picture(client, 1500)
        assert client.get("/state").json()["importance"] == told


def test_a_model_that_keeps_no_sample_says_so():
    with served(one()) as client:
        learn(client, parity(50))
        for reply in (client.get("/importance"), client.post("/explain", json={"x": {"size": 1}})):
            assert reply.status_code == 409
            assert "--explainable" in reply.json()["detail"]


def test_numbers_and_keys():
    with served(explainable(task="regression")) as client:
        learn(client, ({"x": x, "y": y} for x, y in numbers(600)))
        x = {"size": 6.0, "colour": "red"}
        told = client.post("/explain", json={"x": x}).json()
        assert "of" not in told
        assert told["prediction"] == pytest.approx(
            client.post("/predict", json={"x": x}).json()["prediction"]
        )
    with served(Service(ModelPerKey(Keyed(model(explainable=True))))) as client:
        learn(client, ({"key": "roof", **one} for one in parity(600)))
        told = client.post("/explain", json={"key": "roof", "x": {"size": 9.0, "colour": "red"}}).json()
        assert told["columns"][0]["name"] == "size"
        assert sorted(client.get("/importance?key=roof").json()["columns"]) == ["colour", "size"]
        assert client.post("/explain", json={"key": "cellar", "x": {"size": 9.0}}).status_code == 409
        assert client.post("/explain", json={"x": {"size": 9.0}}).status_code == 422


def test_predictions_need_not_wait_for_an_explanation():
    """Many predictions are returned while one explanation is computed."""
    with served(explainable()) as client:
        learn(client, ({"x": {f"x{i}": (i * j) % 7 for i in range(60)}, "y": str(j % 2)} for j in range(300)))
        row = {"x": {f"x{i}": i % 7 for i in range(60)}}
        done = []
        client.post("/predict", json=row)
        thread = threading.Thread(target=lambda: done.append(client.post("/explain", json=row, timeout=60)))
        thread.start()
        during = 0
        while thread.is_alive():
            assert client.post("/predict", json=row).status_code == 200
            during += not done
        thread.join()
        assert done[0].status_code == 200
        assert during >= 3


def test_explanations_that_wait_keep_nobody_else_waiting(monkeypatch):
    with served(explainable()) as client:
        learn(client, parity(60))
        hold, learner = threading.Event(), client.running.service.learner
        explain = learner.explain
        monkeypatch.setattr(learner, "explain", lambda *what: (hold.wait(20), explain(*what))[1])
        body = json.dumps({"x": {"size": 1.0, "colour": "red"}}).encode() + b" " * 20_000  # a large body
        said = []

        def ask():
            headers = {"content-type": "application/json"}
            said.append(httpx.post(f"{client.base_url}/explain", content=body, headers=headers, timeout=30))

        threads = [threading.Thread(target=ask) for _ in range(MOST_EXPLANATIONS)]
        for thread in threads:
            thread.start()
        assert soon(lambda: client.running.api._explanations == MOST_EXPLANATIONS)
        more = client.post("/explain", json={"x": {"size": 1.0}})
        assert (more.status_code, more.headers["retry-after"]) == (429, "1")
        instances = [*parity(500)]  # also a large body
        assert client.post("/learn/batch", json={"instances": instances}, timeout=10).status_code == 202
        hold.set()
        for thread in threads:
            thread.join()
        assert [one.status_code for one in said] == [200] * MOST_EXPLANATIONS
        assert client.post("/explain", json={"x": {"size": 1.0}}).status_code == 200


# -- prediction sets ---------------------------------------------------------------------------------------


def with_sets(**settings):
    return Service(OneModel(model(task=Classification(level=0.9))), **settings)


def test_sets_are_in_the_answer_and_on_the_page(tmp_path):
    with served(with_sets(store=CheckpointDirectory(tmp_path))) as client:
        assert client.post("/predict", json={"x": {"size": 1.0}}).json()["set"] == []
        learn(client, parity(800))
        said = client.post("/predict", json={"id": 7, "x": {"size": 9.0, "colour": "red"}}).json()
        assert said["set"] == ["True"]
        sure = {"x": {"size": 9.0, "colour": "red"}, "abstain": True}
        assert client.post("/predict", json=sure).json()["prediction"] == "True"
        assert client.post("/predict", json=sure | {"abstain": "yes"}).status_code == 422
        await_picture(client, 800)
        sets = client.get("/state").json()["sets"]
        assert sets["level"] == 0.9
        assert 0.8 < sets["coverage"] <= 1
        assert re.search(r'^heros_set\{measure="coverage"\} 0\.\d+$', client.get("/metrics").text, re.M)
        learn(client, parity(200, swapped=True))
        assert client.post("/predict", json={"id": 7, "x": {"size": 9.0, "colour": "red"}}).json() == said
    with served(with_sets(store=CheckpointDirectory(tmp_path))) as client:
        assert client.post("/predict", json={"id": 7, "x": {"size": 9.0, "colour": "red"}}).json() == said


def test_who_is_not_sure_may_abstain():
    with served(with_sets()) as client:
        noise = [{"x": {"size": i * 7 % 11}, "y": str(i * 31 % 17 > 8)} for i in range(600)]
        learn(client, noise)
        said = client.post("/predict", json={"x": {"size": 3}}).json()
        assert said["set"] != [said["prediction"]]
        assert client.post("/predict", json={"x": {"size": 3}, "abstain": True}).json() == said | {
            "prediction": None
        }
    with served(one()) as client:
        learn(client, parity(50))
        assert "set" not in client.post("/predict", json={"x": {"size": 3}}).json()
        assert client.post("/predict", json={"x": {"size": 3}, "abstain": True}).status_code == 422


# -- changes -----------------------------------------------------------------------------------------------


class Receiver:
    """An HTTP server that stores posted bodies and rejects the first few."""

    def __init__(self, refused=0):
        self.bodies, self.refused = [], refused
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.refused -= 1
                self.send_response(503 if receiver.refused >= 0 else 200)
                self.end_headers()
                if receiver.refused < 0:
                    receiver.bodies.append(json.loads(body))

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/changes"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def wait(self, n):
        deadline = time.monotonic() + 60
        while len(self.bodies) < n:
            assert time.monotonic() < deadline, f"{len(self.bodies)} of {n} came"
            time.sleep(0.02)
        return self.bodies


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(changes, "FIRST", 0.01)


def test_a_change_is_counted_shown_and_sent(tmp_path, hurried):
    def service(url):
        store = CheckpointDirectory(tmp_path)
        return Service(OneModel(model()), store=store, window=50, on_change=url)

    with Receiver(refused=3) as receiver:
        with served(service(receiver.url)) as client:
            learn(client, parity(1500))
            learn(client, parity(1500, swapped=True))
            [first, *_] = receiver.wait(1)
            assert first["event"] == "change"
            change = first["change"]
            assert change["kind"] == "error"
            assert 1500 < change["at"] < 1800
            assert first["text"].startswith(f"At instance {change['at']:,} the error rose from")
            await_picture(client, 3000)
            state = client.get("/state").json()
            shown = [one for one in state["changes"] if one["kind"] == "error"]
            assert [one["at"] for one in shown] == [change["at"]]
            assert state["changes_total"]["error"] == 1
            metrics = client.get("/metrics").text
            assert 'heros_changes_total{kind="error"} 1.0' in metrics
            assert 'heros_webhook_events_total{result="delivered"}' in metrics
        told = len(receiver.bodies)
        events = [one["event"] for one in receiver.bodies if one["change"]["kind"] == "error"]
        assert events in (["change"], ["change", "recovered"])
        with served(service(receiver.url)) as client:  # an event is not sent twice
            learn(client, parity(100, swapped=True))
            await_picture(client, 3100)
            assert client.get("/state").json()["changes_total"]["error"] == 1
            later = [one["event"] for one in receiver.bodies[told:] if one["change"]["kind"] == "error"]
            assert "change" not in later


def test_a_receiver_that_is_gone_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(changes, "LAST", 0.2)
    hook = Webhook("http://127.0.0.1:9/nobody")
    start = time.monotonic()
    for i in range(250):
        hook.put({"event": i})
    assert time.monotonic() - start < 5
    assert hook.waiting <= changes.MOST
    assert hook.counts["dropped"] >= 250 - changes.MOST - 1
    hook.close()
    assert hook.last_error is not None


def test_an_event_that_fails_is_given_up_in_the_end(hurried, monkeypatch, caplog):
    monkeypatch.setattr(changes, "LONGEST", 0.02)
    tried = []

    def send(body):
        tried.append(body)
        if body == b"1":
            raise OSError("no")

    hook = Webhook("http://localhost/SECRET", send=send)
    hook.put(1)
    hook.put(2)
    deadline = time.monotonic() + 30
    while hook.counts["delivered"] < 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    hook.close()
    assert tried == [b"1"] * changes.TRIES + [b"2"]
    assert "delivered to http://localhost/…: OSError: no" in caplog.text
    assert "SECRET" not in caplog.text
    assert hook.counts == {"delivered": 1, "failed": 1, "dropped": 0}


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://x/y",
        "localhost",
        "http://",
        3,
        "http://[bad",
        "http://x:port",
        "http://x:0",
        "http://me:password@x/y",
    ],
)
def test_only_web_addresses_are_told(url):
    with pytest.raises(ParameterError, match="a URL with http"):
        Webhook(url)


def test_keys_together_have_changes():
    with served(Service(ModelPerKey(Keyed(model())), window=50)) as client:
        learn(client, ({"key": "a", **one} for one in parity(1500)))
        learn(client, ({"key": "a", **one} for one in parity(600, swapped=True)))
        await_picture(client, 2100)
        deadline = time.monotonic() + 30
        while not (found := client.get("/state").json()["changes"]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "over all keys" in found[0]["text"]
