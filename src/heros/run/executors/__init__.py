"""Where a grid of independent jobs runs: in this process, in several, or on many machines.

An executor has one method, ``results(work, items)``: it calls ``work`` on every item, in about the order
given, and yields ``(number of the item, what work gave)`` as they finish. ``work`` catches its own errors; an
executor sees to workers that die, whose items are run again.

>>> from heros.run.executors import Serial
>>> list(Serial().results(len, ["a", "bcd"]))
[(0, 1), (1, 3)]
"""

from heros.run.executors.base import Executor, WorkerDied
from heros.run.executors.dask import Dask
from heros.run.executors.processes import Processes
from heros.run.executors.serial import Serial

__all__ = ["Dask", "Executor", "Processes", "Serial", "WorkerDied"]
