"""The examples of the documentation run and say what they show."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heros.cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if ">>>" in page.read_text(encoding="utf-8")
)
NEEDS = {"capymoa.md": "capymoa", "mlflow.md": "mlflow"}
"""Pages about packages that are not installed with the tests."""


@pytest.mark.filterwarnings("ignore::heros.errors.DataNotice")
@pytest.mark.filterwarnings("ignore:.*AnyType:UserWarning")  # MLflow, about its own classes
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)
    if "heros example deliveries" in (DOCS / page).read_text(encoding="utf-8"):
        assert CliRunner().invoke(app, ["example", "deliveries"]).exit_code == 0
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the page says so
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    text = re.sub(r"^```.*$", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, page, str(DOCS / page), 0)
    failed, tried = doctest.DocTestRunner(optionflags=options).run(examples)
    assert tried > 0
    assert failed == 0


def test_every_test_that_stands_for_a_promise_is_there():
    """The table of what can go wrong names a test for each row."""
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in (DOCS.parent / "tests").rglob("*.py"))
    named = set(re.findall(r"\b(test_\w+)\b(?!\.py)", page))
    assert len(named) > 40
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []


def test_the_commands_of_the_tutorial_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "tutorials/own_file.md").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["example", "deliveries"]).exit_code == 0
    rows = Path("deliveries.csv").read_text(encoding="utf-8").splitlines()[:20]
    Path("new.csv").write_text("".join(f"{row.rpartition(',')[0]}\n" for row in rows), encoding="utf-8")
    commands = [
        line for line in text.splitlines() if re.match(r"heros \w+ (deliveries.csv|late.heros)", line)
    ]
    assert [shlex.split(line)[1] for line in commands] == ["look", "run", "predict"]
    outputs = [CliRunner().invoke(app, shlex.split(line, comments=True)[1:]) for line in commands]
    assert [result.exit_code for result in outputs] == [0, 0, 0], outputs
