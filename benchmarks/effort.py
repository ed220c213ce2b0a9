"""Savings by surprise: the default model with and without it, alternating, on the league's streams.

    HEROS_DATA=... python benchmarks/effort.py [--length 100000] [--streams agr_a led_a ...]

Both models learn the same blocks of 1,000 instances in one process, one after the other. The load and the
clock rate of the machine are thus the same for both. "Without" is the same pool with `Cand()` alone and a
`Stack` that evaluates all models on every instance.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np

from heros import Heros, Stack, streams
from heros.ensemble.defaults import DEFAULT_K, RATES
from heros.measures import Auroc
from heros.policies import Cand

SYNTHETIC = ("agr_a", "agr_g", "led_a", "led_g", "rbf_m", "rbf_f")
REAL = ("airlines", "electricity", "wisdm", "covtype", "nomao")


def opened(name: str, length: int) -> streams.Stream:
    """Return the first instances of a stream; a synthetic stream has its drifts at the quarters."""
    stream = streams.load(name, length=length) if name in SYNTHETIC else streams.load(name)
    return stream.take(min(length, stream.n_instances or length))


def in_turns(
    stream: streams.Stream, models: Sequence[Heros], size: int = 1000
) -> tuple[list[float], list[float]]:
    """Return CPU microseconds per instance and AUROC of models that learn the same blocks, one by one."""
    measures, seconds, n = [Auroc() for _ in models], [0.0 for _ in models], 0
    for model in models:
        model.bind(stream.schema)
    for block, (X, y) in enumerate(stream.blocks(size)):
        for i in np.roll(np.arange(len(models)), block + 1):
            start = time.thread_time()
            outputs = models[i].test_then_train(X, y).outputs
            seconds[i] += time.thread_time() - start
            measures[i].add(y, outputs)
        n += len(y)
    return [1e6 * spent / n for spent in seconds], [measure.value for measure in measures]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=100_000)
    parser.add_argument("--streams", nargs="+", choices=(*REAL, *SYNTHETIC), default=(*REAL, *SYNTHETIC))
    arguments = parser.parse_args()
    ratios, gains = [], []
    print("| stream | µs with | without | ratio | AUROC with | without |\n|---|---|---|---|---|---|")
    for name in arguments.streams:
        models = (Heros(seed=1), Heros(policy=Cand(), k=DEFAULT_K, answer=Stack(rate=RATES), seed=1))
        (reduced, full), (with_it, without) = in_turns(opened(name, arguments.length), models)
        ratios.append(reduced / full)
        gains.append(with_it - without)
        print(
            f"| {name} | {reduced:.0f} | {full:.0f} | {ratios[-1]:.2f} | {with_it:.4f} | {without:.4f} |",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.3f}, AUROC {np.mean(gains):+.5f} in the mean")


if __name__ == "__main__":
    main()
