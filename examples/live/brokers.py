"""Brokers for the live demo: Redis or mosquitto, started for the demo, or a list in memory."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from heros import HerosError, MissingExtra
from heros._base.extras import needed

__all__ = ["Broker", "InProcess", "Mosquitto", "Redis", "started"]

TOPICS = ("readings", "labels")
PATIENCE = 15.0  # maximum seconds for a server to start


class Broker(Protocol):
    """Stores messages and returns them in order."""

    name: str

    def publish(self, topic: str, message: bytes) -> None:
        """Take a message."""

    def poll(self, timeout: float) -> list[tuple[str, bytes]]:
        """Return the messages since the last call; wait at most `timeout` seconds."""

    def close(self) -> None:
        """Stop the server."""


class InProcess:
    """A list."""

    name = "no broker: redis-server and mosquitto are not here"

    def __init__(self) -> None:
        self._messages: deque[tuple[str, bytes]] = deque()

    def publish(self, topic: str, message: bytes) -> None:
        """Take a message."""
        self._messages.append((topic, message))

    def poll(self, timeout: float) -> list[tuple[str, bytes]]:
        """Return the messages since the last call."""
        if not self._messages:
            time.sleep(min(timeout, 0.05))
        return [self._messages.popleft() for _ in range(len(self._messages))]

    def close(self) -> None:
        """Nothing to stop."""


class _Server:
    """A server process on a free port, with a temporary directory."""

    def __init__(self, command: Callable[[int, str], list[str]]) -> None:
        self._directory = TemporaryDirectory(prefix="heros-live-")
        self.port = _free_port()
        self._process = subprocess.Popen(
            command(self.port, self._directory.name),
            cwd=self._directory.name,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach the server; the demo stops it last
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise HerosError(f"A server must start at port {self.port}. Got no reply.")

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()


class Redis:
    """Redis streams, with their own server."""

    def __init__(self) -> None:
        redis: Any = needed("redis", "A feed over Redis", "redis")
        self._server = _Server(
            lambda port, place: [
                "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", place,
                "--save", "", "--appendonly", "no",
            ]
        )  # fmt: skip
        self.name = f"Redis streams {' and '.join(TOPICS)} at redis://127.0.0.1:{self._server.port}"
        self._client = redis.Redis(port=self._server.port)
        self._at: dict[str, Any] = dict.fromkeys(TOPICS, b"0")

    def publish(self, topic: str, message: bytes) -> None:
        """Take a message."""
        self._client.xadd(topic, {"message": message}, maxlen=10_000, approximate=True)

    def poll(self, timeout: float) -> list[tuple[str, bytes]]:
        """Return the messages since the last call."""
        found = []
        for topic, entries in (
            self._client.xread(self._at, count=1000, block=max(1, int(1000 * timeout))) or ()
        ):
            for id, fields in entries:
                self._at[topic.decode()] = id
                found.append((topic.decode(), fields[b"message"]))
        return found

    def close(self) -> None:
        """Stop the server."""
        self._client.close()
        self._server.close()


class Mosquitto:
    """MQTT, with its own mosquitto."""

    def __init__(self) -> None:
        mqtt: Any = needed("paho.mqtt.client", "A feed over MQTT", "mqtt")
        self._server = _Server(lambda port, _: ["mosquitto", "-p", str(port)])
        self.name = f"MQTT topics {' and '.join(TOPICS)} at mqtt://127.0.0.1:{self._server.port}"
        self._came: deque[tuple[str, bytes]] = deque()
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda client, data, one: self._came.append((one.topic, one.payload))
        self._client.connect("127.0.0.1", self._server.port)
        self._client.loop_start()
        for topic in TOPICS:
            self._client.subscribe(topic, qos=1)

    def publish(self, topic: str, message: bytes) -> None:
        """Take a message."""
        self._client.publish(topic, message, qos=1)

    def poll(self, timeout: float) -> list[tuple[str, bytes]]:
        """Return the messages since the last call."""
        if not self._came:
            time.sleep(min(timeout, 0.05))
        return [self._came.popleft() for _ in range(len(self._came))]

    def close(self) -> None:
        """Stop the server."""
        self._client.disconnect()
        self._client.loop_stop()
        self._server.close()


KINDS: dict[str, Callable[[], Broker]] = {"redis-server": Redis, "mosquitto": Mosquitto}


def started(which: str = "any") -> Broker:
    """Return the named broker, or the first one installed on this machine, or else a list in memory."""
    for program, kind in KINDS.items():
        if which in ("any", kind.__name__.lower()) and shutil.which(program):
            try:
                return kind()
            except MissingExtra:
                if which != "any":
                    raise
    return InProcess()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
