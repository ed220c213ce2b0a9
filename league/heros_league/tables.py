"""The tables of the league in Markdown, from records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

from heros_league.arena import NUMBERS
from heros_league.rivals import BOOSTERS
from heros_league.standing import Cell, Standing, higher_is_better
from heros_league.starts import seeds_of
from heros_paper.tables.layout import Entry, Footnotes, Table, decimal

__all__ = ["accuracy", "by_mean", "costs", "figures", "mean_ranks", "plain", "small", "units"]

BORROWED = "from the paper's records of the same run"
CERTAIN = "predicts only 0 or 1, never a probability in between, which lowers AUROC"
CERTAIN_LEARNERS = ("blast", "no_change")
HINDSIGHT = "best retrained booster in hindsight"


def _hindsight_label(standing: Standing) -> str:
    """Return the name of the row with the best retrained booster of each stream, chosen in hindsight."""
    whole = all(standing.complete(name) for name in BOOSTERS if name in standing.learners)
    return HINDSIGHT if whole else f"{HINDSIGHT}, of those that were run"


def figures(standing: Standing, figure: str, title: str, *, brief: bool = False) -> str:
    """Return a table with one row per learner, the best in bold.

    Parameters
    ----------
    standing
        The results.
    figure, title
        The figure, and its name in the note below the table.
    brief
        Whether to omit from the notes the number of instances after which a run was stopped.
    """
    notes = Footnotes()
    best = {stream: _best(standing, stream, figure) for stream in standing.arenas}
    rows = []
    for name in by_mean(standing, figure):
        cells = {stream: standing.cell(stream, name) for stream in standing.arenas}
        entries = [_entry(cell, figure, best[stream], notes, brief=brief) for stream, cell in cells.items()]
        known = [cell.mean(figure) for cell in cells.values() if cell]
        mean = decimal(fmean(known)) if len(known) == len(cells) else "–"
        mark = notes.mark(CERTAIN) if figure == "auroc" and name in CERTAIN_LEARNERS else ""
        rows.append([Entry(standing.learners[name].label, mark=mark), *entries, Entry(mean)])
    rows += _hindsight(standing, figure)
    header = ["", *(arena.label for arena in standing.arenas.values()), "mean"]
    missing = " –: not run." if any(entry.text == "–" for row in rows for entry in row) else ""
    lines = [f"{title}; the best of each stream in bold.{missing}", *notes.lines()]
    return plain(header, rows, lines) if rows else "Not run yet."


def _hindsight(standing: Standing, figure: str) -> list[list[Entry]]:
    """Return the row of the best retrained booster of each stream, or no row without boosters."""
    names = [name for name in BOOSTERS if name in standing.learners]
    values = [standing.best_of(names, stream, figure) for stream in standing.arenas]
    known = [value for value in values if value is not None]
    if not known:
        return []
    mean = decimal(fmean(known)) if len(known) == len(values) else "–"
    entries = [Entry("–" if value is None else decimal(value)) for value in values]
    return [[Entry(_hindsight_label(standing)), *entries, Entry(mean)]]


def accuracy(standing: Standing, *, brief: bool = False) -> str:
    """Return a table of accuracy with κ-temporal beside it."""
    notes = Footnotes()
    best = {stream: _best(standing, stream, "accuracy") for stream in standing.arenas}
    rows = []
    for name in by_mean(standing, "accuracy"):
        entries = []
        for stream in standing.arenas:
            cell, kappa = standing.cell(stream, name), standing.kappa_temporal(stream, name)
            entry = _entry(cell, "accuracy", best[stream], notes, brief=brief)
            beside = "" if kappa is None else f" ({_two_digits(kappa)})"
            entries.append(Entry(entry.text + beside, entry.bold, entry.mark))
        rows.append([Entry(standing.learners[name].label), *entries])
    header = ["", *(arena.label for arena in standing.arenas.values())]
    text = (
        "Accuracy, with κ-temporal in brackets: 0 is the accuracy of repeating the last label, 1 is perfect. "
        "The best of each stream in bold."
    )
    return plain(header, rows, [text, *notes.lines()]) if rows else "Not run yet."


def _two_digits(value: float) -> str:
    """Return a number with two decimals and without a leading zero.

    Examples
    --------
    >>> _two_digits(0.256), _two_digits(-0.5), _two_digits(-3.217)
    ('.26', '−.50', '−3.22')
    """
    text = f"{value:.2f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def small(standing: Standing) -> str:
    """Return a table of accuracy, with the standard deviation over the seeds."""
    rows = []
    for name in by_mean(standing, "accuracy"):
        cells = [standing.cell(stream, name) for stream in standing.arenas]
        rows.append([Entry(standing.learners[name].label), *(Entry(_with_spread(cell)) for cell in cells)])
    header = ["", *(arena.label for arena in standing.arenas.values())]
    text = "Accuracy in %, mean ± standard deviation over the seeds; without ± a single seed."
    return plain(header, rows, [text]) if rows else "Not run yet."


def _with_spread(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    spread = cell.spread("accuracy")
    return f"{100 * cell.mean('accuracy'):.2f}" + ("" if spread is None else f" ± {100 * spread:.2f}")


def units(standing: Standing, figure: str, title: str) -> str:
    """Return a table like `figures` for figures with different units per stream, with mean ranks."""
    notes = Footnotes()
    ranks = mean_ranks(standing, figure)
    best = {stream: _best(standing, stream, figure) for stream in standing.arenas}
    rows = []
    for name in by_mean(standing, figure):
        cells = {stream: standing.cell(stream, name) for stream in standing.arenas}
        entries = [_entry(cell, figure, best[stream], notes, _digits) for stream, cell in cells.items()]
        rank = f"{ranks[name]:.2f}" if name in ranks else "–"
        rows.append([Entry(standing.learners[name].label), *entries, Entry(rank)])
    header = ["", *(arena.label for arena in standing.arenas.values()), "mean rank"]
    lines = [f"{title}; the best of each stream in bold.", *notes.lines()]
    return plain(header, rows, lines)


def _digits(value: float) -> str:
    """Return a number with four significant digits.

    Examples
    --------
    >>> _digits(0.012345), _digits(123.456), _digits(1e17)
    ('0.01235', '123.5', '1e+17')
    """
    return f"{value:.4g}"


def mean_ranks(standing: Standing, figure: str) -> dict[str, float]:
    """Return the mean ranks of learners run on all streams; empty if HEROS has not been."""
    ranks = standing.ranks("heros", figure)
    return {} if ranks is None else dict(zip(ranks.names, ranks.mean_ranks.tolist(), strict=True))


def _entry(
    cell: Cell | None,
    figure: str,
    best: float,
    notes: Footnotes,
    text: Callable[[float], str] = decimal,
    *,
    brief: bool = False,
) -> Entry:
    if cell is None:
        return Entry("–")
    return Entry(text(cell.mean(figure)), cell.mean(figure) == best, notes.mark(_note(cell, brief)))


def _note(cell: Cell, brief: bool = False) -> str:
    if cell.stopped:
        after = "" if brief else f", after {cell.instances:,} instances"
        return f"stopped at the limit of CPU time{after}: figures up to that point"
    if cell.borrowed:
        return BORROWED
    run = cell.everywhere[0]
    wanted = len(seeds_of(run["settings"]["league"]["entrant"], run["stream"]["name"]))
    seeds = len(cell.everywhere)
    return "" if brief or seeds >= wanted else f"{seeds} of {wanted} seeds"


def costs(standing: Standing, figure: str = "auroc") -> str:
    """Return a table of the CPU time of each learner on each stream, and its peak memory."""
    notes = Footnotes()
    rows = []
    for name in by_mean(standing, figure):
        cells = [standing.cell(stream, name) for stream in standing.arenas]
        entries = [_time(cell, notes) for cell in cells]
        times = [cell.microseconds for cell in cells if cell and cell.microseconds]
        sizes = [cell.megabytes for cell in cells if cell and cell.megabytes]
        middle = f"{median(times):,.0f}" if len(times) == len(cells) else "–"
        most = f"{max(sizes):,.0f}" if sizes else "–"
        rows.append([Entry(standing.learners[name].label), *entries, Entry(middle), Entry(most)])
    header = ["", *(arena.label for arena in standing.arenas.values()), "median", "MB"]
    lines = ["CPU µs per instance, and the highest peak memory on any stream in MB.", *notes.lines()]
    return plain(header, rows, lines) if rows else "Not run yet."


def _time(cell: Cell | None, notes: Footnotes) -> Entry:
    if cell is None or cell.microseconds is None:
        return Entry("–")
    return Entry(f"{cell.microseconds:,.0f}", mark=notes.mark(_note(cell)))


def by_mean(standing: Standing, figure: str) -> list[str]:
    """Return the learners: those with most streams first, then the best; for regression by mean rank."""
    ranks = mean_ranks(standing, figure) if standing.arenas.keys() <= NUMBERS.keys() else {}

    def key(name: str) -> tuple[int, float]:
        cells = [cell for stream in standing.arenas if (cell := standing.cell(stream, name))]
        return -len(cells), ranks.get(name, -fmean(cell.mean(figure) for cell in cells))

    return sorted(standing.entrants(), key=key)


def _best(standing: Standing, stream: str, figure: str) -> float:
    cells = [cell for name in standing.entrants() if (cell := standing.cell(stream, name))]
    better = max if higher_is_better(figure) else min
    return better((cell.mean(figure) for cell in cells), default=1.0)


def plain(header: Sequence[str], rows: Sequence[Sequence[Entry]], notes: Sequence[str] = ()) -> str:
    """Return a table in Markdown without a heading, which the page already has."""
    return Table("", "", header, [rows], notes, []).markdown().partition("\n\n")[2]
