"""The meter of perf events, on recorded files."""

import os
import struct

import pytest

from heros import HerosError, meters


def tree(root, files):
    for folder, content in files.items():
        (root / folder).mkdir(parents=True)
        for name, text in content.items():
            (root / folder / name).write_text(text + "\n")
    return root


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
    monkeypatch.setattr("heros.meters.rapl._opened", counters)
    meter = meters.Perf(power)
    assert counters.asked == [(32, 2, 0), (32, 2, 28), (32, 3, 0), (32, 3, 28)]
    monkeypatch.setattr(os, "read", lambda file, n: os.pread(file, n, 0))  # the same event is read repeatedly
    meter.start()
    counters.set(2, 28, 104)
    counters.set(3, 0, 108)
    reading = meter.stop()
    assert reading.joules == 4
    assert reading.detail == "package-0 0 J, package-1 2 J, dram-0 2 J, dram-1 0 J"


def test_no_perf_events_are_said(tmp_path):
    with pytest.raises(HerosError, match=r"Perf events of RAPL need .* does not exist"):
        meters.Perf(tmp_path)


def test_a_figure_says_whether_it_was_measured():
    reading = meters.Reading(1, "", 1, 1)
    bases = {name: meters.Energy.of(reading, meters.Meter.kind(name).source, {}, None).basis
             for name in meters.Meter.names()}  # fmt: skip
    assert bases == {"codecarbon": "modelled", "cpu": "modelled", "perf": "measured", "rapl": "measured"}
    assert meters.Energy.of(reading, "an abacus", {}, None).basis == ""
