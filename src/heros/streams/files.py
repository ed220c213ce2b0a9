"""Streams from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, ParameterError, did_you_mean
from heros._base.lazy import pa
from heros._base.parameters import one_of
from heros.data.codes import MOST_VALUES
from heros.streams.arff import ArffReader
from heros.streams.arrow import ExcelReader, IPCReader, ParquetReader
from heros.streams.base import Stream
from heros.streams.delimited import DelimitedReader
from heros.streams.json_lines import JsonReader, is_json
from heros.streams.options import Columns, Options
from heros.streams.readers import TableReader
from heros.streams.tables import TableStream, weighed
from heros.streams.text import BOM, BROKEN, COMPRESSIONS, encoding_of, opened_file, zipped_name

__all__ = ["opened", "read", "reader_of"]

ENDINGS = {
    "csv": (".csv", ".tsv", ".txt", ".data"),
    "json": (".jsonl", ".ndjson", ".json"),
    "arff": (".arff",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "excel": (".xlsx", ".xlsm"),
}
FORMATS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings}
TEXTS = frozenset({"csv", "json", "arff"})
"""Formats that may be compressed."""


def read(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "skip",
    name: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    quote: str = '"',
    header: bool = True,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    dates: Sequence[str] | Mapping[str, str | None] = (),
    most_values: int | None = MOST_VALUES,
    columns: Columns | None = None,
    task: str | None = None,
    weights: str | None = None,
) -> Stream:
    r"""Open a stream from a CSV, JSON lines, ARFF, Parquet, Arrow, Feather or Excel file.

    The file is read block by block, as the stream is read. The types of the columns are declared in the file
    or inferred from its first block: a column is numeric if at least half of its values are numbers. Nominal
    values and classes are declared, or taken from the first block and sorted. Values that appear later
    are appended to the schema, unless all values were given or declared. Numbers may have decimal commas,
    thousands separators, currency and percent signs. A `heros.DataNotice` warns about columns that may be
    read in an unexpected way; `heros.streams.look` shows how each column is read.

    Parameters
    ----------
    path
        The file. Text may be compressed (``.gz``, ``.zst``, ``.bz2``, ``.lz4``, or a ``.zip`` with one file).
        For an Excel file (``.xlsx``, requires the extra ``excel``), the first sheet is read.
    target
        The target column, by name or index; by default the last column.
    nominal
        Columns whose values are names, even if the values look like numbers. A mapping also lists all values
        of each column.
    numeric
        Columns whose values are numbers, regardless of the first block.
    ignore
        Columns to ignore.
    classes
        All classes, in the order of their indices.
    on_bad_row
        How to handle an invalid row or a row without a target: "skip" the row, or first return the rows
        before it and then "raise" a DataError. ``stream.bad_rows`` counts the skipped rows and stores the
        first ten. `heros.streams.TooManyBadRows` is raised if at least twenty rows, and more than one in
        twenty rows with a target, are bad. `heros.evaluate` then returns the results so far.
    name
        The name of the stream; by default the file name without its suffixes, followed by the target if it is
        not the last column.
    format
        "csv", "json" (one object per line), "arff", "parquet", "arrow" or "excel"; by default inferred from
        the file name.
    delimiter, quote, header, missing, encoding
        For text files: the delimiter (default: inferred from the first lines), the quote character ("" for
        none), whether the first line is a header, strings for missing values (CSV, JSON), and the encoding
        (default: UTF-8, or UTF-16 if the file starts with its byte order mark). Cells are trimmed.
    dates
        Columns of dates or times; a mapping also gives their `strptime` formats (``"%d.%m.%y"``). Each column
        becomes up to four numbers: day, weekday, day of the year, hour.
    most_values
        The maximum number of model inputs for a nominal column. The most frequent values have one input each;
        all others share a quarter of the inputs. A column in which hardly any value occurs twice, such as an
        identifier, is ignored unless it is in `nominal`. None for no limit.
    task
        "regression" if the target is a number, "classification" if it is a class. By default the target is a
        number if it has more than 20 distinct numbers, some with decimals. For very many distinct whole
        numbers, `task` is required.
    columns
        The kinds of columns: a mapping from names to "numeric", "nominal", "date" (optionally followed by a
        format), "ignore", "target", "weights" or a list of values; or a TOML, JSON or CSV file with such a
        mapping.
    weights
        The column with the weight of each row in `heros.evaluate`; it is not a feature. A row without a valid
        weight is a bad row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "people.csv")
    ...     _ = path.write_text("age,colour,label\n18,red,no\n21,blue,yes\n?,red,no\n")
    ...     stream = read(path, target="label")
    ...     X, y = stream.draw(3)
    >>> stream.schema.features[1].values, stream.schema.classes
    (('blue', 'red'), ('no', 'yes'))
    >>> X, y
    (array([[18.,  1.],
            [21.,  0.],
            [nan,  1.]]), array([0, 1, 0]))
    """
    reader, options = opened(**{setting: value for setting, value in locals().items() if setting != "name"})
    name = name or options.stream_name(Path(path).name.split(".")[0], reader.names)
    return weighed(TableStream(reader, options, name), options)


def opened(path: str | os.PathLike[str], **settings: Any) -> tuple[TableReader, Options]:
    """Return the reader of a file and the column options; `read` describes the parameters."""
    options, text = Options.of("read", settings)
    return reader_of(Path(path), ignore=tuple(options.ignore), **text), options


def reader_of(
    file: Path,
    format: str | None = None,
    ignore: tuple[str, ...] = (),
    *,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
    quote: str = '"',
    header: bool = True,
) -> TableReader:
    """Return the reader for a file, chosen by `format` or by the file name."""
    try:
        what = None if file.is_file() else "it is a directory" if file.is_dir() else "there is no such file"
    except OSError as error:
        what = f"{error.strerror}"
    if what is not None:
        names = list[str]()
        with suppress(OSError):
            names += [one.name for one in file.parent.iterdir() if one.is_file()]
        close = did_you_mean(file.name, names, 0.8)  # with equal endings, all names are similar
        raise DataError(f"The file {file} cannot be read: {what}.{close}")
    kind = _format(file, format)
    head = b""
    if kind in TEXTS:  # the reader reports a file that cannot be read
        with suppress(*BROKEN, pa.ArrowException), opened_file(file) as text:
            head = bytes(text.read(4096))
    encoding = encoding or encoding_of(head)
    settings: dict[str, Any] = {"encoding": encoding, "missing": missing}
    if kind == "json" or (kind == "csv" and format is None and is_json(_utf8(head, encoding))):
        return JsonReader(file, **settings)
    if kind == "csv":
        return DelimitedReader(file, delimiter=delimiter, quote=quote, header=header, **settings)
    if kind == "arff":
        return ArffReader(file, ignore=ignore, **settings)
    if kind == "excel":
        return ExcelReader(file, missing)
    return ParquetReader(file, missing) if kind == "parquet" else IPCReader(file, missing)


def _utf8(head: bytes, encoding: str | None) -> bytes:
    """Convert the first bytes of a text file to UTF-8; return them unchanged if the encoding is unknown."""
    with suppress(LookupError):
        return head.decode(encoding or "utf-8", "ignore").encode("utf-8", "ignore").removeprefix(BOM)
    return head


def _format(file: Path, format: str | None) -> str:
    if format is not None:
        formats = "'csv', 'json', 'arff', 'parquet', 'arrow' or 'excel'"
        return one_of(format, "format", "read", FORMATS.values(), formats)
    ending = file.suffix.lower()
    compressed = ending in {*COMPRESSIONS, ".zip"}
    name = Path(zipped_name(file)) if ending == ".zip" else file.with_suffix("") if compressed else file
    kind = FORMATS.get(name.suffix.lower())
    if kind is None or (compressed and kind not in TEXTS):
        rule = f"a file whose name ends in one of {', '.join(FORMATS)} (or set format=)"
        raise ParameterError.of("path", "read", rule, str(file))
    return kind
