"""A live demo in one process: a broker, simulated machines, a service that learns from them, and its page.

``make live``, or ``PYTHONPATH=examples python -m live``. Ctrl-C stops everything.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Callable, Sequence

import orjson

from heros import HerosError
from heros.ensemble import Heros
from heros.pools import MLPGrid
from heros.serve.learners import OneModel
from heros.serve.limits import Refusal
from heros.serve.server import Running
from heros.serve.service import Service
from live.brokers import Broker, started
from live.feed import Machines

__all__ = ["Live", "main"]


class Live:
    """A service fed by a broker, which is fed by simulated machines.

    Parameters
    ----------
    broker
        The broker for the readings and labels.
    rate, change
        As for `live.feed.Machines`.
    port
        The port of the page; 0 selects a free port.
    """

    def __init__(
        self, broker: Broker, *, rate: float = 100.0, change: float = 40.0, port: int = 8000
    ) -> None:
        pool = MLPGrid(hidden=[8, 16, 32, 64], learning_rates=[0.05, 0.005])
        self.broker = broker
        self.service = Service(OneModel(Heros(pool, k=6, seed=1)), longest=60.0)
        try:
            self.running = Running(self.service, port=port)
        except BaseException:
            self.service.stop()
            raise
        self._machines = Machines(rate, change)
        self._over = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._feed, self._consume)]

    def run(self) -> None:
        """Run until Ctrl-C, SIGTERM or `stop`."""
        try:
            for thread in self._threads:
                thread.start()
            self.running.work()
        finally:
            self.close()

    def close(self) -> None:
        """Stop all parts that were started."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self.running.socket.close()
        self.service.stop()
        self.broker.close()

    def stop(self) -> None:
        """Make `run` return."""
        self.running.stop()

    def _feed(self) -> None:
        """Send the events of the machines to the broker."""
        start = time.monotonic()
        while not self._over.wait(0.05):
            for topic, message in self._machines.until(time.monotonic() - start):
                self.broker.publish(topic, orjson.dumps(message))

    def _consume(self) -> None:
        """Forward messages from the broker to the service: predict each reading, and learn each label."""
        tell: dict[str, Callable[[object], object]] = {
            "readings": self.service.predict,
            "labels": self.service.learn,
        }
        while not self._over.is_set():
            for topic, message in self.broker.poll(0.2):
                try:
                    tell[topic](orjson.loads(message))
                except (Refusal, HerosError):
                    continue  # the service counts such messages


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the demo and print its addresses."""
    parser = argparse.ArgumentParser(prog="python -m live", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port of the page; 0 selects a free port")
    parser.add_argument("--rate", type=float, default=100.0, help="readings per second")
    parser.add_argument("--change", type=float, default=40.0, help="seconds between changes of the concept")
    parser.add_argument("--broker", choices=["any", "redis", "mosquitto", "none"], default="any")
    chosen = parser.parse_args(arguments)
    try:
        broker = started(chosen.broker)
    except HerosError as error:
        parser.exit(2, f"heros: {error}\n")
    try:
        live = Live(broker, rate=chosen.rate, change=chosen.change, port=chosen.port)
        signal.signal(signal.SIGINT, lambda *_: live.stop())  # until the server sets its own handler
        print(f"the page    {live.running.address}", f"the feed    {broker.name}", sep="\n")
        print("Ctrl-C stops the demo", flush=True)
        live.run()
    except HerosError as error:
        parser.exit(2, f"heros: {error}\n")
    finally:
        broker.close()
    print(f"stopped after {live.service.history.learnt:,} labels")
