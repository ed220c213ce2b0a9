"""The compiled core (`native/`), for the rest of HEROS: the one module that imports it.

Tools that follow imports see Python files only, and take ``from heros import _core`` for an import of HEROS
as a whole; this one they see.
"""

from heros._core import *  # noqa: F403
