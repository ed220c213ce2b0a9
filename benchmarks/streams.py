"""Measure the CPU time to read streams, and the memory to read a large CSV file.

    python benchmarks/streams.py [--gigabytes 2]

Generators are compared with River's in the same run, as ratios. Real streams are read if they are in the
data directory. The CSV file is written to a temporary directory and read in a separate process.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from river.datasets import synth

from heros import streams
from heros.streams.paper_datasets import REAL, copy_of

READ = r"""
import re, sys, time
from pathlib import Path
from heros import streams
start = time.process_time()
n = sum(len(y) for _, y in streams.read(sys.argv[1]).blocks())
seconds = time.process_time() - start
peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(f"{n:,} rows, {seconds:.1f} s CPU, peak memory {peak:.0f} MB")
"""


def cpu_seconds(read):
    start = time.process_time()
    n = read()
    return time.process_time() - start, n


def drain(stream):
    return sum(len(y) for _, y in stream.blocks())


def generators():
    print("synthetic streams, a million instances each")
    for name in [name for name in streams.NAMES if name not in REAL]:
        seconds, n = cpu_seconds(lambda name=name: drain(streams.load(name)))
        print(f"  {name:12} {seconds:6.2f} s   {1e9 * seconds / n:6.0f} ns per instance")


def against_river(n=20_000):
    print("CPU time per instance, River's generator over ours")
    pairs = {
        "Agrawal": (streams.Agrawal(2), synth.Agrawal(1, seed=1, perturbation=0.05)),
        "LED": (streams.LED(), synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True)),
        "RandomRBF": (
            streams.RandomRBF(classes=5, speed=0.001),
            synth.RandomRBFDrift(
                1, 1, n_classes=5, n_features=10, n_centroids=50, change_speed=0.001, n_drift_centroids=50
            ),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        mine, drawn = cpu_seconds(lambda ours=ours: drain(ours.take(20 * n)))
        river, counted = cpu_seconds(lambda theirs=theirs: sum(1 for _ in itertools.islice(theirs, n)))
        print(f"  {name:12} {(river / counted) / (mine / drawn):6.0f} x")


def real():
    print("real streams")
    for name, about in REAL.items():
        if copy_of(about).exists():
            seconds, n = cpu_seconds(lambda name=name: drain(streams.load(name)))
            print(f"  {name:12} {seconds:6.2f} s   {n:,} instances")
        else:
            print(f"  {name:12} is not in the data directory")


def large_csv(gigabytes):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "large.csv")
        row = ",".join(f"{value:.6f}" for value in range(20)) + ",red,yes\n"
        block = (row * 5000).encode()
        with path.open("wb") as file:
            file.write((",".join(f"x{i}" for i in range(20)) + ",colour,label\n").encode())
            for _ in range(int(gigabytes * 1e9 / len(block)) + 1):
                file.write(block)
        print(f"a CSV file of {path.stat().st_size / 1e9:.1f} GB")
        answer = subprocess.run(
            [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
        )
        print(f"  {answer.stdout.strip()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.2, help="size of the CSV file")
    arguments = parser.parse_args()
    generators()
    against_river()
    real()
    large_csv(arguments.gigabytes)
