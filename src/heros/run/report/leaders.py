"""The models of a run: their names, the best model over time, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import shorten
from typing import Any

import numpy as np

from heros._base.tables import distinguishing_settings, settings_text
from heros.run.report.charts import columns_for, heat_map, timeline_chart
from heros.run.report.html import bar, card, row, table
from heros.run.result import Run

COLOURS = 8
SHOWN = 10  # number of models in the table; the map shows all models
LONGEST = 48  # maximum number of letters of a name in a chart
SHADES = (
    "The stronger the colour, the larger the share of the instances on which the model was trained. "
    "The cheapest model is at the bottom."
)
ALWAYS = '<p class="card whole">Every model was trained at every step, so there is no map of training.</p>'


@dataclass(frozen=True)
class LeadingTime:
    """The share of the instances at which a model had the highest score L.

    `first` and `last` are the first and the last of these instances.
    """

    model: int
    share: float
    first: int
    last: int


def names_of(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return names for the models of a pool: the settings in which they differ.

    Examples
    --------
    >>> names_of([{"optimizer": "adam", "hidden": 8}, {"optimizer": "adam", "hidden": 16}])
    ['8 units', '16 units']
    >>> names_of([{"optimizer": "sgd", "hidden": 8}, {"optimizer": "adam", "hidden": 16}])
    ['SGD, 8 units', 'Adam, 16 units']
    """
    return [title.replace("learning rate", "rate") for title in titles_of(models)]


def labels_of(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return short names for the rows of a map: the fewest settings that distinguish the models.

    Examples
    --------
    >>> labels_of([{"optimizer": "sgd", "hidden": 8}, {"optimizer": "adam", "hidden": 16}])
    ['SGD', 'Adam']
    """
    needed = distinguishing_settings(models)[0]
    for family in {one.get("family") for one in needed}:
        own = [one for one in needed if one.get("family") == family]
        for name in reversed([name for name in own[0] if name != "family"]):
            rest = [{key: value for key, value in one.items() if key != name} for one in own]
            if len(set(map(repr, rest))) == len(set(map(repr, own))) and any(rest):
                for one in own:
                    one.pop(name, None)
    titles = (title.replace("learning rate", "rate") for title in _titles(needed))
    return [shorten(title, LONGEST, placeholder="…") for title in titles]


def titles_of(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings in which the models differ, as text with setting names."""
    return _titles(distinguishing_settings(models)[0])


def _titles(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [settings_text(one) or f"model {i}" for i, one in enumerate(settings, 1)]


def leading_models(run: Run) -> list[LeadingTime]:
    """Return the models that had the highest score L at the end of at least one window.

    The models are ordered by the share of the stream that these windows cover, largest share first.
    """
    if not run.curves.scores.size:
        return []  # a compact record has no scores
    best, lengths = run.curves.scores.argmax(axis=1), np.diff(run.curves.end, prepend=0)
    leading = []
    for model in np.unique(best).tolist():
        windows = np.flatnonzero(best == model)
        share = float(lengths[windows].sum() / lengths.sum())
        first = int(run.curves.end[windows[0]] - lengths[windows[0]])
        leading.append(LeadingTime(model, share, first, int(run.curves.end[windows[-1]])))
    return sorted(leading, key=lambda leader: -leader.share)


def leaders(run: Run, label: str) -> str:
    """Return the timeline of the best models, a table, and a map of training, if their data are recorded."""
    names, leading, training = labels_of(run.settings["models"]), leading_models(run), ""
    timeline = _ribbon(run, leading, names, label) if leading else ""
    if run.curves.trained.size:
        always = (run.trained >= run.n_instances).all()
        training = ALWAYS if always else _map(run, names, label)
    return timeline + _table(run, leading) + training


def _ribbon(run: Run, leading: Sequence[LeadingTime], names: Sequence[str], label: str) -> str:
    colours = {leader.model: min(rank, COLOURS - 1) for rank, leader in enumerate(leading)}
    best, ends = run.curves.scores.argmax(axis=1), [0.0, *run.curves.end.tolist()]
    starts = np.flatnonzero(np.diff(best, prepend=-1)).tolist()
    spans = [
        (ends[a], ends[b], colours[int(best[a])], names[best[a]]) for a, b in pairwise([*starts, len(best)])
    ]
    return timeline_chart(f"The best model over time: {label}", spans, ends[-1])


def _table(run: Run, leading: Sequence[LeadingTime]) -> str:
    """Return a table of the models with the highest scores at the end of the run.

    If the record has no scores, return a table of the models that were trained most often.
    """
    led = {leader.model: (rank, leader) for rank, leader in enumerate(leading)}
    scores = run.curves.scores[-1] if run.curves.scores.size else None
    order = np.argsort(-(run.trained if scores is None else scores), kind="stable").tolist()
    shown = {*order[:SHOWN], *(leader.model for leader in leading[:SHOWN])}
    models, costs = run.settings["models"], run.settings["costs"]
    titles, shared = titles_of(models), settings_text(distinguishing_settings(models)[1])
    all_costs = max(sum(costs), 1e-300)
    rows = []
    for rank, model in enumerate(order):
        if model not in shown:
            continue
        place, leader = led.get(model, (0, None))
        key = f'<i class="key b{min(place, COLOURS - 1)}"></i>' if leader else '<i class="key"></i>'
        when = f"first at {leader.first:,}, last at {leader.last:,}" if leader else ""
        trained = run.trained[model] / run.n_instances
        cells = (
            str(rank + 1),
            (key + escape(titles[model]), settings_text(models[model])),
            "–" if scores is None else f"{scores[model]:.4f}",
            "–" if leader is None else (f"{leader.share:.0%}", when),
            bar(trained, f"{trained:.0%}"),
            f"{run.evaluated[model] / run.n_instances:.0%}",
            f"{costs[model] / all_costs:.1%}",
        )
        rows.append(row(cells))
    first = "training" if scores is None else "score at the end"
    note = (
        "L: running score at the end. Led: share of time with the highest L. Trained, evaluated: share "
        "of the instances. γ: cost of a training step, as a share of training all models."
    )
    if len(rows) < len(models):
        note += f" Models shown: {len(rows)} of {len(models)}: the first {SHOWN}"
        note += ", and models that led at an earlier time." if len(rows) > SHOWN else "."
    note += f" All have {escape(shared)}." if shared else ""
    heads = ("", "model", "L", "led", "trained", "evaluated", "γ")
    return card(f"Models, sorted by {first}", table(heads, rows, "models"), note, whole=True)


def _map(run: Run, names: Sequence[str], label: str) -> str:
    """Return a heat map of how often each model was trained, with the cheapest model at the bottom."""
    order = np.argsort(run.settings["costs"], kind="stable")
    lengths = np.diff(run.curves.end, prepend=0)
    parts = np.array_split(np.arange(len(lengths)), columns_for(len(order), len(lengths)))
    share = np.array([run.curves.trained[part].sum(axis=0) / lengths[part].sum() for part in parts]).T
    ends = np.array([run.curves.end[part[-1]] for part in parts])
    rows = [names[i] for i in order.tolist()]
    title = f"Which models were trained when: {label}"
    return heat_map(title, share[order], ends, run.drifts, rows, note=SHADES)
