"""How much a service takes, and how it refuses the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heros.data import encoder

__all__ = ["Limits", "NotNow", "Refusal", "Unknown", "Wrong", "expect_fields", "expect_name"]


class Refusal(Exception):
    """A request that is refused: the reason, the status of the reply and further headers."""

    status = 400

    def __init__(self, why: str, status: int | None = None, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(why)
        self.status, self.headers = self.status if status is None else status, headers


class Wrong(Refusal):
    """A request that cannot be served as it is."""

    status = 422


class Unknown(Refusal):
    """A request for something that is not there: a label for an instance that does not wait, say."""

    status = 404


class NotNow(Refusal):
    """A request that may be sent again later: there is too much to do."""

    def __init__(self, why: str) -> None:
        super().__init__(why, 429, (b"retry-after", b"1"))


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a service takes.

    Examples
    --------
    >>> Limits(body=1_000_000).queue
    20000
    """

    body: int = 8_000_000  # bytes of a request's body
    head: int = 16_384  # bytes of its first line and headers
    seconds: float = 10.0  # for head and body to come
    connections: int = 2_000
    requests: int = 512  # at a time
    batch: int = 5_000  # instances in one request
    queue: int = 20_000  # labelled instances that are not learnt yet
    queue_bytes: int = 256_000_000  # what they take
    bodies: int = 256_000_000  # bytes of all bodies that are being received or dealt with
    features: int = 1_000
    values: int = 1_000  # of a nominal feature
    classes: int = 200
    text: int = 200  # characters of a name, a value, an id or a key

    @property
    def of_schema(self) -> encoder.Limits:
        """How far the schema may grow."""
        return encoder.Limits(self.features, self.values, self.classes, self.text)


def expect_name(text: str, what: str, longest: int) -> str:
    """The text, if it is short enough."""
    if len(text) > longest:
        raise Wrong(f"{what} must have at most {longest} characters. Got {len(text):,}.")
    return text


def expect_fields(x: Any, most: int, longest: int | None = None) -> None:
    """Refuse an instance that is no object, or has too many or too long names, also in objects inside it.

    Examples
    --------
    >>> expect_fields({"size": 1, "place": {"x": 1, "y": 2}}, most=3)
    Traceback (most recent call last):
        ...
    heros.serve.limits.Wrong: An instance must have at most 3 features. Got 4.
    """
    if type(x) is not dict:
        raise Wrong(f"An instance must be an object of names and values. Got a {type(x).__name__}.")
    short = longest is None or len("".join(x)) <= longest
    if short and len(x) <= most and dict not in map(type, x.values()):
        return  # as nearly always
    fields, inner = len(x), [x]
    while inner:
        one = inner.pop()
        if longest is not None and one:
            expect_name(max(one, key=len), "A name", longest)
        some = [value for value in one.values() if type(value) is dict]
        fields += sum(map(len, some))
        inner += some
    if fields > most:
        raise Wrong(f"An instance must have at most {most:,} features. Got {fields:,}.")
