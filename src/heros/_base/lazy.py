"""Modules that are imported on first use, so that `import heros` is fast."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = [
    "LazyModule",
    "asyncio",
    "filelock",
    "metadata",
    "pa",
    "pc",
    "platformdirs",
    "pq",
    "shutil",
    "tomllib",
]


class LazyModule(ModuleType):
    """A module that is imported on first use.

    Examples
    --------
    >>> decoder = LazyModule("json.decoder")
    >>> decoder.JSONDecoder().decode("[1, 2]")
    [1, 2]
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # tools that inspect modules request such names
            raise AttributeError(name)
        module = import_module(self.__name__)
        if not hasattr(module, name):
            with suppress(ModuleNotFoundError):
                return import_module(f"{self.__name__}.{name}")
        value = getattr(module, name)
        setattr(self, name, value)  # the next access is fast
        return value


if TYPE_CHECKING:
    import asyncio
    import shutil
    import tomllib
    from importlib import metadata

    import filelock
    import platformdirs
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    asyncio = LazyModule("asyncio")
    filelock = LazyModule("filelock")
    metadata = LazyModule("importlib.metadata")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    platformdirs = LazyModule("platformdirs")
    pq = LazyModule("pyarrow.parquet")
    shutil = LazyModule("shutil")
    tomllib = LazyModule("tomllib")
