"""The search of the built site returns the page about a word as its first result.

The site is read from the directory HEROS_SITE, which `make docs` has built, or is built here in the same way.
Its own search (Material's worker over the index) ranks the pages. It runs in node: the system's, or Playwright's.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT

PAGES = {
    "install": "install.html",
    "save model": "save.html",
    "load model": "save.html",
    "datetime": "values.html",
    "missing values": "values.html",
    "xlsx": "streams.html",
    "kafka": "live.html",
    "feature importance": "drift.html",
    "energy": "policies.html",
    "budget": "policies.html",
    "regression": "regression.html",
    "river": "river.html",
    "sklearn": "sklearn.html",
    "docker": "serve.html",
    "late labels": "live.html",
    "drift": "drift.html",
    "explain prediction": "drift.html",
    "shap": "drift.html",
    "report": "cli.html",
    "class imbalance": "results.html",
    "evaluate": "results.html",
    "update model": "results.html",
    "new class": "values.html",
    "classification": "tutorial.html",
    "quick start": "tutorial.html",
    "pandas": "streams.html",
}


@pytest.fixture(scope="module")
def node():
    """The script that runs the site's search."""
    if found := shutil.which("node"):
        return found
    playwright = pytest.importorskip("playwright")
    return str(Path(playwright.__file__).parent / "driver" / "node")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the directory of the built site."""
    if built := os.environ.get("HEROS_SITE"):
        return ROOT / built
    pytest.importorskip("mkdocs")
    site = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)]
    subprocess.run(build, cwd=ROOT, check=True)
    return site


@pytest.fixture(scope="module")
def hits(node, site):
    """Return the pages that each search finds, best first."""
    rank = [node, str(Path(__file__).with_name("rank.mjs")), str(site), *PAGES]
    return json.loads(subprocess.run(rank, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("query", PAGES)
def test_a_search_finds_its_page_first(query, hits):
    assert hits[query][0].partition("#")[0] == PAGES[query], hits[query][:3]


def test_every_fence_became_a_block_of_code(site):
    assert [page.name for page in site.rglob("*.html") if "```" in page.read_text(encoding="utf-8")] == []
