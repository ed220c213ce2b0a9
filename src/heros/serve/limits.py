"""The limits of a service, and the errors for requests that exceed them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from heros.data import encoder
from heros.data.values import DEEPEST, NESTED, is_deep

MOST_NESTED = 100_000  # maximum number of values in the lists and objects of an instance


class Refusal(Exception):
    """A rejected request, with the reason, the status of the reply and additional headers.

    If the headers include Retry-After, the same request may be accepted later.
    """

    status = 400

    def __init__(self, why: str, status: int | None = None, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(why)
        self.status, self.headers = self.status if status is None else status, headers


class Wrong(Refusal):
    """The request is invalid."""

    status = 422


class Unknown(Refusal):
    """The request names an unknown id or key, e.g. an id for which no instance waits."""

    status = 404


class NotNow(Refusal):
    """The service is overloaded; the client may retry later."""

    def __init__(self, why: str, seconds: int = 1) -> None:
        super().__init__(why, 429, (b"retry-after", b"%d" % seconds))


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a service, except those on instances that wait for their labels (see `Pending`).

    Examples
    --------
    >>> Limits(body=1_000_000).batch
    5000
    """

    body: int = 8_000_000  # bytes of a request body
    head: int = 16_384  # bytes of the request line and headers
    seconds: float = 10.0  # seconds to receive the headers and the body of a request
    connections: int = 2_000
    requests: int = 512  # concurrent requests
    batch: int = 5_000  # instances in one request
    queue: int | None = None  # labelled instances in the training queue; None: 20,000, or no limit on disk
    queue_bytes: int = 256_000_000  # bytes of the training queue, or on disk if training may be delayed
    bodies: int = 256_000_000  # bytes of all request bodies being received or processed
    replies: int = 256_000_000  # bytes of all replies that clients have not read
    features: int = 1_000
    values: int = 1_000  # distinct values of a nominal feature
    classes: int = 200
    text: int = 200  # characters of a name, a value, an id or a key
    new: int = 100  # features and values that an instance after the first may add to the schema
    growth: float = 5.0  # seconds that schema growth may take in a burst; later, at most half of the time

    @property
    def of_schema(self) -> encoder.Limits:
        """The limits on the growth of the schema."""
        return encoder.Limits(self.features, self.values, self.classes, self.text, self.new)


def expect_name(text: str, what: str, longest: int) -> str:
    """Return the text, or raise an error if it is too long."""
    if len(text) > longest:
        raise Wrong(f"{what} must have at most {longest} characters. Got {len(text):,}.")
    return text


def expect_fields(x: Any, most: int, longest: int = sys.maxsize, *, flat: bool = True) -> None:
    """Raise an error if an instance is not an object, has too many fields or has too long names.

    It may have at most `most` fields, with names of at most `longest` characters. Fields of nested
    objects also count. Values that are nested too deeply to be stored are rejected. If `flat` is False, the
    names of an instance without nested values may be longer.

    Examples
    --------
    >>> expect_fields({"size": 1, "place": {"x": 1, "y": 2}}, most=3)
    Traceback (most recent call last):
        ...
    heros.serve.limits.Wrong: An instance must have at most 3 features. Got 4.
    """
    if type(x) is not dict:
        raise Wrong(
            f"An instance must be an object with feature names and values. Got the type {type(x).__name__}."
        )
    short = not flat or len("".join(x)) <= longest
    if short and len(x) <= most and NESTED.isdisjoint(map(type, x.values())):
        return  # most instances need no further check
    fields, inner = len(x), [x]
    while inner and fields <= most:
        one = inner.pop()
        if one:
            expect_name(max(one, key=len), "A name", longest)
        some = [value for value in one.values() if type(value) is dict]
        fields += sum(map(len, some))
        inner += some
    if fields > most:
        raise Wrong(f"An instance must have at most {most:,} features. Got {fields:,}.")
    _expect_few_values(x)
    for name, value in x.items():
        if is_deep(value):
            rule = f"must be nested at most {DEEPEST} levels deep"
            raise Wrong(f"The field {name[:99]!r} {rule}. Got more levels.")


def _expect_few_values(x: dict[str, Any]) -> None:
    """Raise an error if the lists and objects of an instance have too many values in total."""
    values, inner = 0, [value for value in x.values() if type(value) in NESTED]
    while inner:
        one = inner.pop()
        values += len(one)
        if values > MOST_NESTED:
            raise Wrong(f"The lists and objects of an instance must have at most {MOST_NESTED:,} values.")
        inner += [value for value in (one.values() if type(one) is dict else one) if type(value) in NESTED]
