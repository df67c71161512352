#!/usr/bin/env python3
"""Measures a client and a node on this machine: medians of several rounds, at promise `durable`."""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from turnpike import AsyncClient, Client, Options, Promise, arrays

ROUNDS = int(os.environ.get("ROUNDS", "7"))
OPTIONS = Options(promise=Promise.DURABLE, timeout=60)
ROOT = Path(__file__).resolve().parents[3]


def median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(ROUNDS))


def submitted(client: Client) -> float:
    """Transfers per second of one buffer, from its frames to its statuses."""
    batch = arrays.transfers(1, 2, np.ones(400_000, np.uint64))
    began = time.perf_counter()
    results = client.submit(batch)
    assert not np.asarray(results.statuses).any()
    assert results.promise == Promise.DURABLE
    return len(batch) / (time.perf_counter() - began)


def report(name: str, value: float, unit: str) -> None:
    """Prints a figure, and adds it to those of `bench/clients/run`."""
    print(f"{name:40} {value:12,.0f} {unit}")
    if path := os.environ.get("TURNPIKE_FIGURES"):
        with Path(path).open("a") as figures:
            figures.write(f"Python, {name}\t{value}\t{unit}\t\t\n")


def latencies(client: Client) -> tuple[float, float]:
    """Microseconds of a single transfer: p50 and p99."""
    taken = []
    for _ in range(1000):
        began = time.perf_counter()
        client.transfer(1, 2, 1)
        taken.append((time.perf_counter() - began) * 1e6)
    taken.sort()
    return taken[500], taken[990]


async def tasks(address: str) -> float:
    """Transfers per second of 1,000 tasks, which the client joins to batches."""
    async with AsyncClient(address, options=OPTIONS) as client:

        async def work() -> None:
            for _ in range(20):
                await client.transfer(1, 2, 1)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(1000)))
        return 20_000 / (time.perf_counter() - began)


def measure(address: str) -> None:
    with Client(address, options=OPTIONS) as client:
        for account in (1, 2):
            client.create(account)
        client.issue(1, 10**15)
        submitted(client)
        report("batches from an array", median(lambda: submitted(client)), "/s")
    for name, node in (("one at a time", address), ("one at a time over UDP", f"udp://{address}")):
        with Client(node, options=OPTIONS) as client:
            singles = [latencies(client) for _ in range(ROUNDS)]
        p50, p99 = (statistics.median(column) for column in zip(*singles, strict=True))
        report(f"{name}, p50", p50, "us")
        report(f"{name}, p99", p99, "us")
    report("1,000 tasks", median(lambda: asyncio.run(tasks(address))), "/s")
    print(f"durable; medians of {ROUNDS} rounds")


def main() -> None:
    program = os.environ.get("TURNPIKE", str(ROOT / "target/release/turnpike"))
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "serve", "--data", f"{folder}/data", "--trusted", "127.0.0.0/8", "--listen", "127.0.0.1:0"]
        command += ["--http", "127.0.0.1:0", "--log", "warn"]
        node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert node.stdout is not None
            found = next(filter(None, (re.match(r"serving +(\S+)", line) for line in node.stdout)), None)
            if found is None:
                sys.exit(f"{program} did not start")
            measure(found[1])
        finally:
            node.kill()
            node.wait()


if __name__ == "__main__":
    main()
