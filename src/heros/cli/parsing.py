"""Parsing of command-line arguments for streams and meters; `heros._base.registry` parses model parts."""

from __future__ import annotations

import csv
import os
import sys
import warnings
from collections.abc import Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

from heros import streams
from heros._base.errors import DataError, DataNotice, HerosError, ParameterError
from heros._base.notices import notice
from heros.cli.app import say
from heros.data.weights import ClassWeight, checked_class_weight
from heros.ensemble.watch import Watch, checked_watch
from heros.meters import Carbon, Cpu, Meter
from heros.streams import Stream
from heros.streams.live import Source, connect, is_address
from heros.streams.pipe import read_pipe

PROBABILITIES_KEPT = 50_000_000
"""The maximum number of probabilities stored for an exact AUROC (400 MB); longer streams use a histogram."""

WINDOWS = (10, 20, 50, 100, 200, 500, 1000)
"""The possible numbers of instances per point of a curve."""

POINTS = 30
"""The minimum number of points of a curve, unless the stream is very short."""

SAMPLE = 1 << 16  # bytes of a file from which its number of lines is estimated

OF_MESSAGES = {"nominal", "classes", "most_values", "task", "ignore", "missing"}
"""The file options that also apply to the messages of a queue."""


def reading(**options: Any) -> dict[str, Any]:
    r"""Return the given file options as parameters of `heros.streams.read`.

    Examples
    --------
    >>> reading(ignore=["id,note", "when"], missing=["unknown"], delimiter=r"\t", most_values=None)
    {'ignore': ['id', 'note', 'when'], 'missing': ['unknown'], 'delimiter': '\t'}
    >>> reading(no_header=True)
    {'header': False}
    """
    settings = {name: value for name, value in options.items() if value}
    if settings.pop("no_header", False):
        settings["header"] = False
    for name, value in settings.items():
        if isinstance(value, list):  # comma-separated strings; a name with a comma is quoted
            settings[name] = [
                part.strip() for row in csv.reader(value, skipinitialspace=True) for part in row
            ]
    if settings.get("delimiter") in {"\\t", "tab"}:
        settings["delimiter"] = "\t"
    return settings


def source_of(
    text: str,
    target: str | None,
    settings: Mapping[str, Any],
    *,
    n: int | None,
    on_bad_row: str,
    on_gap: str | None,
    directory: Path | None,
) -> Source:
    """Open a queue by its URL, or another stream as `stream_of` does."""
    if not is_address(text):
        if on_gap is not None:
            raise ParameterError.of(
                "on_gap", "heros", "left out, because the option applies only to queues", on_gap
            )
        return stream_of(text, target, settings, n=n, on_bad_row=on_bad_row)
    if target is None:
        raise ParameterError.of(
            "target", "heros", "given for a queue, because messages have no last column", target
        )
    for name, given in settings.items():
        if name not in OF_MESSAGES:
            raise ParameterError.of(
                name, "heros", "left out, because the option applies only to files", given
            )
    gap = {} if on_gap is None else {"on_gap": on_gap.replace("go-on", "go on")}
    source = connect(text, target=target, on_bad_row=on_bad_row, directory=directory, **gap, **settings)
    if n is not None:
        source.stop_after(n)
    return source


def stream_of(
    text: str,
    target: str | None,
    settings: Mapping[str, Any],
    *,
    n: int | None,
    on_bad_row: str,
    quiet: bool = False,
) -> Stream:
    """Open a stream by name, a file, or standard input (``-``); if n is given, only n instances are read.

    `settings` has the other file options (see `reading`); `quiet` suppresses notices about columns.
    """
    if quiet:  # the filter is active as long as the stream is read
        warnings.simplefilter("ignore", DataNotice)
    names = (*streams.NAMES, *streams.EXAMPLES)
    if text == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed.")
        settings = {name: value for name, value in settings.items() if name != "format"}
        pipe = cast(BufferedIOBase, sys.stdin.buffer)
        stream = read_pipe(pipe, target=target, on_bad_row=on_bad_row, **settings)
    elif text in names:
        for name, given in {"target": target, **settings}.items():
            if given is not None:
                raise ParameterError.of(
                    name, "heros", f"left out, because {text} is a named stream and not a file", given
                )
        stream = streams.load(text)
    elif "." in text or "/" in text or os.path.exists(text):
        stream = streams.read(text, target=target, on_bad_row=on_bad_row, **settings)
        if not quiet:
            _notify_doubts(text, target, settings)
    else:
        rule = f"a file, - for standard input, or one of {', '.join(names)}"
        raise ParameterError.of("stream", "heros", rule, text, names)
    return stream if n is None else stream.take(n)


def _notify_doubts(path: str, target: str | None, settings: Mapping[str, Any]) -> None:
    """Issue notices about the default target and about columns that may be read in an unexpected way."""
    found = streams.look(path, target=target, **settings)
    if target is None:
        notice(
            f"The target is the column {found.target!r} (use target= to choose another column).", DataNotice
        )
    for column in found.columns:
        if column.warning:
            notice(column.warning, DataNotice)


def class_weight_of(text: str | None) -> ClassWeight:
    """Parse the training weight of each class: ``balanced``, or weights by class name.

    Examples
    --------
    >>> class_weight_of("balanced"), class_weight_of("yes=5,no=0.5")
    ('balanced', {'yes': 5.0, 'no': 0.5})
    """
    if text is None or text == "balanced":
        return None if text is None else "balanced"
    pairs = [pair.rpartition("=") for pair in text.split(",")]
    try:
        return checked_class_weight({name: float(weight) for name, _, weight in pairs if name or weight})
    except ValueError:
        rule = "balanced, or one weight per class, such as yes=5,no=1"
        raise ParameterError.of("class-weight", "heros", rule, text) from None


def watch_of(text: str) -> Watch:
    """Parse the value of ``--watch``: ``all``, ``trained``, or a whole number."""
    return checked_watch(int(text) if text.isdecimal() else text)


def window_for(text: str, stream: Source) -> int:
    """Choose the number of instances per point of a curve, based on the length of the stream.

    Examples
    --------
    >>> window_for("agr_a", streams.load("agr_a")), window_for("agr_a", streams.load("agr_a").take(6000))
    (1000, 200)
    """
    length = stream.n_instances
    if length is None:
        length = _lines(Path(text))
    return max((one for one in WINDOWS if one * POINTS <= (length or 1 << 62)), default=WINDOWS[0])


def _lines(path: Path) -> int | None:
    """Estimate the number of lines of a text file from its first bytes; None if it is not a text file."""
    try:
        with path.open("rb") as file:
            first = file.read(SAMPLE)
        size = path.stat().st_size
    except (OSError, ValueError):  # no such file, or not a valid file name
        return None
    lines = first.count(b"\n")
    return None if b"\0" in first or lines < 2 else lines * size // len(first)


def allows_exact_auroc(stream: Source) -> bool:
    """Return whether to store all probabilities for an exact AUROC; True for a file of unknown length."""
    probabilities = (stream.n_instances or 0) * stream.schema.n_classes
    return isinstance(stream, Stream) and probabilities <= PROBABILITIES_KEPT


def meter_of(
    name: str, watts: float | None = None, carbon_intensity: float | None = None, country: str | None = None
) -> Meter:
    """Return a meter by name; if RAPL is not available, print a warning and return the CPU meter."""
    carbon = Carbon.of(intensity=carbon_intensity, country=country)
    if watts is not None:
        if name != "cpu":
            raise ParameterError.of("watts", "heros", "left out unless the meter is cpu", watts)
        return Cpu(watts, carbon)
    try:
        return Meter.of(name, carbon)
    except HerosError as error:
        if name != "rapl":
            raise
        say(f"heros: {error} The cpu meter is used instead.", style="yellow")
        return Cpu(carbon=carbon)
