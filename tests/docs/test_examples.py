"""The examples of the documentation run and say what they show."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if ">>>" in page.read_text(encoding="utf-8")
)
NEEDS = {"capymoa.md": "capymoa"}
"""Pages about packages that are not installed with the tests."""


@pytest.mark.filterwarnings("ignore::heros.errors.DataNotice")
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)
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
