"""Energy of an Apple chip, as its own counters say, through zeus-apple-silicon."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from heros.errors import HerosError
from heros.meters.carbon import Carbon
from heros.meters.machine import MachineMeter

__all__ = ["Apple"]

PARTS = {"CPU": "cpu_total_mj", "GPU": "gpu_mj", "memory": "dram_mj", "neural engine": "ane_mj"}
WINDOW = "heros"


class Apple(MachineMeter):
    """The energy of the chip's CPU, GPU, neural engine and memory, as it counts it.

    It is the whole machine's, idle power included. Needs `pip install zeus-apple-silicon` on a Mac with an
    Apple chip. Never seen on hardware by us.
    """

    source: ClassVar[str] = "apple"
    counter: ClassVar[str] = "The chip"

    def __init__(self, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._monitor = _monitor()

    def _begin(self) -> None:
        self._monitor.begin_window(WINDOW, restart=True)

    def _end(self) -> tuple[float, str]:
        metrics = self._monitor.end_window(WINDOW)
        parts = {name: getattr(metrics, field, None) for name, field in PARTS.items()}
        known = {name: mj / 1000 for name, mj in parts.items() if mj is not None}
        if "CPU" not in known:
            raise HerosError("The apple meter needs the CPU's counter. Got none.")
        return sum(known.values()), ", ".join(f"{name} {joules:.3g} J" for name, joules in known.items())


def _monitor() -> Any:
    try:
        return import_module("zeus_apple_silicon").AppleEnergyMonitor()
    except ModuleNotFoundError:
        raise HerosError(
            "The apple meter needs a Mac with an Apple chip and pip install zeus-apple-silicon. Got none."
        ) from None
    except (ImportError, OSError, RuntimeError) as error:
        raise HerosError(f"The apple meter needs the counters of an Apple chip. Got: {error}") from None
