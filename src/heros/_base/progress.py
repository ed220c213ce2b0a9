"""Progress bars on standard error or in a notebook, removed when the work is done."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Self, TypeVar, cast

__all__ = ["Bar", "progress"]

T = TypeVar("T")


class Bar:
    """The part of `rich.progress.Progress` that is used; this base class shows nothing."""

    disable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return

    def add_task(self, description: str, *, total: float | None = None, **fields: Any) -> Any:
        """Add a task; return the id by which the other methods know it."""

    def advance(self, task_id: Any, advance: float = 1) -> None:
        """Advance a task by so many steps."""

    def update(self, task_id: Any, **fields: Any) -> None:
        """Set `completed`, `total`, `description` or a field of a task."""

    def track(self, sequence: Iterable[T], *, description: str = "") -> Iterable[T]:
        """Iterate over a sequence and show the progress."""
        return sequence


def progress(*columns: Any, wanted: bool | None = None) -> Bar:
    """Return a progress bar that shows what is done and the time left.

    Parameters
    ----------
    columns
        What to show besides: ``"count"`` (so many of so many), ``"bytes"``, or a template like
        ``"{task.fields[standing]}"``.
    wanted
        Whether to show a bar. By default it is shown on a terminal, and in a notebook that has ipywidgets.

    Examples
    --------
    >>> with progress("count") as bar:
    ...     task = bar.add_task("reading", total=3)
    ...     for _ in range(3):
    ...         bar.advance(task)
    """
    if not (sys.stderr.isatty() or _in_notebook() if wanted is None else wanted):
        return Bar()
    from rich.console import Console  # noqa: PLC0415  slow to import, and needed only for a visible bar
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    known = {"count": MofNCompleteColumn, "bytes": DownloadColumn}
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(known[column]() if column in known else column for column in columns),
        TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=wanted),
        transient=True,
    )
    return cast(Bar, bar)


def _in_notebook() -> bool:
    """Whether this is a notebook with ipywidgets, which rich needs there."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel") and find_spec("ipywidgets") is not None
