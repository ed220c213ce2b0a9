"""Write data/torch_trajectories.npz and torch_numbers.npz: perceptrons in PyTorch over 200 steps.

Run with torch 2.13 installed: python tests/make_golden.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from reference_regression import TargetScale, rescaling
from torch_cases import CASES, NUMBERS, NUMBERS_FILE

STEPS = 200


def instances(values, rng):
    """Return X with codes, and PyTorch's dense inputs: numbers first, then one input per category."""
    columns = [
        rng.integers(0, n, STEPS) if n else rng.standard_normal(STEPS).astype(np.float32) for n in values
    ]
    X = np.array(columns, dtype=np.float64).T
    numbers = [X[:, f : f + 1] for f, n in enumerate(values) if not n]
    categories = [np.eye(n)[X[:, f].astype(int)] for f, n in enumerate(values) if n]
    return X, np.concatenate(numbers + categories, axis=1).astype(np.float32)


def trajectory(optimizer, rate, hidden, values, classes, seed):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    X, dense = instances(values, rng)
    y = (np.abs(X[:, 0]) * 2 + X[:, -1]).astype(np.int64) % classes
    net = torch.nn.Sequential(
        torch.nn.Linear(dense.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes)
    )
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    trainer = kind(net.parameters(), lr=rate)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    logits = []
    for t in range(STEPS):
        output = net(torch.from_numpy(dense[t : t + 1]))
        logits.append(output.detach().numpy()[0].copy())
        trainer.zero_grad()
        torch.nn.functional.cross_entropy(output, torch.tensor(y[t : t + 1])).backward()
        trainer.step()
    arrays = {"X": X.astype(np.float32), "y": y.astype(np.int8), "logits": np.array(logits)}
    arrays |= {f"before/{name}": value.numpy() for name, value in before.items()}
    arrays |= {f"after/{name}": value.detach().numpy() for name, value in net.state_dict().items()}
    return arrays


def number_trajectory(optimizer, rate, hidden, values, loss, seed):
    """Train in the unit of the target; if the unit changes, convert the weights and Adam's moments."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    X, dense = instances(values, rng)
    y = 40 + 3 * (np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(STEPS))
    net = torch.nn.Sequential(
        torch.nn.Linear(dense.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)
    )
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    trainer = kind(net.parameters(), lr=rate)
    cost = torch.nn.HuberLoss(delta=1.0) if loss == "huber" else lambda a, b: ((a - b) ** 2).sum() / 2
    before = {name: value.clone() for name, value in net.state_dict().items()}
    scale, said = TargetScale(), []
    for t in range(STEPS):
        row = torch.from_numpy(dense[t : t + 1])
        said.append(scale.unscaled(net(row).item()))
        unit = scale.unit
        if scale.learn(y[t]):
            rescale(net[2], trainer, *rescaling(unit, scale.unit))
        trainer.zero_grad()
        cost(net(row), torch.tensor([[scale.scaled(y[t])]], dtype=torch.float32)).backward()
        trainer.step()
    arrays = {"X": X.astype(np.float32), "y": y, "said": np.array(said)}
    arrays |= {f"before/{name}": value.numpy() for name, value in before.items()}
    arrays |= {f"after/{name}": value.detach().numpy() for name, value in net.state_dict().items()}
    return arrays


def rescale(layer, trainer, factor, shift):
    with torch.no_grad():
        layer.weight *= factor
        layer.bias.mul_(factor).add_(shift)
        for parameter in (layer.weight, layer.bias):
            known = trainer.state.get(parameter, {})
            if "exp_avg" in known:
                known["exp_avg"] *= factor
                known["exp_avg_sq"] *= factor**2


if __name__ == "__main__":
    numbers = {
        f"{case}/{name}": value
        for seed, (case, settings) in enumerate(NUMBERS.items())
        for name, value in number_trajectory(*settings, seed).items()
    }
    np.savez_compressed(NUMBERS_FILE, **numbers)
    golden = {
        f"{case}/{name}": value
        for seed, (case, settings) in enumerate(CASES.items())
        for name, value in trajectory(*settings, seed).items()
    }
    np.savez_compressed(Path(__file__).parent / "data" / "torch_trajectories.npz", **golden)
