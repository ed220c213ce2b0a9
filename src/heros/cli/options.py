"""The options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heros._base.registry import written_parts
from heros.meters import Meter

__all__ = [
    "AnswerName",
    "AsJson",
    "Burst",
    "CheckpointDirectory",
    "ClassWeights",
    "Classes",
    "ColumnsFile",
    "Country",
    "Dates",
    "Delimiter",
    "EncodingName",
    "Epsilon",
    "Every",
    "Force",
    "FormatName",
    "Ignore",
    "Intensity",
    "K",
    "Keep",
    "MeterName",
    "Missing",
    "MostValues",
    "N",
    "Nominal",
    "Numeric",
    "OnBadRow",
    "OnCheckpointError",
    "Out",
    "PolicyName",
    "PoolName",
    "PredictionsFile",
    "Resume",
    "ResumeFrom",
    "Save",
    "Seed",
    "StreamName",
    "Target",
    "TaskName",
    "WatchName",
    "Watts",
    "WeightsColumn",
    "Window",
    "WithinName",
    "count",
]


def count(text: str | int) -> int:
    """A whole number of at least 1, as people write it.

    Examples
    --------
    >>> count("1e6"), count("20_000"), count("20,000")
    (1000000, 20000, 20000)
    """
    try:
        value = float(str(text).replace(",", "").replace("_", ""))
    except ValueError:
        value = 0.0
    if value < 1 or not value.is_integer():
        raise typer.BadParameter(f"{text!r} is not a whole number of at least 1, such as 20000 or 1e6.")
    return int(value)


FILES = "How a file is read"
"""The heading in the help of commands below which all about files stands."""

StreamName = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="A name (see heros streams), a file, - for CSV or JSON lines on stdin, or the address of a "
        "queue, e.g. kafka://host:9092/topic?group=g (see docs/live.md).",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="The column with the class or number; by default the last.", rich_help_panel=FILES),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="classification or regression: whether the target is a class or a number; by default seen.",
        rich_help_panel=FILES,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out: a,b,c, or several times.", rich_help_panel=FILES),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns whose values are names, even if they look like numbers.", rich_help_panel=FILES
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(help="Columns whose values are numbers, whatever they look like.", rich_help_panel=FILES),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(help="Columns of dates or times; by default seen.", rich_help_panel=FILES),
]
MostValues = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="How many inputs a column of names may have (256); further values share a quarter of them.",
        rich_help_panel=FILES,
    ),
]
ColumnsFile = Annotated[
    Path | None,
    typer.Option(
        "--columns",
        help="A TOML, JSON or CSV file that says what columns are: numeric, nominal, date, ignore, target, "
        "weights.",
        rich_help_panel=FILES,
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, json, arff, parquet or arrow; by default seen.", rich_help_panel=FILES
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="What stands between cells (tab: \\t); by default seen.", rich_help_panel=FILES),
]
EncodingName = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Of text: latin-1, cp1252, ...; by default UTF-8, or UTF-16 where the file says so.",
        rich_help_panel=FILES,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Further words that stand for a missing value, beside NA, N/A, ?, null, None, -, ...",
        rich_help_panel=FILES,
    ),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(help="All classes in their order: no,yes. Others are bad rows.", rich_help_panel=FILES),
]
WeightsColumn = Annotated[
    str | None,
    typer.Option(
        "--weights",
        help="The column that says what each row counts where models learn; it is no feature then.",
        rich_help_panel=FILES,
    ),
]
Epsilon = Annotated[float | None, typer.Option(help="How often to explore: train k random models.")]
K = Annotated[
    int | None, typer.Option("--k", help="How many models may be trained per step; by default 60 %.")
]
PoolName = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(written_parts('pool'))}, or a TOML file (see heros pools). By default thirteen "
        "models of seven kinds with their own policy, k and answer; heros compare: mlp. Others for a number."
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Option(help="E.g. cand, or zeta:0.05@0.2 (ζ and ε), the default with --pool (see heros policies)."),
]
WithinName = Annotated[
    float | None,
    typer.Option(help="Microseconds of CPU time per instance: k follows what there is time for."),
]
AnswerName = Annotated[
    str | None,
    typer.Option(
        help="Which models predict: best, average, weighted, stack, or top:N:SHARPNESS, e.g. top:5:60."
    ),
]
Burst = Annotated[
    int, typer.Option(min=0, help="Evaluate all models on so many instances after the best model got worse.")
]
WatchName = Annotated[
    str,
    typer.Option(
        "--watch",
        help="Who looks at an instance: all, trained (and those that answer), or N: also each model at rest "
        "at every N-th one.",
    ),
]
ClassWeights = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        help="What instances count by their class: balanced, or weights like yes=5,no=1 (1 otherwise).",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the initial weights and the policy's draws.")]
N = Annotated[
    int | None,
    typer.Option("--n", parser=count, metavar="N", help="Only the first so many instances, e.g. 1e6."),
]
Window = Annotated[
    int,
    typer.Option(parser=count, metavar="N", help="Over how many instances a point of the curves is taken."),
]
MeterName = Annotated[
    str, typer.Option("--meter", help=f"One of {', '.join(Meter.names())} (see heros doctor).")
]
Watts = Annotated[float | None, typer.Option(help="What a busy core draws, for the cpu meter.")]
Intensity = Annotated[float | None, typer.Option("--carbon-intensity", help="Grams of CO2e per kWh.")]
Country = Annotated[str | None, typer.Option(help="Whose carbon intensity to take: FRA, DEU, USA, ...")]
Out = Annotated[Path | None, typer.Option(help="Where to write the record and report.html.")]
Save = Annotated[
    Path | None, typer.Option(help="A file for the model: heros predict and Heros.load open it.")
]
PredictionsFile = Annotated[
    Path | None,
    typer.Option(
        "--predictions", help="A .csv, .parquet or .arrow file for what was said of every instance."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a record or a file that is there.")]
OnBadRow = Annotated[
    str,
    typer.Option(
        help="skip: leave out rows that cannot be read, count them, and stop if they are more than one in "
        "twenty. raise: stop at the first.",
        rich_help_panel=FILES,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CheckpointDirectory = Annotated[
    Path | None, typer.Option("--checkpoint", help="A directory of this run's own, to write checkpoints to.")
]
Every = Annotated[
    int,
    typer.Option(parser=count, metavar="N", help="After how many instances to write a checkpoint."),
]
Keep = Annotated[int, typer.Option(min=1, help="How many of the last checkpoints stay.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from the newest checkpoint; from the start if there is none.")
]
ResumeFrom = Annotated[Path | None, typer.Option(help="Go on from this checkpoint (see heros checkpoints).")]
OnCheckpointError = Annotated[
    str, typer.Option(help="If a checkpoint cannot be written: raise ends the run, warn lets it go on.")
]
