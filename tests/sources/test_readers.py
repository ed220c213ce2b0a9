"""Items of an iterator in a separate thread: unchanged, in order, and without remaining threads."""

import asyncio
import gc
import itertools
import queue
import subprocess
import sys
import threading
import time

import pytest

from heros import streams
from heros.streams.live import END, IDLE
from heros.streams.live.readers import BackgroundReader, DirectReader


def readers():
    return {thread for thread in threading.enumerate() if thread.name == "heros-reader"}


def gone(threads, seconds=10):
    deadline = time.monotonic() + seconds
    while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return not any(thread.is_alive() for thread in threads)


async def slowly(items):
    for item in items:
        await asyncio.sleep(0)
        yield item


@pytest.mark.parametrize(
    "make", [DirectReader, BackgroundReader, lambda items: BackgroundReader(slowly(items))]
)
def test_all_items_in_order_whatever_is_asked_for(make):
    reader, found = make(iter(range(1000))), []
    for most, timeout in itertools.cycle([(1, None), (7, 0), (100, 0.01), (3, 1)]):
        got = reader.take(most, timeout)
        if got is END:
            break
        if got is not IDLE:
            assert 1 <= len(got) <= most
            found += got
    assert found == list(range(1000))
    assert reader.take(1, 0) is END


def test_an_iterator_is_read_as_far_as_asked_but_for_the_item_that_is_waited_for():
    taken = []

    def items():
        for i in itertools.count():
            taken.append(i)
            yield i

    reader = BackgroundReader(items())
    assert reader.take(5, None) == [0, 1, 2, 3, 4]
    time.sleep(0.05)
    assert taken == [0, 1, 2, 3, 4]


def test_nothing_is_lost_when_the_time_is_over():
    line = queue.Queue()
    reader = BackgroundReader(iter(line.get, None))
    assert reader.take(3, 0.01) is IDLE
    for item in "abcd":
        line.put(item)
    assert reader.take(3, None) == ["a", "b", "c"]
    assert reader.take(3, 0.05) == ["d"]
    line.put(None)
    assert reader.take(3, None) is END


@pytest.mark.parametrize("kind", [DirectReader, BackgroundReader])
def test_what_is_raised_comes_after_the_items_before_it(kind):
    class Line:
        n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n % 4 == 0:
                raise TimeoutError(self.n)
            return self.n

    reader, found = kind(Line()), []
    for _ in range(6):
        try:
            found += reader.take(5, 1)
        except TimeoutError as error:
            found.append(f"late {error}")
    assert found == [1, 2, 3, "late 4", 5, 6, 7, "late 8", 9, 10, 11, "late 12"]


def test_what_an_async_iterator_raises_comes_after_the_items_before_it():
    async def items():
        yield 1
        yield 2
        raise OSError("the line is dead")

    reader = BackgroundReader(items())
    assert reader.take(5, None) == [1, 2]
    with pytest.raises(OSError, match="the line is dead"):
        reader.take(5, None)
    assert reader.take(5, None) is END


def test_an_event_loop_goes_on_between_two_polls():
    beats = []

    async def items():
        async def beat():
            while True:
                beats.append(1)
                await asyncio.sleep(0.001)

        heart = asyncio.create_task(beat())
        for i in range(3):
            yield i
        heart.cancel()

    reader = BackgroundReader(items())
    assert reader.take(1, None) == [0]
    before = len(beats)
    time.sleep(0.1)
    assert len(beats) > before + 5
    assert reader.take(9, None) == [1, 2]


def test_threads_end_with_the_iterator_or_with_whoever_reads():
    before = readers()
    ended, dropped, forgotten = BackgroundReader(iter([1])), BackgroundReader(itertools.count()), None
    forgotten = BackgroundReader(slowly(itertools.count()))
    assert ended.take(5, None) == [1]
    assert (dropped.take(2, None), forgotten.take(2, None)) == ([0, 1], [0, 1])
    threads = readers() - before
    assert len(threads) >= 2
    del dropped, forgotten
    assert gone(threads)


def test_a_stream_that_is_dropped_takes_its_thread_along():
    before = readers()
    stream = streams.from_iter(({"n": i}, i % 2) for i in itertools.count())
    assert len(stream.poll(10, 1)[1]) == 1
    threads = readers() - before
    assert len(threads) == 1
    del stream
    assert gone(threads)


@pytest.mark.parametrize(
    "pairs", ["waiting()", "waiting", "later", "later()"], ids=["iterator", "function", "async", "once async"]
)
def test_a_thread_that_waits_does_not_keep_the_process(pairs):
    program = f"""
import asyncio, threading
from heros import streams
def waiting():
    yield {{"a": 1.0}}, 0
    threading.Event().wait()
async def later():
    yield {{"a": 1.0}}, 0
    await asyncio.Event().wait()
stream = streams.from_iter({pairs})
print(len(stream.poll(10, 0.2)[1]), stream.poll(10, 0.01).value)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 idle\n", "")


def test_a_list_and_a_stored_data_set_need_no_thread():
    class Stored:
        def __iter__(self):
            return iter(rows)

    before, rows = readers(), [({"a": 1.0}, 0), ({"a": 2.0}, 0)]
    for pairs in (rows, Stored(), lambda: rows):
        assert len(streams.from_iter(pairs).poll(10, 1)[1]) == 2
    assert readers() == before


def test_an_iterator_may_stay_in_its_thread():
    seen = set()

    def pairs():
        seen.add(threading.current_thread())
        yield {"a": 1.0}, 0

    assert len(streams.from_iter(pairs, waits=False).poll(10, 1)[1]) == 1
    assert seen == {threading.current_thread()}
    seen.clear()
    assert len(streams.from_iter(pairs).poll(10, 1)[1]) == 1
    assert seen != {threading.current_thread()}
    seen.clear()
    assert len(streams.from_iter(pairs).draw(10)[1]) == 1  # without a timeout, no thread is needed
    assert seen == {threading.current_thread()}
