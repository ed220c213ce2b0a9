"""The version of the code and the machine that produced a record."""

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


def provenance() -> dict[str, Any]:
    """Return the version of the code and a description of this machine.

    Examples
    --------
    >>> sorted(provenance()["machine"])
    ['cores', 'cpu', 'isa', 'system']
    """
    system, isa = platform.system(), _core.isas()[0]
    machine = {"cpu": cpu_model(), "cores": os.cpu_count(), "system": system, "isa": isa}
    return {"commit": commit() or metadata.version("heros-learn"), "machine": machine}


@lru_cache
def commit() -> str | None:
    """Return the git commit of the source code, or None if the commit is not known.

    A wheel stores the commit in the compiled core. An editable install may run newer sources than its build,
    so its commit comes from git.
    """
    return _checked_out(Path(__file__).parents[4]) or _core.commit() or None


def _checked_out(tree: Path) -> str | None:
    """Return the commit checked out in this directory, or None if this is not a git working tree."""
    if (tree / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
            return subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True, timeout=10).strip()
    return None
