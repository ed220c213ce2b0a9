"""All writes of HEROS, with a fault at every system call: complete files stay complete."""

from __future__ import annotations

import io
from email.message import Message

import pytest
from typer.testing import CliRunner

from faults.system import MODES, Scenario, emptied, every_call, every_call_failed
from heros import Heros, evaluate, export, pools, streams
from heros.cli import app
from heros.run import checkpoints, records
from heros.run.records import pack
from heros.run.report import write_report
from heros.streams import paper_datasets
from heros.streams.paper_datasets import RealStream, open_real

ARFF = b"@relation r\n@attribute a numeric\n@attribute c {0,1}\n@data\n" + b"1.5,1\n2.5,0\n" * 50
POOL = 'kind = "mlp"\n[grid]\nhidden = [4]\noptimizers = ["sgd"]\nlearning_rates = [0.05]\n'


def run_of(n: int, seed: int = 1, *, stream=streams.Agrawal, **kept):
    model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=seed)
    return evaluate(model, stream().take(n), window=50, progress=False, **kept)


class Record(Scenario):
    """A record that replaces another record."""

    def __init__(self, root):
        super().__init__(root)
        self.old, self.new = run_of(150), run_of(250)

    def prepare(self):
        records.save(self.old, self.root)

    def write(self):
        records.save(self.new, self.root, force=True)

    def check(self, failed):
        (place,) = records.find(self.root)
        assert records.read(place).n_instances in ((150, 250) if failed else (250,))
        records.save(self.new, self.root, force=True)
        assert records.read(place).n_instances == 250


class Report(Scenario):
    """A page that replaces another page."""

    def __init__(self, root):
        super().__init__(root)
        self.page, self.run = root / "report.html", run_of(150)

    def prepare(self):
        records.save(self.run, self.root)
        self.page.write_text("<html>the page before</html>\n")

    def write(self):
        write_report(self.root, self.page)

    def check(self, failed):
        text = self.page.read_text()
        assert text.endswith("</html>\n")
        assert failed or "HEROS" in text


class Packing(Scenario):
    """Packing of single records into one file."""

    def __init__(self, root):
        super().__init__(root)
        self.runs = [run_of(100, seed) for seed in (1, 2, 3)]

    def prepare(self):
        records.save(self.runs[0], self.root)
        pack(self.root)
        for run in self.runs[1:]:
            records.save(run, self.root)

    def write(self):
        pack(self.root)

    def check(self, failed):
        assert [records.read(place).settings["seed"] for place in records.find(self.root)] == [1, 2, 3]


class Model(Scenario):
    """A saved model that replaces another model."""

    def __init__(self, root):
        super().__init__(root)
        self.path = root / "model.heros"
        X, y = streams.Agrawal(2).draw(200)
        schema = streams.Agrawal(2).schema
        self.model = Heros(pools.MLP([{"hidden": 4}]), k=1, seed=1, schema=schema).learn(X[:100], y[:100])
        self.model.save(root / "before")
        self.before = (root / "before").read_bytes()
        self.model.learn(X[100:], y[100:])

    def prepare(self):
        self.path.write_bytes(self.before)

    def write(self):
        self.model.save(self.path)

    def check(self, failed):
        assert Heros.load(self.path).instances in ((100, 200) if failed else (200,))


class Exported(Model):
    """A model exported to ONNX."""

    def __init__(self, root):
        super().__init__(root)
        self.path = root / "model.onnx"
        self.onnx = pytest.importorskip("onnx")
        export.to_onnx(self.model, root / "before")
        self.before = (root / "before").read_bytes()

    def write(self):
        export.to_onnx(self.model, self.path)

    def check(self, failed):
        self.onnx.checker.check_model(self.onnx.load(self.path))


class Download(Scenario):
    """Download and conversion of a real stream."""

    def __init__(self, root):
        super().__init__(root)
        self.real = RealStream("small", ("https://home/x.arff",), 0, 1, {"0": 50, "1": 50})

    def write(self):
        open_real(self.real)

    def check(self, failed):
        there = [path.name for path in self.root.iterdir() if not path.name.startswith(".small-")]
        assert there in ([["small.parquet"], []] if failed else [["small.parquet"]])
        assert open_real(self.real).draw(100)[1].sum() == 50


class Kept(Scenario):
    """The checkpoints of a run, its predictions file, and the checkpoints of a resumed run."""

    on_error = "raise"
    stream = streams.Agrawal

    def __init__(self, root):
        super().__init__(root)
        self.expected = run_of(110, stream=self.stream)

    def prepare(self):
        run_of(60, stream=self.stream, checkpoint=self.root, every=50, keep=1)

    def write(self):
        kept = {"checkpoint": self.root, "every": 50, "keep": 1, "resume": True}
        run_of(110, stream=self.stream, **kept, on_checkpoint_error=self.on_error)

    def check(self, failed):
        assert [one.fault for one in checkpoints.found(self.root) if one.fault] == []
        assert checkpoints.found(self.root)
        resumed = run_of(110, stream=self.stream, checkpoint=self.root, every=50, keep=1, resume=True)
        assert resumed.figures == self.expected.figures
        assert resumed.curves.scores.tobytes() == self.expected.curves.scores.tobytes()


class KeptInAnyCase(Kept):
    """The same for a run that continues without the checkpoint that could not be written."""

    on_error = "warn"


class KeptNumbers(Kept):
    """The same for a run with numeric targets."""

    stream = streams.Friedman


SCENARIOS = (Record, Report, Packing, Model, Exported, Download, Kept, KeptInAnyCase)


@pytest.fixture(autouse=True)
def _one_home(monkeypatch, tmp_path):
    """A download server without a network and with constant content."""

    class Answer(io.BytesIO):
        headers = Message()

    class Opener:
        def open(self, request, timeout):
            return Answer(ARFF)

    monkeypatch.setattr(paper_datasets, "_opener", lambda url: Opener())
    monkeypatch.setenv("HEROS_DATA", str(tmp_path / "root"))
    monkeypatch.setenv("COLUMNS", "140")


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("kind", "mode"),
    [*((kind, mode) for kind in SCENARIOS for mode in MODES), (KeptNumbers, MODES[0])],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_a_fault_at_any_call_breaks_nothing_that_was_whole(kind, mode, tmp_path, thorough):
    faults = every_call_failed(kind, mode, tmp_path / "root", 1 if thorough else 3)
    assert faults >= (5 if thorough else 2)


COMMANDS = {
    "run": ["run", "--every", "150"],
    "compare": ["compare", "--policy", "cheapest", "--policy", "random"],
}


@pytest.mark.matrix
@pytest.mark.parametrize("mode", ["refuse", "full"])
@pytest.mark.parametrize("command", COMMANDS)
def test_results_are_printed_whatever_cannot_be_written(command, mode, tmp_path, monkeypatch, thorough):
    """A failure is reported in one line with exit code 2, or before any work begins."""
    begun = []
    monkeypatch.setattr("heros.cli.run.evaluate", lambda *a, **b: begun.append(1) or evaluate(*a, **b))
    root = tmp_path / "root"
    pool, rows = tmp_path / "pool.toml", tmp_path / "rows.csv"
    pool.write_text(POOL)
    rows.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 3},{'no' if i % 5 else 'yes'}\n" for i in range(200)))
    codes = []
    for faulty in every_call(root, mode, 1 if thorough else 6):
        emptied(root)
        name, *more = COMMANDS[command]
        arguments = [name, str(rows), *more, "--pool", str(pool), "--out", str(root / "out")]
        if command == "run":
            arguments += ["--checkpoint", str(root / "kept"), "--on-checkpoint-error", "warn"]
        begun.clear()
        with faulty.at_work():
            result = CliRunner().invoke(app, arguments)
        said = [line for line in result.stderr.splitlines() if line.startswith("heros:")]
        if "cannot be written" in result.stderr and (
            "kept cannot" in result.stderr or not (begun or result.stdout)
        ):
            assert result.exit_code == 2
            continue
        assert "AUROC" in result.stdout
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code in (0, 2)
        assert len(said) >= (result.exit_code == 2)
        assert "Traceback" not in result.output
        for place in records.find(root / "out") if (root / "out").exists() else []:
            assert records.read(place).n_instances == 200
        codes.append(result.exit_code)
    assert {0, 2} == set(codes)
    assert codes[0] == 0
