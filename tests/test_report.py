"""The report: what is on the page, and that a browser shows it without complaint."""

import json
import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from heros import Heros, evaluate, meters, policies, pools, streams
from heros.errors import DataError
from heros.report import write_report
from heros.report.charts import Line, Point, heat_map, line_chart, scatter
from heros.storage import records

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Three policies on a stream with drifts, and a stream whose name and values are full of markup."""
    out = tmp_path_factory.mktemp("records")
    pool = pools.MLPGrid(hidden=[8, 16], learning_rates=[0.05])
    for policy in (policies.Cheapest(), policies.Everything(), policies.Explore(policies.Zeta(0.05), 0.2)):
        stream = streams.Drift(
            streams.Agrawal(function=2), streams.Agrawal(function=4), position=3000, width=400
        )
        stream.name = "drifting"
        run = evaluate(
            Heros(pool, policy, k=2, seed=1),
            stream.take(6000),
            window=200,
            meter=meters.Cpu(10, meters.Carbon.of(country="FRA")),
        )
        records.save(run, out)
    X = np.random.default_rng(1).normal(size=(500, 3))
    hostile = streams.from_arrays(X, (X[:, 0] > 0).astype(int), name="<script>alert(1)</script>")
    records.save(evaluate(Heros(pool, k=2, seed=1), hostile), out)
    return out


@pytest.fixture
def page(recorded, tmp_path):
    path = tmp_path / "report.html"
    assert write_report(recorded, path) == 4
    return path


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in {"meta", "link", "rect", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag


def test_the_page_is_whole_and_has_everything(page):
    text = page.read_text()
    tags = Tags(text)
    assert tags.open == []
    labels = [attributes["aria-label"] for tag, attributes in tags.seen if tag == "svg"]
    for measure in ("AUROC", "Accuracy", "κ", "Log-loss"):
        assert sum(f"{measure}, per window" in label for label in labels) == 2
    assert sum("Which models were trained when" in label for label in labels) == 4
    assert sum("Performance against energy" in label for label in labels) == 2
    assert sum("γ" in label for label in labels) == sum("Energy since" in label for label in labels) == 2
    assert sum(attributes.get("class") == "drift" for _, attributes in tags.seen) == 6  # of the one stream
    assert "56 g CO2e per kWh (FRA: Ember" in text
    assert "10 W per core (stated)" in text
    assert "not stated" in text  # the CO2e of the other stream


def test_the_page_asks_for_nothing_and_runs_nothing(page):
    text = page.read_text()
    assert not re.search(r"https?:|<script|@import|url\(", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_the_figures_are_those_of_the_records(recorded, page):
    table = records.load(recorded)
    text = page.read_text()
    for auroc, share in zip(table["auroc"].to_pylist(), table["gamma_share"].to_pylist(), strict=True):
        assert f"<td>{auroc:.4f}</td>" in text
        assert f"<td>{share:.1%}</td>" in text


def test_a_stream_of_one_class_has_no_auroc_and_a_report_all_the_same(tmp_path):
    """Neither its own report is broken nor those of later runs into the same directory."""
    X = np.random.default_rng(1).normal(size=(400, 3))
    for seed, label in ((1, "ones"), (2, "ones"), (1, "signs")):
        y = np.ones(400, dtype=int) if label == "ones" else (X[:, 0] > 0).astype(int)
        stream = streams.from_arrays(X, y, classes=["0", "1"], name=label)
        run = evaluate(Heros(pools.MLP([{}]), k=1, seed=seed), stream, window=100)
        assert np.isnan(run.auroc) == (label == "ones")
        records.save(run, tmp_path)
        write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "nan" not in text
    assert re.search(r"<td>2</td><td>–</td><td>[01]\.\d{4}</td><td>", text)  # runs, AUROC, accuracy
    assert text.count("AUROC, per window") == text.count("Performance against energy: AUROC") == 2


def test_no_records_is_said(tmp_path):
    with pytest.raises(DataError, match=r"must have records below it\. Got none\.$"):
        write_report(tmp_path, tmp_path / "report.html")


def test_a_line_goes_through_its_points():
    chart = line_chart("t", [Line(0, "a", np.array([100.0, 200.0]), np.array([0.0, 1.0]))])
    assert 'd="M500.0 1000.0L1000.0 0.0"' in chart


def test_a_line_of_nothing_but_nan_is_drawn_as_nothing_worse():
    assert "nan" not in line_chart("t", [Line(0, "a", np.arange(1.0, 4), np.full(3, np.nan))])


def test_the_front_leaves_out_what_another_point_beats():
    chart = scatter("t", [Point(0, "a", 1, 0.8), Point(1, "b", 2, 0.7), Point(2, "c", 3, 0.9)], "x", "y")
    front = re.search(r'class="front" d="([^"]*)"', chart)[1]
    assert front.count("L") == 1


def test_where_lower_is_better_the_front_goes_below():
    points = [Point(0, "a", 1, 0.8), Point(1, "b", 2, 0.7), Point(2, "c", 3, 0.9)]
    front = re.search(r'class="front" d="([^"]*)"', scatter("t", points, "x", "y", higher=False))[1]
    assert front.count("L") == 1
    assert front != re.search(r'class="front" d="([^"]*)"', scatter("t", points, "x", "y"))[1]


def test_the_heat_map_has_the_first_model_at_the_bottom():
    chart = heat_map("t", np.array([[1.0, 1.0], [0.0, 0.5]]), 10, [], ("cheap", "costly"))
    assert 'fill-opacity="1.000" d="M0 1h2v1h-2z"' in chart
    assert 'fill-opacity="0.500" d="M1 0h1v1h-1z"' in chart


FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0"><pre id="out"></pre>
<iframe style="border:0" width="{width}" height="900" srcdoc="{page}"></iframe><script>
onload = () => {{
  const frame = document.querySelector("iframe").contentWindow;
  const asked = frame.performance.getEntriesByType("resource").map(entry => entry.name);
  const wide = frame.document.documentElement.scrollWidth;
  const charts = frame.document.querySelectorAll("svg").length;
  const seen = [...frame.document.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width > 250).length;
  document.querySelector("#out").textContent = JSON.stringify({{asked, wide, charts, seen, window: frame.innerWidth}});
}}</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the report in")
@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_it_without_complaint_and_without_the_network(page, tmp_path, width):
    """In a frame, for a browser's window has a least width, and its own requests are not the page's."""
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width, page=escape(page.read_text())))
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,1000"]
    result = subprocess.run(
        [*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(re.search(r'<pre id="out">(.*?)</pre>', result.stdout)[1])
    assert found == {"asked": [], "wide": width, "charts": 18, "seen": 18, "window": width}
    assert "CONSOLE" not in result.stderr
