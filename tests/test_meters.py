"""Meters: their readings, their errors, and consistent totals."""

import os
import sys
import time

import pytest

from heros import Heros, HerosError, MissingExtra, ParameterError, evaluate, meters, pools, streams
from heros.meters import cpu as cpu_module


def counter(root, zone, name, value, size=1000):
    directory = root / zone
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "name").write_text(f"{name}\n")
    (directory / "max_energy_range_uj").write_text(f"{size}\n")
    (directory / "energy_uj").write_text(f"{value}\n")


@pytest.fixture
def powercap(tmp_path):
    """Two packages, one with memory and cores, and psys at the top. A nested zone is also linked at the top."""
    counter(tmp_path, "intel-rapl:0", "package-0", 100)
    counter(tmp_path, "intel-rapl:0/intel-rapl:0:0", "core", 50)
    counter(tmp_path, "intel-rapl:0/intel-rapl:0:1", "dram", 10)
    counter(tmp_path, "intel-rapl:1", "package-1", 990)
    counter(tmp_path, "intel-rapl:2", "psys", 5)
    (tmp_path / "intel-rapl:0:1").symlink_to(tmp_path / "intel-rapl:0" / "intel-rapl:0:1")
    return tmp_path


def small(seed=1):
    return Heros(pools.MLPGrid(hidden=[16], learning_rates=[0.05]), k=1, seed=seed)


def test_rapl_adds_packages_and_memory_once_over_a_wrap_around(powercap):
    meter = meters.Rapl(powercap)
    meter.start()
    counter(powercap, "intel-rapl:0", "package-0", 400)
    counter(powercap, "intel-rapl:0/intel-rapl:0:0", "core", 900)
    counter(powercap, "intel-rapl:0/intel-rapl:0:1", "dram", 30)
    counter(powercap, "intel-rapl:1", "package-1", 5)  # 990 → 1000 → 0 → 5: 16 steps
    counter(powercap, "intel-rapl:2", "psys", 999)
    reading = meter.stop()
    assert reading.joules == pytest.approx((300 + 20 + 16) / 1e6)
    assert reading.detail.count("J") == 3


def test_rapl_sees_every_wrap_around_it_samples(powercap):
    meter = meters.Rapl(powercap)
    meter.start()
    for value in (990, 90, 990, 90):
        counter(powercap, "intel-rapl:0", "package-0", value)
        meter.sample()
    assert meter.stop().joules == pytest.approx((890 + 101 + 900 + 101) / 1e6)


def test_rapl_at_the_same_time_is_refused_and_is_free_again_after_a_failure(powercap):
    first, second = meters.Rapl(powercap), meters.Rapl(powercap)
    first.start()
    with pytest.raises(HerosError, match=r"^RAPL measures the whole machine, so two runs cannot use it"):
        second.start()
    first.abandon()
    second.start()
    second.stop()
    with pytest.raises(ParameterError, match="a stream with instances left"):
        evaluate(small(), streams.Agrawal().take(0), meter=first)
    second.start()
    second.stop()


def test_no_rapl_is_said(tmp_path):
    with pytest.raises(
        HerosError, match=r"^RAPL needs package counters in .*\. This directory has no counters"
    ):
        meters.Rapl(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_said_as_the_system_says_it(powercap):
    (powercap / "intel-rapl:0" / "energy_uj").chmod(0)
    with pytest.raises(HerosError, match=r"^RAPL needs permission to read"):
        meters.Rapl(powercap)


def test_no_permission_is_said(powercap, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    meter = meters.Rapl(powercap)
    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(
        HerosError,
        match=r"^RAPL needs permission to read .*energy_uj\. Run as root, or use chmod a\+r on this file\.",
    ):
        meter.start()


def test_codecarbon_without_the_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "codecarbon", None)
    with pytest.raises(MissingExtra, match=r"pip install 'codecarbon>=[0-9.]+'$"):
        meters.CodeCarbon()


def test_codecarbon_reads_energy_and_keeps_quiet(capfd):
    pytest.importorskip("codecarbon", reason="the extra 'energy' is not installed")
    run = evaluate(small(), streams.Agrawal().take(20_000), meter=meters.CodeCarbon())
    assert run.energy.source == "codecarbon"
    assert run.energy.kwh > 0
    assert run.energy.co2e_kg is None
    assert capfd.readouterr() == ("", "")


def test_the_watts_of_a_core_are_stated_known_or_the_default(monkeypatch):
    monkeypatch.setattr(cpu_module, "cpu_model", lambda: "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz")
    assert meters.Cpu().watts == 7.5
    monkeypatch.setattr(cpu_module, "cpu_model", lambda: "Abacus")
    assert (meters.Cpu().watts, meters.Cpu().origin) == (10.0, "default, no data for Abacus")
    assert meters.Cpu(3).watts == 3
    with pytest.raises(ParameterError, match=r"^The 'watts' parameter of Cpu must be a number > 0\. Got 0"):
        meters.Cpu(0)


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ("processor : 0\nmodel name : Abacus 3000\n\nprocessor : 1\nmodel name : Abacus 9\n", "Abacus 3000"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd08\nCPU revision\t: 3\n", "Cortex-A72"),
        ("CPU implementer\t: 0x61\nCPU part\t: 0xd08\n", "slide rule"),  # values from another manufacturer
        ("", "slide rule"),
    ],
)
def test_the_cpu_has_its_own_name_or_that_of_its_design(monkeypatch, listed, name):
    monkeypatch.setattr(cpu_module.Path, "read_text", lambda path, encoding: listed)
    monkeypatch.setattr(cpu_module.platform, "processor", lambda: "slide rule")
    assert cpu_module.cpu_model.__wrapped__() == name


def test_co2e_only_where_an_intensity_is_stated():
    stream = streams.Agrawal().take(500)
    assert evaluate(small(), stream).energy.co2e_kg is None
    stream.restart()
    energy = evaluate(small(), stream, meter=meters.Cpu(10, meters.Carbon.of(country="deu"))).energy
    assert energy.co2e_kg == pytest.approx(energy.kwh * 0.381)
    assert energy.carbon.source.startswith("DEU: Ember")
    with pytest.raises(
        ParameterError, match=r"^The 'country' parameter of Carbon must be one of AUS, .*Got 'XXX'"
    ):
        meters.Carbon.of(country="XXX")
    with pytest.raises(ParameterError, match="None if 'intensity' is given"):
        meters.Carbon.of(country="DEU", intensity=3)


def test_the_phases_add_up_to_the_cpu_time_of_the_run():
    evaluate(Heros(seed=1), streams.Agrawal().take(100))  # measured once, after the meter has stopped
    before = time.process_time()
    run = evaluate(Heros(seed=1), streams.Agrawal().take(20_000), meter=meters.Cpu(10))
    spent = time.process_time() - before
    assert sum(run.cpu.values()) == pytest.approx(spent, rel=0.1)
    assert run.energy.joules == pytest.approx(10 * spent, rel=0.1)
    assert sum(run.energy.by_phase.values()) == pytest.approx(run.energy.kwh)
    assert run.energy.by_phase["train"] / run.energy.kwh == pytest.approx(run.cpu["train"] / run.cpu_seconds)
    assert list(run.energy.by_phase) == ["encode", "evaluate", "choose", "train", "other"]


def test_a_meter_is_asked_for_by_name():
    assert meters.Meter.of("cpu", watts=4).watts == 4
    with pytest.raises(ParameterError, match="must be one of codecarbon, cpu, perf, rapl"):
        meters.Meter.of("sundial")
    with pytest.raises(ParameterError, match=r"^The 'meter' parameter of evaluate must be a meter"):
        evaluate(small(), streams.Agrawal().take(5), meter="cpu")


@pytest.mark.parametrize("name", meters.Meter.names())
def test_every_meter_reads_in_order_or_says_why_it_cannot(name):
    """The contract of all meters, which are discovered automatically."""
    carbon = meters.Carbon.of(intensity=100)
    try:
        meter = meters.Meter.of(name, carbon)
    except HerosError as error:
        pytest.skip(str(error))
    assert meter.carbon is carbon
    assert isinstance(meter.source, str)
    meter.start()
    sum(range(200_000))
    early = meter.so_far()
    meter.sample()
    late = meter.stop()
    assert 0 <= early.joules <= late.joules
    assert 0 < early.cpu_seconds <= late.cpu_seconds
    assert late.detail
    meter.abandon()
