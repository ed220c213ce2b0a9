"""What callbacks are told after every window of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heros.ensemble import Heros
from heros.errors import ParameterError
from heros.measures import Measure

__all__ = ["Callback", "Window", "checked_callbacks"]


@dataclass(frozen=True, slots=True)
class Window:
    """How a run stands when a window of the stream is over.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> def until_good(window):
    ...     print(window.end, list(window.figures))
    ...     return window.figures["accuracy"] > 0.3  # True ends the run
    >>> model = Heros(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    >>> run = evaluate(model, streams.Agrawal().take(5000), callback=until_good)
    1000 ['auroc', 'accuracy', 'kappa', 'log_loss']
    >>> run.n_instances, run.interrupted
    (1000, True)
    """

    end: int  # instances so far
    figures: dict[str, float]  # of this window alone, by measure
    gamma_share: float  # Σγ so far, as a share of training everything
    model: Heros = field(repr=False)
    _measures: Sequence[Measure] = field(repr=False)

    @property
    def so_far(self) -> dict[str, float]:
        """The figures over all windows so far; worked out when asked for."""
        return {measure.name: measure.value for measure in self._measures}


Callback = Callable[[Window], Any]


def checked_callbacks(callback: Any) -> list[Callback]:
    """One callback, or several, as a list; an error if one cannot be called."""
    given = [] if callback is None else [callback] if callable(callback) else callback
    if not isinstance(given, list | tuple) or not all(callable(one) for one in given):
        raise ParameterError.of("callback", "evaluate", "a function of a window, or a list of them", callback)
    return list(given)
