"""A summary in words: the best group, its cost, and its saving compared with training every model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from heros.measures.base import Caption
from heros.run.report.groups import Group, trained_fully
from heros.run.report.leaders import LeadingTime, leading_models, titles_of
from heros.run.result import Run

CLOSE = 0.01  # a group whose value differs from the best by at most this share is nearly as good


def verdict(groups: Sequence[Group], measure: Caption | None) -> str:
    """Return a few sentences about the groups, which must be sorted best first."""
    best = groups[0]
    sentences = [_best(groups, measure), _cost(best)]
    if measure is not None:
        sentences += [_saved(best, groups), _cheapest_similar(groups, measure)]
    sentences.append(_best_model(best))
    return f'<p class="verdict">{" ".join(sentence for sentence in sentences if sentence)}</p>'


def _best(groups: Sequence[Group], measure: Caption | None) -> str:
    best = groups[0]
    name = f"<b>{escape(best.label)}</b>"
    over = f" over {len(best.runs)} seeds" if len(best.runs) > 1 else ""
    if measure is None:
        return f"{name}: no measure has a value."
    figure = f"{escape(measure.label)} <b>{escape(best.text(measure))}</b>{over}"
    if len(groups) == 1:
        return f"{name}: {figure}."
    return f"Best of {len(groups)}: {name}, {figure}."


def _cost(best: Group) -> str:
    spent = f"{best.cpu_seconds:,.3g} CPU seconds and {best.joules:,.3g} J"
    if best.trains_all:
        return f"It trained every model at every step and used {spent}."
    return f"It spent <b>{best.gamma_share:.0%}</b> of the cost of training every model, {spent} in total."


def _saved(best: Group, groups: Sequence[Group]) -> str:
    """Return a sentence on the saving of the best group, compared with the group that trained every model.

    If no group trained every model, the saving is computed from the measured costs of the models. The text
    is empty if the best group itself trained every model, or if the costs are not known.
    """
    full = trained_fully(groups)
    if best.trains_all:
        return ""
    if full is not None:
        return f"Compared with <b>{escape(full.label)}</b>, it used {_difference(best, full)}."
    if best.price is not None:
        saving = _saving(best.price.total, 1, "evaluation and training")
        return f"By measured costs, it needed {saving} than training every model at every step."
    return ""


def _cheapest_similar(groups: Sequence[Group], measure: Caption) -> str:
    """Return a sentence on the cheapest group nearly as good as the best; "" if the best is the cheapest."""
    best = groups[0]
    top = best.figure(measure)
    near = [group for group in groups if abs(group.figure(measure) - top) <= CLOSE * abs(top)]
    cheapest = min(near, key=_relative_cost, default=best)
    if not _relative_cost(cheapest) < _relative_cost(best):
        return ""
    return (
        f"The cheapest result within {CLOSE:.0%} of the best is <b>{escape(cheapest.label)}</b> "
        f"({escape(cheapest.text(measure))}), with {_difference(cheapest, best)} than the best."
    )


def _best_model(best: Group) -> str:
    run = best.runs[0]
    if not (leaders := leading_models(run)):
        return ""
    title, led = _last_best_model(run, leaders)
    several = f"{len(leaders)} models were the best at some point; the" if len(leaders) > 1 else "The"
    seed = f" (seed {escape(str(run.settings['seed']))})" if len(best.runs) > 1 else ""
    return f"{several} best model at the end{seed} is <b>{escape(title)}</b>, which {led}."


def _last_best_model(run: Run, leaders: Sequence[LeadingTime]) -> tuple[str, str]:
    """Return the best model at the end, and the share of the time in which it was the best, as text."""
    last = run.curves.scores[-1].argmax()
    share = next(leader.share for leader in leaders if leader.model == last)
    return titles_of(run.settings["models"])[last], f"led {share:.0%} of the time"


def _relative_cost(group: Group) -> float:
    """Return the cost of evaluation and training, or of training alone if evaluation costs are unknown."""
    return group.gamma_share if group.price is None else group.price.total


def _difference(group: Group, other: Group) -> str:
    training = _saving(group.gamma_share, other.gamma_share, "training")
    return f"{training} and {_saving(group.joules, other.joules, 'energy')}"


def _saving(spent: float, of: float, what: str) -> str:
    if not of > 0:
        return f"as much {what}"
    saved = 1 - spent / of
    return f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'} {what}"


def tiles(groups: Sequence[Group], measure: Caption | None) -> str:
    """Return the main results of the best group as tiles in large print."""
    best, full, run, shown = groups[0], trained_fully(groups), groups[0].runs[0], []
    if measure is not None:
        text, _, deviation = best.text(measure).partition(" ± ")
        over = f"± {deviation} over {len(best.runs)} seeds" if deviation else best.label
        shown.append((measure.label, text, over))
    against = "" if full is None or full is best else _saving(best.joules, full.joules, f"than {full.label}")
    carbon = run.energy.source if best.grams is None else f"{best.grams:.3g} g CO2e"
    micro = 1e6 * best.cpu_seconds / run.n_instances
    shown += [
        ("training spent", f"{best.gamma_share:.0%}", "of training every model"),
        ("energy", f"{best.joules:,.3g} J", against or carbon),
        ("CPU time", f"{best.cpu_seconds:,.3g} s", f"{micro:,.3g} µs per instance"),
    ]
    if leaders := leading_models(run):
        shown.append(("best model at the end", *_last_best_model(run, leaders)))
    boxes = "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b><em>{escape(note)}</em></div>'
        for name, value, note in shown
    )
    return f'<div class="tiles">{boxes}</div>'
