"""Sources by address: what people write where a stream is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from heros.errors import ParameterError
from heros.streams.live.late import LateSource
from heros.streams.live.messages import MessageSource, csv_decoder
from heros.streams.live.rows import RowSource

__all__ = ["SCHEMES", "connect", "is_address"]

Readers = Mapping[str, Callable[[str], Any]]
"""What reads the text of each setting."""


def connect(address: str, *, directory: str | os.PathLike[str] | None = None, **settings: Any) -> RowSource:
    """The source at an address.

    ``kafka://host:9092/topic?group=g``, ``redis://host:6379/stream``, ``nats://host:4222/subject``,
    ``mqtt://host:1883/topic``. Behind the question mark, each may have `follow` (``no``: it ends with what is
    there), `nominal`, `classes`, and `columns` (the names of the columns, if messages are lines of CSV), with
    commas between them; Kafka's also `group` and `partitions`, Redis's `db` and `keep`, MQTT's `journal`.

    ``?labels=other&id=order`` has the labels of the instances in another topic, by an id that both have under
    that name (`heros.streams.live.late.LateSource`), with `waiting`: how many instances may wait for them,
    `longest`: for how many seconds, and `expired`: what those are taken for that have waited too long.

    Parameters
    ----------
    address
        As above.
    directory
        Where a source keeps what it needs for going on after a kill (MQTT: its journal).
    **settings
        More settings of the source, e.g. `target` or `decode`: see
        `heros.streams.live.messages.MessageSource`.

    Examples
    --------
    >>> connect("kafka://localhost:9092/orders?colour=red")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'address' parameter of connect must be without settings but classes,
    columns, expired, follow, group, id, labels, longest, nominal, partitions, waiting. Got 'colour' instead.
    """
    at = urlsplit(address) if is_address(address) else None
    name = "" if at is None else unquote(at.path.lstrip("/"))
    if at is None or not at.netloc or not name:
        rule = f"like kafka://host:9092/topic, with one of {', '.join(SCHEMES)}"
        raise _error(rule, address)
    known = {**COMMON, **LATE, **SCHEMES[at.scheme]}
    written = dict(parse_qsl(at.query, keep_blank_values=True))
    unknown = sorted(written.keys() - known.keys())
    if unknown:
        rule = f"without settings but {', '.join(sorted(known))}"
        raise _error(rule, unknown[0])
    read = {setting: known[setting](text) for setting, text in written.items()}
    if "columns" in read:
        read["decode"] = csv_decoder(read.pop("columns"))
    if "labels" not in read:
        needless = sorted(read.keys() & LATE.keys())
        if needless:
            raise _error("without what late labels need, unless it says labels=", needless[0])
        return _opened(at, name, directory, {**read, **settings})
    how = {**read, **settings}
    late = {setting: how.pop(setting) for setting in (*LATE, *JOINED) if setting in how}
    topics = [
        (name, directory),
        (late.pop("labels"), None if directory is None else Path(directory, "labels")),
    ]
    if "id" not in late or late.get("target") is None:
        raise _error("with id= beside labels=, and a target given", address)
    features, labels = (_opened(at, topic, place, dict(how)) for topic, place in topics)
    return LateSource(features, labels, most=late.pop("waiting", MOST_WAITING), **late)


def is_address(text: str) -> bool:
    """Whether it is written as the address of a source.

    Examples
    --------
    >>> is_address("redis://localhost/orders"), is_address("orders.csv")
    (True, False)
    """
    return text.partition("://")[0] in SCHEMES and "://" in text


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [_number(part) for part in _list(text)]


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise _error("written with whole numbers where they belong", text)
    return int(text)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _error("written with seconds for 'longest'", text) from None


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise _error("written with 'yes' or 'no' for 'follow', 'keep'", text)
    return text == "yes"


def _error(rule: str, given: str) -> ParameterError:
    return ParameterError.of("address", "connect", rule, given)


def _opened(at: SplitResult, name: str, directory: Any, settings: dict[str, Any]) -> MessageSource:
    """The queue at an address; each is imported only if it is asked for."""
    server = f"{at.scheme}://{at.netloc}"
    if at.scheme == "kafka":
        from heros.streams.live.kafka import KafkaTopic  # noqa: PLC0415

        return KafkaTopic(at.netloc, name, **settings)
    if at.scheme in ("redis", "rediss"):
        from heros.streams.live.redis import RedisStream  # noqa: PLC0415

        return RedisStream(f"{server}/{settings.pop('db', 0)}", name, **settings)
    if at.scheme == "nats":
        from heros.streams.live.nats import JetStream  # noqa: PLC0415

        return JetStream(server, name, **settings)
    from heros.streams.live.mqtt import MqttTopic  # noqa: PLC0415

    if directory is not None:
        settings.setdefault("journal", Path(directory) / "mqtt.journal")
    return MqttTopic(server, name, **settings)


COMMON: Readers = {"classes": _list, "columns": _list, "follow": _yes, "nominal": _list}
LATE: Readers = {"expired": str, "id": str, "labels": str, "longest": _seconds, "waiting": _number}
JOINED = ["target", "schema", "nominal", "classes", "on_bad_row", "most_values", "task", "ignore", "missing"]
"""What is said of instances and labels as one."""
MOST_WAITING = 100_000
REDIS: Readers = {"db": _number, "keep": _yes}
MQTT: Readers = {"journal": str, "keep": _number}
SCHEMES: Mapping[str, Readers] = {
    "kafka": {"group": str, "partitions": _numbers},
    "mqtt": MQTT,
    "mqtts": MQTT,
    "nats": {},
    "redis": REDIS,
    "rediss": REDIS,
}
"""The settings that only the source of a scheme has, and what reads the text of each."""
