"""Number formats: decimal commas, thousands separators, currency and percent signs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from heros.data.values import NUMBER

__all__ = ["FORMATS", "NumberFormat", "format_of", "has_decimal_commas", "is_clear", "parsed_number"]

CURRENCY = "[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD"
BLANK = " \u00a0\u2009\u202f"
LONGEST = 1000  # maximum number of characters of a number; matching text of several MB would take seconds


@dataclass(frozen=True)
class NumberFormat:
    """A number format other than the default (``1234.5``).

    Examples
    --------
    >>> english, german = NumberFormat(".", ","), NumberFormat(",", ".")
    >>> english.number("$1,234.50"), german.number("1.234,50 €"), english.number("(12%)")
    (1234.5, 1234.5, -12.0)
    >>> english.number("0,567"), german.number("0,567"), german.number("a")
    (None, 0.567, None)
    """

    decimal: str  # decimal mark
    groups: str  # thousands separators

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        point, group = re.escape(self.decimal), f"[{re.escape(self.groups)}]"
        decimals, exponent = rf"(?:{point}\d*+)?", r"(?:[eE][+-]?\d++)?"  # possessive, like NUMBER
        body = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+{decimals}|\d++{decimals}|{point}\d++){exponent}"
        unit, blanks = rf"(?:{CURRENCY})", f"[{BLANK}]*+"
        return re.compile(
            rf"(?P<open>\()?{blanks}(?P<minus>[-+−])?{blanks}{unit}?{blanks}(?P<sign>[-+−])?"
            rf"(?P<body>{body}){blanks}(?:%|{unit})?{blanks}(?P<close>\))?"
        )

    def number(self, text: str) -> float | None:
        """Parse a string as a number; return None if it is too long or not a number in this format."""
        if len(text) > LONGEST:
            return None
        found = self._pattern.fullmatch(text)
        if found is None or bool(found["open"]) != bool(found["close"]) or (found["minus"] and found["sign"]):
            return None
        digits = found["body"].translate({ord(character): None for character in self.groups})
        value = float(digits.replace(self.decimal, "."))
        down = found["open"] or (found["minus"] or found["sign"] or "+") != "+"
        return -value if down else value

    @property
    def written(self) -> str:
        """The format as the schema stores it."""
        return self.decimal + self.groups

    @classmethod
    def of(cls, written: str) -> NumberFormat | None:
        """Return the format stored in a feature, or None for the default format."""
        return next((form for form in FORMATS if form.written == written), None)

    def __str__(self) -> str:
        return "decimal commas" if self.decimal == "," else "thousands, currency or percent signs"


APART = BLANK + "'’_"
FORMATS = (NumberFormat(".", ","), NumberFormat(".", APART), NumberFormat(",", "."), NumberFormat(",", APART))


def format_of(
    counts: Mapping[str, int], *, comma: Callable[[], bool] | bool = False
) -> tuple[NumberFormat | None, int]:
    """Return the most frequent format (None: the default format) and the number of matching values.

    If `comma` is True, a comma is more likely a decimal mark than a thousands separator. If `comma` is a
    function, it is called only for values that are valid in both formats.

    Examples
    --------
    >>> format_of({"1.5": 3, "2": 1})
    (None, 4)
    >>> format_of({"1,234": 2, "17": 1})[0].decimal, format_of({"1,234": 2}, comma=True)[0].decimal
    ('.', ',')
    >>> format_of({"1,234": 2, "17": 1}, comma=True)[0].decimal  # "17" has no decimals
    '.'
    """
    plain = sum(count for value, count in counts.items() if NUMBER.fullmatch(value))
    if plain == sum(counts.values()):
        return None, plain
    matched = [
        sum(count for value, count in counts.items() if form.number(value) is not None) for form in FORMATS
    ]
    most = max(matched)
    if most <= plain:
        return None, plain
    best = [form for form, n in zip(FORMATS, matched, strict=True) if n == most]
    if len({form.decimal for form in best}) > 1 and not _has_thousands(counts):
        mark = "," if (comma() if callable(comma) else comma) else "."
        best.sort(key=lambda form: form.decimal != mark)
    return best[0], most


def has_decimal_commas(columns: Iterable[Mapping[str, int]], *, usual: bool = False) -> bool:
    """Return whether the columns of a table suggest that ``1,234`` has a decimal comma.

    If all unambiguous columns have the same decimal mark, ambiguous numbers have this mark, too. Otherwise
    the result is `usual`, which is true if the file's delimiter suggests decimal commas. Numbers in the
    default format (``12.5``) are considered only if `usual` is true, because programs often write numbers
    in this format.

    Examples
    --------
    >>> amounts, shares, weights = {"€1,234.50": 1}, {"0%": 1, "20%": 1}, {"7,5": 2}
    >>> has_decimal_commas([amounts, shares], usual=True), has_decimal_commas([shares], usual=True)
    (False, True)
    >>> has_decimal_commas([weights, shares]), has_decimal_commas([weights, shares, {"12.5": 1}])
    (True, True)
    """
    marks = {_decimal_mark(counts, plain=usual) for counts in columns}
    return usual if (marks >= {".", ","}) or not (marks & {".", ","}) else "," in marks


def _decimal_mark(counts: Mapping[str, int], *, plain: bool) -> str:
    """Return the decimal mark of a column, or "" if unclear. `plain`: use numbers like ``12.5``, too."""
    first = dict(islice(counts.items(), 100))
    if 2 * format_of(first)[1] < sum(first.values()):
        return ""
    marked = (text for text in islice(counts, 1000) if "." in text or "," in text)
    return next(filter(None, (_mark(text) for text in marked if plain or not NUMBER.fullmatch(text))), "")


def is_clear(text: str) -> bool:
    """Return whether a string shows which character is the decimal mark."""
    return not text.isdecimal() and _mark(text) != ""


def _mark(text: str) -> str:
    """Return the decimal mark of a number; "" if the string is not a number or both marks are possible."""
    marks = {form.decimal for form in FORMATS if form.number(text) is not None}
    return marks.pop() if len(marks) == 1 else ""


def parsed_number(text: str, own: NumberFormat | None = None) -> float | None:
    """Parse a trimmed string as a number; return None if it is not a number or is ambiguous.

    `own` is the format of the column. A string that does not match this format is a number only if all other
    matching formats give the same number.

    Examples
    --------
    >>> parsed_number("€12.50"), parsed_number("1.200,50 €"), parsed_number("12 %"), parsed_number("true")
    (12.5, 1200.5, 12.0, 1.0)
    >>> parsed_number("1,234") is None  # 1234 or 1.234?
    True
    """
    if own is not None and (number := own.number(text)) is not None:
        return number
    if NUMBER.fullmatch(text):
        return float(text)
    if len(text) > LONGEST:
        return None
    found = {number for form in FORMATS if (number := form.number(text)) is not None}
    if len(found) == 1:
        return found.pop()
    return {"true": 1.0, "false": 0.0}.get(text.lower())


def _has_thousands(counts: Iterable[str]) -> bool:
    """Return whether commas look like thousands separators.

    Each comma must stand before three digits. In addition, some numbers must have no comma, unless each
    number with a comma also has a $ or £ sign.
    """
    bodies = [(value, found[0]) for value in counts if (found := re.search(r"\d[\d.,]*", value))]
    commas = [(value, body) for value, body in bodies if "," in body]
    if not commas or not all(re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", body) for _, body in commas):
        return False
    return len(commas) < len(bodies) or all(re.search("[$£]", value) for value, _ in commas)
