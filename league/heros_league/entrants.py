"""The learners of the league: competitors, and HEROS in several named settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from heros import Heros, Schema, Top, evaluate
from heros.ensemble.settings import settings_of
from heros.meters import Cpu
from heros.policies import Cand, Everything
from heros.pools import MLP, Forest, Hoeffding, Join, MLPGrid, Neighbours
from heros.run.result import Run
from heros.streams import Stream
from heros_league.rivals import REGRESSORS as THEIR_REGRESSORS
from heros_league.rivals import RIVALS, Limited, Rival, run_rival

__all__ = ["ENTRANTS", "EVERYBODY", "OURS", "REGRESSORS", "Entrant", "HerosLearner", "OtherLearner"]

BLOCK = 64  # instances between two checks of the time limit


class Entrant(Protocol):
    """A learner of the league."""

    @property
    def label(self) -> str:
        """The name in tables."""

    @property
    def library(self) -> str:
        """The package of the learner."""

    @property
    def random(self) -> bool:
        """Whether results depend on the seed."""

    def start(self) -> None:
        """Import the packages of the learner; this time is not measured."""

    def run(self, stream: Stream, seed: int, *, window: int, limit: float) -> Run:
        """Evaluate and train the learner on the stream, for at most `limit` CPU seconds."""


@dataclass(frozen=True)
class OtherLearner:
    """A learner of another library.

    Parameters
    ----------
    name
        One of `heros_league.rivals.RIVALS` or `heros_league.rivals.REGRESSORS`.
    """

    name: str

    @property
    def label(self) -> str:
        """The name in tables."""
        return self._rival.label

    @property
    def library(self) -> str:
        """The package of the learner."""
        return self._rival.library

    @property
    def random(self) -> bool:
        """Whether results depend on the seed."""
        return self._rival.random

    def start(self) -> None:
        """Import its library, and start Java if needed."""
        self._rival.start()

    @property
    def _rival(self) -> Rival:
        return RIVALS[self.name] if self.name in RIVALS else THEIR_REGRESSORS[self.name]

    def run(self, stream: Stream, seed: int, *, window: int, limit: float) -> Run:
        """Evaluate and train the learner on the stream."""
        return run_rival(self.name, stream, seed, window=window, limit=limit, progress=False)


@dataclass(frozen=True)
class HerosLearner:
    """HEROS in a named setting.

    Parameters
    ----------
    label
        The name in tables.
    make
        A function that creates the model for a seed.
    """

    label: str
    make: Callable[[int], Heros]
    library: str = "heros"
    random: bool = True

    def start(self) -> None:
        """Do nothing: HEROS is already imported."""

    def settings(self, seed: int, numeric: bool = False) -> dict[str, Any]:
        """Return the settings as in records, without costs, to detect outdated records."""
        schema = Schema.of(["a"]) if numeric else Schema.of(["a"], classes=["no", "yes"])
        settings = settings_of(self.make(seed).bind(schema))
        return {name: value for name, value in settings.items() if name != "costs"}

    def run(self, stream: Stream, seed: int, *, window: int, limit: float) -> Run:
        """Evaluate and train the learner on the stream."""
        meter = Cpu(process=True)
        source = Limited(stream, limit, meter)
        model = self.make(seed)
        run = evaluate(
            model, source, window=window, block=BLOCK, meter=meter, progress=False, on_interrupt="raise"
        )
        return replace(run, settings={**run.settings, "stopped": source.stopped})


def _lean() -> Join:
    """Return a pool of four families: 14 perceptrons, 6 trees, 6 nearest neighbours, 2 forests."""
    adam = [
        {"optimizer": "adam", "learning_rate": rate, "hidden": hidden}
        for rate in (0.02, 0.005, 0.001, 0.0002)
        for hidden in (64, 256, 512)
    ]
    sgd = [{"optimizer": "sgd", "learning_rate": rate, "hidden": 256} for rate in (0.5, 0.05)]
    trees = [
        {"max_bytes": size, "grace_period": g} for size in (1 << 16, 1 << 20, 1 << 23) for g in (50, 200)
    ]
    windows = ((500, 5), (1000, 5), (1000, 10), (5000, 5), (5000, 10), (5000, 20))
    neighbours = [{"window": window, "neighbours": k} for window, k in windows]
    forests: list[dict[str, Any]] = [{"trees": 30}, {"trees": 10, "features": 1.0, "bagging": 1.0}]
    parts = (MLP([*adam, *sgd]), Hoeffding(trees), Neighbours(neighbours), Forest(forests))
    return Join(*parts, costs=[0.5, 0.1, 0.15, 0.25])


OURS: dict[str, HerosLearner] = {
    "heros": HerosLearner("Heros()", lambda seed: Heros(seed=seed)),
    "lean": HerosLearner(
        "HEROS, lean pool and forests",
        lambda seed: Heros(_lean(), Cand(), 12, watch=8, answer=Top(5, 60), seed=seed),
    ),
    "perceptrons": HerosLearner(
        "HEROS, 50 perceptrons, best five",
        lambda seed: Heros(MLPGrid(), Cand(), 30, answer=Top(5), seed=seed),
    ),
    "forest": HerosLearner(
        "HEROS, a forest alone",
        lambda seed: Heros(Forest([{"trees": 50}]), Everything(), 1, warmup=0, seed=seed),
    ),
}
"""The HEROS settings in the league."""

ENTRANTS: dict[str, Entrant] = {
    **OURS,
    **{name: OtherLearner(name) for name in RIVALS if name not in ("bandit", "halving")},
}
"""All learners by name; from River, those that its users would choose rather than the most similar ones."""

REGRESSORS: dict[str, Entrant] = {
    "heros": OURS["heros"],
    **{name: OtherLearner(name) for name in THEIR_REGRESSORS},
}
"""The learners for regression."""

EVERYBODY: dict[str, Entrant] = ENTRANTS | REGRESSORS
