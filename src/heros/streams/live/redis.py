"""Redis streams as sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heros._base.extras import needed
from heros.errors import DataError
from heros.streams.live.messages import MessageSource, Rows, without_password

__all__ = ["RedisStream"]

START = "0-0"


class RedisStream(MessageSource):
    """The entries of a Redis stream, in their order.

    An entry has either one field ``data`` with a message to be decoded, or a field for each value, where
    numbers are read as such. Where it stands is its own affair, kept in checkpoints: nothing is written to
    Redis unless `keep` says so.

    Parameters
    ----------
    url
        Of the server, e.g. ``redis://localhost:6379/0``.
    stream
        The stream's key.
    keep
        Whether entries stay in Redis when a checkpoint holds what was learnt from them; if not, those
        before it are trimmed.
    **settings
        As for `heros.streams.live.messages.MessageSource`.
    """

    kind = "Redis stream"

    def __init__(self, url: str, stream: str, *, keep: bool = True, **settings: Any) -> None:
        super().__init__(f"{without_password(url)}/{stream}", **settings)
        redis = needed("redis", "A Redis stream", "redis")
        self._errors = redis.exceptions.RedisError
        self.stream, self.keep = stream, keep
        self._last = START
        self._redis = redis.Redis.from_url(url)

    def _bring(self, most: int, wait: float) -> Rows:
        block = max(1, round(wait * 1000)) if self.follow else None  # milliseconds to wait for the first
        try:
            entries = _entries(self._redis.xread({self.stream: self._last}, count=most, block=block))
        except self._errors as error:
            raise self._trouble(error) from None
        if entries:
            self._last = entries[-1][0]
        return [(self._row(fields), {"id": id}) for id, fields in entries]

    def _at_end(self) -> bool:
        return True

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Go on behind the entry of this id."""
        id = position.get("id", START)
        if not isinstance(id, str):
            raise DataError(f"The position of {self.name} must be the id of an entry. Got {id!r} instead.")
        self._last = id

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Trim what a checkpoint holds, if it need not be kept."""
        id = where["position"].get("id")
        if self.keep or id is None:
            return
        try:
            self._redis.xtrim(self.stream, minid=id, approximate=False)
        except self._errors as error:
            raise self._trouble(error, "writable") from None

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()

    def _row(self, fields: Mapping[bytes, bytes]) -> Any:
        if list(fields) == [b"data"]:
            return self.decoded(fields[b"data"])
        return {name.decode("utf-8", "replace"): _value(value) for name, value in fields.items()}


def _entries(got: Any) -> list[tuple[str, Mapping[bytes, bytes]]]:
    """The entries of the one stream that was asked for, in either protocol."""
    if not got:
        return []
    (found,) = got.values() if isinstance(got, dict) else [entries for _, entries in got]
    flat = found[0] if isinstance(got, dict) else found
    return [(id.decode(), fields) for id, fields in flat]


def _value(text: bytes) -> float | str | None:
    """A number if it is one; nothing, if it is empty."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text.decode("utf-8", "replace")
