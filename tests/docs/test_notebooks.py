"""The notebooks run from the first cell to the last and contain no machine-specific output."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(path.name for path in ROOT.glob("*.ipynb"))


def shown(notebook):
    return [cell["cell_type"] == "code" and bool(cell["outputs"]) for cell in notebook["cells"]]


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.filterwarnings("ignore")  # warnings of the tools that run the notebook
def test_a_notebook_runs_and_shows_what_it_has_shown(name, tmp_path):
    for package in ("nbclient", "ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location("renew", ROOT / "renew.py")
    renew = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(renew)
    again = renew.cleaned(renew.executed(ROOT / name, str(tmp_path)))
    assert shown(again) == shown(json.loads((ROOT / name).read_text(encoding="utf-8")))
    assert not [
        output
        for cell in again["cells"]
        for output in cell.get("outputs", ())
        if output.get("name") == "stderr"
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_kept_clean(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    document = json.loads(text)
    assert not re.search(r"/home/|/root/|/tmp/|/work/|/Users/|site-packages", text)
    assert document["metadata"].keys() == {"kernelspec", "language_info"}
    for cell in document["cells"]:
        assert cell["metadata"] == {}
        assert not [output for output in cell.get("outputs", ()) if output["output_type"] == "error"]


def test_a_notebook_is_a_page_of_the_site():
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT.parent / "docs" / "site.py")
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    table = {"data": {"text/html": ["<table>\n", "\n</table>"], "text/plain": ["2"]}}
    code = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}, table]}
    page = site.page_of({"cells": [{"cell_type": "markdown", "source": ["# Sums"]}, code]})
    assert page == "# Sums\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n<div><table> </table></div>"
