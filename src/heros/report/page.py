"""The page: self-contained, without scripts, and without anything from the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from heros.errors import DataError
from heros.measures.base import Caption
from heros.phases import PHASES
from heros.report.figures import Group, figures, groups_of, measures_of
from heros.report.style import CSS
from heros.run.result import Price, Run
from heros.storage import records
from heros.storage.disk import write_whole

__all__ = ["write_page", "write_report"]


def write_report(directory: str | os.PathLike[str], page: str | os.PathLike[str]) -> int:
    """Write one HTML page about all runs recorded below a directory, and return how many there are."""
    places = records.find(directory)
    if not places:
        raise DataError(f"The directory {directory} must have records below it. Got none.")
    runs = [(records.read(place), records.details(place)) for place in places]
    names = list(dict.fromkeys((run.stream, run.n_instances) for run, _ in runs))
    sections = [
        _section([pair for pair in runs if (pair[0].stream, pair[0].n_instances) == name]) for name in names
    ]
    count = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"
    intro = f'<p class="faint">{count}: how the models did, what was trained, and what it cost.</p>'
    write_page(page, f"HEROS: {count}", f"<h1>HEROS</h1>{intro}{''.join(sections)}")
    return len(runs)


def write_page(path: str | os.PathLike[str], title: str, body: str) -> None:
    """Write a page in the style of the reports. One that is open never turns into half a page."""
    page = Path(path)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{CSS}</style></head><body>'
        f"{body}</body></html>\n"
    )
    write_whole(page, [text.encode("utf-8", "backslashreplace")])


def _section(runs: Sequence[tuple[Run, dict[str, Any]]]) -> str:
    groups = groups_of([run for run, _ in runs])
    first = groups[0].runs[0]
    drifts = f", {len(first.drifts)} drifts (marked)" if first.drifts else ""
    legend = "".join(f'<li><i class="key c{group.colour}"></i>{escape(group.label)}</li>' for group in groups)
    return (
        f"<section><h2>{escape(first.stream)}</h2>"
        f'<p class="faint">{first.n_instances:,} instances{drifts}; pool {escape(first.settings["pool"])}, '
        f"k = {escape(str(first.settings['k']))} of {len(first.settings['models'])} models.</p>"
        f'{_bill(groups)}<ul class="legend">{legend}</ul><div class="charts">{figures(groups)}</div>'
        f"<h3>Settings</h3>{''.join(_settings(run, details) for run, details in runs)}</section>"
    )


def _bill(groups: Sequence[Group]) -> str:
    measures = measures_of(groups)
    labels = [measure.label for measure in measures]
    costs = ("Σγ share", "looking", "training", "price", *PHASES, "CPU s", "joules", "kWh", "CO2e g")
    head = "".join(f"<th>{escape(heading)}</th>" for heading in ("policy", "runs", *labels, *costs))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(group, measures)) + "</tr>"
        for group in groups
    )
    sources = sorted({_source(run) for group in groups for run in group.runs})
    notes = "".join(f'<p class="faint">Energy: {escape(source)}.</p>' for source in sources)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="faint">{", ".join(PHASES)}: CPU seconds of each phase. '
        f"Σγ share: of the price of training every model at every step, by the γ of the policy. "
        f"Looking, training, price: what that cost as it was measured of each model, together 100 % if every "
        f"model looks and is trained at every step. "
        f"In the maps of trained models a stronger colour means more often.</p>{notes}"
    )


def _cells(group: Group, measures: Sequence[Caption]) -> list[str]:
    grams = [run.energy.co2e_kg * 1000 for run in group.runs if run.energy.co2e_kg is not None]
    return [
        group.label,
        str(len(group.runs)),
        *(measure.text(group.figure(measure)) for measure in measures),
        f"{group.gamma_share:.1%}",
        *_price(group.price),
        *(f"{group.cpu(phase):.2f}" for phase in PHASES),
        f"{group.cpu_seconds:.2f}",
        f"{group.joules:,.1f}",
        f"{group.joules / 3.6e6:.3g}",
        f"{sum(grams) / len(grams):.3g}" if len(grams) == len(group.runs) else "not stated",
    ]


def _price(price: Price | None) -> list[str]:
    if price is None:
        return ["not known"] * 3
    return [f"{share:.1%}" for share in (price.looking, price.training, price.total)]


def _source(run: Run) -> str:
    """Where the energy is from, without the figures of the single run."""
    energy = run.energy
    how = energy.detail.partition("× ")[2] if energy.source == "cpu-model" else ""
    carbon = (
        f"; {energy.carbon.grams_per_kwh:g} g CO2e per kWh ({energy.carbon.source})" if energy.carbon else ""
    )
    return f"{energy.source}{', CPU seconds × ' + how if how else ''}{carbon}"


def _settings(run: Run, details: dict[str, Any]) -> str:
    machine, versions, settings = details["machine"], details["versions"], run.settings
    rows = {
        "pool": settings["pool_as_written"],
        "policy": settings["policy_as_written"],
        "k, seed": f"{settings['k']}, {settings['seed']}",
        "score, warm-up": f"{settings['score']}, {settings['warmup']}",
        "who looks, who answers": f"{settings.get('watch', 'all')}, {settings['answer']}",
        "energy": f"{run.energy.source}: {run.energy.detail}",
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['isa']}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "commit": details.get("commit", "not stated"),
        "written": details["written"],
        "interrupted": "yes, by Ctrl-C" if run.interrupted else "no",
        "diverged models": str(run.diverged),
        "rows left out": "; ".join([str(run.bad_rows.count), *map(str, run.bad_rows.first[:1])]),
    }
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in rows.items())
    return f"<details><summary>{escape(details['id'])}</summary><dl>{entries}</dl></details>"
