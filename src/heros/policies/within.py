"""A policy that adapts k to a budget of time or energy per instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from heros._base.parameters import number, whole
from heros.errors import ParameterError
from heros.policies.ranked import Everything
from heros.policies.wrapper import Around

__all__ = ["Within"]


@dataclass(frozen=True)
class Within(Around):
    """Train the models that `policy` chooses, with the highest k within a budget per instance.

    Use it for streams that must be processed in time. After every 200 instances their cost is compared with
    the budget, and k is set for the next 200, from 1 to the k of the ensemble. Overspending is paid back over
    the following 2,000 instances. Time is the CPU time of evaluation, choice and training, as in
    `Heros.cpu_seconds`. It does not include reading the stream or other processes.

    The measured cost, and therefore k, differs from run to run. `Heros.pace` records every k, and files and
    checkpoints store it. A model with ``replay=model.pace.ks`` learns the same, bit for bit. If k = 1 already
    exceeds the budget, there is one warning with both figures.

    `Within` wraps the whole policy: ``Within(Explore(Zeta(0.05), 0.2), microseconds=40)``.

    Parameters
    ----------
    policy
        The policy that chooses the models to train.
    microseconds
        The budget of CPU time per instance.
    joules
        The budget of energy per instance, instead of time.
    meter
        The meter of energy: "rapl" measures it; "cpu" estimates it from a power per core (`heros.meters`).
    replay
        The values of k of an earlier run, one per 200 instances. After the last one, k is chosen again.

    Examples
    --------
    >>> from heros import Heros, policies, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> policy = Within(policies.Cand(), microseconds=1000)
    >>> model = Heros(pools.Paper(), policy, k=20, watch="trained", seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(600))
    >>> len(model.pace.ks), int(max(model.pace.ks)) <= 20
    (3, True)
    """

    layer: ClassVar[int] = 3

    microseconds: float | None = None
    joules: float | None = None
    meter: str = "rapl"
    replay: Sequence[int] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.policy, Everything):
            raise ParameterError.of("policy", "Within", "a policy that uses k", self.policy)
        if (self.microseconds is None) == (self.joules is None):
            given = (self.microseconds, self.joules)
            raise ParameterError.of("microseconds", "Within", "given, or 'joules' instead", given)
        if number(self.budget, self.unit, "Within", 0) == 0:
            raise ParameterError.of(self.unit, "Within", "a number > 0", self.budget)
        if not isinstance(self.meter, str):
            raise ParameterError.of("meter", "Within", "the name of a meter, e.g. 'rapl'", self.meter)
        replay = tuple(whole(k, "replay", "Within", 1) for k in _listed(self.replay))
        object.__setattr__(self, "replay", replay)

    @property
    def budget(self) -> float:
        """The maximum cost of an instance, in microseconds or joules."""
        budget = self.joules if self.microseconds is None else self.microseconds
        assert budget is not None
        return budget

    @property
    def unit(self) -> str:
        """The unit of the budget: "microseconds" or "joules"."""
        return "joules" if self.microseconds is None else "microseconds"

    def __str__(self) -> str:
        """Return the policy in short notation."""
        return f"Within({self.policy}, {self.unit}={self.budget:g})"


def _listed(replay: Any) -> list[Any]:
    try:
        return list(replay)
    except TypeError:
        raise ParameterError.of("replay", "Within", "a list of values of k", replay) from None
