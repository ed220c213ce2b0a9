"""Writing of the tables and the figure of docs/league.md from records; other text stays unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

from heros.errors import HerosError
from heros_league.arena import NUMBERS, OTHERS, SMALL, WHOLE
from heros_league.claims import Claim, claims, claims_of_numbers, everybody_ran
from heros_league.entrants import OURS, REGRESSORS
from heros_league.picture import draw, draw_ranks, points
from heros_league.standing import Cell, Standing, higher_is_better
from heros_league.starts import LIMIT
from heros_paper.tables.layout import Entry, Footnotes, Table, decimal, signed

__all__ = ["filled", "write_page"]

BORROWED = "from the paper's records of the same run on another machine, so without CPU time and memory"
SEEDS = 3  # of HEROS
BEST_KNOWN = ("heros", "srp", "arf")
HOLDS = {True: "yes", False: "**no**", None: "not known yet"}


def write_page(directory: Path, page: Path, borrowed: Path | None = None) -> list[Path]:
    """Fill the marked places of the page from the records in a directory, and draw its figure."""
    standing = Standing.of(directory, borrowed=borrowed)
    small, others = Standing.of(directory, SMALL), Standing.of(directory, OTHERS)
    picture = page.parent / "figures" / "league.png"
    drawn = draw(standing, picture)
    parts = {
        "claims": _claims(claims(standing)),
        "picture": _caption(standing, drawn),
        "auroc": _table(standing, "auroc", "AUROC"),
        "ranks": _ranks(standing),
        "against": _against(standing),
        "cpu": _costs(standing),
        "accuracy": _table(standing, "accuracy", "Accuracy"),
        "whole": _table(Standing.of(directory, WHOLE), "auroc", "AUROC"),
        "others": _table(others, "auroc", "AUROC"),
        "others against": _against(others),
        "others cpu": _costs(others),
        "small": _small(small),
        "state": _state(standing),
    }
    numbers, pictures = _numbers(Standing.of(directory, NUMBERS, learners=REGRESSORS), page)
    page.write_text(filled(page.read_text(encoding="utf-8"), parts | numbers), encoding="utf-8")
    front = _front(page.parent.parent / "README.md", standing, drawn)
    return [page, *([picture] if drawn else []), *pictures, *front]


def _front(readme: Path, standing: Standing, drawn: Sequence[str]) -> list[Path]:
    """Update the figure and its caption in the README, if there is a figure."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not drawn or "<!-- league -->" not in text:
        return []
    rivals = [point.entrant for point in points(standing, drawn) if point.entrant not in OURS]
    labels = _listed([standing.learners[name].label for name in rivals])
    parts = {
        "league": f"![AUROC against CPU time: Heros() beside {labels}](docs/figures/league.png)\n\n"
        f"{_covered(standing, drawn, labels)}",
        "best known": _table(standing.only(BEST_KNOWN), "auroc", "AUROC"),
    }
    known = {name: part for name, part in parts.items() if f"<!-- {name} -->" in text}
    readme.write_text(filled(text, known), encoding="utf-8")
    return [readme]


def _covered(standing: Standing, drawn: Sequence[str], rivals: str) -> str:
    """Return a caption with the streams in the figure and a link to the page."""
    rest = "Who else, and what has not been run yet: [docs/league.md](docs/league.md)."
    if len(drawn) < len(standing.arenas):
        streams = _listed([standing.arenas[name].label for name in drawn])
        return (
            f"Means over {streams}: the streams on which {rivals} ran beside\n`Heros()`, by the same code on "
            f"one machine. {rest}"
        )
    if not everybody_ran(standing):
        return f"Means over {len(drawn)} streams, by the same code on one machine. {rest}"
    return (
        f"Means over {len(drawn)} streams, everybody on the same instances, by the same code\n"
        f"on one machine; a run that has taken {LIMIT / 60:.0f} minutes of CPU time ends there. Tables,\n"
        "ranks, memory and how it was measured: [docs/league.md](docs/league.md)."
    )


def _listed(names: Sequence[str]) -> str:
    """Return names joined for a sentence.

    Examples
    --------
    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _numbers(standing: Standing, page: Path) -> tuple[dict[str, str], list[Path]]:
    """Return the parts about regression, and the figures drawn."""
    picture = page.parent / "figures" / "league_regression.png"
    drawn = draw_ranks(standing, picture)
    shown = f"![Mean rank by RMSE against CPU time](figures/{picture.name})" if drawn else "No picture yet."
    parts = {
        "numbers": _claims(claims_of_numbers(standing)),
        "numbers picture": shown,
        "rmse": _units(standing, "rmse", "RMSE, in the unit of each target"),
        "mae": _units(standing, "mae", "MAE, in the unit of each target"),
        "r2": _units(standing, "r2", "R²"),
        "numbers against": _against(standing, "rmse", "RMSE lower by, in the mean", percent=True),
        "numbers cpu": _costs(standing, "rmse"),
        "numbers state": _state(standing),
    }
    return parts, [picture] if drawn else []


def filled(text: str, parts: dict[str, str]) -> str:
    """Return the text with each part inserted between its marks.

    Examples
    --------
    >>> print(filled("a <!-- ranks -->old<!-- /ranks --> b", {"ranks": "new"}))
    a <!-- ranks -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- /ranks --> b
    """
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin not in text or end not in text:
            raise HerosError(f"The page must have the marks {begin} and {end} for {name!r}.")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{part.strip()}\n\n{end}{rest.partition(end)[2]}"
    return text


def _claims(asked: Sequence[Claim]) -> str:
    rows = [[Entry(c.asked), Entry(c.found), Entry(HOLDS[c.holds])] for c in asked]
    return _plain(["asked of `Heros()`", "found", "holds"], rows)


def _caption(standing: Standing, drawn: Sequence[str]) -> str:
    if not drawn:
        return "No picture yet: no rival's CPU time has been measured."
    labels = [standing.arenas[name].label for name in drawn]
    which = f"all {len(drawn)} streams" if len(drawn) == len(standing.arenas) else ", ".join(labels)
    return f"![AUROC against CPU time](figures/league.png)\n\nOver {which}."


def _table(standing: Standing, figure: str, title: str) -> str:
    """Return a table with one row per learner, the best in bold, stopped and borrowed runs marked."""
    notes = Footnotes()
    best = {stream: _best(standing, stream, figure) for stream in standing.arenas}
    rows = []
    for name in _by_mean(standing, figure):
        cells = {stream: standing.cell(stream, name) for stream in standing.arenas}
        entries = [_entry(cell, figure, best[stream], notes) for stream, cell in cells.items()]
        known = [cell.mean(figure) for cell in cells.values() if cell]
        mean = decimal(fmean(known)) if len(known) == len(cells) else "–"
        rows.append([Entry(standing.learners[name].label), *entries, Entry(mean)])
    header = ["", *(arena.label for arena in standing.arenas.values()), "mean"]
    lines = [f"{title}; the best of each stream in bold.", *notes.lines()]
    return _plain(header, rows, lines)


def _units(standing: Standing, figure: str, title: str) -> str:
    """Return a table like `_table` for figures with different units per stream, with mean ranks."""
    notes = Footnotes()
    ranks = _mean_ranks(standing, figure)
    best = {stream: _best(standing, stream, figure) for stream in standing.arenas}
    rows = []
    for name in _by_mean(standing, figure):
        cells = {stream: standing.cell(stream, name) for stream in standing.arenas}
        entries = [_entry(cell, figure, best[stream], notes, _digits) for stream, cell in cells.items()]
        rank = f"{ranks[name]:.2f}" if name in ranks else "–"
        rows.append([Entry(standing.learners[name].label), *entries, Entry(rank)])
    header = ["", *(arena.label for arena in standing.arenas.values()), "mean rank"]
    lines = [f"{title}; the best of each stream in bold.", *notes.lines()]
    return _plain(header, rows, lines)


def _digits(value: float) -> str:
    """Return a number with four significant digits.

    Examples
    --------
    >>> _digits(0.012345), _digits(123.456), _digits(1e17)
    ('0.01235', '123.5', '1e+17')
    """
    return f"{value:.4g}"


def _mean_ranks(standing: Standing, figure: str) -> dict[str, float]:
    """Return the mean ranks of learners run on all streams; empty if HEROS has not been."""
    ranks = standing.ranks("heros", figure)
    return {} if ranks is None else dict(zip(ranks.names, ranks.mean_ranks.tolist(), strict=True))


def _entry(
    cell: Cell | None,
    figure: str,
    best: float,
    notes: Footnotes,
    text: Callable[[float], str] = decimal,
) -> Entry:
    if cell is None:
        return Entry("–")
    return Entry(text(cell.mean(figure)), cell.mean(figure) == best, notes.mark(_note(cell)))


def _note(cell: Cell) -> str:
    if cell.stopped:
        return f"stopped at the limit, after {cell.instances:,} instances: figures until there"
    if cell.borrowed:
        return BORROWED
    entrant, seeds = cell.runs[0]["settings"]["league"]["entrant"], len(cell.runs)
    return f"{seeds} of {SEEDS} seeds" if entrant in OURS and seeds < SEEDS else ""


def _costs(standing: Standing, figure: str = "auroc") -> str:
    """Return a table of the CPU time of each learner on each stream, and its peak memory."""
    notes = Footnotes()
    rows = []
    for name in _by_mean(standing, figure):
        cells = [standing.cell(stream, name) for stream in standing.arenas]
        entries = [_time(cell, notes) for cell in cells]
        times = [cell.microseconds for cell in cells if cell and cell.microseconds]
        sizes = [cell.megabytes for cell in cells if cell and cell.megabytes]
        middle = f"{median(times):,.0f}" if len(times) == len(cells) else "–"
        most = f"{max(sizes):,.0f}" if sizes else "–"
        rows.append([Entry(standing.learners[name].label), *entries, Entry(middle), Entry(most)])
    header = ["", *(arena.label for arena in standing.arenas.values()), "median", "MB"]
    lines = ["CPU µs per instance, and the most memory on any stream.", *notes.lines()]
    return _plain(header, rows, lines)


def _time(cell: Cell | None, notes: Footnotes) -> Entry:
    if cell is None or cell.microseconds is None:
        return Entry("–")
    return Entry(f"{cell.microseconds:,.0f}", mark=notes.mark(_note(cell)))


def _ranks(standing: Standing) -> str:
    """Return a table of the mean ranks of Heros() and the others; other HEROS settings replace Heros()."""
    rows = []
    for ours in OURS:
        ranks = standing.ranks(ours)
        if ranks is None:
            continue
        if ours == "heros":
            friedman = f"Friedman's test: p = {ranks.friedman:.1e}, over {ranks.n_rows} streams."
        pairs = sorted(zip(ranks.mean_ranks.tolist(), ranks.names, strict=True))
        rows += [
            [Entry(standing.learners[name].label), Entry(f"{rank:.2f}", bold=place == 0), Entry(where)]
            for place, (rank, name) in enumerate(pairs)
            if (where := "" if ours == "heros" else "in the place of `Heros()`") == "" or name == ours
        ]
    if not rows:
        return "No learner has been run on all streams yet."
    left = [standing.learners[name].label for name in standing.entrants() if not standing.complete(name)]
    notes = [friedman] if standing.ranks("heros") else []
    if left:
        notes.append(f"Not ranked, since not run on all streams yet: {', '.join(left)}.")
    return _plain(["", "mean rank by AUROC", ""], rows, notes)


def _against(
    standing: Standing,
    figure: str = "auroc",
    what: str = "mean difference in AUROC",
    percent: bool = False,
) -> str:
    rows = []
    for pair in standing.against("heros", figure):
        n = len(pair.streams)
        differences = [signed(pair.difference), decimal(pair.behind)]
        if percent:
            differences = [f"{100 * pair.difference:.1f} %", f"{100 * pair.behind:.1f} %"]
        figures = [f"{pair.ahead} of {n}", *differences, f"{pair.p_value:.3f}"]
        rows.append([Entry(standing.learners[pair.rival].label), *map(Entry, figures)])
    if not rows:
        return "Nothing to compare yet."
    header = ["`Heros()` against", "ahead on", what, "behind by at most", "p"]
    note = "p: Wilcoxon's signed-rank test, exact, adjusted with Holm over the rivals."
    return _plain(header, rows, [note])


def _small(standing: Standing) -> str:
    rows = []
    for name in standing.entrants():
        cells = [standing.cell(stream, name) for stream in standing.arenas]
        shown = [
            f"{100 * cell.mean('accuracy'):.2f} %, {cell.microseconds:,.0f} µs" if cell else "–"
            for cell in cells
        ]
        rows.append([Entry(standing.learners[name].label), *map(Entry, shown)])
    header = ["", *(arena.label for arena in standing.arenas.values())]
    return _plain(header, rows) if rows else "Not run yet."


def _state(standing: Standing) -> str:
    """Return a sentence on the number of completed runs and the load of the machine."""
    wanted = len(standing.learners) * len(standing.arenas)
    cells = list(standing.cells.values())
    loads = [cell.load for cell in cells if cell.load is not None]
    busy = f" Mean load of the machine during the runs: {fmean(loads):.1f}." if loads else ""
    stopped, borrowed = sum(cell.stopped for cell in cells), sum(cell.borrowed for cell in cells)
    return (
        f"{len(cells)} of {wanted} cells are filled: {len(cells) - borrowed} by the league's own runs "
        f"({stopped} stopped at the limit), {borrowed} from the paper's records.{busy}"
    )


def _by_mean(standing: Standing, figure: str) -> list[str]:
    """Return the learners: complete ones first, best first; for regression by mean rank."""
    ranks = _mean_ranks(standing, figure) if standing.arenas.keys() <= NUMBERS.keys() else {}

    def key(name: str) -> tuple[int, float]:
        cells = [cell for stream in standing.arenas if (cell := standing.cell(stream, name))]
        return -len(cells), ranks.get(name, -fmean(cell.mean(figure) for cell in cells))

    return sorted(standing.entrants(), key=key)


def _best(standing: Standing, stream: str, figure: str) -> float:
    cells = [cell for name in standing.entrants() if (cell := standing.cell(stream, name))]
    better = max if higher_is_better(figure) else min
    return better((cell.mean(figure) for cell in cells), default=1.0)


def _plain(header: Sequence[str], rows: Sequence[Sequence[Entry]], notes: Sequence[str] = ()) -> str:
    """Return a table in Markdown without a heading, which the page already has."""
    return Table("", "", header, [rows], notes, []).markdown().partition("\n\n")[2]
