"""Settings described once: a name, a default, a rule and a line of documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from heros._base.parameters import Rule

__all__ = ["Setting", "documented"]

WIDTH = 96  # of the text in the documentation


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting from which its check, its error text and its documentation follow.

    Parameters
    ----------
    name, default, rule
        The name, the default, and what a value must be.
    text
        What the setting does, in a sentence or two.
    optional
        Whether a description leaves the setting out where it has its default.
    none
        What the compiled core takes for None.

    Examples
    --------
    >>> from heros._base.parameters import whole_number
    >>> trees = Setting("trees", 30, whole_number(1, 1000), "How many trees.")
    >>> trees.checked(0, "Forest")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'trees' parameter of Forest must be a whole number in [1, 1000].
    Got 0 instead.
    >>> print(trees.documentation)
    `trees` (30)
        How many trees. Must be a whole number in [1, 1000].
    """

    name: str
    default: Any
    rule: Rule
    text: str
    optional: bool = False
    none: Any = None

    def checked(self, value: Any, owner: str) -> Any:
        """Return the value in its own type, or raise a ParameterError with the rule."""
        return self.rule.check(value, self.name, owner)

    def leaves_out(self, value: Any) -> bool:
        """Whether a description leaves the setting out."""
        return self.optional and bool(value == self.default)

    @property
    def documentation(self) -> str:
        """The entry of the setting in the documentation of its owner."""
        text = f"{self.text} Must be {self.rule.brief}." if self.rule.brief else self.text
        lines = textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
        return "\n".join([f"`{self.name}` ({_as_written(self.default)})", *lines])


def documented(text: str | None, settings: Iterable[Setting]) -> str | None:
    """Return a docstring with the documentation of the settings in place of ``{settings}``."""
    head, mark, tail = (text or "").partition("{settings}")
    if not mark:
        return text
    indent = head[head.rfind("\n") + 1 :]
    entries = textwrap.indent("\n".join(setting.documentation for setting in settings), indent)
    return head + entries.removeprefix(indent) + tail


def _as_written(default: Any) -> str:
    """A default as a reader would write it: bytes in units."""
    if isinstance(default, int) and not isinstance(default, bool) and default >= 1 << 20:
        return f"{default >> 20} MiB"
    return f"{default:g}" if isinstance(default, float) else repr(default)
