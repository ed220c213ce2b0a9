"""End an evaluation on Ctrl-C, so that it can return the result so far.

While the model is trained on a block, an interrupt only sets a flag. The model and the measures therefore
always include the same instances. A read from the stream is interrupted only if it takes another `PATIENCE`
seconds or longer, because an interrupted read could lose rows.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, TypeVar

from heros.streams.live import IDLE, Source
from heros.streams.live.base import Block, Signal

PATIENCE = 0.5  # seconds to wait for the stream after an interrupt
T = TypeVar("T")


class Interrupts:
    """A context manager that sets `requested` at the first SIGINT; a second SIGINT raises KeyboardInterrupt.

    The handler is not installed outside the main thread, or if the program has its own SIGINT handler. A
    KeyboardInterrupt that is raised while the stream is read sets `requested` in any case. If `wanted` is
    False, interrupts have their usual effect.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.requested = False
        self._enabled = wanted
        self._asking = self._sending = self._sent_by_timer = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        if self._enabled and main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.default_int_handler
            signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self._asking = False
        while self._sending:  # otherwise the signal could arrive after this handler is removed
            time.sleep(1e-4)
        self._put_back()

    def poll(self, stream: Source, most: int, timeout: float) -> Block | Signal:
        """Poll the stream; return IDLE if the call was interrupted."""
        polled = self.call(lambda: stream.poll(most, timeout))
        return IDLE if polled is None else polled

    def call(self, wait: Callable[[], T]) -> T | None:
        """Call a function that may take a long time; return None if the call was interrupted."""
        try:
            self._asking = True
            return None if self.requested else wait()
        except KeyboardInterrupt:
            if not self._enabled:
                raise
            self.requested = True
            return None
        finally:
            self._asking = False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._sent_by_timer:
            self._sent_by_timer = False
            if self._asking:
                raise KeyboardInterrupt
        elif self.requested:
            self._put_back()  # also needed if the interrupt arrives in __enter__ or __exit__
            raise KeyboardInterrupt
        else:
            self.requested = True
            if self._asking:  # an interrupt could leave a threading.Thread half started
                _thread.start_new_thread(self._interrupt_read, ())

    def _put_back(self) -> None:
        self._asking = False
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt_read(self) -> None:
        """Wait `PATIENCE` seconds, then interrupt a read that has not returned; runs in a separate thread."""
        time.sleep(PATIENCE)
        main = threading.main_thread().ident
        self._sending = True
        try:
            # another handler may have replaced this one
            is_installed = signal.getsignal(signal.SIGINT) == self._on_interrupt
            if self._asking and is_installed and main is not None:
                self._sent_by_timer = True
                with suppress(OSError):
                    if sys.platform == "win32":
                        _thread.interrupt_main()
                    else:
                        signal.pthread_kill(main, signal.SIGINT)
        finally:
            self._sending = False
