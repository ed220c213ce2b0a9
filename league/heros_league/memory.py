"""The most memory this process has had: all of it, Java's heap among it."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_bytes", "restart_peak"]

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def restart_peak() -> int:
    """Forget the peak so far, where the system can, and return how many bytes are held now."""
    try:
        RESET.write_text("5", encoding="ascii")
    except OSError:
        return peak_bytes()  # what is above the peak so far is seen at least
    return _status("VmRSS") or peak_bytes()


def peak_bytes() -> int:
    """The most bytes held at once since `restart_peak`.

    Examples
    --------
    In a process of its own: what others have freed before is taken first, and not seen.

    >>> import subprocess
    >>> code = "from heros_league.memory import peak_bytes, restart_peak; before = restart_peak(); "
    >>> code += "held = b'x' * 50_000_000; print(40e6 < peak_bytes() - before < 70e6)"
    >>> ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    >>> ended.stdout.strip()
    'True'
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return _status("VmHWM") or peak


def _status(field: str) -> int | None:
    """Bytes, as Linux says it."""
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return next((int(kilobytes) * 1024 for kilobytes in found), None)
