"""Progress bars: on standard error or in a notebook, gone when the work is done, else none."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Protocol, Self, TypeVar

__all__ = ["Bar", "progress"]

T = TypeVar("T")


class Bar(Protocol):
    """What is told of progress; a part of `rich.progress.Progress`."""

    @property
    def disable(self) -> bool:
        """Whether nobody sees it."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...

    def add_task(self, description: str, *, total: float | None = None, **fields: Any) -> Any:
        """Something to do; what the other methods call it by."""
        ...

    def advance(self, task_id: Any, advance: float = 1) -> None:
        """So much more of it is done."""
        ...

    def update(self, task_id: Any, **fields: Any) -> None:
        """How it stands: `completed`, `total`, `description` or a field of its own."""
        ...

    def track(self, sequence: Iterable[T], *, description: str = "") -> Iterable[T]:
        """The sequence, with its progress shown."""
        ...


def progress(*columns: Any, wanted: bool | None = None) -> Bar:
    """A progress bar that shows what is done and the time left.

    Parameters
    ----------
    columns
        What it shows besides: ``"count"`` (so many of so many), ``"bytes"``, or a template like
        ``"{task.fields[standing]}"``.
    wanted
        Overrules whether standard error is a terminal, or the program a notebook that has ipywidgets.

    Examples
    --------
    >>> with progress("count") as bar:
    ...     task = bar.add_task("reading", total=3)
    ...     for _ in range(3):
    ...         bar.advance(task)
    """
    if not (sys.stderr.isatty() or _in_notebook() if wanted is None else wanted):
        return _Unseen()
    from rich.console import Console  # noqa: PLC0415  nobody waits for rich who sees no bar
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    known = {"count": MofNCompleteColumn, "bytes": DownloadColumn}
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(known[column]() if column in known else column for column in columns),
        TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=wanted),
        transient=True,
    )


def _in_notebook() -> bool:
    """Whether this program is a notebook that can show a bar of rich, which needs ipywidgets for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel") and find_spec("ipywidgets") is not None


class _Unseen:
    """A bar where there is no terminal to show it."""

    disable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return

    def add_task(self, description: str, *, total: float | None = None, **fields: Any) -> Any:
        return 0

    def advance(self, task_id: Any, advance: float = 1) -> None:
        return

    def update(self, task_id: Any, **fields: Any) -> None:
        return

    def track(self, sequence: Iterable[T], *, description: str = "") -> Iterable[T]:
        return sequence
