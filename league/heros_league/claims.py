"""Claims about `Heros()`, and whether the records support them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from heros_league.entrants import OURS
from heros_league.rivals import BOOSTERS
from heros_league.standing import Standing

__all__ = ["Claim", "all_ran", "claims", "claims_of_numbers"]

AHEAD, BEHIND = 8, 0.002  # least streams with a lead; largest gap to the best competitor
EACH, MEDIAN = 10, 20  # times cheaper than SRP on every stream, and in the median
MEGABYTES = 100


@dataclass(frozen=True)
class Claim:
    """A claim, and what the records show."""

    asked: str
    found: str
    holds: bool | None  # None: not decided yet


def claims(standing: Standing, ours: str = "heros", timed: Standing | None = None) -> list[Claim]:
    """Return the claims about a HEROS setting, judged by the runs so far.

    A claim fails as soon as a record contradicts it. It holds only when all learners have been run on every
    stream. CPU times come from `timed`, whose runs were made on one machine; by default from `standing`.

    Examples
    --------
    >>> claims(Standing({}, {}))[0].found
    'not run'
    """
    cost = _cost(standing if timed is None else timed, ours)
    return [
        _first(standing, ours),
        *_auroc(standing, ours),
        _boosted(standing, ours),
        *cost,
        _memory(standing, ours),
    ]


def claims_of_numbers(standing: Standing, ours: str = "heros", timed: Standing | None = None) -> list[Claim]:
    """Return the claims for regression; CPU times come from `timed`, by default from `standing`.

    Examples
    --------
    >>> [claim.found for claim in claims_of_numbers(Standing({}, {}))]
    ['not run', 'not run', 'not run']
    """
    figures = {"rmse": "RMSE", "mae": "MAE"}
    ranked = [_first(standing, ours, name, f"first by mean rank of {text}") for name, text in figures.items()]
    return [*ranked, _cheaper(standing if timed is None else timed, ours)]


def _first(standing: Standing, ours: str, figure: str = "auroc", claim: str = "first by mean rank") -> Claim:
    ranks = standing.ranks(ours, figure)
    if ranks is None:
        return Claim(claim, "not run", None)
    by_rank = sorted(zip(ranks.mean_ranks.tolist(), ranks.names, strict=True))
    mine = dict(zip(ranks.names, ranks.mean_ranks.tolist(), strict=True))[ours]
    place = sum(rank < mine for rank, _ in by_rank) + 1
    next_to, best = next((rank, name) for rank, name in by_rank if name != ours)
    rival = f"the best rival, {standing.learners[best].label}: {next_to:.2f}"
    found = f"{place} of {len(by_rank)}: {mine:.2f}; {rival}"
    return Claim(claim, found, place == 1 if all_ran(standing, ours) else None)


def _auroc(standing: Standing, ours: str) -> list[Claim]:
    """Return the claims on AUROC against the best competitor of each stream."""
    leads = {}
    for stream in standing.arenas:
        mine = standing.cell(stream, ours)
        rivals = [cell for name in _rivals(standing) if (cell := standing.cell(stream, name))]
        if mine and rivals:
            leads[stream] = mine.mean("auroc") - max(cell.mean("auroc") for cell in rivals)
    claim = f"ahead of every rival in AUROC on at least {AHEAD} of {len(standing.arenas)} streams"
    nowhere = f"nowhere more than {BEHIND:.3f} behind the best one".replace("0.", ".")
    if not leads:
        return [Claim(claim, "not run", None), Claim(nowhere, "not run", None)]
    ahead = sum(lead > 0 for lead in leads.values())
    worst = min(leads, key=lambda stream: leads[stream])
    text = f"{'+' if leads[worst] > 0 else '−'}{abs(leads[worst]):.4f}".replace("0.", ".", 1)
    whole = all_ran(standing, ours)
    lost = sum(lead <= 0 for lead in leads.values()) > len(standing.arenas) - AHEAD
    return [
        Claim(claim, f"{ahead} of {len(leads)}", False if lost else True if whole else None),
        Claim(nowhere, f"{text} on {worst}", _judged(leads[worst] >= -BEHIND, whole)),
    ]


def _boosted(standing: Standing, ours: str) -> Claim:
    """Return the claim on AUROC against the best retrained booster of each stream, chosen in hindsight."""
    claim = "ahead of the best retrained booster in hindsight on every stream"
    leads = {}
    for stream in standing.arenas:
        mine, best = standing.cell(stream, ours), standing.best_of(BOOSTERS, stream, "auroc")
        if mine and best is not None:
            leads[stream] = mine.mean("auroc") - best
    if not leads:
        return Claim(claim, "not run", None)
    ahead = sum(lead > 0 for lead in leads.values())
    whole = all(standing.complete(name) for name in (ours, *BOOSTERS))
    return Claim(claim, f"{ahead} of {len(leads)}", _judged(ahead == len(leads), whole))


def _cost(standing: Standing, ours: str) -> list[Claim]:
    times = {}
    for stream in standing.arenas:
        mine, srp = standing.cell(stream, ours), standing.cell(stream, "srp")
        if mine and srp and mine.microseconds and srp.microseconds:
            times[stream] = srp.microseconds / mine.microseconds
    each = f"at most 1/{EACH} of SRP's CPU time on every stream"
    middle = f"at most 1/{MEDIAN} in the median"
    if not times:
        return [Claim(each, "not run", None), Claim(middle, "not run", None)]
    worst = min(times, key=lambda stream: times[stream])
    of = f"{len(times)} streams" if len(times) > 1 else "one stream"
    whole, middling = len(times) == len(standing.arenas), median(times.values())
    return [
        Claim(each, f"1/{times[worst]:.1f} on {worst}, of {of}", _judged(times[worst] >= EACH, whole)),
        Claim(middle, f"1/{middling:.1f} over {of}", middling >= MEDIAN if whole else None),
    ]


def _cheaper(standing: Standing, ours: str) -> Claim:
    """Return the claim on CPU time against the best competitor by RMSE among those timed on this machine."""
    claim = f"at most 1/{EACH} of the CPU time of the best rival by RMSE on every stream"
    ranks = standing.ranks(ours, "rmse")
    if ranks is None:
        return Claim(claim, "not run", None)
    rivals = zip(ranks.mean_ranks.tolist(), ranks.names, strict=True)
    _, best = min((rank, name) for rank, name in rivals if name != ours)
    times = {stream: _ratio(standing, stream, best, ours) for stream in standing.arenas}
    worst = min(times, key=lambda stream: times[stream])
    found = (
        f"1/{median(times.values()):.1f} of {standing.learners[best].label}'s in the median, "
        f"1/{times[worst]:.1f} on {standing.arenas[worst].label}"
    )
    return Claim(claim, found, times[worst] >= EACH)


def _ratio(standing: Standing, stream: str, rival: str, ours: str) -> float:
    other, heros = (standing.cells[stream, name].microseconds for name in (rival, ours))
    return other / heros if other and heros else float("nan")


def _memory(standing: Standing, ours: str) -> Claim:
    claim = f"peak memory under {MEGABYTES} MB over the interpreter's"
    cells = {stream: standing.cell(stream, ours) for stream in standing.arenas}
    sizes = {stream: cell.megabytes for stream, cell in cells.items() if cell and cell.megabytes}
    if not sizes:
        return Claim(claim, "not run", None)
    worst = max(sizes, key=lambda stream: sizes[stream])
    whole = len(sizes) == len(standing.arenas)
    of = "" if whole else f", of {len(sizes)} streams"
    return Claim(claim, f"{sizes[worst]:.0f} MB on {worst}{of}", _judged(sizes[worst] < MEGABYTES, whole))


def _judged(so_far: bool, whole: bool) -> bool | None:
    """Return whether a claim about every stream holds; None while it holds but runs are missing."""
    return (True if whole else None) if so_far else False


def all_ran(standing: Standing, ours: str = "heros") -> bool:
    """Return whether this HEROS setting and all competitors have been run on every stream."""
    return all(standing.complete(name) for name in (ours, *(set(standing.learners) - set(OURS))))


def _rivals(standing: Standing) -> list[str]:
    return [name for name in standing.entrants() if name not in OURS]
