"""Which code made a record, and on which machine."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from heros._base import core as _core
from heros._base.lazy import metadata
from heros.meters.cpu import cpu_model

__all__ = ["commit", "provenance"]


def provenance() -> dict[str, Any]:
    """The code and the machine that measure something here and now.

    Examples
    --------
    >>> sorted(provenance()["machine"])
    ['cores', 'cpu', 'isa', 'system']
    """
    machine = {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "isa": _core.isas()[0],
    }
    return {"commit": commit() or metadata.version("heros-learn"), "machine": machine}


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
    return _checked_out(Path(__file__).parents[4]) or _core.commit() or None


def _checked_out(tree: Path) -> str | None:
    """Return the commit that is checked out in this directory, or None if it is no git working tree."""
    if (tree / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            asked = ["git", "-C", str(tree), "rev-parse", "HEAD"]
            return subprocess.check_output(asked, stderr=subprocess.DEVNULL, text=True, timeout=10).strip()
    return None
