"""Many machines, through dask.distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from heros._base.extras import needed
from heros._base.parameters import whole
from heros.errors import HerosError
from heros.run.executors.base import ATTEMPTS, WorkerDied

__all__ = ["Dask"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Dask:
    """The workers of a dask scheduler, or of one started here with as many workers as `jobs`.

    HEROS has to be installed where the workers are, and each finds the data through its own HEROS_DATA.
    Results come back to this process. The items of a worker that dies are run again by another, those
    whose results had not been fetched from it among them.

    Parameters
    ----------
    scheduler
        Its address, e.g. ``"tcp://10.0.0.1:8786"``; without one, workers are started on this machine.
    jobs
        How many, then.
    """

    scheduler: str | None = None
    jobs: int = 2

    def __post_init__(self) -> None:
        whole(self.jobs, "jobs", "Dask", 1)

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """``(number of the item, work(item))``, as they finish."""
        distributed = _distributed()
        with self._client(distributed) as client:
            futures = client.map(work, items, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            try:
                completed = distributed.as_completed(futures)
                for future in completed:
                    if not future.done():  # its result died with its worker; the scheduler runs it again
                        completed.add(future)
                        continue
                    yield numbers[future.key], _result(distributed, future)
                    future.release()
            finally:  # an interrupted grid leaves nothing running behind it
                client.cancel(futures)

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self.scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=self.jobs, threads_per_worker=1, processes=True, dashboard_address=None
            )
            with cluster, distributed.Client(cluster) as client:
                yield client
            return
        try:
            client = distributed.Client(self.scheduler, timeout="10s")
        except (OSError, ValueError) as error:
            rule = "be that of a dask scheduler that answers"
            raise HerosError(f"The address {self.scheduler} must {rule}. Got: {error}") from None
        with client:
            yield client


def _result(distributed: Any, future: Any) -> Any:
    """What the work returned. It waits, should the result be lost just now and be made again."""
    try:
        return future.result()
    except (distributed.KilledWorker, distributed.CancelledError) as error:
        return WorkerDied(f"after {ATTEMPTS} workers at most: {error}")


def _distributed() -> Any:
    dask, distributed = (needed(name, "Running a grid on dask", "dask") for name in ("dask", "distributed"))
    dask.config.set({"distributed.scheduler.allowed-failures": ATTEMPTS - 1})
    return distributed
