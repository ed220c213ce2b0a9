"""Several processes on this machine, none of which outlives the one that started it."""

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

__all__ = ["Processes"]
Worker = ProcessPoolExecutor  # of one process, so that it is known which item a dead process had


@dataclass(frozen=True)
class Processes:
    """As many processes as `jobs`, each a fresh interpreter.

    The processes end with the one that started them, however it ends. Jobs are pickled: a class of your own
    has to be in a module, and a script needs its ``if __name__ == "__main__":``. An item whose process dies
    is tried again in another process; other items are not affected.

    Parameters
    ----------
    jobs
        How many processes.

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
        """Yield ``(number of the item, work(item))`` as the items finish."""
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
    """Start processes, which end with this block or this process; also yield a function to start another."""
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    started = []

    def start() -> Worker:
        started.append(Worker(1, mp_context=context, initializer=_begin, initargs=(watched,)))
        return started[-1]

    try:
        yield [start() for _ in range(jobs)], start
    except BaseException:
        held.close()  # ends them at once
        raise
    finally:
        for worker in started:
            worker.shutdown()
        held.close()
        watched.close()


def _begin(watched: Any) -> None:
    """Initialise a process: it ignores interrupts, and ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: Any) -> None:
    """Wait until the parent, or the system after its end, closes the pipe, and exit at once."""
    try:
        watched.recv()
    except (EOFError, OSError):
        os._exit(1)
