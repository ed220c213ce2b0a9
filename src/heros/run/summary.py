"""Text summaries of a run: a few lines, a table of measures and costs, and measures of the rarest class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heros._base.tables import Table, distinguishing_settings, settings_text
from heros.ensemble.budget import SpendingLimit
from heros.measures import Confusion, average_precision_per_class
from heros.measures.base import Caption, macro
from heros.run.predictions import Predictions

if TYPE_CHECKING:
    from heros.run.result import Run

NO_CHANGE = "no change detected (the error never rose)"
LATEST = 5  # maximum number of changes in a table row
SHOWN = 5  # maximum number of measures in a line
EVEN = 0.4  # classes are imbalanced if the rarest class has less than this fraction of an equal share


def lines(run: Run) -> list[str]:
    """Return lines on performance, cost, the best model and, for imbalanced classes, the rarest class."""
    early = "ended early: too many bad rows" if run.too_many_bad_rows else "ended early"
    ended = f" ({early})" if run.interrupted else ""
    figures = "  ".join(f"{one.label} {_figure(run, one)}" for one in run.measures[:SHOWN])
    spent = f"{run.cpu_seconds:.2f} CPU s, {run.energy.joules:,.1f} J"
    return [
        f"{run.stream}: {run.n_instances:,} instances{ended}",
        figures,
        *([] if run.imbalance is None else [str(run.imbalance)]),
        f"training: {run.gamma_share:.1%} of the cost of training every model; {spent}",
        *(f"changes: {text}" for text in changes_row(run).values()),
        f"best model at the end: {_name_of_champion(run)}",
        *(f"budget: {text}" for text in budget_row(run).values()),
        *run.bad_rows.text().splitlines(),
    ]


def _name_of_champion(run: Run) -> str:
    """Return the settings that distinguish the best model, or all of its settings if none differs."""
    models, best = run.settings["models"], run.curves.scores[-1].argmax()
    return settings_text(distinguishing_settings(models)[0][best] or models[best])


def cost_table(run: Run, title: str | None = None) -> Table:
    """Return a table of all measures and costs of a run."""
    rate = run.n_instances / run.energy.wall_seconds
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in run.cpu.items())
    spent = f"{run.gamma_share:.1%} of all training steps, weighted by their cost γ"
    energy, carbon, kg = run.energy, run.energy.carbon, run.energy.co2e_kg
    rows = {
        "instances": f"{run.n_instances:,} ({rate:,.0f} per second)",
        **_figures(run),
        **({} if run.imbalance is None else {"uneven": str(run.imbalance)}),
        "training": f"{spent} (Σγ {run.gamma_spent:,.0f})",
        **_price(run),
        **budget_row(run),
        **changes_row(run),
        "best model": _name_of_champion(run),
        "CPU seconds": f"{run.cpu_seconds:.2f}: {phases}",
        "energy": f"{energy.joules:,.1f} J = {energy.kwh:.3g} kWh{', ' * bool(energy.basis)}{energy.basis}",
        "": f"{energy.source}: {energy.detail}",
        "CO2e": "not stated (--carbon-intensity or --country)",
    }
    if carbon is not None and kg is not None:
        rows["CO2e"] = f"{kg * 1000:.3g} g at {carbon.grams_per_kwh:g} g/kWh ({carbon.source})"
    return Table(rows=rows.items(), align="lw", title=run.stream if title is None else title)


def budget_row(run: Run) -> dict[str, str]:
    """Return a row with the budget and how much of it was used; empty if the run had no budget."""
    dial = run.settings.get("dial")
    if dial is None:
        return {}
    models, share_awake = len(run.settings["models"]), "no model trained"
    if dial["awake"] is not None:
        some_sleep = " (a sleeping model is neither evaluated nor trained)" * (dial["awake"] < models)
        share_awake = f"{dial['awake']:.1f} of {models} models awake on average{some_sleep}"
    floor = f"; the cheapest model alone needs {dial['floor']}" if dial["floor"] else ""
    per = "during training" if SpendingLimit.of(dial["asked"]).kind == "power" else "per instance"
    used = f"{dial['used']} used {per} (without reading rows and computing metrics)"
    return {"budget": f"limit {dial['asked']}, {used}, {share_awake}{floor}"}


def changes_row(run: Run) -> dict[str, str]:
    """Return a row with the detected changes; empty if change detection was off."""
    if not run.searched:
        return {}
    rose = [f"{change.at:,}" for change in run.changes if change.kind == "error"]
    falls = sum(change.kind == "model" for change in run.changes)
    more = f" and {len(rose) - LATEST} earlier" if len(rose) > LATEST else ""
    where = "instance" if len(rose) == 1 else "instances"
    text = f"the error rose at {where} {', '.join(rose[-LATEST:])}{more}" if rose else "the error never rose"
    times = "once" if falls == 1 else f"{falls:,} times"
    single = f"; the score of a single model fell {times}" if falls else ""
    return {"changes": f"{text}{single}" if run.changes else NO_CHANGE}


def _price(run: Run) -> dict[str, str]:
    """Return a row with the cost of evaluation and training; empty if the cost is not known."""
    if run.price is None:
        return {}
    evaluated = f"each model was evaluated on {run.evaluated.mean() / run.n_instances:.1%} of the instances"
    cost = f"evaluation {run.price.looking:.1%} + training {run.price.training:.1%} = {run.price.total:.1%}"
    return {"cost": f"{cost} of the cost of evaluating and training every model, as measured ({evaluated})"}


def _figures(run: Run) -> dict[str, str]:
    """Return one row for the first measure, and rows of three measures for the others."""
    figures = [(one.label, _figure(run, one)) for one in run.measures]
    rows = [figures[:1], *(figures[start : start + 3] for start in range(1, len(figures), 3))]
    return {row[0][0]: "   ".join([row[0][1], *map(" ".join, row[1:])]) for row in rows if row}


def _figure(run: Run, measure: Caption) -> str:
    text = measure.text(run.figures[measure.name])
    return f"{text} ({measure.note})" if measure.note else text


@dataclass(frozen=True, slots=True)
class Imbalance:
    """The measures of a run whose rarest class is much rarer than the others.

    Examples
    --------
    >>> confusion = Confusion(np.array([[90, 5], [2, 3]]))
    >>> print(imbalance_of(confusion, ("no", "yes")))
    rarest class 'yes' (5.0%): recall 0.6000  balanced accuracy 0.7737  F1 0.7121
    """

    rarest: str
    share: float  # share of the instances that belong to the rarest class
    recall: float  # recall of the rarest class
    precision: float  # precision of the rarest class
    balanced_accuracy: float
    f1: float  # mean F1 over the classes
    pr_auc: float | None  # PR-AUC of the rarest class; None if the predictions are not known

    def __str__(self) -> str:
        ranked = "" if self.pr_auc is None else f"  PR-AUC {self.pr_auc:.4f}"
        return (
            f"rarest class {self.rarest!r} ({self.share:.1%}): recall {self.recall:.4f}{ranked}  "
            f"balanced accuracy {self.balanced_accuracy:.4f}  F1 {self.f1:.4f}"
        )


def imbalance_of(
    confusion: Confusion | None,
    classes: tuple[str, ...] = (),
    predictions: Predictions | None = None,
    *,
    even: float = EVEN,
) -> Imbalance | None:
    """Return the measures of an imbalanced run, or None if the classes are not imbalanced.

    Classes are imbalanced if the share of the rarest class is less than `even` divided by the number of
    classes.
    """
    counts = np.zeros(0) if confusion is None else confusion.counts.sum(axis=1)
    present = np.flatnonzero(counts)
    if confusion is None or len(present) < 2:
        return None
    rarest = int(present[counts[present].argmin()])
    share = float(counts[rarest] / counts.sum())
    if share >= even / len(present):
        return None
    ranked = None
    if predictions is not None:
        ranked = float(average_precision_per_class(predictions.targets, predictions.outputs)[rarest])
    name = classes[rarest] if rarest < len(classes) else str(rarest)
    recall, precision = float(confusion.recall[rarest]), float(np.nan_to_num(confusion.precision[rarest]))
    return Imbalance(name, share, recall, precision, macro(confusion.recall), macro(confusion.f1), ranked)
