"""A description of how the stream of a run was read: target, ignored columns, words for missing values."""

from __future__ import annotations

from html import escape

from heros.run.result import Run

USUAL = "empty values and the usual words, such as 'NA'"
SHOWN = 20  # maximum number of columns or words listed


def target_words(run: Run) -> str:
    """Return a sentence with the name of the target column as HTML; empty if the target has no name."""
    if run.reading is None or run.reading.target is None:
        return ""
    kind = f"{len(run.classes)} classes" if run.classes else "a number"
    return f"Target: <b>{escape(run.reading.target)}</b> ({kind}). "


def reading_rows(run: Run) -> dict[str, str]:
    """Return how the stream was read, by the name of the setting; empty if the record does not say it."""
    reading = run.reading
    if reading is None:
        return {}
    return {
        "target": "without a name" if reading.target is None else f"the column {reading.target!r}",
        "columns left out": _listed(reading.ignored) or "none",
        "read as missing": f"{USUAL}; also {_listed(reading.words)}" if reading.words else USUAL,
    }


def _listed(names: tuple[str, ...]) -> str:
    """Return names separated by commas, and the number of further names."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
