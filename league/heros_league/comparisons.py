"""Comparisons of `Heros()` with the other learners in Markdown, from records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from statistics import fmean, median

from heros_league.entrants import OURS
from heros_league.rivals import BOOSTERS
from heros_league.standing import Standing, higher_is_better
from heros_league.tables import mean_ranks, plain
from heros_paper.tables.layout import Entry, decimal, signed

__all__ = ["against", "places", "ranks", "ratios", "state", "summary"]

SHOWN = 0.0001  # the smallest difference that four decimals show


def summary(groups: Mapping[str, Standing], ours: str = "heros") -> str:
    """Return a table with one row per group of streams, and the streams on which `Heros()` is not first."""
    rows, behind = [], []
    for label, standing in groups.items():
        rivals = {stream: _rivals(standing, stream) for stream in standing.arenas}
        leads, boosted = {}, []
        for stream, values in rivals.items():
            mine = standing.cell(stream, ours)
            if mine and values:
                leads[stream] = mine.mean("auroc") - max(values.values())
            if mine and (best := standing.best_of(BOOSTERS, stream, "auroc")):
                boosted.append(mine.mean("auroc") - best)
        counts = sorted({len(values) for values in rivals.values()})
        run = "–".join(str(count) for count in {counts[0]: 0, counts[-1]: 0})
        shown = [run, _count(leads.values()), _count(boosted), *_means(standing, ours)]
        rows.append([Entry(label), *map(Entry, shown)])
        for stream in (stream for stream, lead in leads.items() if lead <= 0):
            first = max(rivals[stream], key=rivals[stream].__getitem__)
            name = f"{standing.arenas[stream].label} ({label})"
            gap = decimal(-leads[stream]) if leads[stream] <= -SHOWN else f"less than {decimal(SHOWN)}"
            behind.append(f"{name} by {gap} behind {standing.learners[first].label}")
    header = [
        "streams",
        "rivals run",
        "ahead of every rival",
        "ahead of the best retrained booster run, in hindsight",
        "mean AUROC",
        "best rival by mean AUROC",
    ]
    note = (
        f"Behind a rival in AUROC: {'; '.join(behind)}." if behind else "Ahead of every rival that was run."
    )
    return plain(header, rows, [note])


def _rivals(standing: Standing, stream: str) -> dict[str, float]:
    """Return the AUROC of the learners of other libraries that were run on a stream."""
    names = [name for name in standing.entrants() if name not in OURS]
    return {name: cell.mean("auroc") for name in names if (cell := standing.cell(stream, name))}


def _count(leads: Collection[float]) -> str:
    """Return on how many streams a lead is above 0."""
    return f"{sum(lead > 0 for lead in leads)} of {len(leads)}" if leads else "–"


def _means(standing: Standing, ours: str) -> list[str]:
    """Return the mean AUROC of `Heros()`, and the name and mean of the best rival with complete runs."""
    if not standing.complete(ours):
        return ["–", "–"]
    names = [name for name in standing.entrants() if name not in OURS and standing.complete(name)]
    means = {n: fmean(standing.cells[s, n].mean("auroc") for s in standing.arenas) for n in [ours, *names]}
    mine = means.pop(ours)
    best = max(means, key=means.__getitem__, default=None)
    rival = "–" if best is None else f"{standing.learners[best].label}: {decimal(means[best])}"
    return [decimal(mine), rival]


def places(standing: Standing, figure: str = "rmse") -> str:
    """Return a table of mean ranks, and of how many streams `Heros()` is ahead on."""
    ahead = {pair.rival: pair for pair in standing.against("heros", figure)}
    rows = []
    for name, rank in sorted(mean_ranks(standing, figure).items(), key=lambda pair: pair[1]):
        pair = ahead.get(name)
        shown = ["", ""]
        if pair is not None:
            shown = [f"{pair.ahead} of {len(pair.streams)}", f"{100 * pair.behind:.1f} %"]
        rows.append([Entry(standing.learners[name].label), Entry(f"{rank:.2f}"), *map(Entry, shown)])
    if not rows:
        return "No learner has been run on all streams yet."
    firsts = {stream: _first(standing, stream, figure) for stream in standing.arenas}
    others = {stream: name for stream, name in firsts.items() if name != "heros"}
    lost = [f"{standing.arenas[s].label} ({standing.learners[name].label})" for s, name in others.items()]
    header = ["", "mean rank by RMSE", "`Heros()` is ahead on", "behind by at most"]
    first = f"`Heros()` is first on {len(firsts) - len(lost)} of {len(firsts)} streams"
    return plain(header, rows, [f"{first}{'; another learner leads on ' if lost else ''}{', '.join(lost)}."])


def _first(standing: Standing, stream: str, figure: str) -> str:
    """Return the learner with the best figure on a stream."""
    figures = {
        name: cell.mean(figure) for name in standing.entrants() if (cell := standing.cell(stream, name))
    }
    return (max if higher_is_better(figure) else min)(figures, key=figures.__getitem__)


def ratios(standing: Standing, names: Iterable[str]) -> str:
    """Return a table of the CPU time of learners over that of `Heros()`, on the streams that both ran."""
    rows = []
    for name in names:
        pairs = {}
        for stream in standing.arenas:
            mine, theirs = standing.cell(stream, "heros"), standing.cell(stream, name)
            if mine and theirs and mine.microseconds and theirs.microseconds:
                pairs[stream] = (mine.microseconds, theirs.microseconds)
        if pairs:
            over = {stream: theirs / mine for stream, (mine, theirs) in pairs.items()}
            low, high = min(over, key=over.__getitem__), max(over, key=over.__getitem__)
            middle = [f"{median(column):,.0f}" for column in zip(*pairs.values(), strict=True)]
            shown = [
                f"{median(over.values()):.1f}",
                *(f"{over[s]:.1f} ({standing.arenas[s].label})" for s in (low, high)),
            ]
            rows.append(
                [Entry(standing.learners[name].label), *map(Entry, [*middle[::-1], *shown, str(len(over))])]
            )
    header = ["", "µs", "`Heros()`, µs", "ratio, median", "lowest", "highest", "streams"]
    return (
        plain(header, rows, ["CPU µs per instance, medians over the streams that both ran."])
        if rows
        else "Not run yet."
    )


def ranks(standing: Standing) -> str:
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
    incomplete = [
        standing.learners[name].label for name in standing.entrants() if not standing.complete(name)
    ]
    notes = [friedman] if standing.ranks("heros") else []
    if incomplete:
        notes.append(f"Not ranked, since not run on all streams yet: {', '.join(incomplete)}.")
    return plain(["", "mean rank by AUROC", ""], rows, notes)


def against(
    standing: Standing,
    figure: str = "auroc",
    what: str = "mean difference in AUROC",
    percent: bool = False,
) -> str:
    """Return a table that compares `Heros()` with each rival on the streams that both ran."""
    rows = []
    for pair in standing.against("heros", figure):
        n = len(pair.streams)
        differences = [signed(pair.difference), decimal(pair.behind)]
        if percent:
            differences = [f"{100 * pair.difference:.1f} %", f"{100 * pair.behind:.1f} %"]
        shown = [f"{pair.ahead} of {n}", *differences, f"{pair.p_value:.3f}"]
        rows.append([Entry(standing.learners[pair.rival].label), *map(Entry, shown)])
    if not rows:
        return "Nothing to compare yet."
    header = ["`Heros()` against", "ahead on", what, "behind by at most", "p"]
    note = "p: Wilcoxon's signed-rank test, exact, adjusted with Holm over the rivals."
    return plain(header, rows, [note])


def state(standing: Standing) -> str:
    """Return a sentence on the number of completed runs and the load of the machine."""
    expected = len(standing.learners) * len(standing.arenas)
    cells = list(standing.cells.values())
    loads = [cell.load for cell in cells if cell.load is not None]
    busy = f" Mean load of the machine during the runs: {fmean(loads):.1f}." if loads else ""
    stopped, borrowed = sum(cell.stopped for cell in cells), sum(cell.borrowed for cell in cells)
    return (
        f"{len(cells)} of {expected} cells are filled: {len(cells) - borrowed} by the league's own runs "
        f"({stopped} stopped at the limit), {borrowed} from the paper's records.{busy}"
    )
