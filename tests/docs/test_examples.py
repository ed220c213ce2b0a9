"""Run the examples in the documentation and compare their output with the page.

A block is run unless its title contains "not run by the tests". A block with "needs package" in its title is
run if the package is installed. The output of a command is compared with the page, except for numbers.
Requests are sent to a service, and its replies are compared with the page.
"""

import doctest
import importlib.util
import re
import shlex
import tomllib

import pytest
from typer.testing import CliRunner

from docs.pages import DOCS, FENCE, PAGES, ROOT, blocks, comparable
from docs.services import run_requests
from heros.cli import app

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def installed(package):
    return importlib.util.find_spec(package) is not None


def run_commands(block, where):
    for command, shown in block.commands():
        program, *arguments = shlex.split(command, comments=True)
        assert program == "heros", f"{where}: {command}"
        result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
        assert result.exit_code == 0, f"{where}: {command}\n{result.output}"
        if shown.strip():
            assert comparable(shown) == comparable(result.stdout), f"{where}: {command}\n{result.stdout}"


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.filterwarnings("ignore:.*AnyType:UserWarning")  # a warning from MLflow about its own classes
@pytest.mark.parametrize("page", [page for page in PAGES if any(block.runs for block in blocks(page))])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # as described on the page
    known = {}
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for block in blocks(page):
        where = f"{page}, line {block.line}"
        if not block.runs or (block.needs and not installed(block.needs)):
            continue
        if block.language == "console" and "$ post " in block.text:
            if installed("httptools"):
                run_requests(block, where)
        elif block.language == "console":
            run_commands(block, where)
        elif ">>>" in block.text:
            examples = doctest.DocTestParser().get_doctest(block.text, known, where, page, block.line)
            assert runner.run(examples, clear_globs=False).failed == 0, where
            known = examples.globs
        elif block.language == "python":
            exec(compile(block.text, where, "exec"), known)
        elif block.language == "toml":
            tomllib.loads(block.text)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_says_that_it_is_not(page):
    """All examples are in fenced blocks, in languages that the tests support."""
    text = (DOCS / page).read_text(encoding="utf-8")
    outside = FENCE.sub("", text)
    assert ">>>" not in outside
    assert not re.search(r"^    (?:\$ |heros |make |python |pip )", outside, re.MULTILINE)
    for block in blocks(page):
        assert block.language in {"console", "pycon", "python", "sh", "toml"}, f"{page}, line {block.line}"
        assert not (block.language == "sh" and block.runs), f"{page}, line {block.line}"


def test_every_extra_is_on_the_page_about_installing():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    page = (DOCS / "install.md").read_text(encoding="utf-8")
    assert [extra for extra in extras if f"\n| `{extra}` |" not in page] == []


def test_every_test_that_stands_for_a_promise_is_there():
    """The table of possible failures names a test in each row."""
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r"\b(test_\w+)\b(?!\.py)", page)) - {"test_then_train"}
    assert len(named) > 40
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []
