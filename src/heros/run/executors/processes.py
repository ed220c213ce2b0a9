"""An executor that runs jobs in several processes on this machine."""

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
from typing import Any

from heros._base.parameters import whole
from heros.run.executors.base import ATTEMPTS, Item, Result, WorkerDied

Worker = ProcessPoolExecutor  # one process per worker, so that the item of a dead process is known


@dataclass(frozen=True)
class Processes:
    """An executor that runs jobs in several processes, each with a new interpreter.

    The processes end when the parent process ends, even if it is killed. Jobs are pickled: your own classes
    must be in a module, and a script needs ``if __name__ == "__main__":``. An item whose process dies is
    retried in another process; other items are not affected.

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
        """Yield ``(index of the item, work(item))`` as the items finish."""
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
    """Start processes, which end with this block; yield them and a function that starts another process."""
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    started = []

    def start() -> Worker:
        started.append(Worker(1, mp_context=context, initializer=_begin, initargs=(watched,)))
        return started[-1]

    try:
        yield [start() for _ in range(jobs)], start
    except BaseException:
        held.close()  # ends the processes at once
        raise
    finally:
        for worker in started:
            worker.shutdown()
        held.close()
        watched.close()


def _begin(watched: Any) -> None:
    """Set up a worker process: ignore interrupts, and exit when the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: Any) -> None:
    """Wait until the pipe to the parent closes, then exit at once."""
    try:
        watched.recv()
    except (EOFError, OSError):
        os._exit(1)
