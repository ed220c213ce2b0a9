"""Writing of the tables and figures of the league's two pages from records; other text stays unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from heros import HerosError
from heros_league.arena import ARENA, DELAYS, FURTHER, NUMBERS, OTHERS, SMALL, TABLES, WHOLE, Arena
from heros_league.claims import Claim, claims, claims_of_numbers
from heros_league.comparisons import against, places, ranks, ratios, state, summary
from heros_league.entrants import ENTRANTS, OURS, REGRESSORS, Entrant
from heros_league.picture import draw, draw_ranks, points
from heros_league.standing import Standing
from heros_league.starts import LIMIT
from heros_league.tables import accuracy, costs, figures, plain, small, units
from heros_paper.tables.layout import Entry

__all__ = ["DETAILS", "filled", "write_page"]

DETAILS = "league_details.md"
BEST_KNOWN = ("heros", "srp", "arf")
HOLDS = {True: "yes", False: "**no**", None: "not known yet"}


class Editions(NamedTuple):
    """The results on some streams: of both editions, and of each alone, with the times of one machine."""

    all: Standing
    second: Standing
    first: Standing


def write_page(
    directory: Path, page: Path, borrowed: Path | None = None, earlier: Path | None = None
) -> list[Path]:
    """Fill the marked places of both pages from records, and draw the figures.

    Parameters
    ----------
    directory
        The records of this edition.
    page
        The page with the results; the details are in `league_details.md` beside it.
    borrowed
        The paper's records, for runs of ARF, SRP and Shrubs that the league has not made.
    earlier
        The records of the first edition, on another machine. CPU times of the two are never in one table.
    """

    def editions(arenas: Mapping[str, Arena], learners: Mapping[str, Entrant] = ENTRANTS) -> Editions:
        old = directory if earlier is None else earlier
        return Editions(
            Standing.of(directory, arenas, borrowed, learners, earlier),
            Standing.of(directory, arenas, learners=learners),
            Standing.of(old, arenas, learners=learners).where_run(),
        )

    streams, tables, further = (editions(arenas) for arenas in (ARENA, TABLES, FURTHER))
    others, little, numbers = editions(OTHERS), editions(SMALL), editions(NUMBERS, REGRESSORS)
    drawn = draw(streams.first, page.parent / "figures" / "league.png")
    ranked = draw_ranks(numbers.first, page.parent / "figures" / "league_regression.png")
    results = {
        "summary": summary(
            {
                "the paper's eleven": streams.all,
                "ten tables in random order": tables.all,
                "flights and deep random trees": further.all,
                "eight set aside": others.all,
            }
        ),
        "auroc": figures(streams.all, "auroc", "AUROC", brief=True),
        "accuracy": accuracy(streams.all, brief=True),
        "tables": figures(tables.all, "auroc", "AUROC", brief=True),
        "further": figures(further.all, "auroc", "AUROC", brief=True),
        "picture": _caption(streams.first, drawn),
        "first cpu": ratios(streams.first, _rivals(streams.first)),
        "second cpu": ratios(streams.second, _rivals(streams.second)),
        "numbers": places(numbers.all),
    }
    details = {
        "state": state(streams.all),
        "claims": _claims(claims(streams.all, timed=streams.first)),
        "ranks": ranks(streams.all),
        "against": against(streams.all),
        "auroc in full": figures(streams.all, "auroc", "AUROC"),
        "cpu": costs(streams.first),
        "cpu here": costs(streams.second),
        "tables in full": figures(tables.all, "auroc", "AUROC"),
        "tables accuracy": accuracy(tables.all),
        "tables cpu": costs(tables.second),
        "further accuracy": accuracy(further.all),
        "further cpu": costs(further.second),
        "whole": figures(Standing.of(directory, WHOLE, earlier=earlier), "auroc", "AUROC"),
        "others": figures(others.all, "auroc", "AUROC"),
        "others against": against(others.all),
        "others cpu": costs(others.first),
        "small": small(little.all),
        "small cpu": costs(little.first, "accuracy"),
        "delays": _delays(editions(DELAYS, REGRESSORS).all),
        **_numbers(numbers),
    }
    written = [_fill(page, results), _fill(page.with_name(DETAILS), details)]
    front = _front(page.parent.parent / "README.md", streams, drawn)
    shown = {"league.png": bool(drawn), "league_regression.png": ranked}
    return [*written, *(page.parent / "figures" / name for name, there in shown.items() if there), *front]


def _fill(page: Path, parts: dict[str, str]) -> Path:
    page.write_text(filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")
    return page


def _rivals(standing: Standing) -> list[str]:
    return [name for name in standing.entrants() if name not in OURS]


def _numbers(numbers: Editions) -> dict[str, str]:
    """Return the parts about regression."""
    return {
        "numbers state": state(numbers.all),
        "numbers claims": _claims(claims_of_numbers(numbers.all, timed=numbers.first)),
        "rmse": units(numbers.all, "rmse", "RMSE, in the unit of each target"),
        "mae": units(numbers.all, "mae", "MAE, in the unit of each target"),
        "r2": units(numbers.all, "r2", "R²"),
        "numbers against": against(numbers.all, "rmse", "RMSE lower by, in the mean", percent=True),
        "numbers cpu": costs(numbers.first, "rmse"),
        "numbers cpu here": costs(numbers.second, "rmse"),
    }


def _delays(standing: Standing) -> str:
    """Return a table of the errors on the flights' delays, the best learner first."""
    cells = {name: cell for name in standing.entrants() if (cell := standing.cell("minutes", name))}
    rows = [
        [Entry(standing.learners[name].label), *(Entry(f"{cell.mean(f):.2f}") for f in ("rmse", "mae", "r2"))]
        for name, cell in sorted(cells.items(), key=lambda pair: pair[1].mean("rmse"))
    ]
    return plain(["", "RMSE, minutes", "MAE, minutes", "R²"], rows) if rows else "Not run yet."


def _front(readme: Path, streams: Editions, drawn: Sequence[str]) -> list[Path]:
    """Update the figure, its caption and the table in the README, if there is a figure."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not drawn or "<!-- league -->" not in text:
        return []
    shown = points(streams.first, drawn)
    labels = _listed([streams.first.learners[p.entrant].label for p in shown if p.entrant not in OURS])
    parts = {
        "league": f"![AUROC against CPU time: Heros() beside {labels}](docs/figures/league.png)\n\n"
        f"{_covered(streams, drawn)}",
        "best known": figures(streams.all.only(BEST_KNOWN), "auroc", "AUROC", brief=True),
    }
    known = {name: part for name, part in parts.items() if f"<!-- {name} -->" in text}
    readme.write_text(filled(text, known), encoding="utf-8")
    return [readme]


def _covered(streams: Editions, drawn: Sequence[str]) -> str:
    """Return a caption with the streams, machine, seeds and models of the figure, and a link to the page."""
    standing = streams.first
    cells = {key: cell for key, cell in standing.cells.items() if key[0] in drawn}
    over = f"{len(drawn)} streams"
    if len(drawn) < len(standing.arenas):
        over = _listed([standing.arenas[name].label for name in drawn])
    length = _span(cell.instances for cell in cells.values() if not cell.stopped)
    machine = "ARM" if any(cell.arm for cell in cells.values()) else "x86-64"
    ours, others = (
        _span(cell.seeds for (_, name), cell in cells.items() if name in learners)
        for learners in (["heros"], _rivals(standing))
    )
    sentences = [
        f"Means over {over} of {length} instances, the same instances and the same code for all learners,",
        f"on one {machine} machine. Number of seeds: {ours} for `Heros()`, {others} for the other learners.",
        _former(streams, drawn),
        f"Runs are stopped after {LIMIT / 60:.0f} minutes of CPU time. Tables and method: "
        "[docs/league.md](docs/league.md).",
    ]
    return "\n".join(filter(None, sentences))


def _former(streams: Editions, drawn: Sequence[str]) -> str:
    """Return a sentence if `Heros()` had another number of models in the figure than it has today."""
    earlier, now = (
        [cell for s in drawn if (cell := standing.cell(s, "heros"))]
        for standing in (streams.first, streams.second)
    )
    if not earlier or len(now) < len(drawn) or earlier[0].models == now[0].models:
        return ""
    aurocs = (f"{fmean(cell.mean('auroc') for cell in cells):.4f}".lstrip("0") for cells in (earlier, now))
    return (
        "The picture shows an earlier default of `Heros()`: {} models, mean AUROC {}.\n"
        "The default in the tables has {} models and a mean AUROC of {}; it was not timed on this machine."
    ).format(
        *(part for pair in zip((earlier[0].models, now[0].models), aurocs, strict=True) for part in pair)
    )


def _span(numbers: Iterable[int]) -> str:
    """Return the range of some numbers as text.

    Examples
    --------
    >>> _span([1, 1]), _span([5418, 100_000])
    ('1', '5,418 to 100,000')
    """
    found = sorted(numbers)
    return f"{found[0]:,} to {found[-1]:,}" if found[0] < found[-1] else f"{found[0]:,}"


def _listed(names: Sequence[str]) -> str:
    """Return names joined for a sentence.

    Examples
    --------
    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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


def _claims(claims: Sequence[Claim]) -> str:
    rows = [[Entry(c.asked), Entry(c.found), Entry(HOLDS[c.holds])] for c in claims]
    return plain(["asked of `Heros()`", "found", "holds"], rows)


def _caption(standing: Standing, drawn: Sequence[str]) -> str:
    if not drawn:
        return "No picture yet: no rival's CPU time has been measured."
    labels = [standing.arenas[name].label for name in drawn]
    which = f"all {len(drawn)} streams" if len(drawn) == len(standing.arenas) else ", ".join(labels)
    return f"![AUROC against CPU time](figures/league.png)\n\nOver {which}."
