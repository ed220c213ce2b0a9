"""Executors run a grid of independent jobs in this process, in several processes, or on many machines.

An executor has one method, ``results(work, items)``: it calls ``work`` on every item, approximately in the
given order, and yields ``(index of the item, result)`` as the items finish. ``work`` must handle its own
errors; the executor only retries items whose worker died.

>>> from heros.run.executors import Serial
>>> list(Serial().results(len, ["a", "bcd"]))
[(0, 1), (1, 3)]
"""

from heros.run.executors.base import Executor, Serial, WorkerDied
from heros.run.executors.dask import Dask
from heros.run.executors.processes import Processes

__all__ = ["Dask", "Executor", "Processes", "Serial", "WorkerDied"]
