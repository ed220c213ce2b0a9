"""The entry point of the `heros` command. After an error the command prints a message, not a traceback."""

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

    Ctrl-C also stops the command while it imports modules. If the output cannot be written, an error is
    reported. Characters that the terminal cannot show are escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the stream is closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until exit
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with no_interrupt_lost():
            code = _answer()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _failed("stopped", INTERRUPTED)
    except OSError as error:
        quiet = error.errno == errno.EPIPE  # the reader closed the pipe
        code = FAILED if quiet else _failed(f"cannot write to standard output: {error.strerror}.", FAILED)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
    sys.exit(code)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Raise a KeyboardInterrupt again if it occurs in a finalizer, where Python would only print it.

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
        time.sleep(0.001)  # let the main thread leave the finalizer
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:  # a real signal also interrupts a blocking call of the main thread
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
    """Run the command and return its exit code."""
    from heros.cli import app  # noqa: PLC0415  the import takes half a second, during which Ctrl-C must work

    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED if end.code else 0
    return 0


def _failed(message: str, code: int) -> int:
    """Print an error and return the exit code."""
    with suppress(OSError):
        print(f"heros: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
