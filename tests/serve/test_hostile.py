"""Hostile requests: they get a 4xx status and cost very little."""

from __future__ import annotations

import gc
import json
import os
import socket
import threading
import time
import weakref
from contextlib import ExitStack, suppress

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

pytest.importorskip("httptools", reason="heros serve is not installed")

from heros.serve import http
from heros.serve.limits import MOST_NESTED, Limits, Wrong, expect_fields
from heros.serve.status import memory
from serve.serving import one, rows, served

LIMITS = Limits(body=200_000, seconds=1.0, connections=300, requests=50, batch=100)


@pytest.fixture(scope="module")
def client():
    with served(one(limits=LIMITS)) as client:
        teach = [{"x": x, "y": y} for x, y in rows(50)]
        assert client.post("/learn/batch?wait=true", json={"instances": teach}).status_code == 202
        yield client
        assert client.running.service.history.learnt == 50  # none of these requests was learnt
        assert client.running.service.fault is None


def spoken(client, *parts, pause=0.0):
    """Return the server's reply to these bytes, until it closes the connection."""
    port = int(client.running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass
        heard = b""
        try:
            while data := connection.recv(65536):
                heard += data
        except ConnectionResetError:
            pass
    return heard


HEAD = b"host: localhost\r\ncontent-type: application/json\r\n"


def request_of(body):
    """Return a training request, after which the connection is closed."""
    lines = b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
    return b"POST /learn HTTP/1.1\r\n" + HEAD + lines + body


X = {"size": 1.0}
BODIES = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b'{"x": {"size": NaN}, "y": 1}', 400),
    (b"[" * 100_000, 400),
    (b'{"x": ' * 30_000, 400),
    (b"null", 422),
    (b"[]", 422),
    (b'"x"', 422),
    (b"{}", 422),
    (b'{"x": 1, "y": 1}', 422),
    (b'{"x": [], "y": 1}', 422),
    (b'{"x": {"size": ' + b"[" * 1000 + b"]" * 1000 + b'}, "y": 1}', 422),
    (b'{"x": {"size": 1}, "y": ' + b"[" * 1000 + b"]" * 1000 + b"}", 422),
    (b'{"x": {"size": ' + b'{"a":' * 1000 + b"[]" + b"}" * 1000 + b'}, "y": []}', 422),
    (b'{"x": {"size": []}, "y": 1}', 422),
    (b'{"x": {"size": "wide"}, "y": 1}', 422),
    (b'{"x": {"size": 1e400}, "y": 1}', (400, 422)),
    (b'{"x": {"size": 1}, "y": {}}', 422),
    (b'{"x": {"size": 1}, "y": null}', 422),
    (b'{"x": {"size": 1}, "y": 1, "id": 1}', 422),
    (b'{"id": {}, "y": 1}', 422),
    (b'{"id": 1.5, "y": 1}', 422),
    (b'{"id": true, "y": 1}', 422),
    (b'{"id": "nobody", "y": 1}', 404),
    (b'{"id": 99999999999999999999999, "y": 1}', (404, 422)),
    (b'{"x": {"size": 1}, "y": 1, "key": "k"}', 422),
    (b'{"x": {"size": 1}, "y": 1, "__class__": "k"}', 422),
    (json.dumps({"x": {"colour": "z" * 5000}, "y": 1}).encode(), 422),
    (json.dumps({"x": {"n" * 5000: 1}, "y": 1}).encode(), 422),
    (json.dumps({"x": {f"{i}": 1 for i in range(15_000)}, "y": 1}).encode(), 422),
    (json.dumps({"x": {f"{i}": 1 for i in range(1001)}, "y": 1}).encode(), 422),
]


@pytest.mark.parametrize(("body", "status"), BODIES, ids=[repr(body[:40]) for body, _ in BODIES])
def test_wrong_bodies(client, body, status):
    expected = status if isinstance(status, tuple) else (status,)
    said = client.post("/learn", content=body, headers={"content-type": "application/json"})
    assert said.status_code in expected, said.text
    assert len(said.json()["detail"]) < 500
    for path in ("/predict", "/predict/batch", "/learn/batch"):
        said = client.post(path, content=body, headers={"content-type": "application/json"})
        assert said.status_code < 500
        assert said.status_code >= 400 or path == "/predict"


BATCHES = [None, [], {}, "x", [1, 2], [None], [{"y": 1}], [{"x": X}] * 101]


@pytest.mark.parametrize("batch", BATCHES, ids=[str(batch)[:20] for batch in BATCHES])
def test_wrong_batches(client, batch):
    assert client.post("/learn/batch", json={"instances": batch}).status_code == 422


def test_only_json_is_taken(client):
    for kind in ("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"):
        said = client.post("/learn", content=b'{"x": {"size": 1}, "y": 1}', headers={"content-type": kind})
        assert said.status_code == 415


PATHS = [
    "//predict",
    "/predict/",
    "/../predict",
    "/%2e%2e/etc/passwd",
    "/state/../model",
    "/predict%00",
    "/docs",
]
PATHS += [
    "/" + "a" * 5000,
    "/redoc",
    "/static/../../etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/;/health",
    "/é",
]


@pytest.mark.parametrize("path", PATHS)
def test_path_tricks_lead_nowhere(client, path):
    line = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
    status = int(spoken(client, line).split()[1])
    assert status in (400, 404), status


def test_wrong_methods(client):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/predict").status_code == 405
    for path in ("/", "/state", "/model", "/metrics"):
        assert client.post(path, json={}).status_code == 405


@pytest.mark.parametrize(
    "said", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"hello\r\n\r\n", b"POST /learn HTTP/9\r\n\r\n"]
)
def test_what_is_not_http(client, said):
    assert spoken(client, said)[:12] in (b"HTTP/1.1 400", b"")


def test_a_malformed_body_of_the_last_request_is_answered_at_once(client):
    head = (
        b"POST /learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    )
    start = time.monotonic()
    heard = spoken(client, head + b"transfer-encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 400")
    assert time.monotonic() - start < 5


def test_a_large_body_is_refused_before_it_comes(client):
    before, start = memory(), time.monotonic()
    head = b"POST /learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000000\r\n\r\n"
    assert spoken(client, head).startswith(b"HTTP/1.1 413")
    assert time.monotonic() - start < 15
    assert memory() - before < 10_000_000


def test_a_large_body_without_a_length_is_cut_off(client):
    before = memory()
    head = b"POST /learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"1" * 0x10000 + b"\r\n"
    heard = spoken(client, head, *[chunk] * 1600)  # 100 MB
    assert heard == b"" or heard.startswith(b"HTTP/1.1 413")
    assert memory() - before < 20_000_000


def test_a_million_features_cost_nothing(client):
    body = ('{"x": {' + ",".join(f'"{i}":1' for i in range(1_000_000)) + '}, "y": 1}').encode()
    start = time.monotonic()
    said = spoken(
        client,
        b"POST /learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        + f"content-length: {len(body)}\r\n\r\n".encode()
        + body,
    )
    assert said == b"" or said.startswith(b"HTTP/1.1 413")
    assert time.monotonic() - start < 15


def test_slow_senders_are_hung_up_on(client):
    head = b"POST /learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    for parts in ([head, b'{"x":'], [b"POST /learn HTTP/1.1\r\n", b"host: localhost\r\n"], []):
        start = time.monotonic()
        assert spoken(client, *parts).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - start < 15


def test_a_head_that_does_not_end(client):
    lines = [b"GET / HTTP/1.1\r\n", *[b"x-header: " + b"y" * 1000 + b"\r\n"] * 300]
    heard = spoken(client, *lines)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 431")


def test_a_head_that_is_too_large_though_it_ends(client):
    heard = spoken(client, b"GET /model HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 50_000 + b"\r\n\r\n")
    assert heard == b"" or heard.startswith(b"HTTP/1.1 431")


def test_many_requests_at_once_on_a_connection_are_all_answered(client):
    """The same if a header is split at the end of a read."""
    n = 3000
    request = b"GET /model HTTP/1.1\r\nhost: localhost\r\n\r\n"
    last = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    port = int(client.running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        sending = threading.Thread(target=connection.sendall, args=[n * request + last])
        sending.start()
        heard = b""
        while data := connection.recv(1 << 20):
            heard += data
        sending.join()
    assert heard.count(b"HTTP/1.1 200 OK") == n + 1


def test_requests_of_a_client_that_does_not_read_stay_bytes(client):
    """15,000 requests as Python objects used 7 MB, for a client without a token."""
    port = int(client.running.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        with pytest.raises(TimeoutError):
            connection.sendall(500_000 * b"GET / HTTP/1.1\r\n\r\n")
        assert all(len(one._queue) < 300 for one in client.running.server.connections)
        assert client.running.server.bodies > 0
        assert client.get("/health").status_code == 200
    assert soon(lambda: client.running.server.bodies == 0)


def test_pipelined_requests_share_the_limit_on_bodies():
    with served(one(limits=Limits(body=1000, bodies=10_000))) as client:
        heard = spoken(client, 100_000 * b"GET / HTTP/1.1\r\n\r\n")
        assert heard.count(b"HTTP/1.1 200 OK") < 1000
        assert soon(lambda: client.running.server.bodies == 0)
        assert client.get("/health").status_code == 200


def test_two_host_headers_are_refused(client):
    for hosts in (b"host: evil.example\r\nHOST: localhost\r\n", b"host: localhost\r\nhost: localhost\r\n"):
        heard = spoken(client, b"GET /model HTTP/1.1\r\n" + hosts + b"connection: close\r\n\r\n")
        assert heard.startswith(b"HTTP/1.1 400"), heard
        assert b"one Host header" in heard


@pytest.mark.parametrize(
    "text", ["1" * 150_000 + "z", "\u00a0" * 50_000 + "z", "12:30" + " " * 150_000 + "z"]
)
def test_a_long_text_costs_what_it_is(client, text):
    """Some texts took minutes to compare with the formats of numbers and dates."""
    for path in ("/predict", "/learn"):
        start = time.process_time()
        client.post(path, json={"x": {"size": text}, "y": 1})
        assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "x", [{"a": [[]] * (MOST_NESTED + 1)}, {"a": {"b": [0] * MOST_NESTED}}, {"a": [[0]] * MOST_NESTED}]
)
def test_the_values_of_lists_and_objects_are_bounded(x):
    with pytest.raises(Wrong, match=r"must have at most 100,000 values\."):
        expect_fields(x, 1000)
    expect_fields({"a": [0] * MOST_NESTED}, 1000)


def test_long_names_of_nested_objects_are_refused_before_they_are_joined():
    """A body of 8 MB kept all other requests waiting for 40 seconds, and took 7 GB of memory."""
    x = {"when": "01/02/2025", "n" * 1_000_000: {str(i): None for i in range(500)}}
    with one() as service:
        service.learn({"x": {"when": "01/02/2025"}, "y": "a"})
        start = time.process_time()
        with pytest.raises(Wrong, match=r"A name must have at most 200 characters\."):
            service.learn({"x": x, "y": "a"})
        assert time.process_time() - start < 0.5


@pytest.mark.parametrize("x", [{str(i): {} for i in range(400_000)}, {"a": [[[[]]]] * 1_000_000}])
def test_a_huge_instance_is_refused_without_reading_all_of_it(x):
    """In a body of 8 MB, this took up to 1.3 seconds, in which the service replied to nobody."""
    start = time.process_time()
    with pytest.raises(Wrong):
        expect_fields(x, 1000, 200)
    assert time.process_time() - start < 0.1


def chunked(host, trailer):
    head = (
        f"POST /predict HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nconnection: close\r\n"
    )
    body = json.dumps({"x": X}).encode()
    return (
        f"{head}transfer-encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n" + trailer
    )


def test_headers_after_a_body_do_not_count(client):
    assert spoken(client, chunked("localhost", b"host: evil.example\r\n\r\n")).startswith(b"HTTP/1.1 200")
    assert spoken(client, chunked("evil.example", b"host: localhost\r\n\r\n")).startswith(b"HTTP/1.1 403")


def test_headers_after_a_body_are_bounded(client):
    before = memory()
    heard = spoken(client, chunked("localhost", b"x: "), *[b"y" * 1_000_000] * 100)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 431")
    assert memory() - before < 30_000_000


def test_a_thousand_connections_do_no_harm(client):
    port = int(client.running.address.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        connections = client.running.server.connections
        assert soon(lambda: len(connections) < 10)  # silent connections are closed
        assert client.get("/health").status_code == 200
        assert client.post("/predict", json={"x": X}).status_code == 200


def soon(is_so):
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_so()


def test_too_many_requests_at_a_time_are_told_to_wait():
    with served(one(limits=Limits(requests=2))) as client:
        hold = threading.Event()
        client.running.service.after(hold.wait)
        waiting = [
            threading.Thread(
                target=lambda: httpx.post(
                    f"{client.base_url}/learn?wait=1", json={"x": X, "y": 1}, timeout=20
                )
            )
            for _ in range(2)
        ]
        for thread in waiting:
            thread.start()
        while len(client.running.server.tasks) < 2:
            time.sleep(0.01)
        said = client.post("/predict", json={"x": X})
        hold.set()
        for thread in waiting:
            thread.join()
        assert (said.status_code, said.headers["retry-after"]) == (429, "1")
        assert client.post("/predict", json={"x": X}).status_code == 200


def test_a_client_that_left_while_it_waited_is_no_request_in_progress():
    with served(one(limits=Limits(requests=2))) as client:
        hold = threading.Event()
        client.running.service.after(hold.wait)
        body = json.dumps({"x": X, "y": 1}).encode()
        request = b"POST /learn?wait=1 HTTP/1.1\r\n" + HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
        port = int(client.running.address.rpartition(":")[2])
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(request)
                assert soon(lambda: client.running.server.tasks)
        try:
            assert soon(lambda: client.post("/predict", json={"x": X}).status_code == 200)
        finally:
            hold.set()


def test_a_refused_request_leaves_memory_at_once():
    with served(one()) as client:
        bodies = [b"x" * 100_000, b'{"x": 1, "y": 1}', b"null"]
        made, init = [], http._Request.__init__
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                http._Request,
                "__init__",
                lambda one, *rest: (made.append(weakref.ref(one)), init(one, *rest))[1],
            )
            gc.disable()
            try:
                for body in bodies:
                    assert spoken(client, request_of(body)).startswith(b"HTTP/1.1 4")
                assert len(made) == len(bodies)
                assert soon(lambda: not any(one() for one in made))
            finally:
                gc.enable()


def test_a_body_in_small_chunks_takes_no_more_memory_than_its_bytes():
    with served(one()) as client:
        before, server = memory(), client.running.server
        port = int(client.running.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"POST /learn HTTP/1.1\r\n" + HEAD + b"transfer-encoding: chunked\r\n\r\n")
            for _ in range(100):
                connection.sendall(b"2\r\nab\r\n" * 10_000)
            assert soon(lambda: server.bodies == 2_000_000)
            assert memory() - before < 20_000_000


def test_a_body_that_breaks_off_leaves_memory_at_once():
    with served(one()) as client:
        before, server = memory(), client.running.server
        port = int(client.running.address.rpartition(":")[2])
        head = b"POST /learn HTTP/1.1\r\n" + HEAD + b"content-length: 5000001\r\n\r\n"
        gc.disable()
        try:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                    connection.sendall(head + b"x" * 5_000_000)
                    assert soon(lambda: server.bodies == 5_000_000)
                assert soon(lambda: server.bodies == 0)
            assert memory() - before < 40_000_000
        finally:
            gc.enable()


def test_refused_bodies_are_not_counted_for_ever():
    with served(one(limits=Limits(body=50_000, bodies=100_000))) as client:
        for _ in range(3):  # the end of a body that is too large arrives together with its beginning
            chunked = b"POST /learn HTTP/1.1\r\n" + HEAD + b"transfer-encoding: chunked\r\n\r\n"
            assert spoken(client, chunked + b"ea60\r\n" + b"x" * 60_000 + b"\r\n0\r\n\r\n").startswith(
                b"HTTP/1.1 413"
            )
        assert soon(lambda: client.running.server.bodies == 0)


def test_a_full_queue_is_told_over_the_wire():
    with served(one(limits=Limits(queue=3))) as client:
        hold = threading.Event()
        client.running.service.after(hold.wait)
        said = [client.post("/learn", json={"x": X, "y": 1}).status_code for _ in range(5)]
        hold.set()
        assert said == [202, 202, 202, 429, 429]


TRIES = int(os.environ.get("HEROS_SCHEMATHESIS", "4"))  # all kinds of requests to all paths


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_schemathesis_finds_no_fault_of_the_server(task):
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    with served(one(task, limits=LIMITS)) as fresh:
        schema = schemathesis.openapi.from_dict(fresh.get("/openapi.json").json())
        schema.config.update(base_url=str(fresh.base_url))
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in schemathesis.GenerationMode:
                tried(operation.as_strategy(generation_mode=mode))
        fresh.post("/learn?wait=true", json={"x": {"a new one": 1.0}, "y": 1})
        print(f"{sum(fresh.running.api.requests.total.values()):,} requests")
        assert (fresh.running.service.fault, fresh.running.service.failed) == (None, 0)


def tried(cases):
    @given(case=cases)
    @settings(
        max_examples=TRIES,
        database=None,
        phases=[Phase.generate],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def attempt(case):
        assert case.call().status_code < 500

    with suppress(Unsatisfiable):  # a path without parameters cannot get invalid ones
        attempt()
