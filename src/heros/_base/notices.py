"""Warnings that show the line of the user's program that called HEROS."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

INSIDE = (os.path.dirname(os.path.dirname(__file__)) + os.sep, contextlib.__file__, "<string>")
"""Prefixes of file names that are not the user's code; dataclasses run generated code from "<string>"."""


def notice(text: str, category: type[Warning]) -> None:
    """Issue a warning that shows the line of the user's program that called HEROS."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
