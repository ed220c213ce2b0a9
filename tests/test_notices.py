"""Warnings name the line of the user's program, not one inside HEROS."""

import subprocess
import sys

import pytest

IDS = 'rows = [{"id": f"A{i:05}", "size": i % 7} for i in range(200)]\n'
LABELS = 'labels = ["yes" if i % 7 > 3 else "no" for i in range(200)]\n'
CASES = {
    "streams.read": 'Path("rows.csv").write_text("id,size,late\\n" + "".join(f"A{i:05},{i % 7},{i % 2}\\n" for i in range(200)))\n'
    'stream = streams.read("rows.csv", target="late")  # here',
    "learn from a frame": f"{IDS}{LABELS}import pandas as pd\nmodel = Heros(k=2, seed=1).learn(pd.DataFrame(rows), labels)  # here",
    "learn from dictionaries": f"{IDS}{LABELS}model = Heros(k=2, seed=1)\nfor x, y in zip(rows, labels):\n    model.learn(x, y)  # here",
    "evaluate a frame": f'{IDS}{LABELS}import pandas as pd\nframe = pd.DataFrame(rows).assign(late=labels)\nrun = evaluate(Heros(k=2, seed=1), frame, target="late", progress=False)  # here',
    "scikit-learn": f"{IDS}{LABELS}import pandas as pd\nfrom heros.integrations.sklearn import HerosClassifier\nHerosClassifier(k=2).fit(pd.DataFrame(rows), labels)  # here",
    "River": f"{IDS}{LABELS}from heros.integrations.river import HerosClassifier\nmodel = HerosClassifier(k=2)\nfor x, y in zip(rows, labels):\n    model.learn_one(x, y)  # here",
    "bad rows": 'Path("rows.csv").write_text("size,late\\n" + "".join(f"{i % 7},{i % 2}\\n" for i in range(200)) + "oops,1\\n")\n'
    'stream = streams.read("rows.csv", target="late")\nrun = evaluate(Heros(k=2, seed=1), stream, progress=False)  # here',
    "a model that fails": """class Fragile:
    def predict_proba(self, x):
        return [0.5, 0.5]
    def learn(self, x, y):
        raise RuntimeError("out of paper")
model = Heros(pools.Models([Fragile(), Fragile()], costs=[1, 1]), k=1, seed=1)
run = evaluate(model, streams.RandomRBF(classes=2).take(500), progress=False)  # here""",
    "a budget that is too small": """model = Heros(pools.Paper(), budget="0.001 us", k=3, seed=1)
run = evaluate(model, streams.load("agr_a").take(2000), progress=False)  # here""",
}  # fmt: skip
PACKAGES = {
    "learn from a frame": "pandas",
    "evaluate a frame": "pandas",
    "scikit-learn": "sklearn",
    "River": "river",
}
BEFORE = "from pathlib import Path\nfrom heros import Heros, evaluate, policies, pools, streams\n"


@pytest.mark.matrix(most=3)
@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_line_of_the_script(case, tmp_path):
    if case in PACKAGES:
        pytest.importorskip(PACKAGES[case])
    script = tmp_path / "script.py"
    script.write_text(BEFORE + CASES[case] + "\n", encoding="utf-8")
    line = next(i for i, text in enumerate(script.read_text().splitlines(), 1) if text.endswith("# here"))
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    warned = [text for text in done.stderr.splitlines() if "Notice: " in text or "Warning: " in text]
    assert warned
    assert all(text.startswith(f"{script}:{line}: ") for text in warned), done.stderr
