"""Compare the error changes that HEROS detects with River's detectors on errors with known drifts.

    python benchmarks/drift_events.py [--directory build/drift] [--seeds 5]

The streams are AGR, LED and RBF: 100,000 instances with three drifts at the quarters, abrupt (width 1) and
gradual (width 5,000). Two streams have no drift and 200,000 instances: LED, and airlines in random order (if
HEROS_DATA has it). The default model learns each stream. Its detected changes and errors are stored in the
directory, so that an interrupted run can continue. River's detectors, with their defaults, then process the
same errors one by one.

A drift counts as found if an alarm occurs between its beginning and 2,000 instances after its end. A gradual
drift begins at 2 % and ends at 98 % instances of the new concept. Further alarms in that time are ignored.
Any other alarm is false.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from river import drift

from heros import Heros, streams
from heros.drift import KSWIN

LENGTH, GRADUAL, LATE = 100_000, 5_000, 2_000
QUIET = 200_000

RIVER: dict[str, Callable[[], object]] = {
    "ADWIN": drift.ADWIN,
    "PageHinkley": drift.PageHinkley,
    "KSWIN": lambda: KSWIN(
        seed=1
    ),  # same changes as River's detector, 1000 times faster (benchmarks/drift.py)
    "DDM": drift.binary.DDM,
    "EDDM": drift.binary.EDDM,
    "HDDM_A": drift.binary.HDDMA,
    "HDDM_W": drift.binary.HDDMW,
}


def concept(kind: str, i: int, seed: int) -> streams.Stream:
    """Return the i-th concept of a stream."""
    if kind == "agr":
        return streams.Agrawal((2, 4, 6, 8)[i], seed=10 * seed + i)
    if kind == "led":
        return streams.LED((1, 3, 5, 7)[i], seed=10 * seed + i)
    return streams.RandomRBF(classes=5, model_seed=10 * seed + i, instance_seed=10 * seed + i)


def drifting(kind: str, width: int, seed: int) -> streams.Stream:
    """Return four concepts, one after the other."""
    stream = concept(kind, 0, seed)
    for i in range(1, 4):
        stream = streams.Drift(stream, concept(kind, i, seed), i * LENGTH // 4, width, seed=seed)
    return stream.take(LENGTH)


def shuffled_airlines() -> streams.Stream:
    """Return the instances of airlines in random order."""
    stream = streams.load("airlines")
    X, y = stream.draw(stream.n_instances)
    order = np.random.default_rng(1).permutation(len(y))[:QUIET]
    nominal = [i for i, feature in enumerate(stream.schema.features) if feature.values]
    return streams.from_arrays(X[order], y[order], nominal=nominal)


def jobs(seeds: range) -> Iterator[tuple[str, list[tuple[int, int]], Callable[[], streams.Stream]]]:
    """Yield the name of each stream, the beginnings and ends of its drifts, and the stream."""
    for kind in ("agr", "led", "rbf"):
        for letter, width in (("a", 1), ("g", GRADUAL)):
            spread = 0 if width == 1 else width
            known = [(i * LENGTH // 4 - spread, i * LENGTH // 4 + spread) for i in range(1, 4)]
            for seed in seeds:
                yield f"{kind}_{letter}-{seed}", known, lambda k=kind, w=width, s=seed: drifting(k, w, s)
    yield "led_none-1", [], lambda: streams.LED(seed=1).take(QUIET)
    if Path(os.environ.get("HEROS_DATA", ""), "airlines.parquet").is_file():
        yield "airlines_shuffled-1", [], shuffled_airlines


def learnt(stream: streams.Stream, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of the default model, one per instance, and where it detected changes."""
    if not path.exists():
        model, errors = Heros(seed=1, schema=stream.schema), []
        for X, y in stream.blocks(4096):
            errors.append(model.test_then_train(X, y).outputs.argmax(axis=1) != y)
        noted = [change.at for change in model.changes if change.kind == "error"]
        part = path.with_suffix(".part.npz")
        np.savez(part, errors=np.concatenate(errors), noted=np.array(noted, dtype=np.int64))
        part.replace(path)
    with np.load(path) as kept:
        return kept["errors"], kept["noted"]


def alarms(make: Callable[[], object], errors: np.ndarray) -> list[int]:
    """Return the instances at which a detector reports a change."""
    detector, found = make(), []
    if isinstance(detector, KSWIN):
        return (detector.update_many(errors) + 1).tolist()
    for i, error in enumerate(errors.tolist(), start=1):
        detector.update(error)
        if detector.drift_detected:
            found.append(i)
    return found


def judged(found: list[int], known: list[tuple[int, int]]) -> np.ndarray:
    """Return the numbers of found drifts, false alarms and missed drifts."""
    hits = [{d for d, (begin, end) in enumerate(known) if begin <= at <= end + LATE} for at in found]
    seen = set().union(*hits)
    return np.array([len(seen), sum(not hit for hit in hits), len(known) - len(seen)])


def f1(found: int, false: int, missed: int) -> float:
    return 2 * found / max(2 * found + false + missed, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, default=Path("build/drift"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    totals: dict[str, dict[str, np.ndarray]] = {}
    for name, known, make in jobs(range(arguments.first_seed, arguments.first_seed + arguments.seeds)):
        errors, noted = learnt(make(), arguments.directory / f"{name}.npz")
        group = name.split("-")[0] if known else f"{name.split('-')[0]} (no drift)"
        row = {"HEROS": noted.tolist(), **{rival: alarms(kind, errors) for rival, kind in RIVER.items()}}
        for detector, found in row.items():
            of = totals.setdefault(detector, {})
            of[group] = of.get(group, np.zeros(3, dtype=int)) + judged(found, known)
        print(name, {detector: len(found) for detector, found in row.items()}, flush=True)
    groups = list(totals["HEROS"])
    print("\nfound / false / missed")
    print("| detector | " + " | ".join(groups) + " | F1 (streams with drifts) | false alarms without drift |")
    print("|---" * (len(groups) + 3) + "|")
    for detector, of in totals.items():
        with_drifts = sum((of[g] for g in groups if "(no" not in g), np.zeros(3, dtype=int))
        quiet = sum(int(of[g][1]) for g in groups if "(no" in g)
        cells = [" / ".join(map(str, of[g])) for g in groups]
        print(f"| {detector} | " + " | ".join(cells) + f" | {f1(*with_drifts):.3f} | {quiet} |")


if __name__ == "__main__":
    main()
