"""Checks of the values of a column: targets that are not classes, and names that are nearly the same."""

from __future__ import annotations

from collections.abc import Mapping

from heros.data.check import MANY
from heros.data.number_format import format_of, number_in
from heros.data.values import NUMBER

__all__ = ["FEW_NUMBERS", "MOST_WORDS", "not_classes", "not_numbers", "similar"]

FEW_NUMBERS = 20
"""Up to this many distinct numbers may be classes even if some have decimals."""

MOST_WORDS = 5
"""The maximum number of words or groups of names that a message lists."""


def not_classes(counts: Mapping[str, int]) -> str:
    """Return what a target holds instead of classes; an empty string if it may hold classes.

    Examples
    --------
    >>> not_classes({f"{i / 8}": 1 for i in range(90)}), not_classes({"0": 50, "1": 30})
    ('90 different numbers in 90 rows', '')
    >>> not_classes({f"note {i}": 1 for i in range(90)})
    '90 different values in 90 rows'
    """
    distinct, total = len(counts), sum(counts.values())
    many = distinct > FEW_NUMBERS and 2 * distinct > total
    if (many or distinct > MANY) and all(NUMBER.fullmatch(value) for value in counts):
        return f"{distinct:,} different numbers in {total:,} rows"
    wrong = many or (distinct > MANY and not_numbers(counts))
    return f"{distinct:,} different values in {total:,} rows" if wrong else ""


def not_numbers(counts: Mapping[str, int]) -> list[str]:
    """Return the values that are not numbers if at least nine in ten rows have numbers, else nothing."""
    form, matched = format_of(counts)
    if 10 * matched < 9 * sum(counts.values()):
        return []
    return [value for value in counts if number_in(value, form) is None]


def similar(counts: Mapping[str, int]) -> str:
    """Return which names differ only in case or in the punctuation around them; "" if there are none.

    Examples
    --------
    >>> similar({"kept": 5, "Kept": 1, "lost": 2})
    "names that differ only in case ('kept', 'Kept')"
    >>> similar({"<=50K": 2, "<=50K.": 1, ">50K": 2}), similar({"A": 1, "A+": 1, "1": 1, "1.": 1})
    ("names that differ only in case or punctuation ('<=50K', '<=50K.')", '')
    """
    groups: dict[str, list[str]] = {}
    for name in counts:
        if any(map(str.isalpha, name)):
            core = name.casefold().strip(" .,;:!'\"`")  # unlike the signs of ">50K" or "A+"
            groups.setdefault(core, []).append(name)
    found = [names for names in groups.values() if len(names) > 1]
    if not found:
        return ""
    case = all(len({name.casefold() for name in names}) == 1 for names in found)
    shown = "; ".join(", ".join(map(repr, names[:MOST_WORDS])) for names in found[:MOST_WORDS])
    more = f"; and {len(found) - MOST_WORDS} more" if len(found) > MOST_WORDS else ""
    return f"names that differ only in case{'' if case else ' or punctuation'} ({shown}{more})"
