"""Whether the target of a stream is a class or a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.vocabulary import checked_task

__all__ = ["MANY", "is_numeric"]

MANY = 100
"""More different whole numbers than that may be classes or quantities: who reads them has to say."""


def is_numeric(values: NDArray[np.generic], task: str | None, classes: bool, owner: str, name: str) -> bool:
    """Whether targets are numbers: as it was said, else by what they look like.

    Examples
    --------
    >>> is_numeric(np.array([0.5, 2.0]), None, False, "from_arrays", "y")
    True
    >>> is_numeric(np.arange(300), None, False, "from_arrays", "y")
    Traceback (most recent call last):
        ...
    heros.errors.DataError: The target 'y' of from_arrays has more than 100 different whole numbers: say
    task='regression' if they are quantities, task='classification' if they are classes.
    """
    if checked_task(task, owner) is not None:
        return task == "regression"
    if classes or values.dtype.kind not in "iuf":
        return False
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind == "f" and (known != np.floor(known)).any():
        return True
    if len(known) > MANY and len(np.unique(known)) > MANY:
        raise DataError(
            f"The target {name!r} of {owner} has more than {MANY} different whole numbers: say "
            "task='regression' if they are quantities, task='classification' if they are classes."
        )
    return False
