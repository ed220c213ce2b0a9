"""Integer codes for the names of nominal values and classes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from heros._base.parameters import whole
from heros.data.values import BOOLEANS

WHOLE = re.compile(r"[+-]?\d+(\.0)?")

__all__ = ["MOST_VALUES", "Codes", "checked_most_values", "many_values"]

MOST_VALUES = 256
"""The default maximum number of model inputs for a nominal feature."""


class Codes(dict[str, int]):
    """A dictionary from the names of nominal values or classes to 0-based codes.

    ``true``, ``True`` and ``TRUE`` are the same name, which keeps its first spelling.

    `most` is the maximum number of codes. The first three quarters of the codes are assigned to names in
    order of appearance. A hash maps each later name to a code in the last quarter. If hardly any name occurs
    twice, for example in a column of identifiers, all later names share a single code.

    The dictionary holds only names that do not share a code. `shared` is the number of shared codes. Their
    labels in `labels` are ``#1 of 64`` and so on. A feature of a schema stores `labels` and `shared`. The
    code of a new name therefore depends only on the schema.

    Examples
    --------
    >>> codes = Codes(["blue", "red"])
    >>> codes.add("green"), codes.add("red"), list(codes)
    (2, 1, ['blue', 'red', 'green'])
    >>> few = Codes(["a", "b", "c"], most=4)
    >>> few.add("d"), few.add("e"), few.labels, few.shared
    (3, 3, ('a', 'b', 'c', '#1 of 1'), 1)
    >>> Codes(["false", "true"]).code("True")
    1
    """

    def __init__(self, names: Iterable[str] = (), most: int | None = None, shared: int = 0) -> None:
        super().__init__()
        self.most = most
        for name in list(names)[: -shared or None]:
            self.setdefault(name, len(self))
        self.shared = shared
        """The number of codes that new names share. It is 0 while each name has its own code."""
        self.closed = False
        """Whether all names are known. If True, a number with ``.0`` and one without are the same name."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All names, followed by one distinct label per shared code."""
        shared = [f"#{place} of {self.shared}" for place in range(1, self.shared + 1)]
        while not self.keys().isdisjoint(shared):
            shared = [f"{label}'" for label in shared]
        return (*self, *shared)

    @property
    def own(self) -> int | None:
        """The maximum number of names that do not share a code; None for no limit."""
        return None if self.most is None else max(1, self.most - max(1, self.most // 4))

    def code(self, name: str) -> int | None:
        """Return the code of a name, or None if the name is new."""
        code = self.get(name)
        if code is None and name.lower() in BOOLEANS:
            other = next((name_found for name_found in self if name_found.lower() == name.lower()), None)
            code = None if other is None else self[other]
        if code is None and self.closed and WHOLE.fullmatch(name):
            code = self.get(name.removesuffix(".0") if name.endswith(".0") else f"{name}.0")
        if code is None and self.shared:
            code = len(self) + zlib.crc32(name.encode("utf-8", "surrogatepass")) % self.shared
        return code

    def of_number(self, name: str) -> str:
        """Return the known name of a number, which may differ from the given text in a trailing ``.0``.

        Examples
        --------
        >>> Codes(["0.0", "1.0"]).of_number("1"), Codes(["0", "1"]).of_number("1")
        ('1.0', '1')
        """
        return f"{name}.0" if name not in self and f"{name}.0" in self else name

    def add(self, name: str, seen: int | None = None) -> int:
        """Return the code of a name. Append a new name if the maximum number of names is not yet reached.

        `seen` is the number of earlier values in the column. If `seen` is less than twice the number of
        names when this maximum is reached, the names are treated as identifiers.
        """
        code = self.code(name)
        if code is None and self.own is not None and len(self) >= self.own:
            self.share(identifiers=seen is not None and seen < 2 * len(self))
            code = self.code(name)
        return self.setdefault(name, len(self)) if code is None else code

    def share(self, *, identifiers: bool = False) -> None:
        """Give new names no codes of their own from now on; they share a limited number of codes."""
        self.shared = 1 if identifiers or self.most is None else max(1, self.most // 4)


def many_values(name: str, codes: Codes) -> str:
    """Return a notice that a nominal feature has more values than the models have inputs for it."""
    inputs = f"{len(codes)} values have one input each, and all other values share the remaining"
    way = "(most_values= sets the number of inputs)"
    return f"The column {name!r} has very many values: {inputs} {codes.shared} {way}."


def checked_most_values(most: int | None, owner: str = "HEROS") -> int | None:
    """Validate `most_values`, the maximum number of model inputs per nominal feature; None for no limit."""
    return None if most is None else whole(most, "most_values", owner, 2)
