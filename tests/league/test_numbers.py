"""Regression in the league: its learners, streams, tables and claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import Heros, evaluate, pools, streams
from heros.run import records
from heros_league import cli, page, rivals
from heros_league.arena import NUMBERS
from heros_league.claims import claims_of_numbers
from heros_league.entrants import OURS, REGRESSORS
from heros_league.standing import Standing

DOCS = Path(__file__).parents[2] / "docs"
RIVALS = sorted(set(REGRESSORS) - set(OURS))


@pytest.fixture
def numbers(tmp_path):
    """Return a function that writes a record with given errors."""
    model = Heros(pools.Linear([{}]), k=1, seed=1)
    base = evaluate(model, streams.Friedman().take(100), window=100, progress=False)

    def write(stream, entrant, rmse, *, mae=None, micros=100.0, seed=1):
        figures = {**base.figures, "rmse": rmse, "mae": rmse if mae is None else mae, "r2": 1 - rmse}
        cpu = dict.fromkeys(base.cpu, 0.0) | {"other": micros * 1e-6 * base.n_instances}
        league = {"entrant": entrant, "load": [1.0, 1.0], "peak_bytes": 1e7}
        settings = {**base.settings, "seed": seed, "stopped": False, "league": league}
        run = replace(base, stream=stream, figures=figures, cpu=cpu, settings=settings)
        records.save(run, tmp_path / "r", id=f"{stream}/{entrant}/seed{seed}", compact=True)
        return tmp_path / "r"

    return write


def standing_of(root):
    return Standing.of(root, NUMBERS, learners=REGRESSORS)


def test_streams_of_numbers_have_numbers_as_targets():
    without_data = {
        name: arena for name, arena in NUMBERS.items() if name not in ("price", "elevation", "flights")
    }
    assert len(NUMBERS) >= 8
    for arena in without_data.values():
        stream = arena.open()
        assert stream.schema.numeric
        assert stream.n_instances in (20_000, 1001, 578, 1257, 442)
        assert np.unique(stream.draw(200)[1]).size > 40


@pytest.mark.usefixtures("real_data")
def test_real_streams_with_another_target():
    for name, features in (("price", 7), ("elevation", 53), ("flights", 6)):
        stream = NUMBERS[name].open()
        assert (stream.n_instances, stream.schema.n_features, stream.schema.numeric) == (
            20_000,
            features,
            True,
        )


@pytest.mark.parametrize("name", [name for name in RIVALS if rivals.REGRESSORS[name].library == "river"])
def test_a_regressor_of_river_answers_as_in_a_plain_loop(name):
    n = 150
    run = rivals.run_rival(name, streams.Friedman().take(n), seed=3, progress=False)
    X, y = streams.Friedman().draw(n)
    names = [feature.name for feature in streams.Friedman().schema.features]
    model, errors = rivals.REGRESSORS[name].make(3, n), []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        row = dict(zip(names, x, strict=True))
        errors.append(target - (model.predict_one(row) or 0.0))
        model.learn_one(row, target)
    assert run.rmse == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)


@pytest.mark.parametrize("name", [name for name in RIVALS if rivals.REGRESSORS[name].library == "capymoa"])
def test_a_regressor_of_capymoa_does_as_in_capymoas_own_evaluation(name):
    pytest.importorskip("capymoa.regressor", reason="needs capymoa: pip install capymoa")
    from capymoa.evaluation import prequential_evaluation  # noqa: PLC0415
    from capymoa.stream import NumpyStream  # noqa: PLC0415

    n = 150
    run = rivals.run_rival(name, streams.Friedman().take(n), seed=3, progress=False)
    X, y = streams.Friedman().draw(n)
    theirs = NumpyStream(X, y, target_type="numeric")
    learner = rivals.REGRESSORS[name].make(3, n)(schema=theirs.get_schema())
    results = prequential_evaluation(theirs, learner, progress_bar=False, store_predictions=True)
    said = np.array([0.0 if p is None else p for p in results["predictions"]])
    assert run.rmse == pytest.approx(np.sqrt(np.mean(np.square(y - said))), rel=1e-6)


def test_ours_in_little_and_kept(tmp_path):
    words = ["run", "--part", "regression", "--entrants", "heros,arf", "--streams", "chicks", "--seeds", "1"]
    result = CliRunner().invoke(cli.app, [*words, "--records", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert [str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("record.json")] == [
        "chicks/heros/seed1"
    ]  # arf supports only classification
    assert records.read(tmp_path / "chicks/heros/seed1").r2 > 0.5
    assert (
        CliRunner().invoke(cli.app, [*words, "--records", str(tmp_path)]).exit_code == 0
    )  # the same settings


def test_claims_of_numbers(numbers):
    for i, stream in enumerate(NUMBERS):
        numbers(stream, "heros", 1.0 if i else 2.5, mae=1.0 if i < 5 else 9.0, micros=100)
        for rival in RIVALS:
            root = numbers(stream, rival, 2.0 if rival == "soknl" else 3.0, micros=2000 if i else 900)
    rmse, mae, cpu = claims_of_numbers(standing_of(root))
    assert (rmse.holds, rmse.found) == (True, "1 of 19: 1.08; the best rival, SOKNL: 1.92")
    assert mae.holds is False
    assert (cpu.holds, cpu.found) == (False, "1/20.0 of SOKNL's in the median, 1/9.0 on Friedman, local")


def test_lower_is_better(numbers):
    numbers("wave", "heros", 1.0)
    numbers("wave", "fimtdd", 4.0)
    numbers("price", "heros", 1.2)
    root = numbers("price", "fimtdd", 1.0)
    (pair,) = standing_of(root).against("heros", "rmse")
    assert (pair.rival, pair.ahead, len(pair.streams)) == ("fimtdd", 1, 2)
    assert pair.difference == pytest.approx((0.75 - 0.2) / 2)
    assert pair.behind == pytest.approx(0.2)


def test_the_page_has_the_tables_and_the_picture(numbers, tmp_path):
    for stream in NUMBERS:
        numbers(stream, "heros", 1.5)
        root = numbers(stream, "soknl", 2.25)
    root = numbers("wave", "fimtdd", 0.125)
    (tmp_path / "docs").mkdir()
    for name in ("league.md", page.DETAILS):
        (tmp_path / "docs" / name).write_text((DOCS / name).read_text(encoding="utf-8"), encoding="utf-8")
    target = tmp_path / "docs" / page.DETAILS
    paths = page.write_page(root, tmp_path / "docs" / "league.md")
    assert paths[-1] == tmp_path / "docs" / "figures" / "league_regression.png"
    assert paths[-1].stat().st_size > 10_000
    text = target.read_text(encoding="utf-8")
    assert f"{2 * len(NUMBERS) + 1} of {len(REGRESSORS) * len(NUMBERS)} cells are filled" in text
    table = text.partition("<!-- rmse -->")[2].partition("<!-- /rmse -->")[0].splitlines()
    heros, fimtdd = (
        next(line for line in table if line.startswith(f"| {who} ")) for who in ("Heros()", "FIMT-DD")
    )
    assert heros.count("**1.5**") == len(NUMBERS) - 1  # lower is better; another led on one
    assert heros.rstrip(" |").endswith("1.00")
    assert "**0.125**" in fimtdd
    assert fimtdd.rstrip(" |").endswith("–")  # not run on all streams, so not ranked
