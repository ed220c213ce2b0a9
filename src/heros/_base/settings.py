"""Settings of a class: name, default, validation rule and documentation in one place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from heros._base.parameters import Rule

KEYS = "One mapping per model; omitted settings have their defaults. The keys are"
WIDTH = 96  # characters per line of the documentation


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting with its validation rule, error message and documentation.

    Examples
    --------
    >>> from heros._base.parameters import whole_number
    >>> trees = Setting("trees", 30, whole_number(1, 1000), "The number of trees.")
    >>> trees.checked(0, "Forest")
    Traceback (most recent call last):
        ...
    heros.ParameterError: The 'trees' parameter of Forest must be a whole number in [1, 1000].
    Got 0 instead.
    >>> print(trees.documentation)
    `trees` (30)
        The number of trees. Must be a whole number in [1, 1000].
    """

    name: str
    default: Any
    rule: Rule
    text: str  # a description in one or two sentences
    optional: bool = False  # whether a description omits the setting when its value is the default
    none: Any = None  # the value that stands for None in the compiled core

    def checked(self, value: Any, owner: str) -> Any:
        """Convert a value to the type of the setting; raise a ParameterError if the value is invalid."""
        return self.rule.check(value, self.name, owner)

    def omits(self, value: Any) -> bool:
        """Return whether the description of a part omits the setting if the setting has this value."""
        return self.optional and bool(value == self.default)

    @property
    def documentation(self) -> str:
        """The entry of the setting in the docstring of its class."""
        text = f"{self.text} Must be {self.rule.brief}." if self.rule.brief else self.text
        lines = textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
        return "\n".join([f"`{self.name}` ({_as_written(self.default)})", *lines])


def documented(text: str | None, settings: Iterable[Setting]) -> str | None:
    """Replace ``{settings}`` in a docstring by an entry for `configurations` that describes each setting."""
    head, mark, tail = (text or "").partition("{settings}")
    if not mark:
        return text
    indent = head[head.rfind("\n") + 1 :]
    entries = textwrap.indent("\n".join(setting.documentation for setting in settings), indent + "    ")
    return f"{head}configurations\n{indent}    {KEYS}\n\n{entries}{tail}"


def _as_written(default: Any) -> str:
    """Format a default value; large numbers of bytes are given in MiB."""
    if isinstance(default, int) and not isinstance(default, bool) and default >= 1 << 20:
        return f"{default >> 20} MiB"
    return f"{default:g}" if isinstance(default, float) else repr(default)
