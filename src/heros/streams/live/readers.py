"""Readers that return the items of an iterator in order, with a timeout."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from heros._base.lazy import asyncio
from heros.streams.live.base import END, IDLE, Signal

__all__ = ["BackgroundReader", "DirectReader"]

Items = list[Any] | Signal


class DirectReader:
    """A reader that runs a non-blocking iterator in the caller's thread."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self.iterator = iterator
        self.error: Exception | None = None  # the next call of `take` raises it, after the items before it

    def take(self, most: int, timeout: float | None) -> Items:
        """Return up to `most` items; the timeout is checked between items."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        deadline = None if timeout is None else time.monotonic() + timeout
        items: list[Any] = []
        try:
            while len(items) < most:
                items.append(next(self.iterator))
                if deadline is not None and time.monotonic() >= deadline:
                    break
        except StopIteration:
            return items or END
        except Exception as error:
            if not items:
                raise
            self.error = error
        return items


class BackgroundReader:
    """A reader that runs an iterator, which may block or be async, in a background thread.

    The thread reads only on request. After a timeout, it may still finish reading one item. It ends when the
    iterator or the process ends, or when this object is garbage-collected.
    """

    def __init__(self, items: Any) -> None:
        exchange = _Exchange()
        self.take = exchange.take
        read = _read_async if isinstance(items, AsyncIterable) else _read
        # The thread refers only to the exchange, so it can end when this object is garbage-collected.
        weakref.finalize(self, exchange.close)
        threading.Thread(target=read, args=(items, exchange), daemon=True, name="heros-reader").start()


class _Exchange:
    """The state that the reading thread and the requesting thread share."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[Any] = deque()
        self._error: BaseException | None = None
        self._ended = self.closed = False
        self.wanted = 0  # number of items that the reader may still read
        self.wake: Callable[[], object] | None = None  # wakes a reader with an event loop

    # -- the requesting thread --------------------------------------------------------------------------

    def take(self, most: int, timeout: float | None) -> Items:
        """Return up to `most` items within `timeout` seconds."""
        with self._changed:
            try:
                self._ask(most - len(self._items))
                self._changed.wait_for(lambda: self.wanted == 0, timeout)
            finally:
                self.wanted = 0
            items = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            if items:
                return items
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return END if self._ended else IDLE

    def close(self) -> None:
        with self._changed:
            self.closed = True
            self._ask(0)

    def _ask(self, n: int) -> None:
        self.wanted = 0 if self._ended or self._error is not None else max(0, n)
        self._changed.notify_all()
        if self.wake is not None:
            self.wake()

    # -- the reading thread ------------------------------------------------------------------------------

    def wait(self) -> bool:
        """Wait for a request; return False if the exchange is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self.wanted > 0 or self.closed)
            return not self.closed

    def give(self, item: Any) -> None:
        with self._changed:
            self._items.append(item)
            self._want_less(1)

    def fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = error
            self._want_less(self.wanted)

    def end(self) -> None:
        with self._changed:
            self._ended, self.wake = True, None
            self._want_less(self.wanted)

    def _want_less(self, n: int) -> None:
        self.wanted = max(0, self.wanted - n)
        if self.wanted == 0:
            self._changed.notify_all()


def _read(iterator: Iterator[Any], exchange: _Exchange) -> None:
    while exchange.wait():
        try:
            exchange.give(next(iterator))
        except StopIteration:
            return exchange.end()
        except BaseException as error:  # `take` raises it in the requesting thread
            exchange.fail(error)
    return None


def _read_async(items: AsyncIterable[Any], exchange: _Exchange) -> None:
    with suppress(asyncio.CancelledError):
        asyncio.run(_pump(items, exchange))


async def _pump(items: AsyncIterable[Any], exchange: _Exchange) -> None:
    """Read items on request; between requests, the event loop runs other tasks of the iterator."""
    loop, task, told = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def tell() -> None:
        if exchange.closed and task is not None:
            task.cancel()
        told.set()

    exchange.wake = partial(loop.call_soon_threadsafe, tell)
    iterator = aiter(items)
    try:
        while not exchange.closed:
            if not exchange.wanted:
                told.clear()  # if a request arrives now, `tell` runs during the wait
                await told.wait()
                continue
            try:
                exchange.give(await anext(iterator))
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                exchange.fail(error)
    finally:
        exchange.end()
