"""The commit of the code that is running."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from heros._base import core as _core

__all__ = ["commit"]


@lru_cache
def commit() -> str | None:
    """Return the commit of the sources, or None if it is not known.

    In a wheel, the build has stamped the commit into the core. An editable install runs sources that can be
    newer than its build, so git is asked for the commit that is checked out.

    Examples
    --------
    >>> commit() is None or len(commit()) in {40, 64}
    True
    """
    return _checked_out(Path(__file__).parents[3]) or _core.commit() or None


def _checked_out(tree: Path) -> str | None:
    """Return the commit that is checked out in this directory, or None if it is no git working tree."""
    if (tree / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            asked = ["git", "-C", str(tree), "rev-parse", "HEAD"]
            return subprocess.check_output(asked, stderr=subprocess.DEVNULL, text=True, timeout=10).strip()
    return None
