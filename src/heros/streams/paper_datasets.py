"""The five real streams of the paper: download, validation and the local copy."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros._base.lazy import pa, platformdirs, pq
from heros._base.progress import progress
from heros.data.schema import Feature, Schema
from heros.storage.disk import OutputFile, reason, temporary_file
from heros.streams.arrow import ParquetReader
from heros.streams.base import Stream
from heros.streams.files import read
from heros.streams.options import Options
from heros.streams.tables import TableStream

__all__ = ["REAL", "RealStream", "copy_of", "data_directory", "open_real"]


@dataclass(frozen=True)
class RealStream:
    """A real stream: its download addresses, and the properties that a downloaded copy must have."""

    name: str
    urls: tuple[str, ...]
    n_nominal: int
    n_numeric: int
    class_counts: dict[str, int]
    labels: str | None = None  # SHA-256 of the labels in order, one per line, which detects shuffled rows

    @property
    def n_instances(self) -> int:
        """The number of instances."""
        return sum(self.class_counts.values())

    @property
    def most_bytes(self) -> int:
        """The maximum size of the stream as text: 32 bytes per value."""
        return max(1 << 26, 32 * self.n_instances * (self.n_nominal + self.n_numeric + 1))


def _openml(dataset: int, file: str) -> tuple[str, ...]:
    """Return the addresses of an OpenML data set, first in the file store, then in the API."""
    stored = f"datasets/{dataset // 10_000:04d}/{dataset:04d}/dataset_{dataset}.arff"
    return f"https://data.openml.org/{stored}", f"https://api.openml.org/data/v1/download/{file}"


WISDM = "https://www.cis.fordham.edu/wisdm/includes/datasets/latest/WISDM_ar_latest.tar.gz"
ACTIVITIES = ("Walking", "Jogging", "Upstairs", "Downstairs", "Sitting", "Standing")
_REAL = (  # name, addresses, nominal and numeric features, instances per class, SHA-256 of labels
    (
        *("airlines", _openml(1169, "66526/airlines.arff"), 4, 3, {"0": 299_119, "1": 240_264}),
        "75d553258fa2cd6a82a1317020f33538651d992b25964f13e5bee05eba845a71",
    ),
    (
        *("electricity", _openml(151, "2419/electricity.arff"), 1, 7, {"UP": 19_237, "DOWN": 26_075}),
        "b24c45d661306de501a8f9af2f16403d3ecdb6fe796a5e82de2ed3619e33befb",
    ),
    (
        *("wisdm", (WISDM,), 1, 44, dict(zip(ACTIVITIES, (2_081, 1_625, 632, 528, 306, 246), strict=True))),
        "6a15d110f31dff69392dedb88ccf3c107dff706bfbb40c16f639b1717d6e6a89",
    ),
    (
        *("covtype", _openml(150, "2418/covertype.arff"), 44, 10),
        {"1": 211_840, "2": 283_301, "3": 35_754, "4": 2_747, "5": 9_493, "6": 17_367, "7": 20_510},
        "278c33bb977e343f1981f9e6fcd56b1d916c463041aa5829770daafc2e761b0f",
    ),
    (
        *("nomao", _openml(1486, "1592278/nomao.arff"), 29, 89, {"1": 9_844, "2": 24_621}),
        "a5cb93de53a0705ba0ea227154d258b38031927300064e6d272f725941597373",
    ),
)
REAL: dict[str, RealStream] = {one[0]: RealStream(*one) for one in _REAL}


def data_directory() -> Path:
    """Return the directory of the real streams: HEROS_DATA, or else the user's cache directory."""
    if chosen := os.environ.get("HEROS_DATA"):
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("heros", appauthor=False)


def copy_of(real: RealStream) -> Path:
    """Return the path of the local copy of a real stream."""
    return data_directory() / f"{real.name}.parquet"


def open_real(real: RealStream) -> Stream:
    """Open a real stream from the data directory; download it first if necessary."""
    path = copy_of(real)
    if not path.exists():
        _install(real, path)
    options = Options("load", target="class", most_values=None)
    stream = TableStream(ParquetReader(path), options, real.name)
    _check_shape(real, stream.schema, stream.n_instances or 0, str(path))
    return stream


def _check_shape(real: RealStream, schema: Schema, rows: int, where: str) -> None:
    nominal = sum(feature.nominal for feature in schema.features)
    found = (rows, nominal, schema.n_features - nominal, list(schema.classes))
    expected = (real.n_instances, real.n_nominal, real.n_numeric, list(real.class_counts))
    if found != expected:
        form = "{:,} rows, {} nominal and {} numeric features, and the classes {}"
        must = f"{where} must hold the stream {real.name!r} with {form.format(*expected)}."
        raise DataError(f"{must} Got {form.format(*found)} instead.")


def _install(real: RealStream, path: Path) -> None:
    """Download a real stream, validate it, and move it into place atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{real.name}-", dir=path.parent) as directory:
            arff = Path(directory, "download.arff")
            _download(real, arff, path)
            _convert(real, arff, path)
    except DataError:
        raise
    except (OSError, HerosError) as error:
        got = f"{reason(error)}." if isinstance(error, OSError) else str(error)
        hint = "Set the environment variable HEROS_DATA to use another directory."
        raise DataError(f"The data directory {path.parent} cannot be written to: {got} {hint}") from None


def _download(real: RealStream, arff: Path, path: Path) -> None:
    """Try the addresses in order until a download succeeds."""
    errors = []
    for url in real.urls:
        try:
            return _download_from(url, real, arff)
        except DataError as error:
            errors.append(str(error))
    what = f"The stream {real.name!r} is not in {path.parent} and could not be downloaded: {' '.join(errors)}"
    hint = f"{path.name} (a Parquet file with the label in the last column, 'class')"
    raise DataError(f"{what} Save the stream in this directory manually as {hint}.")


def _download_from(url: str, real: RealStream, arff: Path) -> None:
    """Download from one address, and extract the file if the address is an archive."""
    most = real.most_bytes
    if not url.endswith(".tar.gz"):
        return fetch(url, arff, real.name, most)
    archive = arff.with_suffix(".tar.gz")
    fetch(url, archive, real.name, most)
    try:
        with tarfile.open(archive) as tar:
            member = next((m for m in tar if m.name.endswith("_transformed.arff")), None)
            content = None if member is None else tar.extractfile(member)
            if member is None or content is None:
                raise DataError(f"{url} contains no file that matches *_transformed.arff.")
            if member.size > most:
                raise DataError(f"{url} contains a file larger than the limit of {most:,} bytes.")
            with content, OutputFile(os.open(arff, os.O_WRONLY | os.O_CREAT, 0o644)) as file:
                shutil.copyfileobj(content, file)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError):
        raise DataError(f"{url} is not a valid archive.") from None


def _convert(real: RealStream, arff: Path, path: Path) -> None:
    """Convert the ARFF file to Parquet; raise a DataError if it is not the expected stream."""
    stream = read(arff, target=-1, format="arff", name=real.name, on_bad_row="raise")
    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    with temporary_file(path) as file:
        columns = _table(np.empty((0, stream.schema.n_features)), np.empty(0), stream.schema).schema
        with pq.ParquetWriter(file, columns, compression="zstd") as writer, progress("count") as bar:
            task = bar.add_task(f"converting {real.name}", total=real.n_instances)
            for X, y in stream.blocks(1 << 16):
                writer.write_table(_table(X, y, stream.schema))
                labels = np.asarray(stream.schema.classes)[y].tolist()
                counts.update(labels)
                digest.update("".join(f"{label}\n" for label in labels).encode())
                bar.advance(task, len(y))
        _check_shape(real, stream.schema, counts.total(), "The download")
        must = f"The download must hold the stream {real.name!r} with the"
        if counts != real.class_counts:
            raise DataError(f"{must} class counts {real.class_counts}. Got {dict(counts)} instead.")
        if real.labels not in (None, digest.hexdigest()):
            rule = f"labels in the original order (SHA-256 {real.labels})"
            raise DataError(f"{must} {rule}. Got {digest.hexdigest()} instead.")


def _table(X: NDArray[np.float64], y: NDArray[Any], schema: Schema) -> pa.Table:
    table, columns = {}, [*X.T, y.astype(np.float64)]
    for feature, values in zip((*schema.features, Feature("class", schema.classes)), columns, strict=True):
        array = pa.array(np.ascontiguousarray(values), from_pandas=True)  # NaN becomes null
        if feature.values is not None:
            names = pa.array(feature.values, pa.string())
            array = pa.DictionaryArray.from_arrays(array.cast(pa.int16()), names)
        table[feature.name] = array
    return pa.table(table)


def fetch(url: str, path: Path, title: str, most: int = 1 << 30) -> None:
    """Download at most `most` bytes from `url` to `path`; after an error, the file may be incomplete."""
    import http.client  # noqa: PLC0415  slow imports, needed only for downloads
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    try:
        request = urllib.request.Request(url, headers={"User-Agent": "heros"})
        with _opener(url).open(request, timeout=30) as answer, progress("bytes") as bar:
            length_header = answer.headers.get("Content-Length")
            if length_header is not None and not length_header.strip().isdecimal():
                raise DataError(f"{url} returned an invalid length ({length_header!r}).")
            total = None if length_header is None else int(length_header)
            task = bar.add_task(title, total=total)
            received = 0
            with OutputFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)) as file:
                while piece := answer.read(1 << 16):
                    received += len(piece)
                    if max(received, total or 0) > most:
                        raise DataError(f"{url} is larger than the limit of {most:,} bytes.")
                    file.write(piece)
                    bar.update(task, completed=received)
    except urllib.error.HTTPError as error:
        raise DataError(f"{url} returned the error {error.code} ({error.reason}).") from None
    except urllib.error.URLError as error:
        raise DataError(f"{url} could not be reached ({error.reason}).") from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(f"{url}: the connection failed ({type(error).__name__}: {error}).") from None
    if total is not None and received != total:
        raise DataError(f"{url} ended after {received:,} of {total:,} bytes.")


def _opener(url: str) -> Any:
    """Return an opener that does not follow redirects from HTTPS to unencrypted addresses."""
    import urllib.request  # noqa: PLC0415

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            if req.full_url.startswith("https:") and not newurl.startswith("https:"):
                raise DataError(f"{url} redirected to {newurl} without encryption. This is not allowed.")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return urllib.request.build_opener(Redirects)
