"""Show the parameters of pool families on their API pages, taken from the families' tables of settings."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import griffe

__all__ = ["Settings"]


class Settings(griffe.Extension):
    """Takes the docstrings of classes that are completed from a table of settings."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Complete the docstring of a class."""
        if cls.docstring is not None and "{settings}" in cls.docstring.value:
            kind = getattr(importlib.import_module(cls.module.path), cls.name)
            cls.docstring.value = inspect.getdoc(kind) or ""
