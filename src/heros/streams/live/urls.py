"""Sources of instances that the command line names by a URL, such as a Kafka topic."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from heros._base.addresses import expect_servers
from heros._base.errors import ParameterError
from heros.streams.live.late import LateSource
from heros.streams.live.messages import MessageSource, csv_decoder
from heros.streams.live.rows import RowSource

__all__ = ["SCHEMES", "connect", "is_address"]

LIKE = "kafka://host:9092/topic"

Readers = Mapping[str, Callable[[str], Any]]
"""The parser of each setting."""


def connect(address: str, *, directory: str | os.PathLike[str] | None = None, **settings: Any) -> RowSource:
    """Open the source at an address.

    The address is ``kafka://host:9092/topic?group=g``, ``redis://host:6379/stream``,
    ``nats://host:4222/subject`` or ``mqtt://host:1883/topic``. An MQTT topic may contain the wildcards
    ``+`` and ``#``. All sources support the settings `follow` (``no``: end after the existing messages),
    `on_gap` (``go-on``: continue if messages are lost) and, as comma-separated lists, `nominal`, `classes`
    and `columns` (the column names, if messages are CSV lines). Kafka also supports `group` and
    `partitions`, Redis `db` and `keep`, MQTT `journal`.

    ``?labels=other&id=order`` reads the labels from another topic, joined by the field `id`
    (`heros.streams.live.late.LateSource`). The settings for this are `waiting`, the maximum number of
    waiting instances; `longest`, their maximum waiting time in seconds; and `expired`, the label of instances
    that waited too long.

    Parameters
    ----------
    address
        The address, as described above.
    directory
        The directory for the state that a resumed run needs (for MQTT, the journal).
    **settings
        Additional settings of the source, e.g. `target` or `decode`: see
        `heros.streams.live.messages.MessageSource`.

    Examples
    --------
    >>> connect("kafka://localhost:9092/orders?colour=red")
    Traceback (most recent call last):
        ...
    heros.ParameterError: The 'address' parameter of connect must be an address with no other
    settings than classes, columns, expired, follow, group, id, labels, longest, nominal, on_gap, partitions,
    waiting. Got 'colour' instead.
    """
    at = _split(address) if is_address(address) else None
    name = "" if at is None else unquote(at.path.lstrip("/"))
    if at is None or not at.netloc or not name:
        raise _error(f"an address such as {LIKE}, with one of the schemes {', '.join(SCHEMES)}", address)
    known = {**COMMON, **LATE, **SCHEMES[at.scheme]}
    written = dict(parse_qsl(_query(at), keep_blank_values=True))
    if unknown := sorted(written.keys() - known.keys()):
        raise _error(f"an address with no other settings than {', '.join(sorted(known))}", unknown[0])
    read = {setting: known[setting](text) for setting, text in written.items()}
    if "columns" in read:
        read["decode"] = csv_decoder(read.pop("columns"))
    how = {**read, **settings}
    if "labels" not in read:
        if needless := sorted(read.keys() & LATE.keys()):
            rule = "an address with labels=, because id=, expired=, longest= and waiting= require labels="
            raise _error(rule, needless[0])
        return _opened(at, name, directory, how)
    late = {setting: how.pop(setting) for setting in (*LATE, *JOINED) if setting in how}
    topic, below = late.pop("labels"), None if directory is None else Path(directory, "labels")
    if "id" not in late or late.get("target") is None:
        raise _error("an address with id= and a target, because labels= requires both", address)
    features = _opened(at, name, directory, dict(how))
    if "journal" in how:  # a journal belongs to one topic
        how["journal"] = f"{how['journal']}-labels"
    labels = _opened(at, topic, below, how)
    return LateSource(features, labels, most=late.pop("waiting", MOST_WAITING), **late)


def is_address(text: str) -> bool:
    """Return whether a string is the address of a source."""
    return text.partition("://")[0] in SCHEMES and "://" in text


def _split(address: str) -> SplitResult:
    """Split an address; ``#`` does not start a fragment, because it is an MQTT wildcard."""
    expect_servers(address.partition("://")[2].partition("/")[0] or address, "address", "connect", LIKE)
    try:
        return urlsplit(address, allow_fragments=False)
    except ValueError as error:  # for example a host with special characters
        raise _error(f"an address such as {LIKE} ({error})", address) from None


def _query(at: SplitResult) -> str:
    """Return the settings; in an MQTT topic, ``+`` is a wildcard and does not stand for a space."""
    if not at.scheme.startswith("mqtt"):
        return at.query
    return re.sub(r"(?<![^&])labels=[^&]*", lambda found: found[0].replace("+", "%2B"), at.query)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise _error("an address with whole numbers for numeric settings", text)
    return int(text)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _error("an address with a number of seconds for 'longest'", text) from None


def _word(rule: str, words: Mapping[str, Any], text: str) -> Any:
    if text not in words:
        raise _error(f"an address with {rule}", text)
    return words[text]


def _error(rule: str, given: str) -> ParameterError:
    return ParameterError.of("address", "connect", rule, given)


def _opened(at: SplitResult, name: str, directory: Any, settings: dict[str, Any]) -> MessageSource:
    """Open the queue at an address. The module of the queue is imported only when it is needed."""
    server = at.netloc if at.scheme == "kafka" else f"{at.scheme}://{at.netloc}"
    if at.scheme.startswith("redis"):
        server = f"{server}/{settings.pop('db', 0)}"
    if at.scheme.startswith("mqtt") and directory is not None:
        settings.setdefault("journal", Path(directory) / "mqtt.journal")
    module, kind = CLASSES[at.scheme]
    source: Any = getattr(import_module(f"heros.streams.live.{module}"), kind)
    opened: MessageSource = source(server, name, **settings)
    return opened


_yes = partial(_word, "'yes' or 'no' for 'follow' and 'keep'", {"yes": True, "no": False})
_at_gap = partial(_word, "'stop' or 'go-on' for 'on_gap'", {"stop": "stop", "go-on": "go on"})
COMMON: Readers = {"classes": _list, "columns": _list, "follow": _yes, "nominal": _list, "on_gap": _at_gap}
LATE: Readers = {"expired": str, "id": str, "labels": str, "longest": _seconds, "waiting": _number}
JOINED = ["target", "schema", "nominal", "classes", "on_bad_row", "most_values", "task", "ignore", "missing"]
"""The settings that apply to the joined source, not to its two queues."""
MOST_WAITING = 100_000
MQTT: Readers = {"journal": str, "keep": _number}
REDIS: Readers = {"db": _number, "keep": _yes}
KAFKA: Readers = {"group": str, "partitions": lambda text: list(map(_number, _list(text)))}
SCHEMES = {"kafka": KAFKA, "mqtt": MQTT, "mqtts": MQTT, "nats": {}, "redis": REDIS, "rediss": REDIS}
"""The settings of each scheme, and their parsers."""
CLASSES = dict.fromkeys(("mqtt", "mqtts"), ("mqtt", "MqttTopic"))
CLASSES |= dict.fromkeys(("redis", "rediss"), ("redis", "RedisStream"))
CLASSES |= {"kafka": ("kafka", "KafkaTopic"), "nats": ("nats", "JetStream")}
"""The module and the class of each scheme."""
