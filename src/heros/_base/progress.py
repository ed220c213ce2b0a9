"""Progress bars on standard error or in a notebook, which disappear on completion."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")


class Bar:
    """A progress bar that shows nothing, with the methods of `rich.progress.Progress` that HEROS uses."""

    disable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return

    def add_task(self, description: str, *, total: float | None = None, **fields: Any) -> Any:
        """Add a task and return its id, which the other methods need."""

    def advance(self, task_id: Any, advance: float = 1) -> None:
        """Advance a task by `advance` steps."""

    def update(self, task_id: Any, **fields: Any) -> None:
        """Update `completed`, `total`, `description` or another field of a task."""

    def track(self, sequence: Iterable[T], *, description: str = "") -> Iterable[T]:
        """Iterate over a sequence and show the progress."""
        return sequence


def progress(*columns: Any, wanted: bool | None = None) -> Bar:
    """Return a progress bar that shows the completed share and the remaining time.

    Parameters
    ----------
    columns
        Additional columns: ``"count"`` (items done / total), ``"bytes"``, or a template such as
        ``"{task.fields[standing]}"``.
    wanted
        Whether to show the bar. By default it is shown on a terminal and in a notebook with ipywidgets.

    Examples
    --------
    >>> with progress("count") as bar:
    ...     task = bar.add_task("reading", total=3)
    ...     for _ in range(3):
    ...         bar.advance(task)
    """
    if not (sys.stderr.isatty() or _in_notebook() if wanted is None else wanted):
        return Bar()
    from rich.console import Console  # noqa: PLC0415  slow import, needed only for a visible bar
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
    """Return whether the program runs in a notebook with ipywidgets, which rich requires."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel") and find_spec("ipywidgets") is not None
