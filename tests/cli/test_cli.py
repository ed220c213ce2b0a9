"""Tests of the command line: listing streams, and error messages."""

import pytest
from typer.testing import CliRunner

from heros.cli import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_streams_lists_the_streams_with_counted_shares(tmp_path, monkeypatch):
    monkeypatch.setenv("HEROS_DATA", str(tmp_path))
    result = runner.invoke(app, ["streams"])
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.strip()}
    assert rows["agr_a"] == ["synthetic", "1,000,000", "9", "(3+6)", "2", "53.69", "46.31"]
    assert rows["led_g"] == ["synthetic", "1,000,000", "24", "(24+0)", "10", "10.08", "9.94"]
    assert rows["rbf_m"] == ["synthetic", "1,000,000", "10", "(0+10)", "5", "30.01", "9.27"]
    assert rows["airlines"] == ["real", "–", "–", "–", "–", "–"]
    absent = "airlines, electricity, wisdm, covtype, nomao"
    assert f"{tmp_path} yet and are downloaded on first use: {absent}." in " ".join(result.stdout.split())


def test_streams_shows_the_first_instances_of_one():
    result = runner.invoke(app, ["streams", "agr_g", "--head", "5"])
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert result.stdout.splitlines()[0] == "agr_g: 1,000,000 instances, 9 features, 2 classes"
    assert "drift at 500,000 (over 50,000 instances)" in result.stdout
    assert " ".join(lines[4]) == "salary commission age elevel car zipcode hvalue hyears loan class"
    assert " ".join(lines[6]) == "110500 0 54 level3 car15 zipcode5 135000 30 354724 groupA"
    assert len(lines) == 6 + 5


def test_a_narrow_terminal_shows_fewer_features(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    result = runner.invoke(app, ["streams", "agr_a", "--head", "1"])
    lines = [line for line in result.stdout.splitlines() if line.strip()]
    assert "drift at 250,000 (abrupt)" in lines
    assert lines[4].split() == ["salary", "commission", "age", "elevel", "car", "zipcode", "…", "class"]
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["streams", "nope"], "heros: The 'name' parameter of load must be one of agr_a, "),
        (["streams", "agr_a", "--head", "0"], "Invalid value for '--head'"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(arguments, message):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    if message.startswith("heros:"):
        assert len(result.stderr.splitlines()) == 1
