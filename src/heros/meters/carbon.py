"""The carbon intensity of electricity, from a number or a country that the user gives; never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from heros._base.errors import ParameterError
from heros._base.parameters import number

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
