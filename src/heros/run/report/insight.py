"""The changes of a stream, the importance of its columns for the predictions, and how the stream was read."""

from __future__ import annotations

from html import escape

import numpy as np

from heros.run.report.charts import columns_for, heat_map
from heros.run.report.html import bar, card, row, table
from heros.run.result import Run

MOST = 20  # maximum number of changes listed
SHOWN = 20  # maximum number of columns in the charts, and of columns or words listed
USUAL = "empty values and the usual words, such as 'NA'"


def change_list(run: Run) -> str:
    """Return a list of the latest detected changes, oldest first; empty if change detection was off."""
    if not run.searched:
        return ""
    if not run.changes:
        note = "The ensemble's error never rose by more than random variation explains."
        return card("Detected changes", "<p>No change detected.</p>", note, whole=True)
    items = "".join(f"<li>{escape(str(change))}</li>" for change in run.changes[-MOST:])
    more = len(run.changes) - MOST
    note = f"The latest {MOST} of {len(run.changes)} changes." if more > 0 else ""
    return card("Detected changes", f'<ul class="changes">{items}</ul>', note, whole=True)


def importance_charts(run: Run, label: str) -> str:
    """Return the importance of the columns: bars for the end of the run, and a heat map over time.

    If the model was not explainable, return a sentence that explains how to measure importance.
    """
    importance = run.importance
    if importance is None:
        setting = "<code>heros run --explainable</code> or <code>Heros(explainable=True)</code>"
        return f'<p class="card whole">Feature importance was not measured; to measure it, use {setting}.</p>'
    if not np.isfinite(importance.values).any():
        return ""
    shares = importance.shares()
    names = list(shares)[:SHOWN]
    largest = max(shares.values()) or 1.0
    values = dict(zip(importance.columns, np.nan_to_num(importance.values), strict=True))
    bars_of = {name: bar(shares[name] / largest, f"{shares[name]:.1%}") for name in names}
    rows = [row((escape(name), f"{values[name]:.4g}", bars_of[name])) for name in names]
    note = (
        "Importance: mean squared change of the prediction if the value of the column is replaced by the "
        "value of another recent instance, at the end of the run. Share: importance divided by the sum over "
        "all columns."
    )
    note += f" Columns shown: {len(names)} of {len(importance.columns)}." if len(names) < len(shares) else ""
    bars = card(f"Feature importance: {escape(label)}", table(("column", "importance", "share"), rows), note)
    if len(importance.end) < 2:
        return bars
    known = np.nan_to_num(importance.history)
    share = known / np.maximum(known.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    last = len(share) - 1  # this row is measured like the bars, and shown in a separate column
    parts = [*np.array_split(np.arange(last), columns_for(len(names), last)), np.array([last])]
    order = [importance.columns.index(name) for name in reversed(names)]
    merged = np.array([share[part].mean(axis=0) for part in parts]).T[order]
    title = f"Feature importance over time: {label}"
    note = (
        "The stronger the colour, the larger the share of the column. The last cell of a row is the share in "
        "the table, from about 4,000 predictions. Earlier cells are running means of at most eight "
        "predictions per column: a single cell is uncertain, and changes appear with a delay."
    )
    ends = np.array([importance.end[part[-1]] for part in parts])
    chart = heat_map(title, merged, ends, run.drifts, list(reversed(names)), "", note)
    return bars + chart


def target_words(run: Run) -> str:
    """Return a sentence with the name of the target column as HTML; empty if the target has no name."""
    if run.reading is None or run.reading.target is None:
        return ""
    kind = f"{len(run.classes)} classes" if run.classes else "a number"
    return f"Target: <b>{escape(run.reading.target)}</b> ({kind}). "


def reading_rows(run: Run) -> dict[str, str]:
    """Describe how the stream was read, one row per setting; empty if the record lacks this information."""
    reading = run.reading
    if reading is None:
        return {}
    return {
        "target": "without a name" if reading.target is None else f"the column {reading.target!r}",
        "columns left out": _listed(reading.ignored) or "none",
        "read as missing": f"{USUAL}; also {_listed(reading.words)}" if reading.words else USUAL,
    }


def _listed(names: tuple[str, ...]) -> str:
    """Return the first `SHOWN` names, separated by commas, and the number of further names."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
