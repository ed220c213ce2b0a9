"""What every source is: instances in order, some of which may still have to come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from heros.schema import Schema

__all__ = ["END", "IDLE", "Block", "Signal", "Source"]

Block = tuple[NDArray[np.float64], NDArray[np.int64]]
"""X (n, n_features): numbers, 0-based codes of nominal values, NaN = missing. y (n,): targets."""


class Signal(Enum):
    """What a source gives instead of instances."""

    IDLE = "idle"  # nothing now; more may come
    END = "end"  # nothing any more


IDLE: Final = Signal.IDLE
END: Final = Signal.END


class Source(ABC):
    """Where instances come from, in order: rows now, nothing now, or nothing any more."""

    name: str

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What an instance looks like, as far as is known. It only ever grows."""

    @abstractmethod
    def poll(self, most: int, timeout: float | None = None) -> Block | Literal[Signal.IDLE, Signal.END]:
        """Up to `most` instances, at the latest after `timeout` seconds; None waits for some."""

    def where(self) -> Mapping[str, Any] | None:
        """Where it stands, as JSON knows it, for a checkpoint; None: it is read over from its start."""
        return None

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to where `where` said it stood."""
        raise NotImplementedError
