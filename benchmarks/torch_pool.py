"""The paper's step with a straightforward PyTorch pool, for comparison.

Fifty modules, each with its own optimizer, process one instance at a time. The code is efficient: one forward
pass per model and instance, reused for the backward pass of chosen models; one thread; denormals flushed;
gradients dropped, not zeroed. Encoding, scores and policy use HEROS's compiled code, so only learners differ.
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
    """M modules with their optimizers, scores and a policy."""

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
        """Test, then train on each instance in turn."""
        for x, label in zip(X, y, strict=True):
            self.step(x, int(label))

    def step(self, x: NDArray[np.float64], y: int) -> None:
        """Evaluate every model, update the scores, choose models and train them."""
        index, value = self.encoder.encode(x)
        self.encoder.learn(x)
        inputs = torch.zeros(1, self.encoder.inputs)
        inputs[0, torch.from_numpy(index).long()] = torch.from_numpy(value)
        logits = [net(inputs) for net in self.nets]
        hits = [int(output.argmax()) == y for output in logits]
        self.scores.update(np.array(hits, dtype=np.float64))
        chosen = self.policy.choose(self.scores.values, self.costs, self.k, self.rng)
        target = torch.tensor([y])
        for i in np.flatnonzero(chosen):
            self.optimisers[i].zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(logits[i], target).backward()
            self.optimisers[i].step()


OPTIMISERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
