"""User-defined sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heros.data.schema import Schema
from heros.errors import DataError, ParameterError
from heros.streams.live.base import Block, Polled, Signal, Source, passed

__all__ = ["expect_source"]


def expect_source(source: Any, parameter: str, owner: str) -> Source:
    """Return a source unchanged; wrap an object with `schema` and `poll`; otherwise raise a ParameterError.

    Examples
    --------
    >>> from heros import streams
    >>> expect_source(streams.LED(), "stream", "evaluate")
    <LED 'LED(drift=0)' at 0>
    >>> expect_source("agr_a", "stream", "evaluate")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'stream' parameter of evaluate must be a stream, e.g.
    heros.streams.load('agr_a') or read('data.csv'), or a source with 'schema' and 'poll'. Got 'agr_a'
    instead.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, type) or not (
        hasattr(source, "schema") and callable(getattr(source, "poll", None))
    ):
        known = "a stream, e.g. heros.streams.load('agr_a') or read('data.csv')"
        rule = f"{known}, or a source with 'schema' and 'poll'"
        raise ParameterError.of(parameter, owner, rule, source)
    if hasattr(source, "where") != hasattr(source, "seek"):
        raise ParameterError.of(parameter, owner, "a source with both 'where' and 'seek', or neither", source)
    return OwnSource(source)


class OwnSource(Source):
    """A wrapper around a user-defined source, which adds missing methods and validates its results."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._kind = type(own).__name__
        self.name = str(getattr(own, "name", self._kind))

    @property
    def schema(self) -> Schema:
        schema = self._own.schema
        if not isinstance(schema, Schema):
            raise DataError(f"The 'schema' of {self._kind} must be a heros.Schema. Got {schema!r} instead.")
        return schema

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        got = self._own.poll(most, timeout)
        if isinstance(got, Signal):
            return got
        X, y = self._block(got)
        if not 0 < len(y) <= most:
            rule = f"return 1 to {most} instances, IDLE or END"
            raise DataError(f"The 'poll' of {self._kind} must {rule}. Got {len(y)} instances instead.")
        self._position += len(y)
        return X, y

    def _block(self, got: Any) -> Block:
        rule = f"The 'poll' of {self._kind} must return a block (X, y), IDLE or END."
        if not (isinstance(got, tuple) and len(got) == 2):
            raise DataError(f"{rule} Got {got!r} instead.")
        try:
            X, y = np.asarray(got[0], dtype=np.float64), np.asarray(got[1])
        except (TypeError, ValueError) as error:
            raise DataError(f"{rule} Got: {error}") from None
        if X.ndim != 2 or y.shape != X.shape[:1] or y.dtype.kind not in "biuf":
            what = f"arrays of {X.dtype} {X.shape} and {y.dtype} {y.shape}"
            raise DataError(f"{rule} Got {what} instead.")
        return X, y

    def where(self) -> Mapping[str, Any] | None:
        return self._own.where() if hasattr(self._own, "where") else None

    seek = passed("seek", "_own")

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        if hasattr(self._own, "acknowledge"):
            self._own.acknowledge(where)

    def __repr__(self) -> str:
        return repr(self._own)
