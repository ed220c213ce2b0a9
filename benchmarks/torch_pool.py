"""The pool of the paper written straightforwardly in PyTorch: the peer we measure against.

Fifty modules, each with its own optimiser, one instance at a time. Nothing is wasted: one forward pass
per model and instance, kept for the backward pass of the chosen ones; the graph of the others is not
recorded twice; one thread; denormals flushed; gradients dropped, not zeroed. Scores, policy and encoding
are HEROS's own, so that only the learners differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

torch.set_num_threads(1)
torch.set_flush_denormal(True)


@dataclass
class Member:
    """One model with its optimiser."""

    net: torch.nn.Module
    optimiser: torch.optim.Optimizer


def build(configurations: list[dict[str, object]], inputs: int, classes: int) -> list[Member]:
    """The members of the pool, freshly initialised."""
    members = []
    for configuration in configurations:
        hidden, rate = int(str(configuration["hidden"])), float(str(configuration["learning_rate"]))
        net = torch.nn.Sequential(
            torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes)
        )
        kind = torch.optim.Adam if configuration["optimizer"] == "adam" else torch.optim.SGD
        members.append(Member(net, kind(net.parameters(), lr=rate)))
    return members


def seconds_per_instance(
    members: list[Member], X: NDArray[np.float32], y: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> float:
    """CPU seconds per instance of evaluating all members and training the chosen ones."""
    instances, labels = torch.from_numpy(X), torch.from_numpy(y)
    start = time.process_time()
    for t in range(len(X)):
        x, label = instances[t : t + 1], labels[t : t + 1]
        logits = [member.net(x) for member in members]
        [int(output.argmax()) for output in logits]  # the hits that the scores need
        for i in np.flatnonzero(chosen[t]):
            member = members[i]
            member.optimiser.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(logits[i], label).backward()
            member.optimiser.step()
    return (time.process_time() - start) / len(X)
