"""Progress bars: on standard error, gone when the work is done, none if that is not a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["progress"]


def progress(*measures: ProgressColumn, wanted: bool | None = None) -> Progress:
    """A progress bar that shows what is done, the measures given and the time left.

    `wanted` overrules whether standard error is a terminal.

    Examples
    --------
    >>> with progress() as bar:
    ...     task = bar.add_task("reading", total=3)
    ...     for _ in range(3):
    ...         bar.advance(task)
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *measures,
        TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=wanted),
        transient=True,
        disable=not (sys.stderr.isatty() if wanted is None else wanted),
    )
