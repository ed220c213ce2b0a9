"""Where the program `heros` begins and ends: whatever happens, a line and an exit code, never a traceback."""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["main", "no_interrupt_lost"]

INTERRUPTED = 130
FAILED = 1


def main() -> NoReturn:
    """Run the command line.

    Ctrl-C is heard while it is still being imported, output that cannot be written is said, and text that a
    terminal cannot show is written with escapes.
    """
    for name in ("stdout", "stderr"):
        _open(name)
    try:
        with no_interrupt_lost():
            code = _answer()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _say("stopped", INTERRUPTED)
    except OSError as error:
        quiet = error.errno == errno.EPIPE  # whoever read it has seen enough
        code = FAILED if quiet else _say(f"standard output must be writable. Got: {error.strerror}.", FAILED)
    _leave(code)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Ctrl-C that comes while something is being cleaned up, where Python would only print it, comes again.

    Examples
    --------
    >>> class Cleaned:
    ...     def __del__(self):
    ...         raise KeyboardInterrupt
    >>> with no_interrupt_lost():
    ...     try:
    ...         one = Cleaned()
    ...         del one
    ...         time.sleep(10)
    ...         print("lost")
    ...     except KeyboardInterrupt:
    ...         print("heard")
    heard
    """
    before = sys.unraisablehook

    def again() -> None:
        time.sleep(0.001)  # by then the main thread has left the cleaning behind
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:  # as Ctrl-C does it, so that the main thread hears it even if it is waiting for something
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def hook(given: UnraisableHookArgs) -> None:
        if isinstance(given.exc_value, KeyboardInterrupt):
            _thread.start_new_thread(again, ())
        else:
            before(given)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _answer() -> int:
    """What the commands answer, as an exit code."""
    from heros.cli import app  # noqa: PLC0415  half a second in which Ctrl-C may come

    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED if end.code else 0
    return 0


def _open(name: str) -> None:
    """Standard output may be closed; and may not know all characters, as those of a file's name."""
    stream = getattr(sys, name)
    if stream is None:
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  until the end
    elif hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _say(message: str, code: int) -> int:
    with suppress(OSError):
        print(f"heros: {message}", file=sys.stderr)
    return code


def _leave(code: int) -> NoReturn:
    """End, with nothing left to be said on the way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries it once more
    sys.exit(code)
