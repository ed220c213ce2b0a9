"""The step of the paper with a straightforward PyTorch pool: the peer we measure against.

Fifty modules, each with its own optimiser, one instance at a time. Nothing is wasted: one forward pass per
model and instance, kept for the backward pass of the chosen ones; one thread; denormals flushed; gradients
dropped, not zeroed. Encoding, scores and policy are HEROS's own compiled ones, so only the learners differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heros import Schema, _core, policies, scores
from heros.pools.base import feature_values

torch.set_num_threads(1)
torch.set_flush_denormal(True)


class TorchPool:
    """M modules with their optimisers, scores and a policy."""

    def __init__(
        self, configurations: Sequence[Mapping[str, Any]], schema: Schema, policy: policies.Policy, k: int
    ) -> None:
        torch.manual_seed(1)
        self.encoder = _core.Encoder(True)
        self.encoder.grow(feature_values(schema))
        self.nets = [self._net(c["hidden"], schema.n_classes) for c in configurations]
        self.optimisers = [
            OPTIMISERS[c["optimizer"]](net.parameters(), lr=c["learning_rate"])
            for net, c in zip(self.nets, configurations, strict=True)
        ]
        hidden = np.array([c["hidden"] for c in configurations], dtype=np.float64)
        self.costs = hidden / hidden.sum()
        self.scores = scores.Adwin().bind(len(self.nets))
        self.policy, self.k, self.rng = policy, k, np.random.default_rng(1)

    def _net(self, hidden: int, classes: int) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(self.encoder.inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes)
        )

    def learn(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Test, then train on every instance in turn."""
        for x, label in zip(X, y, strict=True):
            self.step(x, int(label))

    def step(self, x: NDArray[np.float64], y: int) -> None:
        """Evaluate every model, update the scores, choose, train the chosen."""
        index, value = self.encoder.encode(x)
        self.encoder.learn(x)
        inputs = torch.zeros(1, self.encoder.inputs)
        inputs[0, torch.from_numpy(index).long()] = torch.from_numpy(value)
        logits = [net(inputs) for net in self.nets]
        votes = torch.cat([output.detach() for output in logits]).argmax(dim=1).numpy()
        self.scores.update((votes == y).astype(np.float64))
        chosen = self.policy.choose(self.scores.values, self.costs, self.k, self.rng)
        target = torch.tensor([y])
        for i in np.flatnonzero(chosen):
            self.optimisers[i].zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(logits[i], target).backward()
            self.optimisers[i].step()


OPTIMISERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
