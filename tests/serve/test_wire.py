"""The service over HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import httpx
import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")

from heros import DataNotice, Heros, HerosError, ParameterError
from heros.serve.api import Api
from heros.serve.learners import OneModel
from heros.serve.server import Running
from heros.serve.service import Service
from heros.serve.status import memory
from serve.serving import await_picture, many, model, numbers, one, rows, served
from serve.test_service import table


@pytest.fixture(scope="module")
def client():
    with served(one(window=10)) as client:
        batch = [{"x": x, "y": y} for x, y in rows(200)]
        said = client.post("/learn/batch?wait=true", json={"instances": batch})
        assert (said.status_code, said.json()) == (202, {"accepted": 200, "unknown": 0, "refused": []})
        await_picture(client, 200)
        yield client


def test_answers_and_learns(client):
    said = client.post("/predict", json={"x": {"size": 2.0, "colour": "red"}, "id": "a"})
    assert said.status_code == 200
    assert said.json().keys() == {"id", "prediction", "probabilities"}
    assert sum(said.json()["probabilities"].values()) == pytest.approx(1)
    assert client.post("/learn", json={"id": "a", "y": "even"}).json() == {"accepted": 1}
    assert client.post("/learn", json={"id": "a", "y": "even"}).status_code == 404
    assert client.post("/learn?wait=1", json={"x": {"size": 2.0}, "y": "even"}).status_code == 202


def test_batches_are_answered_as_single_ones_are(client):
    instances = [{"x": x} for x, _ in rows(20)]
    together = client.post("/predict/batch", json={"instances": instances}).json()["predictions"]
    assert together == [client.post("/predict", json=one).json() for one in instances]


@pytest.mark.parametrize(
    "last",
    [
        {"x": {"nope": 1}, "id": 59},
        {"x": {"size": 7.0}, "id": 3},
        {"x": {"size": 1.0}, "id": ["no", "name"]},
    ],
    ids=["a bad row", "an id twice", "a bad id"],
)
def test_a_refused_batch_of_predictions_leaves_no_instance_waiting(last):
    service = one()
    with served(service) as client:
        client.post("/learn/batch?wait=1", json={"instances": [{"x": x, "y": y} for x, y in rows(50)]})
        batch = [{"x": x, "id": id} for id, (x, _) in enumerate(rows(59))]
        assert client.post("/predict/batch", json={"instances": [*batch, last]}).status_code == 422
        assert len(service.pending) == 0
        assert client.post("/predict/batch", json={"instances": batch}).status_code == 200
        assert len(service.pending) == 59


def test_a_model_that_was_saved_answers_rows_as_the_library_does(tmp_path):
    """Numbers as text and in JSON give identical results; a list is ignored with a notice."""
    trained = model()
    some = list(table())
    with pytest.warns(DataNotice):
        trained.learn([x for x, _ in some], [y for _, y in some])
    trained.save(tmp_path / "m.heros")
    asked = [x for x, _ in some]
    with served(Service(OneModel(Heros.load(tmp_path / "m.heros")))) as client:
        told = client.post("/predict/batch", json={"instances": [{"x": x} for x in asked]}).json()[
            "predictions"
        ]
        assert [one["probabilities"] for one in told] == trained.predict_proba(asked)
        assert client.post("/predict", json={"x": asked[7]}).json() == told[7]
        assert client.get("/health").json()["notices"] == 0
        told = client.post("/learn?wait=1", json={"x": asked[0] | {"new": [1]}, "y": "odd"})
        left_out = "The column 'new' is left out: a list is not a number, text or date."
        assert (told.status_code, told.json()) == (202, {"accepted": 1, "notices": [left_out]})
        assert client.get("/health").json()["notices"] == 1
        assert client.get("/model").json()["notices"] == [left_out]
        unread = client.post("/predict/batch", json={"instances": [{"x": asked[0]}, {"x": {"nope": 1}}]})
        assert unread.status_code == 422
        assert unread.json()["detail"].startswith("A row must have at least one of the features 'order', ")
        refused = client.post("/learn", json={"x": {"share": "many", "other": 1}, "y": "new"})
        assert (refused.status_code, refused.json()["detail"]) == (
            422,
            "The feature 'share' must be a number. Got 'many' instead.",
        )
        schema = client.get("/model").json()["schema"]
        assert schema["classes"] == list(trained.schema.classes)
        assert [name for name, *_ in schema["features"]] == [one.name for one in trained.schema.features]


def test_what_there_is_to_see(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/model").json()["k"] == 2
    board = client.get("/leaderboard").json()
    assert [one["rank"] for one in board] == [1, 2, 3, 4]
    why = client.get("/choice").json()
    assert [one["model"] for one in why["choices"]] == sorted(one["model"] for one in board if one["now"])
    state = client.get("/state").json()
    assert state["instances"] >= 200
    assert len(state["curve"]["end"]) == len(state["curve"]["accuracy"]) >= 20
    assert client.get("/leaderboard?key=x").status_code == 404


def test_figures_for_prometheus(client):
    text = client.get("/metrics").text
    line = re.compile(
        r'# (HELP|TYPE) heros_\w+ .+|heros_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+0-9.e]+(inf)?'
    )
    assert all(line.fullmatch(one) for one in text.splitlines()), text
    learnt = re.search(r"^heros_learnt_total (\d+)\.0$", text, re.M)
    assert learnt is not None
    assert int(learnt[1]) >= 200
    assert 'heros_measure{measure="accuracy"}' in text
    buckets = [int(n) for n in re.findall(r'seconds_bucket\{path="/learn/batch".*\} (\d+)\.0', text)]
    assert buckets == sorted(buckets)


def test_the_description_has_examples_that_work(client):
    description = client.get("/openapi.json").json()
    api = client.running.api
    described = {method: set() for method in ("get", "post")}
    for path, operations in description["paths"].items():
        for method in operations:
            described[method].add(path)
    assert (described["get"], described["post"]) == (api.gets.keys(), api.posts.keys())
    with served(one()) as fresh:
        for path in ("/predict", "/predict/batch", "/learn", "/learn/batch"):
            schema = description["paths"][path]["post"]["requestBody"]["content"]["application/json"][
                "schema"
            ]
            named = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            for example in named["examples"]:
                said = fresh.post(path, json=example)
                assert said.status_code in (200, 202), (example, said.text)


def test_a_token_is_asked_for(client):
    with served(one(), token="correct horse") as guarded:
        assert guarded.get("/state").status_code == 200
        assert guarded.post("/predict", json={"x": {}}).status_code == 200
        paths = guarded.get("/openapi.json").json()["paths"].items()
        assert {path for path, asked in paths if "security" in asked.get("get", {})} == {"/", "/health"}
        paths = "/state", "/model", "/choice", "/leaderboard", "/metrics", "/openapi.json", "/nowhere"
        for given in (
            None,
            "",
            "Bearer",
            "Bearer wrong",
            "Bearer correct hors",
            "Bearer correct horsey",
            "é",
        ):
            headers = {} if given is None else {"authorization": given.encode()}
            with httpx.Client(base_url=guarded.base_url, headers=headers) as stranger:
                assert [stranger.get(path).status_code for path in paths] == [401] * len(paths)
                assert stranger.post("/predict", json={"x": {}}).status_code == 401
                assert stranger.get("/health").status_code == 200
                assert stranger.get("/").status_code == 200


def test_others_than_this_machine_need_a_token():
    service = one()
    with pytest.raises(
        ParameterError, match="'token' parameter of serve must be given if other machines can reach"
    ):
        Running(service, host="0.0.0.0", port=0)
    with pytest.raises(ParameterError, match="8 to 200 printable ASCII characters"):
        Running(service, token="short")
    service.stop()


def test_an_address_that_is_taken_is_said_to_be(client):
    port = int(client.running.address.rpartition(":")[2])
    service = one()
    with pytest.raises(HerosError, match="cannot be used"):
        Running(service, port=port)
    service.stop()


def test_a_model_per_key():
    with served(many()) as client:
        batch = [{"x": x, "y": y, "key": f"sensor {i % 3}"} for i, (x, y) in enumerate(rows(90))]
        assert client.post("/learn/batch?wait=true", json={"instances": batch}).json()["accepted"] == 90
        assert client.post("/predict", json={"x": {"size": 1}}).status_code == 422
        assert client.post("/predict", json={"x": {"size": 1}, "key": "sensor 1"}).status_code == 200
        assert len(client.get("/leaderboard", params={"key": "sensor 2"}).json()) == 4
        assert client.get("/leaderboard", params={"key": "no such"}).status_code == 404
        time.sleep(0.01)
        keys = client.get("/state").json()["keys"]
        assert keys is not None
        assert "heros_keys " in client.get("/metrics").text


def command(*arguments, cwd):
    process = subprocess.Popen(
        ["heros", *arguments],
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
    )
    line = process.stderr.readline()
    while line and "http://" not in line:
        line = process.stderr.readline()
    return process, re.search(r"http://\S+", line)[0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix signals")
@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_stopped_it_keeps_all_and_goes_on(tmp_path, task):
    (tmp_path / "pool.toml").write_text('kind = "mlp"\n[grid]\nhidden = [8]\nlearning_rates = [0.05]\n')
    arguments = ["serve", "--pool", "pool.toml", "--k", "1", "--port", "0", "--checkpoint", "kept"]
    process, address = command(*arguments, "--task", task, cwd=tmp_path)
    batch = [{"x": x, "y": y} for x, y in (numbers if task == "regression" else rows)(500)]
    assert httpx.post(f"{address}/learn/batch", json={"instances": batch}).status_code == 202
    httpx.post(f"{address}/predict", json={"x": {"size": 1.0}, "id": 1})
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "stopped after 500 instances" in said
    process, address = command(*arguments, cwd=tmp_path)  # the checkpoint sets the task
    try:
        assert httpx.get(f"{address}/model").json()["instances"] == 500
        label = 12.5 if task == "regression" else "odd"
        assert httpx.post(f"{address}/learn", json={"id": 1, "y": label}).status_code == 202
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_whoever_comes_early_is_served():
    service = one()
    running = Running(service, port=0)
    host, port = running.socket.getsockname()
    with socket.create_connection((host, port), timeout=20) as early:
        early.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        thread = threading.Thread(target=running.work)
        thread.start()
        assert early.recv(1000).startswith(b"HTTP/1.1 200")
    running.stop()
    thread.join()


def heard(client, *parts):
    """Return the reply to these bytes, until the connection ends."""
    port = int(client.running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(0.02)
        said = b""
        while data := connection.recv(65536):
            said += data
    return said


def request(path, body, *lines):
    head = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", *lines]
    if not any("chunked" in line for line in lines):
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


ASK = b'{"x": {"size": 2.0, "colour": "red"}}'
BODIES = [ASK, b"{", b"[]", b'{"id": "nobody", "y": 1}', b'{"x": {"size": "wide"}, "y": "odd"}']


@pytest.mark.parametrize("path", ["/predict", "/learn"])
@pytest.mark.parametrize("body", BODIES)
def test_however_a_request_comes_the_reply_is_the_same(client, path, body):
    head = {"content-type": "application/json"}
    plain = client.post(path, content=body, headers=head)
    for way in (
        {"url": f"{path}?other"},
        {"headers": head | {"expect": "100-continue"}},
        {"headers": {"content-type": "application/json; charset=utf-8"}},
        {"content": iter([body[:3], body[3:]])},
    ):
        other = client.post(**{"url": path, "content": body, "headers": head} | way)
        assert (other.status_code, other.content) == (plain.status_code, plain.content)
        assert other.headers.keys() == plain.headers.keys()


def test_replies_come_in_the_order_of_the_requests(client):
    many = b"".join(
        request("/predict" if i % 3 else "/predict?other", b'{"id": %d, "x": {"size": 1.0}}' % (1000 + i))
        for i in range(9)
    )
    said = heard(client, many + request("/predict", b'{"id": 1009, "x": {"size": 1.0}}', "connection: close"))
    assert [int(id) for id in re.findall(rb'"id":(\d+)', said)] == list(range(1000, 1010))


def test_a_body_in_pieces_is_taken_whole(client):
    whole = request("/predict", b'{"id": 77, "x": {"size": 1.0}}')
    end = request("/predict", ASK, "connection: close")
    assert heard(client, whole[:20], whole[20:-9], whole[-9:-4], whole[-4:] + end).count(b"HTTP/1.1 200") == 2


def test_a_request_that_is_half_here_is_finished_when_it_stops():
    service = one()
    with served(service) as client:
        port = int(client.running.address.rpartition(":")[2])
        whole = request("/learn", b'{"x": {"size": 1.0}, "y": "odd"}')
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(whole[:-5])
            time.sleep(0.2)
            client.running.stop()
            time.sleep(0.3)
            connection.sendall(whole[-5:])
            said = connection.recv(1000)
            assert said.startswith(b"HTTP/1.1 202")
            assert b"connection: close" in said
    assert service.history.learnt == 1


def test_a_fault_of_ours_is_a_500_and_the_end_of_the_connection(client, monkeypatch):
    monkeypatch.setattr(client.running.service, "predict_all", lambda requests: 1 / 0)
    said = heard(client, request("/predict", ASK))
    assert said.startswith(b"HTTP/1.1 500")
    monkeypatch.undo()
    assert client.post("/predict", content=ASK, headers={"content-type": "application/json"}).is_success


def test_any_asgi_server_can_serve_it():
    """`Api` also works with other ASGI servers."""

    async def ask(api):
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(api), base_url="http://localhost"
        ) as client:
            batch = [{"x": x, "y": y} for x, y in rows(50)]
            learnt = await client.post("/learn/batch?wait=true", json={"instances": batch})
            predicted = await client.post("/predict", json={"x": {"size": 2.0, "colour": "red"}})
            return learnt.json()["accepted"], predicted.json(), (await client.get("/nowhere")).status_code

    with one() as service:
        accepted, said, nowhere = asyncio.run(ask(Api(service)))
        assert (accepted, nowhere) == (50, 404)
        assert said == service.predict({"x": {"size": 2.0, "colour": "red"}})


@pytest.mark.parametrize(
    ("head", "status", "keeps"),
    [
        (b"GET /health HTTP/1.0\r\n\r\n", b"200", False),
        (b"GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\n\r\n", b"200", True),
        (b"HEAD /health HTTP/1.1\r\nhost: localhost\r\n\r\n", b"200", True),
        (b"GET /%68ealth?a=b HTTP/1.1\r\nhost: localhost\r\n\r\n", b"200", True),
        (b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n", b"404", True),
        (b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n", b"40", False),
        (
            b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
            b"200",
            True,
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400", False),
    ],
)
def test_forms_of_requests(client, head, status, keeps):
    """The connection stays open if the protocol requires it: it accepts a second request."""
    last = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    port = int(client.running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head)
        said = connection.recv(65536)
        assert said.startswith(b"HTTP/1.1 " + status), said
        if head.startswith(b"HEAD"):
            assert said.endswith(b"\r\n\r\n")
        if keeps:
            connection.sendall(last)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert connection.recv(65536) == b""


UPGRADES = {
    "h2c": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAA"),
    "websocket": ("Connection: Upgrade", "Upgrade: websocket"),
}


@pytest.mark.parametrize("protocol", UPGRADES)
@pytest.mark.parametrize("path", ["/predict", "/learn"])
@pytest.mark.parametrize("form", ["length", "chunked", "expect"])
def test_an_upgrade_to_another_protocol_is_ignored(client, path, form, protocol):
    """The reply is the same as without the upgrade, and the connection accepts further requests."""
    body = b'{"x": {"size": 2.0}%b}' % (b', "y": "odd"' if path == "/learn" else b"")
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if form == "chunked" else body
    lines = {"chunked": ["transfer-encoding: chunked"], "expect": ["expect: 100-continue"]}.get(form, [])
    plain = request(path, sent, *lines)
    asked = request(path, sent, *lines, *UPGRADES[protocol])
    end = b"GET /model HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    first, last = re.findall(rb"HTTP/1.1 ([2-5]\d\d)", heard(client, plain + end))
    for n, parts in (
        (1, (asked + end,)),
        (1, (asked[:40], asked[40:-5], asked[-5:], end)),
        (2, (asked + asked[:30], asked[30:] + end)),
    ):
        said = heard(client, *parts)
        assert re.findall(rb"HTTP/1.1 ([2-5]\d\d)", said) == [first] * n + [last]
        assert b"HTTP/1.1 101" not in said


def test_a_client_that_closes_its_sending_side_gets_the_replies(client):
    """Complete requests are answered, also those that were sent ahead; an incomplete one is not."""
    port = int(client.running.address.rpartition(":")[2])
    ask, page = request("/predict", ASK), b"GET /model HTTP/1.1\r\nhost: localhost\r\n\r\n"
    learn = request("/learn?wait=true", b'{"x": {"size": 2.0}, "y": "odd"}')
    for sent, replies in (
        (ask, 1),
        (page, 1),
        (b"GET /state HTTP/1.1\r\nhost: localhost\r\n\r\n", 1),
        (learn, 1),
        (ask * 300, 300),
        (ask + learn + ask, 3),
        (ask + learn[:-5], 1),
        (page[:-5], 0),
        (learn[:-5], 0),
        (b"", 0),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            said = b""
            while data := connection.recv(65536):
                said += data
        assert (said.count(b"HTTP/1.1 20"), said.count(b"HTTP/1.1 ")) == (replies, replies), sent[:60]


def test_a_client_that_does_not_read_is_not_served_further(client):
    """Further requests wait until the client reads, so that memory use stays limited."""
    port = int(client.running.address.rpartition(":")[2])
    asked = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2000  # 2,000 pages of 30 kB
    before = memory()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.settimeout(2)
        with suppress(TimeoutError):
            connection.sendall(asked)
        time.sleep(0.5)
        assert memory() - before < 20_000_000
        assert client.get("/health").status_code == 200
