"""A check for sources of instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from heros._base.errors import HerosError
from heros.checks.base import CheckError, expect, same
from heros.streams.live import END, IDLE, expect_source


def check_source(source: Any, *, most: int = 1000) -> None:
    """Check that a source returns instances as `heros.evaluate` requires.

    The check starts at the current position of the source. A call to `poll` must return IDLE, END, or a block
    with at most the requested number of rows and one column per feature of the schema. After END, every call
    must return END. The schema may only be extended. If the source has `where` and `seek`, the source must
    return the same instances again after seeking to an earlier position.

    Parameters
    ----------
    source
        The source. The check must be able to read instances without waiting.
    most
        The maximum number of instances that the check reads.

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
        checked = expect_source(source, "source", "check_source")
    except HerosError as error:
        raise CheckError(str(error)) from None
    schema, read, ended, place = checked.schema, 0, False, None
    rest: list[tuple[Any, Any]] = []  # blocks after the first one
    while read < most and not ended:
        requested = min(7 if read == 0 else 100, most - read)
        block: Any = checked.poll(requested, 1.0)
        if block is IDLE:
            break
        ended = block is END
        if not ended:
            X, y, width = np.asarray(block[0]), np.asarray(block[1]), checked.schema.n_features
            rule = f"return at most {requested} rows of {width} features, each with a target"
            fits = X.ndim == 2 and len(X) == len(y) and 0 < len(X) <= requested and X.shape[1] == width
            expect(fits, source, rule, X.shape)
            rule = "keep all features, values and classes of its schema"
            expect(checked.schema.extends(schema), source, rule, checked.schema)
            schema, read = checked.schema, read + len(X)
            if place is None:
                place = checked.where() or {}
            else:
                rest.append((X, y))
    expect(read > 0, source, "return at least one instance")
    if ended:
        expect(checked.poll(1, 0.0) is END, source, "return END again after END")
    if place and rest:
        checked.seek(place)
        again: Any = checked.poll(len(rest[0][0]), 1.0)
        X, y = again
        n = min(len(X), len(rest[0][0]))
        rule = "return the same instances again after seek"
        expect(same(X[:n], rest[0][0][:n]) and same(y[:n], rest[0][1][:n]), source, rule)
