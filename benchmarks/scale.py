"""From one core to a cluster: a million keys, 1,000 partitions, one worker or two.

    python benchmarks/scale.py partitions                 # one worker for all 1,000 partitions
    python benchmarks/scale.py keys --csv keys.csv        # 1,000 partitions of 1,000 keys; resumable
    python benchmarks/scale.py workers                    # the same rows with one worker and with two

The brokers are librdkafka's mock cluster in this process, without network or disk. CPU time is the time of
the workers alone, since other jobs may run on the machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka

from heros import Heros, pools
from heros.data import Encoder
from heros.run.workers import KafkaWorker, Snapshots
from heros.run.workers.partition import Partition

TOPIC = "rows"
PRODUCER = 0  # a value of rd_kafka_type_t


class Cluster:
    """A mock cluster whose topic has many partitions; the Python interface only creates topics with four."""

    def __init__(self, partitions: int) -> None:
        folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
        kafka = ctypes.CDLL(str(next(folder.glob("librdkafka*"))))
        for name in ("conf_new", "new", "handle_mock_cluster", "mock_cluster_bootstraps"):
            getattr(kafka, f"rd_kafka_{name}").restype = ctypes.c_void_p
        message = ctypes.create_string_buffer(512)
        settings = ctypes.c_void_p(kafka.rd_kafka_conf_new())
        kafka.rd_kafka_conf_set(settings, b"test.mock.num.brokers", b"1", message, 512)
        self._handle = ctypes.c_void_p(kafka.rd_kafka_new(PRODUCER, settings, message, 512))
        cluster = ctypes.c_void_p(kafka.rd_kafka_handle_mock_cluster(self._handle))
        if kafka.rd_kafka_mock_topic_create(cluster, TOPIC.encode(), partitions, 1):
            raise RuntimeError("the mock cluster refuses the topic")
        address = kafka.rd_kafka_mock_cluster_bootstraps(cluster)
        self.servers = ctypes.string_at(address).decode()
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
        )

    def send(self, partition: int, rows: Iterator[dict[str, Any]]) -> None:
        """Queue rows for a partition."""
        for row in rows:
            self._producer.produce(TOPIC, json.dumps(row).encode(), partition=partition)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until the cluster has received all rows."""
        assert self._producer.flush(120) == 0


def template() -> Heros:
    """Return a model with two perceptrons, of which one is trained per row; models of many keys are small."""
    return Heros(pools.MLP([{"hidden": 4}, {"hidden": 8}]), k=1, seed=1)


def rows(partition: int, n: int, keys: int, start: int = 0) -> Iterator[dict[str, Any]]:
    for i in range(start, start + n):
        yield {
            "key": f"{partition}-{i % keys}",
            "a": i % 7 / 3,
            "b": i * 31 % 11,
            "c": "xyz"[i % 3],
            "y": i % 2,
        }


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_mb() -> float:
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def worker_of(servers: str, store: str, **settings: Any) -> KafkaWorker:
    return KafkaWorker(
        servers, TOPIC, group="g", model=template(), store=store, target="y", key="key", **settings
    )


def one_worker_all_partitions(partitions: int, n: int) -> None:
    """Assign all partitions to one worker, as after the loss of all other workers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    cluster = Cluster(partitions)
    for partition in range(partitions):
        cluster.send(partition, rows(partition, n, n))
    cluster.flush()
    before, most = resident_mb(), [0, 0.0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            most[0], most[1] = max(most[0], open_files()), max(most[1], resident_mb())

    threading.Thread(target=look, daemon=True).start()
    with tempfile.TemporaryDirectory() as store:
        cpu, start = time.process_time(), time.perf_counter()
        worker_of(cluster.servers, store).run(idle=30.0)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - start
        kept = len(Snapshots(store, TOPIC).partitions())
    done.set()
    print(f"{partitions:,} partitions of {n} keys, one worker (limits on open files {soft:,} and {hard:,})")
    print(f"{kept:,} snapshots, {cpu:.0f} s of CPU time, {wall:.0f} s, load {os.getloadavg()[0]:.1f}")
    print(f"{most[0]:,} open files, {most[1] - before:.0f} MB more than before")


def many_keys(partitions: int, keys: int, csv: Path) -> None:
    """For each partition: learn each key's first row, write a snapshot, restart, learn the second rows."""
    done = set()
    if csv.exists():
        done = {int(line.split(",")[0]) for line in csv.read_text(encoding="ascii").splitlines()[1:]}
    else:
        csv.write_text(
            "partition,keys,learn_s,snapshot_s,restart_s,again_s,snapshot_bytes\n", encoding="ascii"
        )
    for number in (one for one in range(partitions) if one not in done):
        with tempfile.TemporaryDirectory() as place:
            took, size = _one_partition(number, keys, Path(place))
        with csv.open("a", encoding="ascii") as file:
            file.write(f"{number},{keys},{','.join(f'{one:.3f}' for one in took)},{size}\n")
    figures = [line.split(",") for line in csv.read_text(encoding="ascii").splitlines()[1:]]
    total = sum(int(line[1]) for line in figures)
    names = ("first row", "snapshot", "restart", "second row")
    each = [sum(float(line[at]) for line in figures) / total * 1e3 for at in (2, 3, 4, 5)]
    print(f"{len(figures):,} partitions, {total:,} keys; ms of CPU time per key:")
    print(", ".join(f"{name} {one:.2f}" for name, one in zip(names, each, strict=True)))
    print(f"{sum(int(line[6]) for line in figures) / total / 1e3:.1f} kB of snapshot per key")


def _one_partition(number: int, keys: int, place: Path) -> tuple[list[float], int]:
    snapshots, took = Snapshots(place / "store", TOPIC), []

    def opened(name: str) -> Partition:
        return Partition(
            number, snapshots, place / name, template(), target="y", key="key", encoder=Encoder(), skip=False,
            memory=16 << 20,
        )  # fmt: skip

    def timed(work: Any) -> Any:
        start = time.process_time()
        result = work()
        took.append(time.process_time() - start)
        return result

    one = opened("first")
    for offset, row in enumerate(rows(number, keys, keys)):
        one.take(None, row, offset)
    timed(one.learn)
    timed(one.save)
    one.close()
    size = sum(file.stat().st_size for file in (place / "store").rglob("*.keys"))
    one = timed(lambda: opened("second"))
    for offset, row in enumerate(rows(number, keys, keys, keys)):
        one.take(None, row, keys + offset)
    timed(one.learn)
    if one.keyed.overall().instances != 2 * keys:
        raise RuntimeError(f"partition {number} has lost rows")
    one.close()
    return took, size


def one_and_two(partitions: int, n: int) -> None:
    """Process the same rows with one worker and with two; print total CPU time and wall-clock time."""
    figures = {}
    for workers in (1, 2, 1, 2):
        cluster = Cluster(partitions)
        for partition in range(partitions):
            cluster.send(partition, rows(partition, n, 50))
        cluster.flush()
        with tempfile.TemporaryDirectory() as store:
            command = [sys.executable, __file__, "worker", "--servers", cluster.servers, "--store", store]
            start = time.perf_counter()
            running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
            results = [json.loads(process.communicate()[0]) for process in running]
            wall = time.perf_counter() - start
        assert sum(one["rows"] for one in results) == partitions * n, results
        figures.setdefault(workers, []).append(sum(one["cpu"] for one in results))
        shares = " + ".join(f"{one['rows']:,} rows in {one['cpu']:.1f} s of CPU time" for one in results)
        print(f"{workers}: {shares}; {wall:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    ratio = min(figures[2]) / min(figures[1])
    print(f"CPU time of two workers over one: {ratio:.2f}")
    print(f"with a core each: {2 / ratio:.2f} times the rows per second")


def work(servers: str, store: str) -> None:
    """Run a worker of the comparison: join the group, wait for all rows, and print its results."""
    learnt = {}
    worker = worker_of(servers, store)
    cpu, close = time.process_time(), Partition.close

    def closed(self: Partition) -> None:
        learnt[self.number] = self.next
        close(self)

    Partition.close = closed  # type: ignore[method-assign]
    worker.run(idle=8.0)
    print(json.dumps({"rows": sum(learnt.values()), "cpu": time.process_time() - cpu}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["partitions", "keys", "workers", "worker"])
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=1000, help="Of a partition.")
    parser.add_argument("--csv", type=Path, default=Path("scale_keys.csv"))
    parser.add_argument("--servers")
    parser.add_argument("--store")
    arguments = parser.parse_args()
    if arguments.what == "partitions":
        one_worker_all_partitions(arguments.partitions, 5)
    elif arguments.what == "keys":
        many_keys(arguments.partitions, arguments.keys, arguments.csv)
    elif arguments.what == "workers":
        one_and_two(8, 5000)
    else:
        work(arguments.servers, arguments.store)


if __name__ == "__main__":
    main()
