"""`make live`: the broker, the feed, the service and the page start and stop."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")

from live.brokers import InProcess, started
from live.demo import Live

EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAMS = {"redis": ("redis-server", "redis"), "mosquitto": ("mosquitto", "paho.mqtt.client")}


@pytest.mark.parametrize("which", ["none", "redis", "mosquitto"])
def test_readings_are_answered_and_their_labels_learnt(which):
    if which != "none":
        program, module = PROGRAMS[which]
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        pytest.importorskip(module, reason=f"{module} is not installed")
    live = Live(started(which), rate=200.0, port=0)
    assert isinstance(live.broker, InProcess) == (which == "none")
    thread = threading.Thread(target=live.run)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while live.service.history.learnt < 100 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert httpx.get(f"{live.running.address}/health").status_code == 200
    finally:
        live.stop()
        thread.join()
    assert live.service.history.learnt >= 100
    assert live.service.counts.answered >= live.service.history.learnt
    assert live.service.counts.unknown == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix signals")
def test_ctrl_c_stops_all_of_it():
    command = [sys.executable, "-m", "live", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=EXAMPLES, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said = process.stdout.readline()
    assert said.startswith("the page    http://127.0.0.1:")
    feed = process.stdout.readline()
    assert process.stdout.readline().startswith("Ctrl-C")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("stopped after")
    if " at redis://" in feed or " at mqtt://" in feed:
        port = int(feed.strip().rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 5)
