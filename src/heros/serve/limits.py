"""What a service takes, and how much of it: the rest is refused, and costs next to nothing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "NotNow", "Unknown", "Wrong"]


class Wrong(Exception):
    """A request that cannot be served as it is: what is wrong with it."""


class Unknown(Exception):
    """A label of an instance that is not, or no more, waiting."""


class NotNow(Exception):
    """There is too much to do: try again later."""


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
    features: int = 1_000
    values: int = 1_000  # of a nominal feature
    classes: int = 200
    text: int = 200  # characters of a name, a value, an id or a key
