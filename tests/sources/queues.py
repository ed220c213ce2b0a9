"""Queue servers for tests, each on a free port; tests of missing servers are skipped with a message."""

import asyncio
import itertools
import json
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from heros.streams.live.kafka import KafkaTopic
from heros.streams.live.mqtt import MqttTopic
from heros.streams.live.nats import JetStream
from heros.streams.live.redis import RedisStream

NAME = "sensors"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(command, port):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process
    process.kill()
    raise RuntimeError(f"{command[0]} does not answer")


class Server:
    """A server in a separate process, which can be killed and restarted."""

    def start(self, command, port):
        self._command, self._port = command, port
        self._process = started(command, port)

    def stop(self):
        self._process.kill()
        self._process.wait()

    kill = stop

    def restart(self):
        self._process = started(self._command, self._port)


class Redis(Server):
    """A Redis server with one stream, which is lost when the server ends unless it is durable."""

    def __init__(self, directory, durable=False):
        self._redis = pytest.importorskip("redis")
        port, durably = free_port(), "yes" if durable else "no"
        options = ["--port", str(port), "--dir", str(directory), "--save", "", "--appendonly", durably]
        self.start(["redis-server", *options, "--appendfsync", "always"], port)
        self.url = f"redis://127.0.0.1:{port}/0"
        self.address = f"redis://127.0.0.1:{port}/{NAME}"

    def send(self, rows, stream=NAME):
        with self._redis.Redis.from_url(self.url) as client:
            for row in rows:
                message = row if isinstance(row, bytes) else json.dumps(row).encode()
                client.xadd(stream, {"data": message})

    def source(self, **settings):
        return RedisStream(self.url, NAME, **settings)


class Nats(Server):
    """A NATS server with one JetStream, stored in files."""

    def __init__(self, directory, durable=True):
        self._nats = pytest.importorskip("nats")
        port = free_port()
        self.start(["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(directory)], port)
        self.url = f"nats://127.0.0.1:{port}"
        self.address = f"{self.url}/{NAME}"

    def send(self, rows):
        async def publish():
            connection = await self._nats.connect(self.url)
            stream = connection.jetstream()
            await stream.add_stream(name="all", subjects=[NAME])
            for row in rows:
                await stream.publish(NAME, row if isinstance(row, bytes) else json.dumps(row).encode())
            await connection.close()

        asyncio.run(publish())

    def source(self, **settings):
        return JetStream(self.url, NAME, **settings)


class Kafka:
    """A topic of librdkafka's mock cluster, which runs in this process for clients on this machine."""

    _producer = None
    _topics = itertools.count()

    def __init__(self, directory):
        kafka = pytest.importorskip("confluent_kafka")
        if Kafka._producer is None:
            Kafka._producer = kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
        (broker,) = self._producer.list_topics(timeout=30).brokers.values()
        self.url = f"{broker.host}:{broker.port}/{NAME}{next(self._topics)}"
        self.address = f"kafka://{self.url}"

    @property
    def servers(self):
        return self.url.partition("/")[0]

    @property
    def topic(self):
        return self.url.partition("/")[2]

    def send(self, rows, partition=0):
        for row in rows:
            message = row if isinstance(row, bytes) else json.dumps(row).encode()
            self._producer.produce(self.topic, message, partition=partition)
        assert self._producer.flush(60) == 0

    def source(self, **settings):
        return KafkaTopic(self.servers, self.topic, **{"partitions": [0]} | settings)

    def stop(self):
        pass


class KafkaAside:
    """The mock cluster in a separate process. It has no disk, so it is paused instead of killed."""

    CODE = (
        "import sys, confluent_kafka as k\n"
        "p = k.Producer({'bootstrap.servers': 'mock', 'test.mock.num.brokers': 1})\n"
        "(b,) = p.list_topics(timeout=30).brokers.values()\n"
        "print(f'{b.host}:{b.port}', flush=True)\n"
        "sys.stdin.read()\n"
    )

    def __init__(self, directory, durable=True):
        kafka = pytest.importorskip("confluent_kafka")
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.servers, self.topic = self._process.stdout.readline().strip(), NAME
        self.url = f"{self.servers}/{NAME}"
        self._producer = kafka.Producer({"bootstrap.servers": self.servers})

    send, source = Kafka.send, Kafka.source

    def kill(self):
        self._process.send_signal(signal.SIGSTOP)

    def restart(self):
        self._process.send_signal(signal.SIGCONT)

    def stop(self):
        self._process.kill()
        self._process.communicate()


class Mqtt(Server):
    """A mosquitto with one topic, and a journal that has subscribed to it.

    If mosquitto is durable, it writes each message to a file.
    """

    def __init__(self, directory, durable=False):
        self._publish = pytest.importorskip("paho.mqtt.publish")
        port = free_port()
        settings = f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nuser root\n"
        if durable:
            kept = "autosave_on_changes true\nautosave_interval 1\n"
            settings += f"persistence true\npersistence_location {directory}/\n{kept}"
        (directory / "mosquitto.conf").write_text(settings)
        self.start(["mosquitto", "-c", str(directory / "mosquitto.conf")], port)
        self.port = port
        self.url = f"mqtt://127.0.0.1:{port} {directory / 'journal'}"
        self.address = f"mqtt://127.0.0.1:{port}/{NAME}"
        self.source().close()

    def send(self, rows, qos=1, topic=NAME):
        payloads = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        self._publish.multiple([(topic, one, qos, False) for one in payloads], "127.0.0.1", self.port)

    def source(self, **settings):
        url, _, journal = self.url.partition(" ")
        return MqttTopic(url, NAME, **{"journal": journal} | settings)


QUEUES = {"redis": Redis, "nats": Nats, "kafka": Kafka}
ALL = {**QUEUES, "mqtt": Mqtt}  # MQTT messages cannot be read again, so MQTT has separate tests
