"""The league's tables, ranks, claims and figure, from records with known results."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from heros import HerosError
from heros_league import page
from heros_league.arena import ARENA
from heros_league.claims import claims
from heros_league.entrants import ENTRANTS, OURS
from heros_league.picture import draw, points
from heros_league.standing import Standing

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def pages(tmp_path):
    """Copy the league's two pages."""
    (tmp_path / "docs").mkdir()
    for name in ("league.md", page.DETAILS):
        (tmp_path / "docs" / name).write_text((DOCS / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path / "docs" / "league.md", tmp_path / "docs" / page.DETAILS


def test_seeds_are_averaged(written):
    written("agr_a", "heros", 0.90, seed=1, micros=100, megabytes=10)
    root = written("agr_a", "heros", 0.92, seed=2, micros=300, megabytes=30)
    cell = Standing.of(root).cell("agr_a", "heros")
    assert cell.mean("auroc") == pytest.approx(0.91)
    assert cell.spread("auroc") == pytest.approx(0.0141421, abs=1e-6)
    assert cell.microseconds == pytest.approx(200)
    assert cell.megabytes == pytest.approx(30)  # the maximum, not the mean
    assert cell.load == pytest.approx(1.5)


def test_only_who_was_run_everywhere_is_ranked(written):
    for stream in ARENA:
        written(stream, "heros", 0.95)
        written(stream, "srp", 0.94 if stream != "wisdm" else 0.96)
        root = written(stream, "forest", 0.93)  # a HEROS setting that is not ranked
    written("agr_a", "arf", 0.99)
    ranks = Standing.of(root).ranks()
    assert dict(zip(ranks.names, ranks.mean_ranks, strict=True)) == pytest.approx(
        {"heros": 12 / 11, "srp": 21 / 11}
    )
    assert Standing.of(root).ranks("forest").names == ("forest", "srp")
    assert Standing.of(root).ranks("lean") is None


def test_each_rival_is_compared_where_both_were_run(written):
    for stream, lead in zip(ARENA, (0.01,) * 5 + (-0.003,) * 6, strict=True):
        written(stream, "heros", 0.9)
        root = written(stream, "srp", 0.9 - lead)
    written("agr_a", "arf", 0.5)
    srp, arf = sorted(Standing.of(root).against(), key=lambda pair: -len(pair.streams))
    assert (srp.rival, srp.ahead, len(srp.streams)) == ("srp", 5, 11)
    assert srp.behind == pytest.approx(0.003)
    assert (arf.rival, arf.ahead, arf.streams) == ("arf", 1, ("agr_a",))
    assert arf.p_value == 1.0  # one stream is not enough


def test_claims_hold_when_everybody_has_been_run(written):
    for i, stream in enumerate(ARENA):
        written(stream, "heros", 0.95, micros=100, megabytes=90)
        for rival in set(ENTRANTS) - set(OURS) - {"srp"}:
            written(stream, rival, 0.5)
        root = written(stream, "srp", 0.949 if i < 9 else 0.9515, micros=2500 if i else 1100)
    first, ahead, behind, boosted, each, middle, memory = claims(Standing.of(root))
    assert (first.found, first.holds) == ("1 of 20: 1.18; the best rival, SRP: 1.82", True)
    assert (boosted.found, boosted.holds) == ("11 of 11", True)
    assert (ahead.found, ahead.holds) == ("9 of 11", True)
    assert behind.holds
    assert behind.found.startswith("−.0015 on ")
    assert (each.found, each.holds) == ("1/11.0 on airlines, of 11 streams", True)
    assert (middle.found, middle.holds) == ("1/25.0 over 11 streams", True)
    assert (memory.holds, memory.found[:5]) == (True, "90 MB")


def test_claims_are_open_until_everybody_has_been_run(written):
    written("agr_a", "heros", 0.95, micros=100, megabytes=10)
    root = written("agr_a", "srp", 0.94, micros=5000)
    assert [claim.holds for claim in claims(Standing.of(root))] == [None] * 7
    root = written("led_a", "heros", 0.90, micros=1000, megabytes=110)
    written("led_a", "srp", 0.94, micros=5000)
    assert [claim.holds for claim in claims(Standing.of(root))] == [
        None,
        None,
        False,
        None,
        False,
        None,
        False,
    ]


@pytest.mark.long
def test_claims_that_fail_say_so(written):
    for stream in ARENA:
        written(stream, "heros", 0.90, micros=1000, megabytes=190)
        root = written(stream, "srp", 0.95, micros=2500)
        for rival in set(ENTRANTS) - set(OURS) - {"srp"}:
            written(stream, rival, 0.91 if rival == "xgboost_all" else 0.5)
    assert [claim.holds for claim in claims(Standing.of(root))] == [False] * 7


def test_the_papers_runs_stand_in_until_there_are_own_ones(written, tmp_path):
    root = written("rbf_f_100k", "x", 0.9375, place="paper/rbf_f_100k/capymoa50/srp/k50/seed1") / "paper"
    league = tmp_path / "league"
    cell = Standing.of(league, borrowed=root).cell("rbf_f", "srp")
    assert cell.mean("auroc") == 0.9375
    assert cell.borrowed
    assert (cell.microseconds, cell.megabytes) == (None, None)  # from another machine
    written("rbf_f", "srp", 0.94, micros=50, place="league/rbf_f/srp/seed1")
    own = Standing.of(league, borrowed=root).cell("rbf_f", "srp")
    assert (own.borrowed, own.mean("auroc"), round(own.microseconds)) == (False, 0.94, 50)


def test_the_pages_are_filled_and_filled_again_alike(written, pages, tmp_path):
    for stream in ARENA:
        written(stream, "heros", 0.95, place=f"r/{stream}/heros/seed1")
        written(stream, "srp", 0.9, stopped=stream == "airlines", place=f"r/{stream}/srp/seed1")
    written("bananas", "river_arf", 0.9, place="r/bananas/river_arf/seed1")
    target, details = pages
    paths = page.write_page(tmp_path / "r", target)
    first, more = (path.read_text(encoding="utf-8") for path in pages)
    assert paths == [target, details, tmp_path / "docs" / "figures" / "league.png"]
    assert paths[2].stat().st_size > 10_000
    assert "stopped at the limit of CPU time: figures up to that point" in first
    assert "## Method" in first  # manual text is not changed
    assert "| first by mean rank" in more
    assert "stopped at the limit of CPU time, after 200 instances: figures up to that point" in more
    assert "22 of 253 cells are filled" in more
    image = paths[2].read_bytes()
    readme = tmp_path / "README.md"
    readme.write_text("# HEROS\n\n<!-- league -->\n<!-- /league -->\n\n## Install\n", encoding="utf-8")
    assert page.write_page(tmp_path / "r", target)[-1] == readme
    shown = readme.read_text(encoding="utf-8")
    assert "![AUROC against CPU time: Heros() beside SRP](docs/figures/league.png)" in shown
    assert "Means over 11 streams of 200 instances, the same instances" in shown
    assert " machine. Number of seeds: 1 for `Heros()`, 1 for the other learners." in shown
    assert "an earlier default" not in shown
    assert shown.endswith("## Install\n")
    assert tuple(path.read_text(encoding="utf-8") for path in pages) == (first, more)
    assert paths[2].read_bytes() == image


def test_the_front_page_says_if_the_picture_is_of_an_earlier_default(written, pages, tmp_path):
    """Return a run from another machine, with another number of models than current records have."""
    for stream in ARENA:
        written(stream, "heros", 0.95, models=2, place=f"old/{stream}/heros/seed1")
        written(stream, "srp", 0.9, place=f"old/{stream}/srp/seed1")
        written(stream, "heros", 0.96, models=3, place=f"new/{stream}/heros/seed1")
    readme = tmp_path / "README.md"
    readme.write_text("<!-- league --><!-- /league -->", encoding="utf-8")
    page.write_page(tmp_path / "new", pages[0], earlier=tmp_path / "old")
    told = "an earlier default of `Heros()`: 2 models, mean AUROC .9500.\nThe default in the tables has 3 models and a mean"
    assert told in readme.read_text(encoding="utf-8")


def test_the_front_page_has_the_best_known(written, pages, tmp_path):
    for stream, name in product(ARENA, ["heros", *(set(ENTRANTS) - set(OURS))]):
        written(stream, name, 0.9, place=f"r/{stream}/{name}/seed1")
    readme = tmp_path / "README.md"
    marks = "<!-- league --><!-- /league -->\n<!-- best known --><!-- /best known -->"
    readme.write_text(marks, encoding="utf-8")
    page.write_page(tmp_path / "r", pages[0])
    shown = readme.read_text(encoding="utf-8")
    assert [line.split("|")[1].strip() for line in shown.splitlines() if line.startswith("| ")][1:] == [
        *("Heros()", "SRP", "ARF")
    ]


def part(path, name):
    """Return the lines of a table in a page."""
    text = path.read_text(encoding="utf-8").partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    return [line for line in text.splitlines() if line.startswith("| ")]


@pytest.mark.long
def test_times_of_two_machines_are_never_in_one_table(written, pages, tmp_path):
    for stream in ARENA:
        written(stream, "heros", 0.90, micros=111, place=f"old/{stream}/heros/seed1")
        written(stream, "srp", 0.80, micros=2222, place=f"old/{stream}/srp/seed1")
        written(stream, "heros", 0.95, micros=50, place=f"new/{stream}/heros/seed1")
        written(stream, "lightgbm_5k", 0.85, micros=333, place=f"new/{stream}/lightgbm_5k/seed1")
    page.write_page(tmp_path / "new", pages[0], earlier=tmp_path / "old")
    first, second, auroc = (
        {row.split("|")[1].strip(): row.split("|")[2].strip().partition("<")[0] for row in rows[1:]}
        for rows in (part(pages[1], "cpu"), part(pages[1], "cpu here"), part(pages[0], "auroc"))
    )
    assert first == {"Heros()": "111", "SRP": "2,222"}
    assert second == {"Heros()": "50", "LightGBM, last 5,000": "333"}
    assert auroc["Heros()"] == "**.9500**"  # the newer run replaces the older run
    assert auroc["SRP"] == ".8000"


def test_seeds_of_rivals_are_put_together_and_those_of_heros_are_not(written, tmp_path):
    for name, old, new in (("srp", 0.8, 0.9), ("heros", 0.5, 0.9)):
        written("wisdm", name, old, micros=10, place=f"old/wisdm/{name}/seed1")
        written("wisdm", name, new, micros=20, seed=2, place=f"new/wisdm/{name}/seed2")
    standing = Standing.of(tmp_path / "new", earlier=tmp_path / "old")
    assert standing.cell("wisdm", "srp").mean("auroc") == pytest.approx(0.85)
    assert standing.cell("wisdm", "srp").microseconds == pytest.approx(20)
    assert standing.cell("wisdm", "heros").mean("auroc") == pytest.approx(0.9)


def test_kappa_temporal_is_zero_for_the_accuracy_of_no_change(written):
    written("wisdm", "no_change", 0.8)
    written("wisdm", "srp", 0.7)
    root = written("wisdm", "heros", 0.95)
    standing = Standing.of(root)
    kappas = {name: standing.kappa_temporal("wisdm", name) for name in ("no_change", "srp", "heros", "arf")}
    assert kappas.pop("arf") is None
    assert kappas == pytest.approx({"no_change": 0.0, "srp": -0.5, "heros": 0.75})


def test_the_best_booster_is_chosen_for_each_stream_in_hindsight(written, pages, tmp_path):
    for i, stream in enumerate(ARENA):
        written(stream, "heros", 0.90, place=f"r/{stream}/heros/seed1")
        written(stream, "lightgbm_5k", 0.95 if i == 0 else 0.80, place=f"r/{stream}/lightgbm_5k/seed1")
        written(stream, "xgboost_all", 0.85, place=f"r/{stream}/xgboost_all/seed1")
    page.write_page(tmp_path / "r", pages[0])
    row = part(pages[0], "auroc")[-1].split("|")
    assert row[1].strip() == "best retrained booster in hindsight, of those that were run"
    assert [cell.strip() for cell in row[2:-2]] == [".9500"] + [".8500"] * 10
    text = pages[0].read_text(encoding="utf-8")
    assert "| the paper's eleven            | 2          | 10 of 11 " in text
    assert "airlines (the paper's eleven) by .0500 behind LightGBM, last 5,000" in text


def test_a_page_without_a_place_for_a_table():
    with pytest.raises(HerosError, match=r"must have the marks .* for 'ranks'"):
        page.filled("nothing", {"ranks": "x"})


def test_the_picture_shows_who_has_both_figures(written, tmp_path):
    written("agr_a", "heros", 0.95, micros=100)
    written("led_a", "heros", 0.93, micros=400)
    root = written("agr_a", "srp", 0.9, micros=2000, stopped=True)
    standing = Standing.of(root)
    (one,) = points(standing, ["agr_a", "led_a"])
    assert (one.entrant, round(one.microseconds), round(one.quality, 4)) == ("heros", 200, 0.94)
    assert {point.entrant: point.stopped for point in points(standing, ["agr_a"])} == {
        "heros": False,
        "srp": True,
    }
    assert draw(standing, tmp_path / "p.png") == ["agr_a"]
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert draw(Standing({}, ARENA), tmp_path / "none.png") == []
