"""Redis streams as sources."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from heros._base.addresses import expect_servers
from heros._base.errors import DataError, ParameterError
from heros._base.extras import needed
from heros.streams.live.messages import MessageSource, Rows, without_password

__all__ = ["RedisStream"]

START = "0-0"
WHOLE, PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,999})"), re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
Entries = list[tuple[str, Mapping[bytes, bytes]]]


class RedisStream(MessageSource):
    """A source of the entries of a Redis stream, in order.

    An entry has either one field ``data`` with a message to be decoded, or one field per value. In the
    second case, numbers are parsed. Checkpoints store the position. The source does not write to Redis unless
    `keep` is False.

    Parameters
    ----------
    url
        The address of the server, e.g. ``redis://localhost:6379/0``.
    stream
        The key of the stream.
    keep
        Whether entries stay in Redis after a checkpoint. If `keep` is False, entries before the checkpoint
        are trimmed.
    **settings
        As for `heros.streams.live.messages.MessageSource`.
    """

    kind = "Redis stream"

    def __init__(self, url: str, stream: str, *, keep: bool = True, **settings: Any) -> None:
        expect_servers(url, "url", "RedisStream", "redis://host:6379/0")
        super().__init__(f"{without_password(url)}/{stream}", **settings)
        redis = needed("redis", "A Redis stream", "redis")
        self._errors = redis.exceptions.RedisError
        self.stream, self.keep = stream, keep
        self._last = START
        self._read = 0  # number of entries added to the stream, up to the entry read last
        try:
            self._redis = redis.Redis.from_url(url)
        except ValueError:
            raise ParameterError.of(
                "url", "RedisStream", "an address such as redis://host:6379/0", without_password(url)
            ) from None

    def _bring(self, most: int, wait: float) -> Rows:
        block = max(1, round(wait * 1000)) if self.follow else None  # milliseconds
        try:
            entries = _entries(self._redis.xread({self.stream: self._last}, count=most, block=block))
            entries = self._without_gap(entries, most)
        except self._errors as error:
            raise self._trouble(error) from None
        rows = [
            (self._row(fields), {"id": id, "read": read})
            for read, (id, fields) in enumerate(entries, self._read + 1)
        ]
        if entries:
            self._last, self._read = entries[-1][0], self._read + len(entries)
        return rows

    def _without_gap(self, entries: Entries, most: int) -> Entries:
        """Return the next entries; report a gap if earlier entries are lost.

        If the stream still contains the entry that was read last, no later entry was trimmed. This check is
        made after reading, because entries may be trimmed at any time.
        """
        known = self._last != START and self._redis.xrange(self.stream, self._last, self._last)
        if known or not self._redis.exists(self.stream):
            return entries
        about = self._redis.xinfo_stream(self.stream)
        added = about.get("entries-added")  # this field exists since Redis 7
        removed = self._read if added is None else added - about["length"]
        if self._last == START:
            self._read = removed
        elif added is not None and (added < self._read or self._is_other(about, removed)):
            self._tell_gap(None, f"entry {self._last}")
            self._last, self._read = START, removed
            entries = _entries(self._redis.xread({self.stream: START}, count=most))
        elif removed > self._read:
            self._tell_gap(removed - self._read, f"entry {self._last}")
            self._read = removed
        return entries

    def _is_other(self, about: Mapping[str, Any], removed: int) -> bool:
        """Return whether the stream has been replaced by another stream with the same key.

        The caller has found that the entry that was read last is missing. If this entry had been trimmed,
        all earlier entries would also have been removed. If it had been deleted, Redis would have recorded
        the deletion.
        """
        return removed < self._read and _place(about["max-deleted-entry-id"]) < _place(self._last)

    def _at_end(self) -> bool:
        return True

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue after the entry with this id."""
        id, read = position.get("id", START), position.get("read", 0)
        if not isinstance(id, str) or type(read) is not int:
            raise DataError(f"The position of {self.name} must be the id of an entry. Got {id!r} instead.")
        self._last, self._read = id, read

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Trim the entries before a checkpoint, unless `keep` is set."""
        id = where["position"].get("id")
        try:
            if id is not None and not self.keep:
                self._redis.xtrim(self.stream, minid=id, approximate=False)
        except self._errors as error:
            raise self._trouble(error, "written") from None

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()

    def _row(self, fields: Mapping[bytes, bytes]) -> Any:
        if list(fields) == [b"data"]:
            return self.decoded(fields[b"data"])
        return {name.decode("utf-8", "replace"): _value(value) for name, value in fields.items()}


def _entries(got: Any) -> Entries:
    """Return the entries of the requested stream, for both protocol versions."""
    if not got:
        return []
    (found,) = got.values() if isinstance(got, dict) else [entries for _, entries in got]
    flat = found[0] if isinstance(got, dict) else found
    return [(id.decode(), fields) for id, fields in flat]


def _place(id: str | bytes) -> tuple[int, ...]:
    """Return an id as a tuple of numbers, which sorts in the order of the entries."""
    return tuple(map(int, (id if isinstance(id, str) else id.decode()).split("-")))


def _value(field: bytes) -> int | float | str | None:
    """Convert a field to a number if it is clearly numeric, else to text; return None if it is empty.

    Text such as ``007`` or ``12e34567`` may be an id and is not converted here; in a column of numbers, the
    encoder converts it later. Whole numbers stay exact, regardless of their length.

    Examples
    --------
    >>> [_value(field) for field in (b"9007199254740993", b"21.50", b"1e-05", b"007", b"12e34567", b"red")]
    [9007199254740993, 21.5, 1e-05, '007', '12e34567', 'red']
    """
    text = field.decode("utf-8", "replace")
    if WHOLE.fullmatch(text):
        return int(text)
    if PLAIN.fullmatch(text):
        return float(text)
    try:
        number = float(text)
    except ValueError:
        return text or None
    return number if math.isfinite(number) and repr(number) == text else text
