"""Snapshots of partitions, in a directory or an object store that all workers share."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heros._base.errors import DataError, HerosError
from heros._base.extras import needed
from heros.ensemble import serialization
from heros.storage.disk import reason, temporary_file, write_file

KEPT = 2
"""The number of snapshots to keep per partition; a worker may read one while another writes the next."""
NAME = re.compile(r"(\d+)\.keys")


class Snapshots:
    """A store of snapshots: files with all models of a partition's keys and the partition's offset.

    A snapshot depends only on the rows before its offset. It is therefore harmless if a worker that was
    considered dead writes a snapshot late.

    Parameters
    ----------
    place
        A directory shared by all workers, or a URL that fsspec supports: ``s3://bucket/models``.
    topic
        The topic of the partitions.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as shared, tempfile.TemporaryDirectory() as mine:
    ...     snapshots, file = Snapshots(shared, "sensors"), Path(mine, "models")
    ...     _ = file.write_bytes(b"models at 700")
    ...     snapshots.save(3, 700, file)
    ...     _ = file.write_bytes(b"models at 900")
    ...     snapshots.save(3, 900, file)
    ...     snapshots.fetch(3, file), file.read_bytes(), snapshots.partitions()
    (900, b'models at 900', [3])
    """

    def __init__(self, place: str | os.PathLike[str], topic: str) -> None:
        self.place = os.fspath(place)
        self._files: _Files = _Remote(self.place) if "://" in self.place else _Local(self.place)
        self._topic = topic

    def expect_same(self, settings: Mapping[str, Any]) -> None:
        """Raise an error unless the topic's snapshots were written with these settings.

        The settings of the first worker are stored beside the snapshots.
        """
        name = f"{self._topic}.json"
        with TemporaryDirectory(prefix="heros-") as directory:
            file = Path(directory, "settings")
            kept = self._settings(name, file)
            if kept is None:
                with self._expect("written"):
                    write_file(file, json.dumps(settings).encode())
                    self._files.put(file, name)
                kept = self._settings(name, file) or {}  # another worker may have written the file before
        place = f"the store {self.place}, which belongs to the topic {self._topic}"
        serialization.expect_same(kept, settings, settings, place, "use another store")

    def _settings(self, name: str, file: Path) -> Mapping[str, Any] | None:
        """Return the stored settings, or None if no settings are stored.

        The settings are copied to the path `file` before they are read.
        """
        with self._expect("read"):
            try:
                self._files.get(name, file)
                return dict(json.loads(file.read_text(encoding="utf-8")))
            except FileNotFoundError:
                return None
            except (TypeError, ValueError) as error:
                raise DataError(f"The file {name} in the store {self.place} is damaged: {error}.") from None

    def save(self, partition: int, offset: int, file: Path) -> None:
        """Store a file as the snapshot of a partition at an offset, and remove old snapshots."""
        folder = f"{self._topic}-{partition}"
        with self._expect("written"):
            self._files.put(file, f"{folder}/{offset:020d}.keys")
            for name in self._names(folder)[KEPT:]:
                with suppress(OSError):  # an old snapshot that cannot be removed is harmless
                    self._files.remove(f"{folder}/{name}")

    def fetch(self, partition: int, file: Path, before: int | None = None) -> int:
        """Copy the newest snapshot of a partition to `file`; return its offset, or 0 if none exists.

        With `before`, only snapshots at smaller offsets are considered.
        """
        folder = f"{self._topic}-{partition}"
        with self._expect("read"):
            for name in self._names(folder):
                offset = int(name.partition(".")[0])
                if before is not None and offset >= before:
                    continue
                try:
                    self._files.get(f"{folder}/{name}", file)
                except FileNotFoundError:  # a newer snapshot has replaced this one
                    return self.fetch(partition, file, before)
                return offset
        return 0

    def partitions(self) -> list[int]:
        """Return the partitions that have a snapshot."""
        found = (name.rpartition("-") for name in self._files.listed(""))
        return sorted(
            int(number) for topic, _, number in found if topic == self._topic and number.isdecimal()
        )

    @contextmanager
    def _expect(self, possible: str) -> Iterator[None]:
        """Raise a HerosError if the store cannot be read or written."""
        try:
            yield
        except OSError as error:
            raise HerosError(f"The store {self.place} cannot be {possible}: {reason(error)}.") from None

    def _names(self, folder: str) -> list[str]:
        """Return the snapshot names, newest first."""
        return sorted((name for name in self._files.listed(folder) if NAME.fullmatch(name)), reverse=True)


class _Local:
    def __init__(self, place: str) -> None:
        self._root = Path(place)

    def put(self, file: Path, name: str) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "rb") as source, temporary_file(path) as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def get(self, name: str, file: Path) -> None:
        shutil.copyfile(self._root / name, file)

    def listed(self, folder: str) -> list[str]:
        try:
            return os.listdir(self._root / folder)
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        os.unlink(self._root / name)


class _Remote:
    def __init__(self, place: str) -> None:
        fsspec = needed("fsspec.core", "A store that is not a directory", "fsspec")
        try:
            self._system, self._root = fsspec.url_to_fs(place)
        except (ImportError, ValueError) as error:  # a package is missing, or the scheme is unknown
            raise HerosError(f"The store {place} cannot be opened: {error}.") from None

    def put(self, file: Path, name: str) -> None:
        path = f"{self._root}/{name}"
        self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._system.put_file(str(file), f"{path}.draft")
        self._system.mv(f"{path}.draft", path)

    def get(self, name: str, file: Path) -> None:
        self._system.invalidate_cache()
        self._system.get_file(f"{self._root}/{name}", str(file))

    def listed(self, folder: str) -> list[str]:
        self._system.invalidate_cache()
        try:
            found: list[Any] = self._system.ls(f"{self._root}/{folder}".rstrip("/"), detail=False)
        except FileNotFoundError:
            return []
        return [str(path).rstrip("/").rpartition("/")[2] for path in found]

    def remove(self, name: str) -> None:
        self._system.rm_file(f"{self._root}/{name}")


_Files = _Local | _Remote
