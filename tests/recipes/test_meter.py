"""Follow CONTRIBUTING.md to add a small meter."""

import json

import pytest

ABACUS = '''"""Energy as an abacus counts it."""

from __future__ import annotations

from typing import ClassVar

from heros.meters.base import Meter

__all__ = ["Abacus"]


class Abacus(Meter):
    """A joule per CPU second, whatever the machine."""

    source: ClassVar[str] = "abacus"

    def _start(self) -> None:
        return

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        return cpu_seconds, "one joule per CPU second"
'''


@pytest.mark.long
def test_a_meter_is_a_file_and_its_export(house, tmp_path):
    house.add("meters/abacus.py", ABACUS)
    house.insert("meters/__init__.py", "from heros.meters.base import Meter",
                 "from heros.meters.abacus import Abacus")  # fmt: skip
    first = '    "Carbon", "CarbonSignal", "CodeCarbon", "Cpu", "Energy", "Meter", "Perf", "Rapl", "Reading",'
    house.insert("meters/__init__.py", first, '    "Abacus",')
    assert house.touched == {"meters/abacus.py", "meters/__init__.py"}

    document = json.loads(house.heros("run", "agr_a", "--n", "500", "--meter", "abacus", "--json"))
    assert document["energy"]["source"] == "abacus"
    assert document["energy"]["detail"] == "one joule per CPU second"
    assert json.loads(house.heros("doctor", "--json"))["meter abacus"] == "yes"
    assert "abacus, codecarbon, cpu, perf, rapl" in " ".join(
        house.heros("run", "--help").replace("│", " ").split()
    )
    assert "Abacus" in house.contract("tests/registry/test_parts.py", "tests/test_meters.py", "-k",
                                      "Abacus or abacus or every")  # fmt: skip
