"""Executors run a grid of independent jobs in this process, in several processes, or on many machines.

An executor has one method, ``results(work, items)``. The method calls ``work`` on every item, approximately
in the given order. It yields ``(index of the item, result)`` as the items finish. ``work`` must handle its
own errors; the executor only retries items whose worker died.

>>> from heros.run.executors import Serial
>>> list(Serial().results(len, ["a", "bcd"]))
[(0, 1), (1, 3)]
"""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from threading import Thread
from typing import Any, Protocol, TypeVar, runtime_checkable

from heros._base.errors import HerosError
from heros._base.extras import needed
from heros._base.parameters import whole

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""The maximum number of attempts for an item whose worker dies."""
PATIENCE = 10.0
"""The maximum waiting time in seconds for a reply from a scheduler."""
Worker = ProcessPoolExecutor  # one process per worker, so that the item of a dead process is known


@dataclass(frozen=True)
class WorkerDied:
    """The result of an item if every worker that tried it died."""

    reason: str


@runtime_checkable
class Executor(Protocol):
    """An object that runs independent jobs."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """Yield ``(index of the item, work(item))`` as the items finish."""


@dataclass(frozen=True)
class Serial(Executor):
    """An executor that runs all jobs in this process, in the given order.

    Examples
    --------
    >>> [result for _, result in Serial().results(str.upper, ["a", "b"])]
    ['A', 'B']
    """

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        for i, item in enumerate(items):
            yield i, work(item)


@dataclass(frozen=True)
class Processes(Executor):
    """An executor that runs jobs in several processes, each with a new interpreter.

    The processes end when the parent process ends, even if the parent is killed. Jobs are pickled: your own
    classes must be in a module, and a script needs ``if __name__ == "__main__":``. An item whose process dies
    is retried in another process; other items are not affected.

    Parameters
    ----------
    jobs
        The number of processes.

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
        waiting = deque(range(len(items)))
        running: dict[Future[Result], tuple[int, Worker]] = {}
        deaths: Counter[int] = Counter()
        with _workers(min(self.jobs, len(items))) as (idle, start):
            while waiting or running:
                while waiting and idle:
                    i, worker = waiting.popleft(), idle.pop()
                    running[worker.submit(work, items[i])] = i, worker
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    i, worker = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        idle.append(start())
                        deaths[i] += 1
                        if deaths[i] < ATTEMPTS:
                            waiting.appendleft(i)
                        else:
                            yield i, WorkerDied(f"its process died in each of {ATTEMPTS} attempts")
                    else:
                        idle.append(worker)
                        yield i, future.result()


@contextmanager
def _workers(jobs: int) -> Iterator[tuple[list[Worker], Callable[[], Worker]]]:
    """Yield new processes, which end with the `with` block, and a function that starts another process."""
    context = get_context("spawn")
    watched, kept_open = context.Pipe(duplex=False)
    started = []

    def start() -> Worker:
        started.append(Worker(1, mp_context=context, initializer=_begin, initargs=(watched,)))
        return started[-1]

    try:
        yield [start() for _ in range(jobs)], start
    except BaseException:
        kept_open.close()  # the closed pipe ends the processes immediately
        raise
    finally:
        for worker in started:
            worker.shutdown()
        kept_open.close()
        watched.close()


def _begin(watched: Any) -> None:
    """Set up a worker process: ignore interrupts, and exit when the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait_for_end() -> None:
        try:
            watched.recv()  # fails when the pipe to the parent closes
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=wait_for_end, daemon=True).start()


@dataclass(frozen=True)
class Dask(Executor):
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
        dask, distributed = (needed(one, "Running a grid on dask", "dask") for one in ("dask", "distributed"))
        dask.config.set({"distributed.scheduler.allowed-failures": ATTEMPTS - 1})
        gave_up = distributed.KilledWorker, distributed.CancelledError
        with self._client(distributed) as client:
            futures = client.map(work, items, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            try:
                completed = distributed.as_completed(futures)
                for future in completed:
                    if not future.done():  # the result was lost with its worker; the scheduler recomputes it
                        completed.add(future)
                        continue
                    try:
                        result = future.result()  # waits if the result was lost and is being recomputed
                    except gave_up as error:
                        result = WorkerDied(f"dask stopped it after at most {ATTEMPTS} attempts ({error})")
                    yield numbers[future.key], result
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
            client = distributed.Client(self.scheduler, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            rule = "belong to a running dask scheduler"
            raise HerosError(f"The address {self.scheduler} must {rule}. The error was: {error}") from None
        with client:
            yield client
