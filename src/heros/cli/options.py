"""The options that several commands share."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heros._base.registry import written_parts
from heros.meters import Meter
from heros.meters.cpu import WATTS


def _set_watts(context: typer.Context, watts: float | None) -> float | None:
    """Use this power of a core for all meters and budgets of the command and of its child processes."""
    if watts is not None:
        before = os.environ.get(WATTS, "")  # empty means not stated
        context.call_on_close(lambda: os.environ.update({WATTS: before}))
        os.environ[WATTS] = str(watts)
    return watts


def count(text: str | int) -> int:
    """Parse a whole number of at least 1; accepts 1e6 and thousands separators.

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


def directory(text: str) -> Path:
    """Parse the path of a directory; an empty text, such as an unset variable, is an error."""
    if not text.strip():
        raise typer.BadParameter("must be the path of a directory. Got an empty path.")
    return Path(text)


# The help of a command groups its options below these headings; the common options have no heading.
of_files = partial(typer.Option, rich_help_panel="How a file is read")
of_model = partial(typer.Option, rich_help_panel="The model")
of_costs = partial(typer.Option, rich_help_panel="Metrics, energy and CO2e")
of_checkpoints = partial(typer.Option, rich_help_panel="Checkpoints")
of_limits = partial(typer.Option, rich_help_panel="Limits")
Texts = list[str] | None

StreamName = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="A stream name (see heros streams), a file, - for CSV or JSON lines on stdin, or the URL of a "
        "message queue, e.g. kafka://host:9092/topic?group=g (see docs/live.md).",
    ),
]
Target = Annotated[str | None, typer.Option(help="The target column; by default the last column.")]
TaskName = Annotated[
    str | None,
    typer.Option("--task", help="classification or regression; detected from the target column by default."),
]
Ignore = Annotated[Texts, of_files(help="Columns to ignore: a,b,c; may be repeated.")]
Nominal = Annotated[
    Texts, of_files(help="Nominal columns: values are categories even if they look like numbers.")
]
Numeric = Annotated[Texts, of_files(help="Numeric columns, even if their values look like categories.")]
Dates = Annotated[Texts, of_files(help="Columns of dates or times; detected by default.")]
MostValues = Annotated[
    int | None,
    of_files(
        min=2,
        help="Maximum number of inputs per nominal column (default 256). If a column has more values, its "
        "rare values share a quarter of the inputs.",
    ),
]
ColumnsFile = Annotated[
    Path | None,
    of_files(
        help="A TOML, JSON or CSV file with the type of each column: numeric, nominal, date, ignore, target "
        "or weights."
    ),
]
FormatName = Annotated[
    str | None, of_files(help="csv, json, arff, parquet, arrow or excel; detected by default.")
]
Delimiter = Annotated[str | None, of_files(help="The column separator (tab: \\t); detected by default.")]
NoHeader = Annotated[
    bool, of_files("--no-header", help="The CSV file has no header. The columns are named x1, x2, ...")
]
EncodingName = Annotated[
    str | None,
    of_files(
        help="The text encoding: latin-1, cp1252, ...; by default UTF-8, or UTF-16 if the file starts "
        "with a BOM."
    ),
]
Missing = Annotated[
    Texts, of_files(help="Additional words for a missing value, besides NA, N/A, ?, null, None, -, ...")
]
Classes = Annotated[
    Texts, of_files(help="All classes, in order, e.g. no,yes. A row with any other class is a bad row.")
]
WeightsColumn = Annotated[
    str | None, of_files(help="The column with the training weight of each row; it is not used as a feature.")
]
Epsilon = Annotated[
    float | None, of_model(help="Probability of an exploration step, which trains k random models.")
]
K = Annotated[
    int | None,
    of_model(
        help="Maximum number of models trained per step; by default 11 of the 14 models, or 60 % of the "
        "models in --pool."
    ),
]
PoolName = Annotated[
    str | None,
    of_model(
        help=f"{', '.join(written_parts('pool'))}, or a TOML file (see heros pools). Default: fourteen "
        "models of seven kinds, with their own policy, k and answer; regression has its own default. With "
        "heros compare --policy, the default for classification is mlp."
    ),
]
PolicyName = Annotated[
    str | None,
    of_model(
        help="The policy that chooses the models to train, e.g. cand or zeta:0.05@0.2 (ζ = 0.05 and "
        "ε = 0.2; the default if --pool is given). See heros policies."
    ),
]
BudgetName = Annotated[
    str | None,
    of_model(
        help="CPU time or energy per instance, e.g. '20 us' or '0.4 mJ', or a power, e.g. '5 W' or "
        "'500 J/h'. If the budget is too small for all models, some models are paused. With a power, "
        "training stops when the energy for one hour is used up, and continues in the next hour."
    ),
]
AnswerName = Annotated[
    str | None,
    of_model(help="Which models predict: best, average, weighted, stack, or top:N:SHARPNESS, e.g. top:5:60."),
]
Burst = Annotated[
    int, of_model(min=0, help="When the best model gets worse, evaluate all models on the next N instances.")
]
WatchName = Annotated[
    str,
    of_model(
        help="Models to evaluate on each instance: all; trained (only models that are trained or that "
        "predict); or N (like trained, and each other model on every N-th instance)."
    ),
]
ClassWeights = Annotated[
    str | None,
    of_model(
        help="Training weight of each class: balanced, or one weight per class, e.g. yes=5,no=1 (default 1)."
    ),
]
Explainable = Annotated[
    bool,
    of_model(
        "--explainable",
        help="Keep a sample of 128 instances in the model, for feature importance and explanations.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the initial weights and of the policy's random choices.")
]
N = Annotated[
    int | None, typer.Option(parser=count, metavar="N", help="Use only the first N instances, e.g. 1e6.")
]
Window = Annotated[
    int | None,
    of_costs(
        parser=count,
        metavar="N",
        help="Number of instances per point of the curves; by default at most 1000, so that there are at "
        "least 30 points.",
    ),
]
MeterName = Annotated[str, of_costs(help=f"The energy meter: {', '.join(Meter.names())} (see heros doctor).")]
Watts = Annotated[
    float | None,
    of_costs(
        help="Power of a busy core in watts, for the cpu meter and energy budgets.", callback=_set_watts
    ),
]
Intensity = Annotated[float | None, of_costs(help="Grams of CO2e per kWh.")]
CarbonFile = Annotated[
    str | None,
    of_costs(
        metavar="FILE|URL",
        help="Train when the carbon intensity is low. The file is a CSV table or a JSON list with times "
        "and g CO2e per kWh.",
    ),
]
CarbonDelay = Annotated[
    str,
    of_costs(
        metavar="6h", help="With --carbon: the maximum delay before the models train on an instance, e.g. 6h."
    ),
]
Country = Annotated[str | None, of_costs(help="Use the carbon intensity of this country: FRA, DEU, USA, ...")]
Out = Annotated[
    Path | None,
    typer.Option(parser=directory, metavar="PATH", help="The directory for the record and report.html."),
]
Save = Annotated[
    Path | None, typer.Option(help="Save the trained model to this file, for heros predict and Heros.load.")
]
PredictionsFile = Annotated[
    Path | None,
    typer.Option(help="Write the prediction of every instance to this .csv, .parquet or .arrow file."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing record or file.")]
OnBadRow = Annotated[
    str,
    of_files(
        help="skip: skip and count rows that cannot be read or have no target, and stop if more than one row "
        "in twenty cannot be read. raise: stop at the first such row."
    ),
]
OnGap = Annotated[
    str | None,
    of_files(
        help="What to do if a queue has lost messages: stop (the default), or go-on (continue with a "
        "warning). Both print the number of lost messages."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CheckpointDirectory = Annotated[
    Path | None,
    of_checkpoints(
        parser=directory,
        metavar="PATH",
        help="Write checkpoints to this directory. No other run may use the directory.",
    ),
]
Every = Annotated[
    int, of_checkpoints(parser=count, metavar="N", help="Write a checkpoint every N instances.")
]
Keep = Annotated[int, of_checkpoints(min=1, help="Number of checkpoints to keep.")]
Resume = Annotated[
    bool,
    of_checkpoints("--resume", help="Continue from the newest checkpoint; start a new run if there is none."),
]
ResumeFrom = Annotated[
    Path | None, of_checkpoints(help="Continue from this checkpoint (see heros checkpoints).")
]
OnCheckpointError = Annotated[
    str,
    of_checkpoints(
        help="What to do if a checkpoint cannot be written: raise (end the run) or warn (continue with a "
        "warning)."
    ),
]
