"""As many models as there is time for: a pace."""

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
    """What `policy` chooses, with as high a k as a budget per instance allows.

    For streams that must not fall behind: after every 200 instances what they took is compared with the
    budget, and k is set for the next 200, from 1 up to the k of the ensemble. What was spent too much is paid
    back over the 2,000 instances that follow. Time is CPU time of the step, as `Heros.cpu_seconds` has it:
    looking, choosing, training; not reading the stream, and not what other processes take meanwhile.

    What is measured differs from run to run, and k with it. So every k is kept: `Heros.pace` has them, files
    and checkpoints hold them, and a model made with ``replay=model.pace.ks`` learns the same, bit for bit.
    A budget that not even k = 1 can meet is a warning with both figures, once.

    It goes around the whole policy: ``Within(Explore(Zeta(0.05), 0.2), microseconds=40)``.

    Parameters
    ----------
    policy
        Which models to train.
    microseconds
        The budget, in CPU time per instance.
    joules
        The budget, in energy per instance, if not in time.
    meter
        Who reads the joules: "rapl" measures; "cpu" reckons with a power per core (`heros.meters`).
    replay
        The ks of an earlier run, one per 200 instances; after the last of them k is chosen again.

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
            raise ParameterError.of("policy", "Within", "a policy that heeds k", self.policy)
        if (self.microseconds is None) == (self.joules is None):
            given = (self.microseconds, self.joules)
            raise ParameterError.of("microseconds", "Within", "given, or 'joules' instead of it", given)
        if number(self.budget, self.unit, "Within", 0) == 0:
            raise ParameterError.of(self.unit, "Within", "a number > 0", self.budget)
        if not isinstance(self.meter, str):
            raise ParameterError.of("meter", "Within", "the name of a meter, e.g. 'rapl'", self.meter)
        replay = tuple(whole(k, "replay", "Within", 1) for k in _listed(self.replay))
        object.__setattr__(self, "replay", replay)

    @property
    def budget(self) -> float:
        """What an instance may cost, in microseconds or joules."""
        budget = self.joules if self.microseconds is None else self.microseconds
        assert budget is not None
        return budget

    @property
    def unit(self) -> str:
        """What the budget is counted in."""
        return "joules" if self.microseconds is None else "microseconds"

    def __str__(self) -> str:
        """The policy as people write it."""
        return f"Within({self.policy}, {self.unit}={self.budget:g})"


def _listed(replay: Any) -> list[Any]:
    try:
        return list(replay)
    except TypeError:
        raise ParameterError.of("replay", "Within", "a list of ks", replay) from None
