"""The HTML page of a report: self-contained, without scripts or external resources."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from heros._base.errors import DataError
from heros._base.phases import PHASES
from heros.measures.base import Caption
from heros.run import records
from heros.run.report.classes import class_figures
from heros.run.report.figures import figures, main_chart
from heros.run.report.groups import Group, groups_of, headline_of, measures_of, trained_fully
from heros.run.report.html import card, key, row, table
from heros.run.report.insight import change_list, importance_charts, reading_rows, target_words
from heros.run.report.leaders import leaders
from heros.run.report.verdict import tiles, verdict
from heros.run.report.words import answer_words, policy_words, pool_words, watch_words
from heros.run.result import Run
from heros.run.summary import budget_row
from heros.storage.disk import write_whole


def write_report(directory: str | os.PathLike[str], page: str | os.PathLike[str]) -> int:
    """Write one HTML page about all runs recorded under a directory; return the number of runs."""
    places = records.find(directory)
    if not places:
        raise DataError(f"The directory {directory} and its subdirectories contain no records.")
    runs = [(records.read(place), records.details(place)) for place in places]
    names = list(dict.fromkeys((run.stream, run.n_instances) for run, _ in runs))
    sections = [
        _section([pair for pair in runs if (pair[0].stream, pair[0].n_instances) == name], number)
        for number, name in enumerate(names)
    ]
    count = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"
    over = f" on {len(names)} streams" if len(names) > 1 else ""
    links = "".join(f'<a href="#s{i}">{escape(stream)}</a>' for i, (stream, _) in enumerate(names))
    contents = f'<nav class="jump">{links}</nav>' if len(names) > 1 else ""
    intro = f'<p class="faint">{count}{over}: performance, training and cost.</p>'
    head = f"<header><h1>HEROS</h1>{intro}{contents}</header>"
    write_page(page, f"HEROS: {count}", head + "".join(sections))
    return len(runs)


def write_page(path: str | os.PathLike[str], title: str, body: str) -> None:
    """Write a page in the style of the reports, atomically."""
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{style}</style></head><body>'
        f"{body}</body></html>\n"
    )
    write_whole(Path(path), [text.encode("utf-8", "backslashreplace")])


def _section(runs: Sequence[tuple[Run, dict[str, Any]]], number: int) -> str:
    groups = groups_of([run for run, _ in runs])
    measure = headline_of(groups)
    first = groups[0].runs[0]
    drifts = f", {len(first.drifts)} drifts" if first.drifts else ""
    keys = "".join(f"<li>{key(group.colour, group.label)}</li>" for group in groups)
    legend = f'<ul class="legend">{keys}</ul>' if len(groups) > 1 else ""
    words = escape(pool_words(first.settings["pool"]))
    models = f"{len(first.settings['models'])} models ({words})" if "," in words else words
    return (
        f'<section id="s{number}"><h2>{escape(first.stream)}</h2>'
        f'<p class="faint">{first.n_instances:,} instances{drifts}. {target_words(first)}'
        f"{models}, at most {escape(str(first.settings['k']))} of them trained per instance.</p>"
        f'<div class="hero"><div>{verdict(groups, measure)}{tiles(groups, measure)}</div>'
        f"{main_chart(groups, measure)}</div>{_groups_table(groups)}"
        f"<h3>Over time</h3>{legend}"
        f'<div class="charts">{figures(groups, measure)}</div>'
        f"<h3>Details</h3>{''.join(_group_details(group, group is groups[0]) for group in groups)}"
        f"<h3>Cost</h3>{_costs(groups)}"
        f"<h3>Settings</h3>{''.join(_settings(run, details) for run, details in runs)}</section>"
    )


# -- tables ------------------------------------------------------------------------------------------------


def _groups_table(groups: Sequence[Group]) -> str:
    measures = measures_of(groups)
    best = [_best_of(groups, measure) for measure in measures]
    full = trained_fully(groups)
    saved = ("saved",) if full is not None and len(groups) > 1 else ()
    heads = ("settings", "runs", *(one.label for one in measures), "Σγ share", "CPU s", "joules", *saved)
    rows = []
    for group in groups:
        texts = zip(best, (escape(group.text(measure)) for measure in measures), strict=True)
        cells = (
            key(group.colour, group.label),
            str(len(group.runs)),
            *(f"<b>{text}</b>" if one is group else text for one, text in texts),
            f"{group.gamma_share:.1%}",
            f"{group.cpu_seconds:.2f}",
            f"{group.joules:,.1f}",
        )
        saving = "–"
        if full is not None and group is not full and full.joules > 0:
            saving = f"{1 - group.joules / full.joules:.0%}"
        rows.append(row((*cells, saving) if saved else cells))
    note = "± is the standard deviation over seeds. " if any(len(g.runs) > 1 for g in groups) else ""
    of = "training every model at every step, with the γ of the policy"
    note += f"Σγ share: training cost as a share of {of}."
    note += " Saved: energy saved compared with training every model." if saved else ""
    return card("Leaderboard", table(heads, rows), note)


def _best_of(groups: Sequence[Group], measure: Caption) -> Group | None:
    """Return the group with the best value of a measure; None if fewer than two groups have a value."""
    known = [group for group in groups if not math.isnan(group.figure(measure))]
    pick = max if measure.better == "higher" else min
    return pick(known, key=lambda group: group.figure(measure)) if len(known) > 1 else None


def _costs(groups: Sequence[Group]) -> str:
    heads = ("settings", "evaluation", "training", "both", *PHASES, "CPU s", "joules", "kWh", "CO2e g")
    rows = []
    for group in groups:
        price = group.price
        shares = [] if price is None else [price.looking, price.training, price.total]
        cells = (
            group.label,
            *([f"{share:.1%}" for share in shares] or ["not known"] * 3),
            *(f"{group.cpu(phase):.2f}" for phase in PHASES),
            f"{group.cpu_seconds:.2f}",
            f"{group.joules:,.1f}",
            f"{group.joules / 3.6e6:.3g}",
            "not stated" if group.grams is None else f"{group.grams:.3g}",
        )
        rows.append(row(map(escape, cells)))
    sources = sorted({_source(run) for group in groups for run in group.runs})
    note = (
        f"{', '.join(PHASES)}: CPU seconds of each phase. Evaluation, training, both: cost as measured for "
        "each model; 100 % means that every model is evaluated and trained at every step."
    )
    note += "".join(f"<br>Energy: {escape(source)}." for source in sources)
    return card("", table(heads, rows), note)


def _source(run: Run) -> str:
    """Describe how the energy of a run was determined, without values that differ between runs."""
    energy, carbon = run.energy, run.energy.carbon
    detail = energy.detail.partition("× ")[2] if energy.source == "cpu-model" else ""
    carbon_text = f"; {carbon.grams_per_kwh:g} g CO2e per kWh ({carbon.source})" if carbon else ""
    return f"{energy.source}{', CPU seconds × ' + detail if detail else ''}{carbon_text}"


# -- single groups and runs --------------------------------------------------------------------------------


def _group_details(group: Group, opened: bool) -> str:
    """Return the changes, importance and models of a group's first run, and the group's class measures."""
    run = group.runs[0]
    seed = f", seed {escape(str(run.settings['seed']))}" if len(group.runs) > 1 else ""
    return (
        f'<details class="inside"{" open" if opened else ""}><summary>{key(group.colour, group.label)}{seed}'
        f"</summary>"
        f'<div class="parts">{change_list(run)}{importance_charts(run, group.label)}'
        f"{leaders(run, group.label)}{class_figures(group)}</div></details>"
    )


def _settings(run: Run, details: dict[str, Any]) -> str:
    machine, versions, settings = details["machine"], details["versions"], run.settings
    cause = "too many bad rows" if run.too_many_bad_rows else "Ctrl-C"
    rows = {
        **reading_rows(run),
        "pool": pool_words(settings["pool"]),
        "policy": f"{policy_words(settings['policy_as_written'])} ({settings['policy']})",
        "trained at most": f"{settings['k']} models per instance; all on the first {settings['warmup']}",
        "predicts": answer_words(settings["answer"]),
        "evaluated": watch_words(settings["watch"]),
        "running score": str(settings["score"]),
        "class weights": str(settings.get("class_weight") or "1"),
        "seed": str(settings["seed"]),
        **budget_row(run),
        "energy": f"{run.energy.source}: {run.energy.detail}",
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['isa']}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "commit": details.get("commit", "not stated"),
        "written": details["written"],
        "interrupted": f"yes, by {cause}" if run.interrupted else "no",
        "diverged models": str(run.diverged),
        "rows skipped": run.bad_rows.text(1) or "none",
    }
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in rows.items())
    return f'<details class="settings"><summary>{escape(details["id"])}</summary><dl>{entries}</dl></details>'
