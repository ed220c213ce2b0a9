"""The energy of a run and of each phase, and its CO2e, computed from a stated carbon intensity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from heros._base.errors import ParameterError
from heros._base.parameters import number
from heros._base.registry import parts

SOURCE = "Ember, Yearly Electricity Data, 2023, as published by Our World in Data"

COUNTRIES = MappingProxyType(
    {
        "AUS": 549, "AUT": 111, "BEL": 138, "BRA": 98, "CAN": 170, "CHE": 35, "CHN": 582, "DEU": 381,
        "DNK": 152, "ESP": 174, "FIN": 79, "FRA": 56, "GBR": 238, "IND": 713, "IRL": 291, "ITA": 331,
        "JPN": 485, "KOR": 431, "NLD": 268, "NOR": 30, "POL": 662, "PRT": 166, "SWE": 41, "USA": 369,
        "ZAF": 708,
    }
)  # fmt: skip
"""Life-cycle emissions in grams of CO2e per kWh of electricity generated in each country in 2023."""


@dataclass(frozen=True, slots=True)
class Carbon:
    """A carbon intensity and its source.

    Parameters
    ----------
    grams_per_kwh
        Grams of CO2e per kWh.
    source
        The source of the number.

    Examples
    --------
    >>> Carbon.of(country="FRA").grams_per_kwh
    56.0
    >>> Carbon.of(intensity=100)
    Carbon(grams_per_kwh=100.0, source='stated')
    """

    grams_per_kwh: float
    source: str

    @classmethod
    def of(cls, *, intensity: float | None = None, country: str | None = None) -> Carbon | None:
        """Return the given intensity, or the intensity of the given country; None if neither is given."""
        if intensity is not None and country is not None:
            raise ParameterError.of("country", "Carbon", "None if 'intensity' is given", country)
        if intensity is not None:
            return cls(number(intensity, "intensity", "Carbon", 0), "stated")
        if country is None:
            return None
        if not isinstance(country, str) or country.upper() not in COUNTRIES:
            rule = f"one of {', '.join(COUNTRIES)} (or give intensity=)"
            raise ParameterError.of("country", "Carbon", rule, country)
        return cls(float(COUNTRIES[country.upper()]), f"{country.upper()}: {SOURCE}")


JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a meter between its start and its stop."""

    joules: float
    detail: str  # how the energy was obtained, as text
    cpu_seconds: float  # CPU time of the thread that started the meter, or of the process
    wall_seconds: float

    def after(self, earlier: Reading | None) -> Reading:
        """Return the sum of this reading and an earlier one."""
        if earlier is None:
            return self
        return Reading(
            self.joules + earlier.joules,
            f"{self.detail}, plus {earlier.joules:.3g} J from earlier",
            self.cpu_seconds + earlier.cpu_seconds,
            self.wall_seconds + earlier.wall_seconds,
        )


@dataclass(frozen=True)
class Energy:
    """The energy of a run.

    Parameters
    ----------
    kwh
        The total energy in kilowatt-hours.
    by_phase
        The energy of each phase: the total energy multiplied by the phase's share of the CPU time.
    source
        The name of the meter: "cpu-model", "rapl", "codecarbon" and so on.
    detail
        How the energy was obtained.
    carbon
        The carbon intensity, or None.
    cpu_seconds, wall_seconds
        The CPU time (by the meter's clock) and the duration of the run.

    Examples
    --------
    >>> reading = Reading(joules=3.6e6, detail="an hour at 1000 W", cpu_seconds=3600, wall_seconds=3600)
    >>> energy = Energy.of(reading, "cpu-model", {"evaluate": 1, "train": 3}, Carbon.of(intensity=400))
    >>> energy.by_phase, energy.co2e_kg
    ({'evaluate': 0.25, 'train': 0.75}, 0.4)
    >>> energy.basis
    'modelled'
    """

    kwh: float
    by_phase: Mapping[str, float]
    source: str
    detail: str
    carbon: Carbon | None = None
    cpu_seconds: float = field(default=0.0, repr=False)
    wall_seconds: float = field(default=0.0, repr=False)

    @classmethod
    def of(cls, reading: Reading, source: str, cpu: Mapping[str, float], carbon: Carbon | None) -> Energy:
        """Divide a reading among the phases in proportion to their CPU seconds."""
        kwh, total = reading.joules / JOULES_PER_KWH, sum(cpu.values())
        by_phase = {phase: kwh * seconds / total if total else 0.0 for phase, seconds in cpu.items()}
        return cls(kwh, by_phase, source, reading.detail, carbon, reading.cpu_seconds, reading.wall_seconds)

    @property
    def basis(self) -> str:
        """Whether the energy is "measured" or "modelled"; "" if the meter is unknown."""
        kinds = parts("meter").values()
        return next((kind.basis for kind in kinds if kind.source == self.source), "")

    @property
    def joules(self) -> float:
        """The total energy in joules."""
        return self.kwh * JOULES_PER_KWH

    @property
    def co2e_kg(self) -> float | None:
        """Kilograms of CO2e; None without a carbon intensity."""
        return None if self.carbon is None else self.kwh * self.carbon.grams_per_kwh / 1000
