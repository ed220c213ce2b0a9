"""The models of the keys in one partition, and the partition's offset."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heros._base.errors import DataError, DataNotice, HerosError
from heros._base.notices import notice
from heros.data.encoder import Encoder
from heros.data.schema import schema_of, schema_plain
from heros.data.values import Refused, shown
from heros.ensemble import Heros
from heros.ensemble.keyed import Key, Keyed
from heros.run.workers.snapshots import Snapshots
from heros.storage.disk import reason
from heros.storage.keystore import FILE
from heros.streams.bad_rows import BadRow, BadRows, notify_skipped

Message = tuple[Any, Any, int]  # key, row, offset
Rows = dict[Key, tuple[list[list[float]], list[float]]]


class Partition:
    """The models of the keys in one partition, restored from the partition's newest snapshot.

    Each partition has its own schema, which grows with its rows. The model of a key therefore depends only on
    the rows of its partition.

    Parameters
    ----------
    number
        The number of the partition.
    snapshots
        The store of the partition's snapshots.
    scratch
        A directory on this machine, used by this partition only.
    encoder
        The encoder of rows, with the initial schema.
    skip
        Whether to skip and count bad rows, up to one row in twenty; otherwise the first bad row is an error.
    model, target, key, limits
        As for `heros.run.workers.KafkaWorker`; `limits` are `capacity` and `memory`.
    """

    def __init__(
        self,
        number: int,
        snapshots: Snapshots,
        scratch: Path,
        model: Heros,
        *,
        target: str,
        key: str | None,
        encoder: Encoder,
        skip: bool,
        **limits: Any,
    ) -> None:
        self.number, self._snapshots, self._scratch = number, snapshots, scratch
        self._target, self._key, self._skip = target, key, skip
        self._encoder = encoder
        self.next, self.bad_rows = 0, BadRows()
        self._reported: set[bool] = set()  # kinds of skipped rows that were reported to the user
        self._messages: list[Message] = []
        self._whole = True  # whether the models have learnt all rows before the offset
        try:
            self.keyed = self._restored(model, limits)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise HerosError(f"The directory {scratch} cannot be written to: {reason(error)}.") from None
            raise
        self.ahead = self.next  # the offset after the last message received
        self._saved = self.next

    def _restored(self, model: Heros, limits: Mapping[str, Any]) -> Keyed:
        """Return the models of the newest snapshot that can be read; report damaged newer snapshots."""
        damage: DataError | None = None
        before: int | None = None
        while True:
            self._scratch.mkdir(parents=True)
            offset = self._snapshots.fetch(self.number, self._scratch / FILE, before)
            if damage is not None:
                if not offset:
                    raise damage
                way = f"The snapshot at offset {offset} is used instead, and later rows are read again."
                notice(f"{damage} {way}", DataNotice)
            try:
                return self._opened(model, limits, offset)
            except DataError as error:
                why = str(error).replace(str(self._scratch / FILE), "keys.sqlite").rstrip(".")
                place = (
                    f"The snapshot of partition {self.number} at offset {offset} in {self._snapshots.place}"
                )
                damage, before = DataError(f"{place} is damaged: {why}."), offset
                if not offset:
                    raise
                shutil.rmtree(self._scratch)

    def _opened(self, model: Heros, limits: Mapping[str, Any], offset: int) -> Keyed:
        """Open the models in the scratch directory: a snapshot at this offset, or new models at offset 0."""
        keyed = Keyed(model, directory=self._scratch, **limits)
        try:
            if offset:
                self._go_to(keyed, keyed.position)
        except BaseException:
            keyed.close()
            raise
        return keyed

    def _go_to(self, keyed: Keyed, position: Mapping[str, Any] | None) -> None:
        if position is None:
            raise DataError("the snapshot has no position.")
        try:
            following, seen = int(position["offset"]), int(position["learnt"])
            bad_rows = BadRows.of(position["bad_rows"])
            schema = schema_of(position["schema"])
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise DataError(f"the position in the snapshot cannot be read: {error}.") from None
        self.next, self._encoder.seen, self.bad_rows = following, seen, bad_rows
        self._reported |= {row.unlabelled for row in bad_rows.first}
        self._encoder.use_schema(schema)
        if schema.n_features and schema.n_outputs:
            keyed.bind(schema)

    @property
    def learnt(self) -> int:
        """The number of training rows so far."""
        return self._encoder.seen

    @property
    def unsaved(self) -> int:
        """The number of offsets since the last snapshot."""
        return self.next - self._saved

    def skip_to(self, offset: int) -> None:
        """Advance to this offset, because the messages before it were deleted; never move back."""
        self.next, self.ahead = max(self.next, offset), max(self.ahead, offset)

    def take(self, key: Any, row: Any, offset: int) -> None:
        """Queue a message for the next call of `learn`; a message that was received before is ignored."""
        if offset >= self.ahead:
            self._messages.append((key, row, offset))
            self.ahead = offset + 1

    def learn(self) -> int:
        """Train on the queued messages, in order for each key; return the number of these messages."""
        messages, self._messages = self._messages, []
        rows: Rows = {}
        for message in messages:
            try:
                self._code(message, rows)
            except Refused as why:
                self._refuse(message, why, rows)
            self.next = message[2] + 1
        self._train(rows)
        return len(messages)

    def _code(self, message: Message, rows: Rows) -> None:
        key, features, label = self._parts(message)
        encoder = self._encoder
        if not encoder.schema.n_features:
            encoder = copy.deepcopy(encoder)  # a row without features must not change the schema
        coded = encoder.encode(features, label, grow=not rows)
        if coded is None:  # the row extends the schema: train on earlier rows with the old schema first
            self._train(rows)
            coded = encoder.encode(features, label)
            assert coded is not None
        if not coded[0]:
            raise Refused(None, repr(features), "have a feature")
        self._encoder = encoder
        self.keyed.bind(encoder.schema)
        X, y = rows.setdefault(key, ([], []))
        X.append(coded[0])
        y.append(coded[1])

    def _parts(self, message: Message) -> tuple[Key, Mapping[Any, Any], Any]:
        key, row, _ = message
        if not isinstance(row, Mapping):
            raise Refused(None, repr(row), f"be a mapping with {self._target!r}")
        if self._key is not None:
            key = row.get(self._key)
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise Refused(self._key, shown(key), "have a string or a whole number as key")
        if isinstance(key, str) and any("\ud800" <= letter <= "\udfff" for letter in key):
            raise Refused(self._key, shown(key), "have a key that can be encoded as UTF-8")
        besides = (self._key, self._target)
        features = {name: value for name, value in row.items() if name not in besides}
        if not features:
            raise Refused(None, repr(row), "have a feature")
        return key, features, row.get(self._target)

    def _refuse(self, message: Message, why: Refused, rows: Rows) -> None:
        bad = BadRow(f"partition {self.number}", f"offset {message[2]}", why.column, why.value, why.rule)
        if not self._skip:
            self._train(rows)
            raise DataError(str(bad)) from None
        self.bad_rows = self.bad_rows.plus(bad)
        notify_skipped(self.bad_rows, self._reported)
        read = self.learnt + self.bad_rows.count
        if self.bad_rows.are_too_many(read):
            self._train(rows)
            self.next = message[2] + 1
            raise self.bad_rows.error(f"partition {self.number}", read)

    def _train(self, rows: Rows) -> None:
        self._whole = False
        for key, (X, y) in rows.items():
            self.keyed.test_then_train(key, np.array(X, dtype=np.float64), np.array(y, dtype=np.float64))
        rows.clear()
        self._whole = True

    def save(self) -> None:
        """Write the models and the offset to a snapshot; raise an error if training did not finish."""
        if not self._whole:
            raise HerosError(f"Partition {self.number} cannot be saved, because training on its rows failed.")
        if not self.unsaved:
            return
        snapshot = self._scratch / "snapshot"
        position = {
            "offset": self.next,
            "learnt": self.learnt,
            "bad_rows": self.bad_rows.plain(),
            "schema": schema_plain(self._encoder.schema),
        }
        try:
            snapshot.unlink(missing_ok=True)  # a failed attempt may have left this file behind
            self.keyed.snapshot(position, snapshot)
            self._snapshots.save(self.number, self.next, snapshot)
            self._saved = self.next
            snapshot.unlink()
        except OSError as error:
            raise HerosError(f"The file {snapshot} cannot be written: {reason(error)}.") from None

    def close(self) -> None:
        """Close the models; changes since the last snapshot are lost."""
        self.keyed.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
