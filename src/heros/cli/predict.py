"""`heros predict`: apply a saved model to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from heros._base.lazy import pa
from heros.cli import options
from heros.cli.app import app, in_options, say
from heros.cli.checkpoints import told
from heros.cli.parsing import reading
from heros.ensemble import Heros
from heros.errors import HerosError, ParameterError
from heros.run.predictions import predicted_table
from heros.storage.outputs import as_csv, expect_table_place, write_table
from heros.streams.files import reader_of
from heros.streams.live.bad_rows import BadRow, BadRows
from heros.streams.readers import TableReader

__all__ = ["predict_command"]


@app.command("predict")
def predict_command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="What heros run --save wrote, or a checkpoint.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The rows: .csv, .arff, .parquet, .arrow, ...")
    ],
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .parquet or .arrow file; without it, CSV on standard output.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="Columns of the file to write in front, such as an id: a,b, or several times."
        ),
    ] = None,
    force: options.Force = False,
    delimiter: options.Delimiter = None,
    missing: options.Missing = None,
    encoding: options.EncodingName = None,
    format: options.FormatName = None,
) -> None:
    """Predict the class of every row of a file, and the probability of each class.

    Columns are found by their names; the file needs no target. A column that it lacks is missing, and so is a
    value that the model never learnt from. Numbers, dates and words for a missing value are read as in the
    file that the model learnt from; --missing adds words. A row that cannot be read has an empty prediction.
    Nothing is learnt.
    """
    if out is not None:
        expect_table_place(out, "out", "heros predict")
        if out.exists() and not force:
            raise HerosError(f"The file {out} must not exist (or pass --force to replace it). Got one.")
    learnt = Heros.load(model)
    if learnt.schema is None:
        raise HerosError(f"The model in {model} must have learnt something. Got one that has not.")
    how = reading(delimiter=delimiter, missing=missing, encoding=encoding)
    how["missing"] = [*how.get("missing", ()), *learnt.schema.words]
    with told():
        reader = reader_of(file, format, **how)
    kept = reading(keep=keep).get("keep", [])
    for name in kept:
        if name not in reader.names:
            rule = f"made of the columns {list(reader.names)}"
            raise ParameterError.of("keep", "heros", rule, name, reader.names)
    columns = learnt.encoder().columns
    absent = [name for name in columns if name not in reader.names]
    if absent and len(absent) < len(columns):
        say(
            f"heros: {file} has no column {', '.join(map(repr, absent))}: missing in every row",
            style="yellow",
        )
    skipped = BadRows()

    def tables() -> Iterator[Any]:
        nonlocal skipped
        for table, bad in _predicted(learnt, reader, kept):
            for row in bad:
                skipped = skipped.plus(row)
            yield table

    with told():
        if out is None:
            for i, table in enumerate(tables()):
                sys.stdout.write(as_csv(table, header=i == 0).decode())
        else:
            table = pa.concat_tables(tables())
            write_table(out, table)
            typer.echo(f"{table.num_rows:,} predictions: {out}")
    if skipped.count:
        what = "row has" if skipped.count == 1 else "rows have"
        first = in_options(str(skipped.first[0]), {"missing": "--missing", "encoding": "--encoding"})
        say(f"heros: {skipped.count:,} {what} no prediction; the first: {first}", style="yellow")


def _predicted(model: Heros, reader: TableReader, kept: Sequence[str]) -> Iterator[tuple[Any, list[BadRow]]]:
    """Yield the predictions, a table per chunk of rows, and the rows that cannot be read.

    Such a row has no prediction, but its place in the table.
    """
    schema = model.schema
    assert schema is not None, "it is bound"
    encoder = model.encoder()
    if not any(encoder.knows(name) for name in reader.names):
        encoder.asked(dict.fromkeys(reader.names, 0))
    done = 0
    while (chunk := reader.read()) is not None:
        X, _, faults = encoder.converted(reader.names, chunk.columns, chunk.n_rows)
        table = predicted_table(model.outputs(X, np.arange(done, done + len(X))), schema.classes)
        done += len(X)
        good = np.ones(chunk.n_rows, dtype=np.bool_)
        good[list(faults)] = False
        table = table.take(pa.array(np.arange(chunk.n_rows), mask=~good))
        for place, name in enumerate(kept):
            table = table.add_column(place, name, chunk.columns[reader.names.index(name)])
        bad = [(row, BadRow(reader.label, chunk.place(row), *fault)) for row, fault in sorted(faults.items())]
        if chunk.faults:  # rows with another number of cells
            before = [row for row, _ in chunk.faults]
            places = np.insert(np.arange(chunk.n_rows), before, -1)
            table = table.take(pa.array(places, mask=places < 0))
            bad = sorted([*bad, *chunk.faults], key=lambda pair: pair[0])
        yield table, [row for _, row in bad]
