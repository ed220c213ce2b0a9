"""Where a grid of independent jobs runs: in this process, in several, or on many machines.

An engine has one method, ``results(work, items)``: it calls ``work`` on every item, in about the order given,
and yields ``(number of the item, what work gave)`` as they finish. ``work`` catches its own errors; an engine
sees to workers that die, whose items are run again.

>>> from heros.engines import Here
>>> list(Here().results(len, ["a", "bcd"]))
[(0, 1), (1, 3)]
"""

from heros.engines.base import Engine, WorkerDied
from heros.engines.dask import Dask
from heros.engines.here import Here
from heros.engines.processes import Processes

__all__ = ["Dask", "Engine", "Here", "Processes", "WorkerDied"]
