"""Energy estimated by CodeCarbon."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from heros._base.errors import HerosError
from heros._base.extras import needed
from heros.meters.base import Meter
from heros.meters.energy import JOULES_PER_KWH, Carbon

ANYWHERE = "USA"
"""CodeCarbon requires a country, but its CO2e is not used, and the country does not affect the energy."""


class CodeCarbon(Meter):
    """A meter that runs CodeCarbon's offline tracker on this process and reads it once per run.

    Only the tracker's energy is used; CO2e is the energy times the stated `carbon`, as for every meter.
    The meter requires the extra ``energy``.
    """

    written: ClassVar[str] = "codecarbon"
    source: ClassVar[str] = "codecarbon"
    basis: ClassVar[str] = "modelled"  # memory is always modelled, the CPU only if there are no counters

    def __init__(self, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._tracker: Any = None
        self._module()

    def abandon(self) -> None:
        if self._tracker is not None:
            self._tracker.stop()
            self._tracker = None

    def _start(self) -> None:
        module = self._module()
        # The tracker's log is discarded: the reading's detail names missing counters.
        logging.getLogger("codecarbon").setLevel(logging.CRITICAL)
        self._tracker = module.OfflineEmissionsTracker(
            country_iso_code=ANYWHERE,
            tracking_mode="process",
            output_methods=[],
            log_level="critical",
            allow_multiple_runs=True,
        )
        self._tracker.start()

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        tracker, self._tracker = self._tracker, None
        tracker.stop()
        data = getattr(tracker, "final_emissions_data", None)  # the tracker hides its own errors
        if data is None:
            raise HerosError("CodeCarbon returned no reading.")
        parts = (("CPU", data.cpu_energy), ("GPU", data.gpu_energy), ("RAM", data.ram_energy))
        detail = ", ".join(f"{name} {energy * JOULES_PER_KWH:.3g} J" for name, energy in parts)
        return data.energy_consumed * JOULES_PER_KWH, f"{detail} (codecarbon {data.codecarbon_version})"

    @staticmethod
    def _module() -> Any:
        return needed("codecarbon", "The CodeCarbon meter", "energy")
