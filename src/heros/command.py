"""Where the program `heros` begins and ends: whatever happens, a line and an exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]

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
        code = _answer()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _say("stopped", INTERRUPTED)
    except OSError as error:
        quiet = error.errno == errno.EPIPE  # whoever read it has seen enough
        code = FAILED if quiet else _say(f"standard output must be writable. Got: {error.strerror}.", FAILED)
    _leave(code)


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
