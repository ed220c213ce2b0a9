"""Run many cases of the fuzz targets in separate processes, which detects crashes and hangs.

    make fuzz N=1000000 JOBS=2 [TARGETS="csv arff"] [SEED=1]

Every case has a number: case i of a target has the same bytes in every run. Findings are written to build/fuzz
with their tracebacks. A finding becomes a test if it is copied to tests/fuzz/corpus/<target>/.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import mmap
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import fuzz.documents
import fuzz.loaders
import fuzz.numbers  # noqa: F401  (so do they)
from fuzz.mutate import case
from fuzz.targets import TARGETS, run, seeds_of
from heros._base.progress import progress

HANG = 30.0  # CPU seconds without a new case
MEMORY = 6 << 30
OUT = Path("build/fuzz")
BATCH = 5000


def work(name: str, first: int, count: int, board: Path, limit_memory: bool) -> None:
    """Run a batch of cases in a separate process; the board holds its progress."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("error")
    if limit_memory:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seeds = seeds_of(name)
    with board.open("r+b") as file, mmap.mmap(file.fileno(), 16) as shared:
        refused = 0
        for i in range(first, first + count):
            shared[:8] = i.to_bytes(8, "little")
            data = case(seeds, i)
            try:
                refused += run(name, data)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                save(name, data, traceback.format_exc())
        shared[8:] = refused.to_bytes(8, "little")


def save(name: str, data: bytes, why: str) -> None:
    """Write a finding to disk, once per place in the code."""
    lines = [line for line in why.splitlines() if line.strip().startswith("File")]
    mark = hashlib.sha1("".join(lines[-3:]).encode() or why.encode()).hexdigest()[:10]
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / f"{name}-{mark}.txt").exists():
        (OUT / f"{name}-{mark}").write_bytes(data)
        (OUT / f"{name}-{mark}.txt").write_text(why, encoding="utf-8", errors="replace")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, because wall-clock time would report hangs on a busy machine."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Job:
    """A worker process with a batch of cases."""

    name: str
    first: int
    count: int
    slot: int
    board: Path = field(init=False)
    at: int = -1
    since: float = 0.0

    def start(self) -> None:
        """Start the process."""
        self.board = OUT / f"board{self.slot}"
        self.board.write_bytes((2**64 - 1).to_bytes(8, "little") + bytes(8))
        limit = [] if "asan" in os.environ.get("LD_PRELOAD", "") else ["--limit-memory"]
        words = ["--worker", self.name, str(self.first), str(self.count), str(self.board), *limit]
        self.log = (OUT / f"log{self.slot}").open("w+b")
        self.process = subprocess.Popen([sys.executable, "-m", "fuzz.driver", *words], stderr=self.log)

    def look(self) -> bool:
        """Return whether the batch is done; stop a worker that hangs."""
        at = int.from_bytes(self.board.read_bytes()[:8], "little")
        spent = cpu_seconds(self.process.pid)
        if at != self.at:
            self.at, self.since = at, spent
        if self.process.poll() is None and spent - self.since > HANG:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1)
            self.process.kill()
            self.process.wait()
        return self.process.poll() is not None

    def close(self) -> tuple[int, int]:
        """Return the numbers of completed and rejected cases; a crash or a hang is a finding."""
        self.log.seek(0)
        said = self.log.read().decode(errors="replace")
        self.log.close()
        if self.process.returncode == 0:
            return self.count, int.from_bytes(self.board.read_bytes()[8:], "little")
        at = int.from_bytes(self.board.read_bytes()[:8], "little")
        if at == 2**64 - 1:
            raise SystemExit(f"The worker of {self.name} did not start:\n{said[-2000:]}")
        why = (
            "hung" if self.process.returncode == -signal.SIGKILL else f"ended with {self.process.returncode}"
        )
        save(self.name, case(seeds_of(self.name), at), f"The process {why} at case {at}.\n{said}")
        return at - self.first + 1, 0


def report(done: dict[str, int], refused: dict[str, int]) -> str:
    """Print the number of cases per target so far, for long runs also to a file."""
    lines = [f"{name:20} {cases:10,} cases, {refused[name]:10,} refused" for name, cases in done.items()]
    text = "\n".join([*lines, f"{'all':20} {sum(done.values()):10,} cases"])
    (OUT / "counts").write_text(text + "\n", encoding="utf-8")
    return text


def main() -> None:
    """Distribute the cases among the targets and run them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="total number of cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases")
    parser.add_argument("--targets", nargs="*", default=list(TARGETS))
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    before = set(OUT.glob("*.txt"))
    share = -(-options.n // len(options.targets))
    queue = [
        (name, options.seed * 10**9 + first, min(BATCH, share - first))
        for first in range(0, share, BATCH)
        for name in options.targets
    ]
    done = dict.fromkeys(options.targets, 0)
    refused = dict.fromkeys(options.targets, 0)
    jobs: list[Job] = []
    free = list(range(options.jobs))
    with progress() as bar:
        task = bar.add_task("cases", total=share * len(options.targets))
        while queue or jobs:
            while queue and free:
                jobs.append(Job(*queue.pop(0), free.pop()))
                jobs[-1].start()
            time.sleep(0.05)
            for job in [job for job in jobs if job.look()]:
                cases, no = job.close()
                if cases < job.count:  # continue after the case that stopped the worker
                    queue.append((job.name, job.first + cases, job.count - cases))
                done[job.name] += cases
                refused[job.name] += no
                bar.advance(task, cases)
                jobs.remove(job)
                free.append(job.slot)
                report(done, refused)
    print(report(done, refused))
    findings = sorted(set(OUT.glob("*.txt")) - before)
    print(f"{len(findings)} new findings in {OUT}")
    for path in findings:
        print(f"  {path}: {path.read_text(errors='replace').strip().splitlines()[-1][:150]}")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        name_, first_, count_, board_, *limit_ = sys.argv[2:]
        work(name_, int(first_), int(count_), Path(board_), bool(limit_))
    else:
        main()
