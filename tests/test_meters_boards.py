"""Meters of boards and of closed machines, on recorded files: none of this hardware is here."""

import os
import struct
import sys
import time
from types import SimpleNamespace

import pytest

from heros import meters
from heros.errors import HerosError, ParameterError
from heros.meters.pmic import rails

ORIN = {  # a Jetson Orin's two INA3221 (NVIDIA's developer guide, r35), and a fan beside them
    "hwmon0": {"name": "pwmfan", "fan1_input": "1200"},
    "hwmon1": {"name": "ina3221",
               "in1_label": "VDD_GPU_SOC", "in1_input": "19000", "curr1_input": "200",
               "in2_label": "VDD_CPU_CV", "in2_input": "19000", "curr2_input": "100",
               "in7_label": "sum of shunt voltages", "in7_input": "900"},
    "hwmon2": {"name": "ina3221", "in1_label": "VDD_IN", "in1_input": "19000", "curr1_input": "1000"},
}  # fmt: skip
PI = """  3V7_WL_SW_A current(0)=0.10000000A
   VDD_CORE_A current(7)=2.00000000A
  3V7_WL_SW_V volt(8)=3.70000000V
   VDD_CORE_V volt(15)=0.75000000V
      EXT5V_V volt(24)=5.15000000V
       BATT_V volt(25)=0.00976000V
"""


def tree(root, files):
    for folder, content in files.items():
        (root / folder).mkdir(parents=True)
        for name, text in content.items():
            (root / folder / name).write_text(text + "\n")
    return root


def test_the_line_of_the_whole_board_is_found(tmp_path):
    meter = meters.Hwmon(root=tree(tmp_path, ORIN))
    assert (meter.line, meter.watts()) == ("VDD_IN", 19)
    meter = meters.Hwmon("VDD_GPU_SOC", tmp_path)
    assert meter.watts() == pytest.approx(3.8)
    with pytest.raises(ParameterError, match=r"^The 'line' parameter of Hwmon must be one of VDD_GPU_SOC, "):
        meters.Hwmon("VDD_CPU", tmp_path)


def test_power_in_microwatts_is_read_as_it_is(tmp_path):
    chip = {"name": "ina226", "power1_input": "4200000", "in1_input": "800", "curr1_input": "5"}
    assert meters.Hwmon(root=tree(tmp_path, {"hwmon3": chip})).watts() == 4.2


def test_lines_that_nobody_calls_whole_have_to_be_named(tmp_path):
    chips = {"hwmon1": ORIN["hwmon1"]}
    with pytest.raises(HerosError, match=r"state `line`\. Got VDD_GPU_SOC, VDD_CPU_CV"):
        meters.Hwmon(root=tree(tmp_path, chips))


def test_a_machine_without_sensors_says_so(tmp_path):
    with pytest.raises(HerosError, match=r"needs a power sensor in .* Got none"):
        meters.Hwmon(root=tree(tmp_path, {"hwmon0": ORIN["hwmon0"]}))


def test_watts_become_joules_over_time(tmp_path):
    meter = meters.Hwmon(root=tree(tmp_path, ORIN))
    meter.start()
    time.sleep(0.35)
    reading = meter.stop()
    assert reading.joules == pytest.approx(19 * reading.wall_seconds, rel=0.1)
    assert reading.detail.startswith("supply line VDD_IN, ")
    assert int(reading.detail.split()[-2]) >= 3


def test_a_sensor_that_goes_away_is_said_at_the_end_and_frees_the_machine(tmp_path):
    meter = meters.Hwmon(root=tree(tmp_path, ORIN))
    meter.start()
    (tmp_path / "hwmon2" / "in1_input").unlink()
    time.sleep(0.25)
    with pytest.raises(HerosError, match=r"needs a readable .*in1_input"):
        meter.stop()
    other = meters.Hwmon("VDD_GPU_SOC", tmp_path)
    other.start()
    other.abandon()


def test_two_meters_of_the_machine_at_a_time_are_refused(tmp_path):
    first, second = meters.Hwmon(root=tree(tmp_path, ORIN)), meters.Pmic(ask=lambda: PI)
    first.start()
    with pytest.raises(HerosError, match=r"^The PMIC counts the whole machine"):
        second.start()
    first.abandon()
    second.start()
    second.abandon()


def test_rails_are_those_with_current_and_voltage():
    assert rails(PI) == pytest.approx({"3V7_WL_SW": 0.37, "VDD_CORE": 1.5})
    meter = meters.Pmic(ask=lambda: PI)
    assert meter.watts() == pytest.approx(1.87)
    meter.start()
    assert meter.stop().detail.startswith("2 rails of the PMIC, without its losses, ")
    with pytest.raises(HerosError, match="needs currents and voltages"):
        meters.Pmic(ask=lambda: "EXT5V_V volt(24)=5.1V")


def test_no_raspberry_pi_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        HerosError, match=r"^The pmic meter needs vcgencmd pmic_read_adc \(Raspberry Pi 5\)\. Got: "
    ):
        meters.Pmic()


def test_an_apple_chip_says_what_its_parts_took(monkeypatch):
    class Monitor:
        def begin_window(self, name, restart=False):
            self.open = name, restart

        def end_window(self, name):
            assert self.open == (name, True)
            return SimpleNamespace(cpu_total_mj=1500, gpu_mj=None, dram_mj=250, ane_mj=0)

    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", SimpleNamespace(AppleEnergyMonitor=Monitor))
    meter = meters.Apple()
    meter.start()
    reading = meter.stop()
    assert (reading.joules, reading.detail) == (1.75, "CPU 1.5 J, memory 0.25 J, neural engine 0 J")


@pytest.mark.skipif(sys.platform == "darwin", reason="there may be one")
def test_no_apple_chip_is_said():
    with pytest.raises(HerosError, match="pip install zeus-apple-silicon"):
        meters.Apple()


class Counters:
    """Perf events as files that hold a count."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []

    def __call__(self, kind, config, cpu):
        self.asked.append((kind, config, cpu))
        self.set(config, cpu, 100)
        return os.open(self.folder / f"{config}-{cpu}", os.O_RDONLY)

    def set(self, config, cpu, value):
        (self.folder / f"{config}-{cpu}").write_bytes(struct.pack("q", value))


def test_perf_events_are_counted_per_package(tmp_path, monkeypatch):
    power = tree(tmp_path, {
        "power": {"type": "32", "cpumask": "0,28"},
        "power/events": {"energy-pkg": "event=0x02", "energy-pkg.scale": "0.5", "energy-cores": "event=0x01",
                         "energy-ram": "event=0x03", "energy-ram.scale": "0.25"},
    }) / "power"  # fmt: skip
    counters = Counters(tmp_path)
    meter = meters.Perf(power, opened=counters)
    assert counters.asked == [(32, 2, 0), (32, 2, 28), (32, 3, 0), (32, 3, 28)]
    monkeypatch.setattr(os, "read", lambda file, n: os.pread(file, n, 0))  # an event is read again and again
    meter.start()
    counters.set(2, 28, 104)
    counters.set(3, 0, 108)
    reading = meter.stop()
    assert reading.joules == 4
    assert reading.detail == "package-0 0 J, package-1 2 J, dram-0 2 J, dram-1 0 J"


def test_no_perf_events_are_said(tmp_path):
    with pytest.raises(HerosError, match=r"Perf events of RAPL need .* Got none"):
        meters.Perf(tmp_path)


def test_a_figure_says_whether_it_was_measured():
    reading = meters.Reading(1, "", 1, 1)
    bases = {name: meters.Energy.of(reading, meters.Meter.kind(name).source, {}, None).basis
             for name in meters.Meter.names()}  # fmt: skip
    assert bases == {"apple": "measured", "codecarbon": "modelled", "cpu": "modelled", "hwmon": "measured",
                     "perf": "measured", "pmic": "measured", "rapl": "measured"}  # fmt: skip
    assert meters.Energy.of(reading, "an abacus", {}, None).basis == ""
