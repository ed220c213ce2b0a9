"""An executor for many machines, based on dask.distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heros._base.errors import HerosError
from heros._base.extras import needed
from heros._base.parameters import whole
from heros.run.executors.base import ATTEMPTS, Item, Result, WorkerDied


@dataclass(frozen=True)
class Dask:
    """An executor that uses the workers of a dask scheduler, or `jobs` workers started on this machine.

    HEROS must be installed, and HEROS_DATA must be set, on every worker. Results are returned to this
    process. If a worker dies, another worker runs its items again, including finished items whose results
    have not been fetched yet.

    Parameters
    ----------
    scheduler
        The address of the scheduler, e.g. ``"tcp://10.0.0.1:8786"``; None starts workers on this machine.
    jobs
        The number of workers to start on this machine.
    """

    scheduler: str | None = None
    jobs: int = 2

    def __post_init__(self) -> None:
        whole(self.jobs, "jobs", "Dask", 1)

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """Yield ``(index of the item, work(item))`` as the items finish."""
        distributed = _distributed()
        with self._client(distributed) as client:
            futures = client.map(work, items, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            try:
                completed = distributed.as_completed(futures)
                for future in completed:
                    if not future.done():  # the result was lost with its worker; the scheduler recomputes it
                        completed.add(future)
                        continue
                    yield numbers[future.key], _result(distributed, future)
                    future.release()
            finally:  # after an interrupt, no job keeps running
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
            rule = "belong to a running dask scheduler"
            raise HerosError(f"The address {self.scheduler} must {rule}. Got: {error}") from None
        with client:
            yield client


def _result(distributed: Any, future: Any) -> Any:
    """Return the result of a future; wait if the result was lost and is being recomputed."""
    try:
        return future.result()
    except (distributed.KilledWorker, distributed.CancelledError) as error:
        return WorkerDied(f"gave up after at most {ATTEMPTS} workers: {error}")


def _distributed() -> Any:
    dask, distributed = (needed(name, "Running a grid on dask", "dask") for name in ("dask", "distributed"))
    dask.config.set({"distributed.scheduler.allowed-failures": ATTEMPTS - 1})
    return distributed
