"""The peak memory of this process, including Java's heap."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_bytes", "restart_peak"]

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def restart_peak() -> int:
    """Reset the peak, if the system supports it, and return the bytes in use."""
    try:
        RESET.write_text("5", encoding="ascii")
    except OSError:
        return peak_bytes()  # without a reset, only a higher peak is detected
    return _status("VmRSS") or peak_bytes()


def peak_bytes() -> int:
    """Return the peak memory in bytes since `restart_peak`.

    Examples
    --------
    In a separate process, since memory freed earlier would be reused without a new peak.

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
    """Return a field of /proc/self/status in bytes; None on other systems."""
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return next((int(kilobytes) * 1024 for kilobytes in found), None)
