"""Ctrl-C as the end of an evaluation, so that what was learnt until then is summed up.

While a block is learnt an interrupt only leaves a note: what the model has learnt is what was counted. While
the stream is asked for more it is left alone, too, for it would lose what it has read; but if that takes
long (it waits for something that does not come) it is broken off.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from heros.streams.live import IDLE, Source
from heros.streams.live.base import Block, Signal

__all__ = ["Interrupts"]

PATIENCE = 0.5  # seconds that a stream is waited for after an interrupt


class Interrupts:
    """Takes note of SIGINT within a ``with``; a second one is an interrupt.

    In threads other than the main one, and where a program deals with SIGINT in a way of its own, nothing
    changes; a KeyboardInterrupt while the stream is asked for more counts all the same.

    Parameters
    ----------
    wanted
        If not, interrupts are what they always are.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     interrupts.pressed
    False
    """

    def __init__(self, wanted: bool = True) -> None:
        self.pressed = False
        self._wanted = wanted
        self._asking = self._sending = self._breaking = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        if self._wanted and main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.default_int_handler
            signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asking = False
        while self._sending:  # or it would come when nobody here takes it any more
            time.sleep(1e-4)
        self._put_back()

    def poll(self, stream: Source, most: int, timeout: float) -> Block | Signal:
        """What the stream gives; IDLE if it was interrupted."""
        try:
            self._asking = True
            return IDLE if self.pressed else stream.poll(most, timeout)
        except KeyboardInterrupt:
            if not self._wanted:
                raise
            self.pressed = True
            return IDLE
        finally:
            self._asking = False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._breaking:  # our own, sent by the timer
            self._breaking = False
            if self._asking:
                raise KeyboardInterrupt
        elif self.pressed:
            self._put_back()  # here: it may be on its way in or out, where nobody else would
            raise KeyboardInterrupt
        else:
            self.pressed = True
            if self._asking:  # no threading.Thread: an interrupt while it starts would leave half of one
                _thread.start_new_thread(self._break_off, ())

    def _put_back(self) -> None:
        self._asking = False
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _break_off(self) -> None:
        """In a thread of its own: if the stream is still being asked after a while, interrupt it."""
        time.sleep(PATIENCE)
        main = threading.main_thread().ident
        self._sending = True
        try:
            ours = signal.getsignal(signal.SIGINT) == self._on_interrupt  # or it would hit somebody else
            if self._asking and ours and main is not None:
                self._breaking = True
                with suppress(OSError):
                    if sys.platform == "win32":
                        _thread.interrupt_main()
                    else:
                        signal.pthread_kill(main, signal.SIGINT)
        finally:
            self._sending = False
