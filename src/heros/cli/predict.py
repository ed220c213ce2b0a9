"""`heros predict`: apply a saved model to the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from heros._base.errors import HerosError, ParameterError
from heros._base.lazy import pa
from heros._base.parameters import one_of
from heros.cli import options
from heros.cli.app import app, in_options, say
from heros.cli.checkpoints import print_notices
from heros.cli.parsing import reading
from heros.data.columns import NameColumn
from heros.ensemble import Heros
from heros.run.predictions import predicted_table
from heros.storage.outputs import as_csv, expect_other_files, expect_table_place, write_table
from heros.streams.bad_rows import BadRow, BadRows
from heros.streams.files import reader_of
from heros.streams.readers import TableReader

MOST_COLUMNS = 5  # maximum number of columns listed in a notice


@app.command("predict")
def predict_command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model written by heros run --save, or a checkpoint.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The rows to predict: .csv, .arff, .parquet, .arrow, ...")
    ],
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .parquet or .arrow file; by default CSV on standard output.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="Columns of the file to copy to the output, such as an id: a,b; may be repeated."
        ),
    ] = None,
    force: options.Force = False,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    missing: options.Missing = None,
    encoding: options.EncodingName = None,
    format: options.FormatName = None,
) -> None:
    """Predict the class of every row of a file, and the probability of each class.

    Columns are matched by name; the file needs no target. Columns that the file lacks, and values unknown
    to the model, count as missing. Numbers, dates and words for a missing value are read
    as in the training file; --missing adds words. A row that cannot be read gets an empty prediction. The
    model is not trained.
    """
    if out is not None:
        expect_table_place(out, "out", "heros predict")
        expect_other_files([out], [model, file])
        if out.exists() and not force:
            raise HerosError(f"The file {out} already exists. Pass --force to replace it.")
    trained = Heros.load(model)
    if trained.schema is None:
        raise HerosError(f"The model in {model} has not been trained.")
    settings = reading(delimiter=delimiter, no_header=no_header, missing=missing, encoding=encoding)
    with print_notices():
        reader = reader_of(file, format, **settings)
    columns = trained.encoder().columns
    values = {name: [*one.values] for name, one in columns.items() if isinstance(one, NameColumn)}
    reader.use_words(trained.schema.words, values)
    copied = reading(keep=keep).get("keep", [])
    for name in copied:
        one_of(name, "keep", "heros", reader.names, f"one of the columns {list(reader.names)}")
    if clash := [name for name in copied if name in _table(trained).column_names]:
        raise ParameterError.of(
            "keep", "heros", "columns whose names differ from the names of the prediction columns", clash[0]
        )
    absent = [name for name in columns if name not in reader.names]
    if absent and len(absent) < len(columns):
        names = ", ".join(map(repr, absent))
        say(
            f"heros: {file} lacks columns of the model, whose values are treated as missing: {names}",
            style="yellow",
        )
    skipped, tables = BadRows(), list[Any]()
    with print_notices():
        for i, (table, bad) in enumerate(_predicted(trained, reader, copied)):
            skipped = reduce(BadRows.plus, bad, skipped)
            if out is None:
                sys.stdout.write(as_csv(table, header=i == 0).decode())
            else:
                tables.append(table)
        if out is not None:
            table = pa.concat_tables(tables)
            write_table(out, table)
            typer.echo(f"{table.num_rows:,} predictions: {out}")
    if unknown := trained.encoder().unknown:
        names = ", ".join(f"{n:,} in {name!r}" for name, n in unknown.most_common(MOST_COLUMNS))
        say(f"heros: values that the model does not know are treated as missing: {names}", style="yellow")
    if skipped.count:
        what = "row has" if skipped.count == 1 else "rows have"
        first = in_options(str(skipped.first[0]), {"missing": "--missing", "encoding": "--encoding"})
        say(f"heros: {skipped.count:,} {what} no prediction. The first error: {first}", style="yellow")


def _predicted(
    model: Heros, reader: TableReader, copied: Sequence[str]
) -> Iterator[tuple[Any, list[BadRow]]]:
    """Yield one table of predictions per chunk of rows, and the rows that cannot be read.

    A row that cannot be read stays in the table, with an empty prediction.
    """
    encoder = model.encoder()
    if not any(encoder.has_column(name) for name in reader.names):
        encoder.encode_for_prediction(dict.fromkeys(reader.names, 0))
    done, table = 0, None
    while (chunk := reader.read()) is not None:
        chunk = reader.without_missing_words(chunk)
        X, _, faults = encoder.converted(reader.names, chunk.columns, chunk.n_rows)
        table = _table(model, X, done)
        done += len(X)
        rows = np.arange(chunk.n_rows)
        table = table.take(pa.array(rows, mask=np.isin(rows, list(faults))))
        for place, name in enumerate(copied):
            table = table.add_column(place, name, chunk.columns[reader.names.index(name)])
        bad = [
            (row, BadRow(reader.label, chunk.place(row), why.column, why.value, why.rule))
            for row, why in sorted(faults.items())
        ]
        if chunk.faults:  # rows with a wrong number of cells
            places = np.insert(rows, [row for row, _ in chunk.faults], -1)
            table = table.take(pa.array(places, mask=places < 0))
            bad = sorted([*bad, *chunk.faults], key=lambda pair: pair[0])
        yield table, [row for _, row in bad]
    if table is None:  # the file has only a header
        table = _table(model)
        for place, name in enumerate(copied):
            table = table.add_column(place, name, pa.array([], pa.string()))
        yield table, []


def _table(model: Heros, X: NDArray[np.float64] | None = None, start: int = 0) -> Any:
    """Return a table of predictions, for instances numbered from `start`; without X, the table is empty."""
    schema = model.schema
    assert schema is not None, "a trained model has a schema"
    X = np.empty((0, schema.n_features)) if X is None else X
    return predicted_table(model.outputs(X, start + np.arange(len(X))), schema.classes)
