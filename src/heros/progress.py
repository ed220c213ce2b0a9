"""Progress bars: on standard error or in a notebook, gone when the work is done, else none."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from html import escape
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
        Overrules whether standard error is a terminal, or the program a notebook.

    Examples
    --------
    >>> with progress("count") as bar:
    ...     task = bar.add_task("reading", total=3)
    ...     for _ in range(3):
    ...         bar.advance(task)
    """
    show = _notebook_display()
    if show is not None and wanted is not False:
        return _InNotebook(show, [column for column in columns if "{" in str(column)])
    if not (sys.stderr.isatty() if wanted is None else wanted):
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


def _notebook_display() -> Any:
    """IPython's module for showing things, if this program is a notebook; it is imported then."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return sys.modules.get("IPython.display") if hasattr(shell, "kernel") else None


@dataclass
class _Doing:
    """Something to do, and how it stands."""

    description: str
    total: float | None
    fields: dict[str, Any]
    completed: float = 0


class _InNotebook:
    """A bar that is a piece of HTML in the output of a cell; needs nothing that a notebook has not."""

    disable = False
    EVERY = 0.25  # seconds

    def __init__(self, display: Any, templates: list[str]) -> None:
        self._display, self._templates = display, templates
        self._tasks: list[_Doing] = []
        self._shown: Any = None
        self._last = 0.0

    def __enter__(self) -> Self:
        self._shown = self._display.display(self._display.HTML(""), display_id=True)
        return self

    def __exit__(self, *error: Any) -> None:
        self._shown.update(self._display.HTML(""))

    def add_task(self, description: str, *, total: float | None = None, **fields: Any) -> Any:
        self._tasks.append(_Doing(description, total, fields))
        return len(self._tasks) - 1

    def advance(self, task_id: Any, advance: float = 1) -> None:
        self._tasks[task_id].completed += advance
        self._show()

    def update(self, task_id: Any, **fields: Any) -> None:
        task = self._tasks[task_id]
        task.completed = fields.pop("completed", task.completed)
        task.total, task.description = (
            fields.pop("total", task.total),
            fields.pop("description", task.description),
        )
        task.fields |= fields
        self._show()

    def track(self, sequence: Iterable[T], *, description: str = "") -> Iterable[T]:
        total = len(sequence) if isinstance(sequence, Sized) else None
        task = self.add_task(description, total=total)
        for one in sequence:
            yield one
            self.advance(task)

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._last >= self.EVERY:
            self._last = now
            self._shown.update(self._display.HTML("<br>".join(map(self._line, self._tasks))))

    def _line(self, task: _Doing) -> str:
        known = f' value="{task.completed}" max="{task.total}"' if task.total else ""
        count = f"{task.completed:,.0f}" + (f" of {task.total:,.0f}" if task.total else "")
        said = " ".join(template.format(task=task) for template in self._templates)
        return f"{escape(task.description)} <progress{known}></progress> {count} {escape(said)}"


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
