"""Recompute the numbers on the paper's pages with a script that does not import HEROS."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heros_paper import published

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "paper" / "recompute.py"


def test_the_tables_of_the_page_come_out_of_the_records_without_our_code():
    done = subprocess.run([sys.executable, "-I", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rows, 0 of which" in done.stdout


def test_the_script_imports_nothing_of_ours():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in names if name.startswith("heros")]


@pytest.mark.long
def test_a_number_that_the_page_states_otherwise_is_an_error_and_can_be_put_right(tmp_path):
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    row, rank = re.search(r"^(\| perform-best \| (\S+) \| 2\.86 \|)$", page, re.MULTILINE).groups()
    wrong = tmp_path / "docs" / "paper.md"
    wrong.parent.mkdir()
    wrong.write_text(page.replace(row, row.replace(rank, "9.99", 1)), encoding="utf-8")
    (tmp_path / "paper").mkdir()
    for name in ("recompute.py", "published.csv", "records"):
        (tmp_path / "paper" / name).symlink_to(ROOT / "paper" / name)

    done = run_on(tmp_path)
    assert done.returncode == 1
    assert f"{row}   <- docs: ['9.99', '2.86']" in done.stdout

    assert run_on(tmp_path, "--write").returncode == 0
    assert wrong.read_text(encoding="utf-8") == page


def run_on(directory, *options):
    path = str(directory / "paper" / "recompute.py")
    code = (
        f"import runpy, sys; sys.argv = {[path, *options]!r}; runpy.run_path({path!r}, run_name='__main__')"
    )
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("table", "ours"), [("II", published.MLP), ("appendix", published.TREES)])
def test_two_transcriptions_of_the_paper_agree(table, ours):
    lines = (ROOT / "paper" / "published.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines if line.startswith(f"{table},")]
    for figure, mine in (("auroc", ours.auroc), ("kwh", ours.kwh)):
        for stream, values in mine.items():
            theirs = [float(row[4]) for row in rows if row[1] == stream and row[3] == figure]
            assert theirs == list(values)
