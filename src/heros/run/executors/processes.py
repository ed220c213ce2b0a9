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
from typing import Any, TypeVar

from heros._base.parameters import whole
from heros.run.executors.base import ATTEMPTS, WorkerDied

__all__ = ["Processes"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Worker = ProcessPoolExecutor  # of one process: when that dies, it is plain whose item it had


@dataclass(frozen=True)
class Processes:
    """As many processes as `jobs`, each a fresh interpreter.

    They end with the one that started them, however it ends. What they run is pickled: a class of your own
    has to be in a module, and a script needs its ``if __name__ == "__main__":``. An item whose process dies
    is tried again in another one; the others do not notice.

    Parameters
    ----------
    jobs
        How many.

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
    """Processes, and what starts another; they end when this block does or when this process does."""
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    started = []

    def start() -> Worker:
        started.append(Worker(1, mp_context=context, initializer=_begin, initargs=(watched,)))
        return started[-1]

    try:
        yield [start() for _ in range(jobs)], start
    except BaseException:
        held.close()  # whatever they are at
        raise
    finally:
        for worker in started:
            worker.shutdown()
        held.close()
        watched.close()


def _begin(watched: Any) -> None:
    """What a process does first: it leaves interrupts to the one that started it, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: Any) -> None:
    """Wait for the other end to be closed, by its process or by the system after it, and end at once."""
    try:
        watched.recv()
    except (EOFError, OSError):
        os._exit(1)
