"""The speed of `heros serve` on one core: single predictions and labels, batches, and load while it learns.

    python benchmarks/serve.py                    # half a minute
    python benchmarks/serve.py --soak 600         # also ten minutes of load: memory must not grow
    python benchmarks/serve.py --seconds 0 --soak 3600 --rate 200      # only an hour of 200 pairs per second
    python benchmarks/serve.py --keys 10000       # also a model per key within 200 MB

The service runs in its own process on one core; another process creates the load. Other jobs may run on the
machine, so results are given per second and per CPU second of the service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import uvloop

from heros import streams
from heros._base.tables import Table

POOL = (
    'kind = "mlp"\n[grid]\nhidden = [8, 16, 32, 48, 64]\nlearning_rates = [0.05]\n'  # adam and sgd: 10 models
)


@contextmanager
def service(*options: str, core: int) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A service on one core, with its port and process."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "pool.toml").write_text(POOL, encoding="utf-8")
        command = [str(Path(sys.executable).with_name("heros")), "serve", "--pool", "pool.toml", "--k", "6"]
        process = subprocess.Popen(
            [*command, "--port", "0", *options],
            cwd=directory,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.sched_setaffinity(process.pid, {core})
        try:
            assert process.stderr is not None
            yield int(next(filter(None, map(port_in, process.stderr)))), process
        finally:
            process.terminate()
            process.communicate(timeout=60)


def port_in(line: str) -> str | None:
    found = re.search(r"http://\S+:(\d+)", line)
    return None if found is None else found[1]


def figures(port: int) -> dict[str, float]:
    """What /metrics says."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text = reply.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(heros_\w+) (\S+)$", text, re.M)}


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def instances(n: int) -> list[tuple[dict[str, Any], str]]:
    """Return rows of names and values, as clients send them."""
    stream = streams.Agrawal(function=2)
    X, y = stream.draw(n)
    features, classes = stream.schema.features, stream.schema.classes
    return [
        (
            {
                f.name: float(value) if f.values is None else f.values[int(value)]
                for f, value in zip(features, row, strict=True)
            },
            classes[label],
        )
        for row, label in zip(X, y, strict=True)
    ]


def request(path: str, what: Any) -> bytes:
    body = orjson.dumps(what)
    kind, length = "content-type: application/json", f"content-length: {len(body)}"
    return f"POST {path} HTTP/1.1\r\nhost: localhost\r\n{kind}\r\n{length}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """A keep-alive connection, which sends a request and waits for the whole reply."""

    def __init__(self) -> None:
        self.buffer = b""
        self.refused = 0

    def connection_made(self, transport: Any) -> None:
        """Store the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Wait for the whole reply."""
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self.buffer.find(b"content-length: ")
        length = int(self.buffer[at + 16 : self.buffer.index(b"\r", at)])
        if len(self.buffer) >= head + 4 + length:
            self.status = int(self.buffer[9:12])
            self.buffer = b""
            self.done.set_result(None)

    async def ask(self, request: bytes) -> int:
        """Send a request and return the status of the reply."""
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        await self.done
        if self.status >= 400:
            self.refused += 1
        return self.status


async def connect(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


async def pairs(port: int, rows: list[Any], seconds: float, connections: int) -> tuple[int, list[float]]:
    """Predict, then send the label, one instance per request; return the count and each duration."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    done = 0

    async def client(client_number: int) -> None:
        nonlocal done
        connection = await connect(port)
        n = client_number
        while time.perf_counter() < end:
            x, y = rows[n % len(rows)]
            ask, teach = request("/predict", {"id": n, "x": x}), request("/learn", {"id": n, "y": y})
            start = time.perf_counter()
            await connection.ask(ask)
            took.append(time.perf_counter() - start)
            while await connection.ask(teach) == 429:
                await asyncio.sleep(0.05)
            n += connections
            done += 1

    await asyncio.gather(*(client(i) for i in range(connections)))
    return done, took


async def batches(port: int, path: str, requests: list[bytes], seconds: float, size: int) -> int:
    """Send batches one after the other at full speed; return the number of instances."""
    connection = await connect(port)
    end, done, n = time.perf_counter() + seconds, 0, 0
    while time.perf_counter() < end:
        if await connection.ask(requests[n % len(requests)]) == 429:
            await asyncio.sleep(0.01)
            continue
        done += size
        n += 1
    return done


def busy(pid: int) -> float:
    """Return the CPU seconds of a process, in nanosecond resolution."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return 1e-9 * sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks)


async def answers_meanwhile(
    port: int, pid: int, rows: list[Any], learnt: list[bytes], seconds: float
) -> tuple[list[float], list[float]]:
    """Measure single predictions, up to 200 per second, while the service learns at full speed.

    Besides the wall-clock time, measure the CPU time of the service per prediction, which is the time on an
    otherwise idle core.
    """
    learning = asyncio.create_task(batches(port, "/learn/batch", learnt, seconds, 1))
    connection, took, own = await connect(port), [], []
    end, n = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        before, start = busy(pid), time.perf_counter()
        await connection.ask(request("/predict", {"x": rows[n % len(rows)][0]}))
        took.append(time.perf_counter() - start)
        own.append(busy(pid) - before)
        n += 1
        await asyncio.sleep(0.005)
    await learning
    return took, own


def quantiles(took: list[float]) -> str:
    ms = 1000 * np.quantile(took, [0.5, 0.99, 0.999])
    return f"{ms[0]:.2f} / {ms[1]:.2f} / {ms[2]:.2f} ms"


def measured(process: Any, work: Any) -> tuple[Any, float, float]:
    cpu, start = cpu_seconds(process), time.perf_counter()
    result = asyncio.run(work)
    return result, time.perf_counter() - start, cpu_seconds(process) - cpu


def speed(seconds: float, core: int) -> None:
    rows = instances(20_000)
    with service(core=core) as (port, process):
        batch = [rows[i : i + 500] for i in range(0, len(rows), 500)]
        teach = [request("/learn/batch", {"instances": [{"x": x, "y": y} for x, y in one]}) for one in batch]
        ask = [request("/predict/batch", {"instances": [{"x": x} for x, _ in one]}) for one in batch]
        asyncio.run(batches(port, "/learn/batch", teach, 1.0, 500))
        lines = []
        (n, took), wall, cpu = measured(process, pairs(port, rows, seconds, 16))
        lines.append(["pairs, one by one", f"{n / wall:,.0f}", f"{n / cpu:,.0f}", quantiles(took)])
        for name, path, requests in (
            ("learnt, 500 at a time", "/learn/batch", teach),
            ("predicted, 500 at a time", "/predict/batch", ask),
        ):
            n, wall, cpu = measured(process, batches(port, path, requests, seconds, 500))
            lines.append([name, f"{n / wall:,.0f}", f"{n / cpu:,.0f}", ""])
        work = answers_meanwhile(port, process.pid, rows, teach, seconds)
        (took, own), *_ = measured(process, work)
        lines.append(["single predictions under full training load", "", "", quantiles(took)])
        lines.append(["  in CPU time of the service", "", "", quantiles(own)])
    Table(
        ["", "per second", "per CPU second", "p50 / p99 / p99.9"],
        lines,
        align="lrrr",
        title=f"10 models, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    ).show()


async def paced(
    port: int, rows: list[Any], seconds: float, first: int, rate: float, connections: int = 4
) -> tuple[int, int, list[float]]:
    """Send pairs at a rate, each with its own id; return the numbers sent and refused, and the durations."""
    start, done, refused = time.perf_counter(), 0, 0
    took: list[float] = []

    async def client() -> None:
        nonlocal done, refused
        connection = await connect(port)
        while (now := time.perf_counter() - start) < seconds:
            if done >= now * rate:
                await asyncio.sleep(0.02)
                continue
            id, (x, y) = first + done, rows[(first + done) % len(rows)]
            done += 1
            started = time.perf_counter()
            await connection.ask(request("/predict", {"id": id, "x": x}))
            took.append(time.perf_counter() - started)
            await connection.ask(request("/learn", {"id": id, "y": y}))
        refused += connection.refused

    await asyncio.gather(*(client() for _ in range(connections)))
    return done, refused, took


def soak(seconds: float, rate: float, core: int, csv: Path | None) -> None:
    """Run a long load; print memory and latency every minute (or thirtieth part), also as CSV."""
    rows = instances(20_000)
    pieces = max(30, round(seconds / 60))
    if csv is not None:
        csv.write_text("seconds,pairs,refused,rss_mb,cpu_s,p50_ms,p99_ms,load\n", encoding="ascii")
    with service("--checkpoint", "kept", core=core) as (port, process):
        n = refused = 0
        for piece in range(1, pieces + 1):
            if rate:
                done, other, took = asyncio.run(paced(port, rows, seconds / pieces, n, rate))
            else:
                done, took = asyncio.run(pairs(port, rows, seconds / pieces, 16))
                other = 0
            n, refused = n + done, refused + other
            size, cpu = figures(port)["heros_memory_bytes"] / 1e6, cpu_seconds(process)
            p50, p99 = (1000 * np.quantile(took, [0.5, 0.99])).tolist()
            at, load = piece * seconds / pieces, os.getloadavg()[0]
            line = f"{at:6.0f} s {n:10,} pairs, {refused} refused {size:7.1f} MB {cpu:7.1f} CPU s"
            print(f"{line} {p50:.2f} / {p99:.2f} ms, load {load:.1f}", flush=True)
            if csv is not None:
                with csv.open("a", encoding="ascii") as file:
                    file.write(
                        f"{at:.0f},{n},{refused},{size:.1f},{cpu:.1f},{p50:.2f},{p99:.2f},{load:.1f}\n"
                    )


def keyed(keys: int, core: int) -> None:
    """Serve a model per key with 200 MB of models in memory."""
    rows = instances(20_000)
    with service("--keys", "--memory", "200", core=core) as (port, process):
        before = figures(port)["heros_memory_bytes"] / 1e6
        requests = []
        for start in range(0, keys, 500):
            some = [(*rows[i % len(rows)], i % keys) for i in range(start, start + 500)]
            requests.append(
                request("/learn/batch", {"instances": [{"x": x, "y": y, "key": k} for x, y, k in some]})
            )
        start, cpu = time.perf_counter(), cpu_seconds(process)
        asyncio.run(teach_all(port, requests))
        took, cpu = time.perf_counter() - start, cpu_seconds(process) - cpu
        time.sleep(6)  # the state of keys is updated every five seconds
        figures(port)
        time.sleep(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/state") as reply:
            state = json.load(reply)
        known, held = state["keys"], state["memory"] / 1e6
        speed = f"{keys / took:,.0f} a second, {1000 * cpu / keys:.1f} ms of CPU time each"
        print(f"{known['count']:,} keys, {speed}")
        print(f"{known['in_memory']:,} models in memory, {known['bytes'] / 1e6:.0f} MB by count")
        print(f"{held:.0f} MB of the process, {before:.0f} before")


async def teach_all(port: int, requests: list[bytes]) -> None:
    connection = await connect(port)
    for one in requests:
        while await connection.ask(one) == 429:
            await asyncio.sleep(0.2)
    await connection.ask(
        request("/learn/batch?wait=true", {"instances": [{"x": {"age": 1.0}, "y": "0", "key": 0}]})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--rate", type=float, default=0.0, help="Pairs per second of the soak; 0: unlimited.")
    parser.add_argument("--csv", type=Path, help="A file for the results of the soak, by minute.")
    parser.add_argument("--keys", type=int, default=0)
    parser.add_argument("--core", type=int, default=0, help="The service's core; the load uses another.")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, set(range(os.cpu_count() or 1)) - {arguments.core} or {0})
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if arguments.seconds:
        speed(arguments.seconds, arguments.core)
    if arguments.soak:
        soak(arguments.soak, arguments.rate, arguments.core, arguments.csv)
    if arguments.keys:
        keyed(arguments.keys, arguments.core)


if __name__ == "__main__":
    main()
