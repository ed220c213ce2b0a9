"""Defer Ctrl-C until a multi-step update is complete."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class DeferredInterrupts:
    """A ``with`` block that defers SIGINT: the handler is called when the block ends.

    The block has an effect only in the main thread, because Python delivers no signals to other threads.

    Examples
    --------
    >>> done = []
    >>> try:
    ...     with DeferredInterrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("both steps")
    ... except KeyboardInterrupt:
    ...     done.append("then the interrupt")
    >>> done
    ['both steps', 'then the interrupt']
    """

    __slots__ = ("_handler", "_noted")

    def __enter__(self) -> None:
        self._noted: tuple[int, FrameType | None] | None = None
        self._handler: Any = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):  # otherwise SIGINT is ignored, or ends the process
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number, frame

    def __exit__(self, *raised: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            if self._noted is not None:
                self._handler(*self._noted)
