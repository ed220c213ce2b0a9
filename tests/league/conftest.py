"""A league of tiny streams and configurable learners."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from heros import Heros, evaluate, pools, streams
from heros.meters import Cpu
from heros.run import records
from heros.run.executors import Serial
from heros_league import arena, cli, entrants, standing, starts
from heros_league.rivals import Limited


@dataclass
class Fake:
    """A competitor that is a small tree and can fail."""

    label: str = "Fake"
    library: str = "capymoa"
    random: bool = True
    fails: bool = False
    runs: list = field(default_factory=list)

    def start(self):
        pass

    def run(self, stream, seed, *, window, limit):
        if self.fails:
            raise ZeroDivisionError("on purpose")
        self.runs.append((stream.name, seed))
        meter = Cpu(process=True)
        source = Limited(stream, limit, meter)
        model = Heros(pools.Hoeffding([{}]), k=1, seed=seed)
        run = evaluate(model, source, window=window, block=10, meter=meter, progress=False)
        return replace(run, settings={**run.settings, "stopped": source.stopped})


@pytest.fixture
def league(monkeypatch):
    """Two streams, one HEROS setting and two competitors, by name."""
    fakes = {"arf": Fake("ARF"), "srp": Fake("SRP")}
    ours = {
        "heros": entrants.HerosLearner(
            "Heros()", lambda seed: Heros(pools.Hoeffding([{}, {}]), k=1, seed=seed)
        )
    }
    open_ = {
        name: arena.Arena(name, name.upper(), lambda: streams.LED().take(300), 100, long=True)
        for name in ("a", "b")
    }
    for module in (cli, standing, starts, entrants):
        for name, value in {
            "ENTRANTS": ours | fakes,
            "EVERYBODY": ours | fakes,
            "OURS": ours,
            "ALL": open_,
            "ARENA": open_,
        }.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(cli, "PARTS", {"streams": open_})
    monkeypatch.setattr(cli, "TAKES_PART", {"streams": (*ours, *fakes)})
    monkeypatch.setattr(cli, "Fresh", Serial)  # a new process would not see the patches
    return fakes


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a record with given results."""
    base = evaluate(Heros(pools.Hoeffding([{}]), k=1, seed=1), streams.LED().take(200), window=100)

    def write(
        stream,
        entrant,
        auroc,
        *,
        seed=1,
        micros=100.0,
        megabytes=10.0,
        stopped=False,
        models=1,
        place=None,
        **league,
    ):
        cpu = dict.fromkeys(base.cpu, 0.0) | {"other": micros * 1e-6 * base.n_instances}
        about = {"entrant": entrant, "load": [1.0, 2.0], "peak_bytes": megabytes * 1e6} | league
        settings = {**base.settings, "seed": seed, "stopped": stopped, "league": about}
        settings |= {name: models * base.settings[name] for name in ("models", "costs")}
        each = {name: models * getattr(base, name).tolist() for name in ("evaluated", "trained", "invested")}
        figures = {**base.figures, "auroc": auroc, "accuracy": auroc}
        run = replace(base, stream=stream, figures=figures, cpu=cpu, settings=settings, **each)
        records.save(run, tmp_path, id=place or f"{stream}/{entrant}/seed{seed}", compact=True)
        return tmp_path

    return write
