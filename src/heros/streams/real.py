"""The five real streams of the paper: what they are, and the copy in the data directory."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from heros.errors import DataError
from heros.streams.arrow import ParquetSource
from heros.streams.base import Stream
from heros.streams.tables import Options, TableStream

__all__ = ["REAL", "RealStream", "data_directory", "open_real"]


@dataclass(frozen=True)
class RealStream:
    """A real stream and what its copy is checked against."""

    name: str
    url: str
    n_instances: int
    n_nominal: int
    n_numeric: int
    class_counts: tuple[tuple[str, int], ...]


REAL: dict[str, RealStream] = {}
for _real in (
    RealStream("airlines", "", 0, 4, 3, ()),
    RealStream("electricity", "", 0, 1, 7, ()),
    RealStream("wisdm", "", 0, 1, 44, ()),
    RealStream("covtype", "", 0, 44, 10, ()),
    RealStream("nomao", "", 0, 29, 89, ()),
):
    REAL[_real.name] = _real


def data_directory() -> Path:
    """Where the real streams are kept: HEROS_DATA, by default a cache directory of the user's."""
    if chosen := os.environ.get("HEROS_DATA"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "heros"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "heros" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "heros"


def open_real(real: RealStream) -> Stream:
    """The stream from its copy in the data directory."""
    path = data_directory() / f"{real.name}.parquet"
    if not path.exists():
        raise DataError(f"The stream {real.name!r} is not in {path.parent}: put it there as {path.name}.")
    return TableStream(ParquetSource(path), Options("load", target="class"), real.name)
