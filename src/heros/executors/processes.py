"""Several processes on this machine, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TypeVar

from heros.executors.base import ATTEMPTS, WorkerDied
from heros.extras import needed
from heros.parameters import whole

__all__ = ["Processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Processes:
    """As many processes as `jobs`, through joblib.

    Examples
    --------
    >>> sorted(Processes(jobs=2).results(str.upper, ["a", "b"]))
    [(0, 'A'), (1, 'B')]
    """

    jobs: int = 2

    def __post_init__(self) -> None:
        whole(self.jobs, "jobs", "Processes", 1)

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """``(number of the item, work(item))``, as they finish."""
        joblib = needed("joblib", "Running a grid in several processes", "paper")
        left = dict(enumerate(items))
        for _ in range(ATTEMPTS):
            parallel = joblib.Parallel(self.jobs, return_as="generator_unordered", pre_dispatch=self.jobs)
            calls = [joblib.delayed(_numbered)(work, i, item) for i, item in left.items()]
            try:
                for i, result in parallel(calls):
                    del left[i]
                    yield i, result
            except BrokenProcessPool:  # joblib gives up all that was on its way
                continue
            return
        for i in left:
            yield i, WorkerDied(f"a worker process died in each of {ATTEMPTS} attempts")


def _numbered(work: Callable[[Item], Result], i: int, item: Item) -> tuple[int, Result]:
    return i, work(item)
