"""Follow CONTRIBUTING.md to add a source: a queue of dictionaries, which a model learns as they arrive.

The recipe uses only what CONTRIBUTING.md describes: a subclass of RowSource with `fetch` and `go_to`.
"""

import queue
import threading

import pytest

from heros import Heros, evaluate, pools
from heros.checks import check_source
from heros.streams.live import END, IDLE, RowSource


class QueueSource(RowSource):
    """Rows from a queue that also stores them, as message brokers do; None is the end."""

    def __init__(self, line, log, **how):
        super().__init__("queue", **how)
        self._line, self._log, self._at = line, log, 0

    def fetch(self, most, timeout):
        rows = []
        while len(rows) < most:
            try:
                if self._at == len(self._log):
                    self._log.append(self._line.get(timeout=0 if rows and timeout is not None else timeout))
            except queue.Empty:
                break
            if self._log[self._at] is None:
                return rows or END
            self._at += 1
            rows.append((self._log[self._at - 1], {"offset": self._at}))
        return rows or IDLE

    def go_to(self, position):
        self._at = position.get("offset", 0)


def readings(n):
    for i in range(n):
        row = {"size": float(i % 7), "colour": "red" if i % 3 else "blue", "good": i % 7 > 3}
        yield {**row, "weight": i / n} if i > n / 2 else row


def model():
    return Heros(pools.MLP([{"hidden": 8}, {"hidden": 16}]), k=1, seed=1)


def sent(n):
    line = queue.Queue()
    for row in readings(n):
        line.put(row)
    line.put(None)
    return line


def test_it_passes_the_public_check():
    check_source(QueueSource(sent(300), [], target="good"))


def test_a_model_learns_from_a_queue_as_it_fills():
    line, expected = queue.Queue(), evaluate(model(), QueueSource(sent(600), [], target="good"))
    sender = threading.Timer(0.1, lambda: [line.put(row) for row in [*readings(600), None]])
    sender.start()
    source = QueueSource(line, [], target="good")
    assert source.poll(10, 0) is IDLE
    run = evaluate(model(), source)
    sender.join()
    assert (run.n_instances, run.accuracy, run.log_loss) == (600, expected.accuracy, expected.log_loss)
    assert run.accuracy > 0.8
    assert [feature.name for feature in source.schema.features] == ["colour", "size", "weight"]


def test_it_goes_on_from_a_checkpoint_without_learning_twice(tmp_path):
    expected = evaluate(model(), QueueSource(sent(600), [], target="good"), window=100)
    line, log = sent(600), []

    class Dying(QueueSource):
        def fetch(self, most, timeout):
            if self._at > 300:
                raise ConnectionError("the broker is gone")
            return super().fetch(most, timeout)

    kept = {"checkpoint": tmp_path, "every": 100, "window": 100, "block": 50}
    with pytest.raises(ConnectionError, match="the broker is gone"):
        evaluate(model(), Dying(line, log, target="good"), **kept)
    run = evaluate(model(), QueueSource(line, log, target="good"), resume=True, **kept)
    assert (run.n_instances, run.log_loss) == (600, expected.log_loss)
