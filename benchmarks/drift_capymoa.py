"""Compare the error changes that HEROS detects with CapyMOA's detectors on the same errors.

    python benchmarks/drift_events.py       # run first: it stores the default model's errors
    python benchmarks/drift_capymoa.py [--directory build/drift] [--detectors ADWIN DDM ...]

Needs CapyMOA and Java. The detectors use their defaults. Found drifts and false alarms are defined as in
drift_events.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from capymoa.drift import detectors

LENGTH, GRADUAL, LATE = 100_000, 5_000, 2_000
NAMES = (
    "ADWIN",
    "CUSUM",
    "DDM",
    "EWMAChart",
    "GeometricMovingAverage",
    "HDDMAverage",
    "HDDMWeighted",
    "PageHinkley",
    "RDDM",
    "SEED",
    "STEPD",
)


def alarms(name: str, errors: np.ndarray) -> list[int]:
    """Return the instances at which a detector reports a change."""
    detector, found = getattr(detectors, name)(), []
    for i, error in enumerate(errors.astype(float).tolist(), start=1):
        detector.add_element(error)
        if detector.detected_change():
            found.append(i)
    return found


def known_of(name: str) -> list[tuple[int, int]]:
    """Return where the drifts of a stream begin and end."""
    if not name.startswith(("agr", "led_a", "led_g", "rbf")):
        return []
    spread = GRADUAL if "_g" in name else 0
    return [(i * LENGTH // 4 - spread, i * LENGTH // 4 + spread) for i in range(1, 4)]


def judged(found: list[int], known: list[tuple[int, int]]) -> np.ndarray:
    """Return the numbers of found drifts, false alarms and missed drifts."""
    hits = [{d for d, (begin, end) in enumerate(known) if begin <= at <= end + LATE} for at in found]
    seen = set().union(*hits)
    return np.array([len(seen), sum(not hit for hit in hits), len(known) - len(seen)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, default=Path("build/drift"))
    parser.add_argument("--detectors", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    streams = {}
    for path in sorted(arguments.directory.glob("*-*.npz")):
        if int(path.stem.split("-")[1]) <= arguments.seeds:
            with np.load(path) as kept:
                streams[path.stem] = kept["errors"], kept["noted"]
    print(f"{len(streams)} streams; found / false / missed with drifts, F1, false alarms without drift")
    for detector in ("HEROS", *arguments.detectors):
        total, quiet = np.zeros(3, dtype=int), 0
        for name, (errors, noted) in streams.items():
            found = noted.tolist() if detector == "HEROS" else alarms(detector, errors)
            one, known = judged(found, known_of(name)), known_of(name)
            total, quiet = total + one * bool(known), quiet + int(one[1]) * (not known)
        f1 = 2 * total[0] / max(2 * total[0] + total[1] + total[2], 1)
        print(f"{detector:24} {' / '.join(map(str, total)):16} {f1:.3f}  {quiet}", flush=True)


if __name__ == "__main__":
    main()
