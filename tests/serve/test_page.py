"""The status page in a real browser."""

from __future__ import annotations

import os
import shutil

import pytest

pytest.importorskip("httptools", reason="heros serve is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed: the page is not looked at", allow_module_level=True)

from heros import Heros  # noqa: E402
from heros.ensemble.task import Classification  # noqa: E402
from heros.serve.learners import OneModel  # noqa: E402
from heros.serve.service import Service  # noqa: E402
from serve.serving import many, model, numbers, one, rows, served  # noqa: E402

TOKEN = "a token+of & length"
SIZES = {"light": ("light", 1280, 900), "dark": ("dark", 1280, 900), "phone": ("light", 390, 844)}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        rebinding = "--host-resolver-rules=MAP evil.example 127.0.0.1"
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rebinding])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def client():
    with served(one(window=20), token=TOKEN) as client:
        for swapped in (False, False, True):  # a drift: large becomes small
            teach = [{"x": {"size": float(i % 7)}, "y": str((i % 7 > 3) != swapped)} for i in range(400)]
            assert client.post("/learn/batch?wait=true", json={"instances": teach}).status_code == 202
        for i, (x, _) in enumerate(rows(30)):
            client.post("/predict", json={"id": i, "x": x})
        yield client


def opened(browser, client, how, fragment=f"#token={TOKEN}"):
    scheme, width, height = SIZES[how]
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
    page.faults, page.asked = [], []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(client.running.address + "/" + fragment)
    return page


@pytest.mark.parametrize("how", SIZES)
def test_the_page_shows_everything_in_its_width(browser, client, how, tmp_path):
    page = opened(browser, client, how)
    page.wait_for_selector("#board tr")
    playwright.expect(page.locator("#good .line")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[how][1]
    assert "Best now: " in page.inner_text("#champion")
    assert page.locator("#board tr").count() == 4
    assert page.locator("#good .level").count() == 2  # majority class and previous label
    assert "perceptrons; trained: " in page.inner_text("#what")
    assert page.locator("#reasons li").count() > 0
    assert page.locator("th abbr[title]").count() >= 4
    assert page.locator("#trained rect").count() > 4
    playwright.expect(page.locator("#good .drift").first).to_be_attached()  # drawn again at every poll
    assert "30" in page.inner_text("#tiles")
    assert "compared with training every model" in page.inner_text("#tiles")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(17, 21, 26)") == (how == "dark")
    shots = os.environ.get("HEROS_SCREENSHOTS", str(tmp_path))
    page.screenshot(path=f"{shots}/{how}.png", full_page=True)
    assert page.faults == []
    assert all(url.startswith(client.running.address) or url.startswith("data:") for url in page.asked)
    page.close()


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_numbers_have_errors_in_the_place_of_hits(browser, unit, tmp_path):
    with served(many(task="regression", window=20)) as client:
        for sign in (1, 1, -1):
            teach = [{"key": "roof", "x": x, "y": sign * unit * y} for x, y in numbers(400)]
            assert client.post("/learn/batch?wait=true", json={"instances": teach}).status_code == 202
        page = opened(browser, client, "light", fragment="")
        page.wait_for_selector("#keys tr", timeout=20_000)
        playwright.expect(page.locator("#good .line")).to_have_count(1)
        assert "recent MAE" in page.inner_text("#tiles")
        assert "recent R²" in page.inner_text("#tiles")
        assert page.inner_text("#keys-measure").lower() == "mae"
        assert "lower is better" in page.inner_text("#good-note")
        playwright.expect(page.locator("#good .drift").first).to_be_attached()
        left = page.evaluate("[...document.querySelectorAll('#good text')].map(one => one.getBBox().x)")
        assert min(left) >= -1  # no label is truncated
        shots = os.environ.get("HEROS_SCREENSHOTS", str(tmp_path))
        page.screenshot(path=f"{shots}/numbers-{unit:g}.png", full_page=True)
        assert page.faults == []
        page.close()


@pytest.mark.parametrize("how", ["light", "phone"])
def test_no_label_lies_on_another(browser, client, how):
    page = opened(browser, client, how)
    playwright.expect(page.locator("#good .line")).to_have_count(1)
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
          const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
          return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
            p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 4 && q.top < p.bottom - 4).map(([b]) => [a, b]));
        })"""
    )
    assert overlaps == []
    page.close()


def test_another_measure_is_a_click_away_and_the_page_lives(browser, client):
    page = opened(browser, client, "light")
    page.get_by_role("button", name="log-loss").click()
    assert "lower is better" in page.inner_text("#good-note")
    before = page.inner_text("#tiles")
    teach = [{"x": x, "y": y} for x, y in rows(50)]
    client.post("/learn/batch?wait=true", json={"instances": teach})
    playwright.expect(page.locator("#tiles")).not_to_have_text(before, use_inner_text=True)
    assert page.faults == []
    page.close()


def test_without_the_token_the_page_asks_for_it(browser, client):
    page = opened(browser, client, "light", fragment="")
    page.wait_for_selector("#ask.on")
    assert page.is_hidden("#main")
    page.fill("#token", TOKEN)
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("#board tr")
    page.close()


def test_what_is_sent_is_shown_as_text(browser):
    with served(many()) as client:
        evil = "<img src=x onerror=alert(1)>"
        teach = [{"x": {evil: 1.0, "colour": evil}, "y": evil, "key": evil}] * 5
        client.post("/learn/batch?wait=true", json={"instances": teach})
        page = opened(browser, client, "light", fragment="")
        page.wait_for_selector("#keys tr", timeout=20_000)
        assert evil in page.inner_text("#keys")
        assert page.locator("img").count() == 0
        page.close()


def test_a_page_of_another_name_cannot_teach(browser):
    """DNS rebinding: a foreign host name that points to this machine gets no data."""
    teach = """async () => [
      (await fetch("/model")).status,
      (await fetch("/learn", {method: "POST", headers: {"content-type": "application/json"},
                              body: '{"x": {"size": 1}, "y": "a"}'})).status]"""
    with served(one()) as client:
        port = client.running.socket.getsockname()[1]
        for name, expected in (("localhost", [200, 202]), ("evil.example", [403, 403])):
            page = browser.new_page()
            page.goto(f"http://{name}:{port}/health")
            assert page.evaluate(teach) == expected
            page.close()
        client.running.service.wait()
        assert client.running.service.counts.learnt == 1


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("width", [320, 400, 700, 1280])
def test_names_fit_and_stay_distinct(browser, width):
    with served(Service(OneModel(Heros(k=4, seed=1)), window=10)) as client:
        teach = [{"x": {"size": float(i % 7)}, "y": str(i % 7 > 3)} for i in range(40)]
        assert client.post("/learn/batch?wait=true", json={"instances": teach}).status_code == 202
        named = [one["name"] for one in client.get("/leaderboard").json()]
        assert not any("…" in name for name in named)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(client.running.address)
        page.wait_for_selector("#trained text.best", timeout=20_000)
        card = page.locator("#trained").bounding_box()
        boxes = page.evaluate(
            "[...document.querySelectorAll('#trained text')].filter(one => one.querySelector('title'))"
            ".map(one => [one.firstChild.textContent, one.getBoundingClientRect().left,"
            " one.getBoundingClientRect().right])"
        )
        assert len({label for label, *_ in boxes}) == len(boxes) == len(named)
        assert min(left for _, left, _ in boxes) >= card["x"] - 1
        assert max(right for *_, right in boxes) <= card["x"] + card["width"] + 1
        shots = os.environ.get("HEROS_SCREENSHOTS")
        if shots:
            page.screenshot(path=f"{shots}/names-{width}.png", full_page=True)
        page.close()


def test_a_trained_model_that_has_just_been_served(browser, tmp_path):
    trained = model()
    for x, y in rows(500):
        trained.learn(x, y)
    trained.save(tmp_path / "m.heros")
    with served(Service(OneModel(Heros.load(tmp_path / "m.heros")))) as client:
        page = opened(browser, client, "light", fragment="")
        page.wait_for_selector("#board tr")
        assert page.inner_text("#why") == "No model has been trained since the service started."
        assert page.inner_text("#trained") == "not trained since the service started"
        assert page.inner_text("#trained-note") == "4 models"
        assert "after 500 before the service" in page.inner_text("#tiles")
        trained_on = max(one["trained"] for one in client.get("/leaderboard").json()[:1])
        assert f"trained on {trained_on / 5:.0f} % of the instances" in page.inner_text("#champion")
        client.post("/learn?wait=true", json={"x": {"size": 1.0}, "y": "even"})
        playwright.expect(page.locator("#why")).to_contain_text("for instance 501.")
        assert page.is_hidden("#notices")
        client.post("/learn?wait=true", json={"x": {"size": 1.0}, "y": True})
        playwright.expect(page.locator("#notices")).to_have_text(
            "Latest notices: New class 'True' at instance 502. Known classes: 'even', 'odd'."
        )
        assert page.faults == []
        page.close()


def test_the_page_shows_that_checkpoints_fail(browser):
    with served(one()) as client:
        client.running.service.checkpoint_error = "No space left on device"
        page = opened(browser, client, "light", fragment="")
        playwright.expect(page.locator("#fault")).to_have_text(
            "Checkpoints cannot be written: No space left on device"
        )
        page.close()


def test_a_change_says_its_sentence_when_it_is_clicked(browser, tmp_path):
    """Importance as bars and as a map, and prediction sets among the measures."""
    task = Classification(level=0.9)
    with served(Service(OneModel(model(task=task, explainable=True)), window=50)) as client:
        for swapped in (False, False, False, True):
            some = [
                {"x": {"size": i % 7, "colour": "red"}, "y": str((i % 7 > 3) != swapped)} for i in range(500)
            ]
            assert client.post("/learn/batch?wait=true", json={"instances": some}).status_code == 202
        page = opened(browser, client, "light", fragment="")
        mark = page.locator("#good .change.error").first
        mark.wait_for(timeout=20_000)
        assert page.is_hidden("#change")
        mark.click()
        playwright.expect(page.locator("#change")).to_contain_text("the error rose from")
        assert page.inner_text("#columns tr:first-child td:first-child") == "size"
        assert page.locator("#columns-time rect").count() > 2
        assert "of the prediction sets contain the true class" in page.inner_text("#tiles")
        page.locator("#good .change.error").first.focus()
        page.keyboard.press("Enter")
        playwright.expect(page.locator("#change")).to_be_hidden()
        assert page.faults == []
        page.close()
