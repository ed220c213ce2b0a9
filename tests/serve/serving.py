"""A service on a free port, in a thread of the test process."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import httpx

from heros import Heros, pools
from heros.ensemble.keyed import Keyed
from heros.serve.learners import ModelPerKey, OneModel
from heros.serve.server import Running
from heros.serve.service import Service


def model(**settings):
    return Heros(pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05]), k=2, seed=1, **settings)


def rows(n, start=0):
    """Return instances with an obvious class; some lack a feature."""
    for i in range(start, start + n):
        x = {"size": float(i % 7), "colour": ("red", "blue", "green")[i % 3]}
        if i % 11 == 0:
            del x["size"]
        yield x, "even" if i % 2 == 0 else "odd"


def numbers(n, start=0):
    """Return the same instances with an obvious number as the target."""
    for i, (x, _) in enumerate(rows(n, start), start):
        yield x, 100.0 + 3.0 * x.get("size", 3.0) + 10.0 * (i % 3)


def one(task="classification", **settings):
    return Service(OneModel(model(task=task)), **settings)


def many(directory=None, memory=None, task="classification", **settings):
    return Service(ModelPerKey(Keyed(model(task=task), directory=directory, memory=memory)), **settings)


@contextmanager
def served(service, token=None, **settings):
    """The service at an address, and its client."""
    running = Running(service, port=0, token=token, **settings)
    thread = threading.Thread(target=running.work)
    thread.start()
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    try:
        assert running.started.wait(20)
        with httpx.Client(base_url=running.address, headers=headers, timeout=20) as client:
            client.running = running
            yield client
    finally:
        running.stop()
        thread.join()


def await_picture(client, instances):
    """Wait until the page's state includes this many instances; it may be a second old, or more under load."""
    deadline = time.monotonic() + 60
    while client.get("/state").json()["instances"] < instances:
        assert time.monotonic() < deadline, "the state was not updated"
        time.sleep(0.1)


def soon(is_so, seconds=20):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()
