"""Checkpoints as HEROS 0.1 wrote them: the four measures it knew, each in a place of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.storage import archive
from heros.storage.checkpoints.predictions import BEFORE

__all__ = ["as_format_2"]

MEASURES = ["auroc", "accuracy", "kappa", "log_loss"]

Arrays = dict[str, NDArray[Any]]


def as_format_2(document: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """A checkpoint's document and arrays; those of format 1 under the names and in the form of format 2."""
    if "book" not in document:
        return document, arrays
    try:
        return _converted(document, archive.subset(arrays, "model"), archive.subset(arrays, "book"))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise DataError(f"A checkpoint of format 1 must be whole. Got: {error!r}.") from None


def _converted(document: dict[str, Any], model: Arrays, book: Arrays) -> tuple[dict[str, Any], Arrays]:
    changed = {key: value for key, value in document.items() if key not in {"book", "answers"}}
    changed["evaluation"] = document["book"]
    changed["settings"] = {**document["settings"], "measures": MEASURES}
    changed["predictions"] = {**document["answers"], "file": BEFORE}
    instances = int(document["book"]["n"])
    loss, *totals = book.pop("totals").tolist()
    confusion = book.pop("confusion")
    state: dict[str, Mapping[str, NDArray[Any]]] = {
        "accuracy": {"counts": np.array([np.trace(confusion), confusion.sum()], dtype=np.int64)},
        "kappa": {"counts": confusion},
        "log_loss": {"total": np.array([loss]), "count": np.array([instances])},
    }
    if "running" in book:
        state["auroc"] = {"counts": book.pop("running")}
    book["totals"] = np.array(totals)
    if "curves/accuracy" in book:  # κ had no curve
        book["curves/kappa"] = np.full(len(book["curves/accuracy"]), np.nan)
    book |= archive.grouped({f"measures/{name}": arrays for name, arrays in state.items()})
    return changed, archive.grouped({"model": model, "evaluation": book})
