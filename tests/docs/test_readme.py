"""The README's commands run in order and print the output shown there."""

import ast
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.pages import comparable
from heros.cli import app

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
SHELL, SHOWN = (next(text for _, text in BLOCKS if text.startswith(start)) for start in ("heros ", "heros: "))
CODE = next(text for kind, text in BLOCKS if kind == "python")
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the output of the README's last command, after all other commands in the same directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        for line in SHELL.splitlines():
            result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert result.exit_code == 0, (line, result.output)
        assert Path("late.heros").exists()
        assert Path("runs/report.html").exists()
    return result.output


def test_a_run_prints_what_the_readme_shows(printed):
    assert comparable(printed) == comparable(SHOWN)


@pytest.mark.parametrize("name", ["AUROC", "accuracy", "κ", "log-loss"])
def test_the_figures_of_the_readme_are_those_of_a_run(printed, name):
    shown, now = (float(re.search(rf"\b{name} +(0\.\d+)", text)[1]) for text in (SHOWN, printed))
    assert abs(shown - now) < 0.0005


def test_the_instances_of_the_readme_are_those_of_a_run(printed):
    shown, now = (FIGURE.search(text[text.index("\ninstances") :])[0] for text in (SHOWN, printed))
    assert shown == now == "6,000"


def test_the_code_of_the_readme_prints_the_summary_and_the_prediction(tmp_path, monkeypatch, capsys):
    """Run the code as a script; warnings are errors here."""
    monkeypatch.chdir(tmp_path)
    exec(CODE, {})
    *summary, last = capsys.readouterr().out.splitlines()
    assert re.search(r"AUROC +0\.9", "\n".join(summary))
    said = ast.literal_eval(last)
    assert said.keys() == {"no", "yes"}
    assert said["yes"] > 0.5


def test_every_page_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#:]+)[^):]*\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not link.startswith("..") and not (ROOT / link).exists()] == []
