"""The compiled core (`native/`); no other module imports it directly.

Tools that check imports read Python files only. They mistake ``from heros import _core`` for an import of
the whole package, but can follow an import of this module.
"""

from heros._core import *  # noqa: F403
