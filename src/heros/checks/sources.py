"""Check of sources of instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from heros.checks.base import CheckError, expect, same
from heros.errors import HerosError
from heros.streams.live import END, IDLE
from heros.streams.live.wrappers import expect_source

__all__ = ["check_source"]


def check_source(source: Any, *, most: int = 1000) -> None:
    """Check that a source gives instances as `heros.evaluate` expects. It is read from where it stands.

    A poll gives a block of at most as many rows as were asked for, of the width of the schema, or IDLE or
    END; END is the end. The schema only grows. If the source has `where` and `seek`, it gives the same
    instances again behind a position.

    Parameters
    ----------
    source
        The source, which should have at least some instances ready.
    most
        How many instances the check reads.

    Examples
    --------
    >>> from heros import streams
    >>> check_source(streams.LED().take(500))
    >>> check_source("led")
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: The 'source' parameter of check_source must be a stream, ...
    """
    try:
        known = expect_source(source, "source", "check_source")
    except HerosError as error:
        raise CheckError(str(error)) from None
    schema, read, ended, place = known.schema, 0, False, None
    rest: list[tuple[Any, Any]] = []  # what came behind the first block
    while read < most and not ended:
        asked = min(7 if read == 0 else 100, most - read)
        block: Any = known.poll(asked, 1.0)
        if block is IDLE:
            break
        ended = block is END
        if not ended:
            X, y = np.asarray(block[0]), np.asarray(block[1])
            rule = f"give at most {asked} rows of {known.schema.n_features} features, and a target for each"
            fits = X.ndim == 2 and len(X) == len(y) and 0 < len(X) <= asked
            expect(fits and X.shape[1] == known.schema.n_features, source, rule, X.shape)
            expect(known.schema.extends(schema), source, "have a schema that only grows", known.schema)
            schema, read = known.schema, read + len(X)
            if place is None:
                place = known.where() or {}
            else:
                rest.append((X, y))
    expect(read > 0, source, "have instances ready to be checked")
    if ended:
        expect(known.poll(1, 0.0) is END, source, "stay at its end")
    if place and rest:
        known.seek(place)
        again: Any = known.poll(len(rest[0][0]), 1.0)
        X, y = again
        n = min(len(X), len(rest[0][0]))
        rule = "give the same instances again behind a position that it has been sent back to"
        expect(same(X[:n], rest[0][0][:n]) and same(y[:n], rest[0][1][:n]), source, rule)
