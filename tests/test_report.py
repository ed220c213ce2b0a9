"""The report: the contents of the page, and its display in a browser without errors."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from heros import DataError, Heros, evaluate, meters, policies, pools, streams
from heros._base.registry import variant_id
from heros._base.tables import settings_text
from heros.run import records
from heros.run.report import write_report
from heros.run.report.charts import Line, Point, heat_map, line_chart, scatter
from heros.run.report.groups import groups_of
from heros.run.report.html import axis
from heros.run.report.leaders import labels_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--hide-scrollbars",
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Three policies on a stream with drifts, and a stream whose name and values contain markup."""
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


def test_the_default_model_is_called_by_its_name(tmp_path):
    """The text on the policy appears only in the settings of each run; with another k, it is not the default."""
    words = "best half and random half, mostly on surprising instances"
    runs = [
        evaluate(model, streams.Agrawal(function=2).take(500), window=100)
        for model in (Heros(seed=1), Heros(seed=2), Heros(k=3, seed=1))
    ]
    usual, other = sorted(groups_of(runs), key=lambda group: group.label)
    assert (usual.label, len(usual.runs)) == ("Heros()", 2)
    assert (other.label, len(other.runs)) == (f"{words}, k = 3", 1)
    records.save(runs[0], tmp_path)
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<b>Heros()</b>: AUROC" in text
    assert text.count(words) == 1


def test_the_default_model_with_a_budget_is_called_by_its_name(tmp_path):
    stream = streams.Agrawal(function=2)
    runs = [
        evaluate(Heros(seed=1, **how), stream.take(500), window=100)
        for how in ({}, {"budget": "1 s"}, {"budget": "1 s", "k": 3})
    ]
    labels = {group.label for group in groups_of(runs)}
    assert {"Heros()", 'Heros(budget="1 s")'} < labels
    assert len(labels) == 3
    assert records.run_id(runs[1]) == "Agrawal_function_2_/default-budget_1_s/seed1"
    assert "default" not in records.run_id(runs[2])
    told = " ".join(repr(runs[1]).split())
    assert re.search(
        r"per instance \(without reading rows and computing metrics\), 1[\d.]+ of 1\d models awake", told
    )
    dial = {**runs[1].settings["dial"], "awake": 5.5}
    some = repr(replace(runs[1], settings={**runs[1].settings, "dial": dial}))
    assert "sleeping model" not in told
    assert "(a sleeping model is neither evaluated nor trained)" in " ".join(some.split())


def test_runs_with_other_class_weights_have_names_and_directories_of_their_own(tmp_path):
    weights = (None, "balanced", {"groupA": 5.0, "groupB": 1.0})
    for pool in ({}, {"pool": pools.MLPGrid(hidden=[8])}):
        runs = [
            evaluate(Heros(seed=1, class_weight=weight, **pool), streams.Agrawal(function=2).take(300))
            for weight in weights
        ]
        labels = [group.label for group in groups_of(runs)]
        assert len(set(labels)) == 3
        assert sum("balanced" in label for label in labels) == 1
        assert len({records.run_id(run) for run in runs}) == 3
    assert records.run_id(runs[1]).endswith("-weights_balanced/seed1")
    given = [{"Yes": 5}, {"yes": 5}, {"да": 5}, {"ж": 5}, {"a": 5, "b": 1}, {"a": 5.0, "b": 2}]
    names = [variant_id("all", "best", class_weight=one) for one in given]
    assert len(set(names)) == len(given)
    assert variant_id("all", "best", class_weight={"b": 1.0, "a": 5}) == names[4]
    records.save(runs[1], tmp_path)
    write_report(tmp_path, tmp_path / "report.html")
    assert "<dt>class weights</dt><dd>balanced</dd>" in (tmp_path / "report.html").read_text()


def test_a_report_says_how_to_measure_importance(tmp_path):
    for explainable in (False, True):
        run = evaluate(Heros(seed=1, explainable=explainable), streams.Agrawal(function=2).take(1500))
        records.save(run, tmp_path, force=True)
        write_report(tmp_path, tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text()
        assert ("--explainable" in text) is not explainable
        assert ("Feature importance: Heros()" in text) is explainable


def test_the_rows_of_a_map_differ_in_their_names():
    """Also where names are truncated: settings that are not needed to distinguish the models are omitted."""
    labels = labels_of(pools.default().configurations)
    assert len(set(labels)) == len(labels) == 14
    assert {"retrained boosted trees, trees 30", "retrained boosted trees, trees 60"} < set(labels)


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
    assert sum("Which models were trained when" in label for label in labels) == 3
    assert text.count("Every model was trained at every step, so there is no map") == 1
    assert sum("Performance against energy" in label for label in labels) == 1  # no competitors
    assert text.count("The best model over time") == 2 * 4
    assert "γ: cost of a training step, as a share of training all models." in text
    assert "Grey: known drifts." in text
    assert re.search(r"Dotted: majority class 0\.\d+, previous label 0\.\d+\. Grey", text)
    assert sum("γ" in label for label in labels) == sum("Energy since" in label for label in labels) == 2
    assert sum(attributes.get("class") == "drift" for _, attributes in tags.seen) == 6  # of the first stream
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
        assert re.search(rf"<td>(<b>)?{auroc:.4f}<", text)
        assert f"<td>{share:.1%}</td>" in text


def test_a_stream_of_one_class_has_no_auroc_and_a_report_all_the_same(tmp_path):
    """Neither its own report nor later reports in the same directory are damaged."""
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
    assert re.search(r"<td>2</td><td>–</td><td>[01]\.\d{4} ± [01]\.\d{4}</td><td>", text)
    assert text.count('aria-label="AUROC, per window"') == 1
    assert "Performance against energy" not in text  # no other run to compare with
    assert re.search(r"accuracy <b>[01]\.\d{4} ± [01]\.\d{4}</b> over 2 seeds", text)


def test_no_records_is_said(tmp_path):
    with pytest.raises(DataError, match=r"and its subdirectories contain no records\.$"):
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
    chart = heat_map("t", np.array([[1.0, 1.0], [0.0, 0.5]]), np.array([5, 10]), [], ("cheap <1>", "costly"))
    assert 'fill-opacity="1.000" d="M0 1h2v1h-2z"' in chart
    assert 'fill-opacity="0.500" d="M1 0h1v1h-1z"' in chart
    assert ">cheap &lt;1&gt;</span>" in chart  # every row has its name
    assert "<title>costly: 50% from 5 to 10</title>" in chart  # and every cell its value


def figure_of(chart):
    return re.sub(r"<[^>]+>", " ", chart)


def test_values_are_shown_on_hover_without_a_script():
    lines = [
        Line(0, "a <b>", np.array([100.0, 200.0]), np.array([0.25, 0.75])),
        Line(1, "c", np.array([200.0]), np.array([0.5])),
    ]
    chart = line_chart("t", lines)
    tips = re.findall(r'<div class="tip[^"]*">(.*?)</div>', chart)
    assert [figure_of(tip).split() for tip in tips] == [
        ["at", "100", "a", "&lt;b&gt;", "0.25"], ["at", "200", "a", "&lt;b&gt;", "0.75", "c", "0.5"],
    ]  # fmt: skip


def tips_of(chart):
    """Return the position and the values of each tip, and the strip over the chart that shows the tip."""
    found = re.findall(
        r'<div class="hit" style="left:([\d.]+)%;width:([\d.]+)%"><div class="tip[^"]*">(.*?)</div>', chart
    )
    return [(float(left), float(wide), figure_of(tip).split()) for left, wide, tip in found]


def test_tips_show_the_true_end_of_each_window():
    """Nine windows of 50 and one of 48: every value is drawn at the end of its own window."""
    ends = np.array([*range(50, 500, 50), 498.0])
    accuracy = np.linspace(0.5, 0.95, 10)
    tips = tips_of(line_chart("t", [Line(0, "a", ends, accuracy)]))
    assert [tip for *_, tip in tips] == [
        ["at", f"{end:.0f}", "a", f"{value:.4g}"] for end, value in zip(ends, accuracy, strict=True)
    ]
    assert [round((left + wide) * 498 / 100) for left, wide, _ in tips] == ends.tolist()


def test_tips_of_many_windows_show_values_of_the_record():
    """A tip then shows one of several windows; a line that ends elsewhere shows its position."""
    ends = np.arange(1.0, 301) * 100
    long, short = Line(0, "long", ends, ends / 1e5), Line(1, "short", ends[:-1] - 50, ends[:-1])
    tips = tips_of(line_chart("t", [long, short]))
    assert len(tips) == 60
    for *_, (_, at, *rest) in tips:
        named = dict(re.findall(r"(long|short) ([\d.e+]+(?: at [\d,]+)?)", " ".join(rest)))
        for name, line in (("long", long), ("short", short)):
            value, _, where = named[name].partition(" at ")
            point = float((where or at).replace(",", ""))
            assert float(value) == pytest.approx(float(line.y[line.x == point][0]), rel=1e-3)
    assert tips[-1][2][:2] == ["at", "30,000"]


def test_a_map_shows_the_true_ends_of_its_columns():
    """The last column covers fewer instances and is narrower."""
    chart = heat_map("t", np.array([[0.0, 0.0, 1.0]]), np.array([400, 800, 1000]), [], ["a"])
    assert "<title>a: 100% from 800 to 1,000</title>" in chart
    assert "<title>a: 20% of the time</title>" in chart
    assert 'd="M2.4 0h0.6v1h-0.6z"' in chart


def test_seeds_are_a_band_around_their_mean_that_the_axis_cuts():
    line = Line(3, "a", np.array([1.0, 2.0]), np.array([0.5, 1.0]), np.array([0.1, 0.2]))
    band = re.search(r'class="band f3" d="([^"]*)"', line_chart("t", [line]))[1]
    assert min(float(point.split()[1]) for point in band[1:-1].split("L")) == 0  # never above the axis


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.97, 1.0], [0.99999, 1.0], [0.2, 0.999]])
def test_no_axis_of_shares_goes_beyond_one(values):
    low, high, ticks = axis(np.array(values))
    assert (high, ticks[-1]) == (1, 1)
    assert low <= min(values)


def test_names_meet_neither_points_nor_each_other():
    """Four points at one position have space for three names at most; other names appear on hover."""
    points = [Point(i, f"policy_number_{i}", 10.0 + i / 1000, 0.9) for i in range(6)] + [
        Point(6, "far", 30.0, 0.5)
    ]
    chart = scatter("t", points, "x", "y")
    assert chart.count('class="dot') == 7
    assert 2 <= chart.count('class="name') < 7
    assert 'title="policy_number_5"' in chart


# -- notices ----------------------------------------------------------------------------------------------


def section(page, stream):
    return next(part for part in page.read_text().split("<section")[1:] if f"<h2>{stream}</h2>" in part)


def test_the_verdict_says_who_was_best_what_it_cost_and_what_was_saved(recorded, page):
    rows = [row for row in records.load(recorded).to_pylist() if row["stream"] == "drifting"]
    best = max(rows, key=lambda row: row["auroc"])
    full = next(row for row in rows if row["policy"] == "everything")
    text = section(page, "drifting")
    verdict = figure_of(re.search(r'<p class="verdict">(.*?)</p>', text)[1])
    verdict = re.sub(r" +", " ", verdict)
    words = {"cheapest": "cheapest models", "everything": "every model"}
    name = words.get(best["policy"], "cheapest within 5 % of the best, 20 % random steps")
    assert f"Best of 3: {name} , AUROC {best['auroc']:.4f}" in verdict
    assert "best model at the end is SGD, 16 units" in verdict
    board = re.search(r"<h4>Leaderboard</h4>.*?</table>", text)[0]
    figures = [float(one) for one in re.findall(r"<td>\d+</td><td>(?:<b>)?([\d.]+)", board)]
    assert figures == sorted(figures, reverse=True)  # best first
    for row in rows:
        saved = f"{1 - row['kwh'] / full['kwh']:.0%}" if row is not full else "–"
        assert f"<td>{saved}</td></tr>" in board


def test_champions_are_named_with_their_settings(recorded, page):
    run = records.read(next(place for place in records.find(recorded) if "everything" in str(place)))
    last = run.settings["models"][int(run.curves.scores[-1].argmax())]
    assert settings_text({name: last[name] for name in ("optimizer", "hidden")}) in section(page, "drifting")


def test_classes_are_named_and_counted(recorded, tmp_path):
    X = np.random.default_rng(1).normal(size=(600, 2))
    classes = np.array(["calm", "windy", "<storm>"])
    y = classes[np.where(X[:, 0] > 1, 2, (X[:, 1] > 0).astype(int))]
    stream = streams.from_arrays(X, y, classes=classes.tolist(), name="weather")
    run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), stream, window=200)
    place = records.save(run, tmp_path / "new")
    assert records.read(place).classes == run.classes == ("calm", "windy", "<storm>")
    write_report(tmp_path / "new", tmp_path / "new.html")
    text = (tmp_path / "new.html").read_text()
    storm = int(run.confusion.counts[2, 2])
    assert (
        f'title="&lt;storm&gt;, predicted &lt;storm&gt;: {storm:,}, {run.confusion.recall[2]:.1%} of the class"'
        in text
    )
    assert f"</i></span>{run.confusion.f1[2]:.3f}</td>" in text
    document = json.loads((place / "record.json").read_text())
    del document["classes"]  # as in an older record
    (place / "record.json").write_text(json.dumps(document))
    write_report(tmp_path / "new", tmp_path / "old.html")
    text = (tmp_path / "old.html").read_text()
    assert "Confusion matrix" in text
    assert "storm" not in text
    document["confusion"] = None  # of a run without this count
    (place / "record.json").write_text(json.dumps(document))
    write_report(tmp_path / "new", tmp_path / "none.html")
    assert "Confusion matrix" not in (tmp_path / "none.html").read_text()


def test_a_number_as_target_is_reported_by_its_own_measures(tmp_path):
    pool = pools.MLPGrid(hidden=[4, 8], learning_rates=[0.05])
    for policy in (policies.Everything(), policies.Cheapest()):
        run = evaluate(Heros(pool, policy, k=2, seed=1), streams.Friedman().take(600), window=100)
        records.save(run, tmp_path)
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert re.search(r"Best of 2: <b>[a-z ]+</b>, RMSE", text)
    assert "Performance against energy: RMSE (lower is better)" in text
    assert "Confusion matrix" not in text
    figures = [float(one) for one in re.findall(r"<td>1</td><td>(?:<b>)?([\d.]+)", text)]
    assert figures == sorted(figures)  # the lowest value first


def test_many_classes_are_a_list_of_mistakes(tmp_path):
    X = np.random.default_rng(1).normal(size=(600, 2))
    stream = streams.from_arrays(X, np.arange(600) % 30, name="many")
    records.save(evaluate(Heros(pools.MLP([{}]), k=1, seed=1), stream, window=200), tmp_path)
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Most frequent errors, 30 classes" in text
    assert "10 less frequent classes are not shown." in text


def test_a_compact_record_has_a_report_without_maps(tmp_path):
    X = np.random.default_rng(1).normal(size=(300, 2))
    run = evaluate(
        Heros(pools.MLP([{}, {"hidden": 4}]), k=1, seed=1),
        streams.from_arrays(X, (X[:, 0] > 0).astype(int)),
        window=100,
    )
    records.save(run, tmp_path, compact=True)
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Champions" not in text
    assert "Models, sorted by training" in text


FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0"><pre id="out"></pre>
<iframe style="border:0" width="{width}" height="900" srcdoc="{page}"></iframe><script>
onload = () => {{
  const frame = document.querySelector("iframe").contentWindow;
  const asked = frame.performance.getEntriesByType("resource").map(entry => entry.name);
  frame.document.querySelectorAll("details").forEach(part => part.open = true);
  const wide = frame.document.documentElement.scrollWidth;
  const charts = frame.document.querySelectorAll("svg").length;
  const names = [...frame.document.querySelectorAll(".name, .dot")].map(one => one.getBoundingClientRect());
  const over = names.filter((a, i) => names.some((b, j) => i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
  const cut = [...frame.document.querySelectorAll(".y span, .matrix, .classes")].filter(one => {{
    const box = one.closest(".wide") || one;
    return box.scrollWidth > box.clientWidth + 1 && !(frame.innerWidth < 500 && one.matches("table"));
  }}).map(one => one.textContent);
  const seen = [...frame.document.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width > 200).length;
  document.querySelector("#out").textContent = JSON.stringify({{asked, wide, charts, seen, over, cut, window: frame.innerWidth}});
}}</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the report in")
@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_it_without_complaint_and_without_the_network(page, tmp_path, width):
    """In a frame, because a browser window has a minimum width, and its requests are not the page's requests."""
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width, page=escape(page.read_text())))
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,1000"]
    result = subprocess.run(
        [*command, "--dump-dom", frame.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(re.search(r'<pre id="out">(.*?)</pre>', result.stdout)[1])
    shown = {"charts": 16, "seen": 16, "over": 0, "cut": []}
    assert found == {"asked": [], "wide": width, **shown, "window": width}
    assert "CONSOLE" not in result.stderr


def test_charts_of_quality_show_what_simple_predictors_reach(recorded, page):
    """The most frequent class and the previous label, in every chart of a measure that they have."""
    text = section(page, "drifting")
    for label, lines in (("AUROC", 2), ("Accuracy", 2), ("Log-loss", 1)):
        chart = re.search(rf'aria-label="{label}, per window">.*?</figure>', text)[0]
        assert chart.count('class="level"') == lines
        assert "majority class" in chart


def test_a_report_has_words_instead_of_code(recorded, page):
    text = re.sub(r"<style>.*?</style>", "", page.read_text())
    seen = re.sub(r"<summary>[^<]*/seed\d</summary>|<dd>[^<]*</dd>", "", text)  # ids, listed under Settings
    assert not re.search(r"\b(?:zeta|cand|surprise)_|Explore\(|MLPGrid\(|champion", seen)
    assert "<abbr title=" in text


def test_the_report_names_the_target_and_what_is_not_read(tmp_path):
    """The same for a part of a file; the heading omits a target without a name."""
    rng = np.random.default_rng(1)
    rows = "".join(f"{i},{'unknown' if i % 9 == 0 else rng.integers(9)},{'ab'[i % 2]}\n" for i in range(400))
    (tmp_path / "shop.csv").write_text("order,size,<late>\n" + rows)
    stream = streams.read(tmp_path / "shop.csv", missing=["unknown"], ignore=["order"]).take(300)
    for one in (stream, streams.Agrawal().take(300)):
        run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), one, window=100)
        place = records.save(run, tmp_path / "runs")
        assert records.read(place).reading == run.reading
    write_report(tmp_path / "runs", tmp_path / "report.html")
    page = tmp_path / "report.html"
    shop, agrawal = section(page, "shop"), section(page, r"Agrawal(function=1)")
    assert "300 instances. Target: <b>&lt;late&gt;</b> (2 classes). " in shop
    assert "<dt>target</dt><dd>the column &#x27;&lt;late&gt;&#x27;</dd>" in shop
    assert "<dt>columns left out</dt><dd>&#x27;order&#x27;</dd>" in shop
    assert re.search(
        r"<dt>read as missing</dt><dd>empty values and the usual words, [^<]*; also &#x27;unknown&#x27;</dd>",
        shop,
    )
    assert "Target:" not in agrawal
    assert "<dt>columns left out</dt><dd>none</dd>" in agrawal


def test_no_change_is_told_from_not_looked_for(tmp_path):
    """Older records do not have changes."""
    X = np.random.default_rng(1).normal(size=(600, 2))
    stream = streams.from_arrays(X, (X[:, 0] > 0).astype(int), name="steady")
    run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), stream, window=200)
    place = records.save(run, tmp_path)
    write_report(tmp_path, tmp_path / "report.html")
    assert "<p>No change detected.</p>" in (tmp_path / "report.html").read_text()
    assert "changes      no change detected (the error never rose)" in records.read(place).summary()
    document = json.loads((place / "record.json").read_text())
    del document["changes"], document["reading"]
    (place / "record.json").write_text(json.dumps(document))
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "No change detected" not in text
    assert "columns left out" not in text
    assert "no change detected" not in records.read(place).summary()
