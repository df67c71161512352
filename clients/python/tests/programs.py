"""Nodes and clusters of the real program, on loopback and in temporary directories."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0
"""Seconds after which a test fails. Nothing takes this long, even on a busy machine."""


def program() -> str:
    """The program to test, or a skip with the reason; in CI it must exist."""
    paths = [os.environ.get("TURNPIKE"), ROOT / "target/release/turnpike", ROOT / "target/debug/turnpike"]
    for path in paths:
        if path and shutil.which(path):
            return str(path)
    reason = "the program `turnpike` was not found; build it, or name it in the environment variable TURNPIKE"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_address() -> str:
    """An address that nobody uses.

    Its host is a random one of loopback, so that tests do not take each other's. Its port lies outside the ephemeral
    range: no client gets it as source port while the node is down.
    """
    return f"127.{random.randint(1, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}:20000"


class Node:
    """A single node, which can be killed and started again at the same address."""

    def __init__(self, folder: Path, trusted: str = "127.0.0.0/8", options: Sequence[str] = ()) -> None:
        self.folder, self.trusted, self.options = folder, trusted, options
        self.address = free_address()
        self.start()

    def start(self) -> None:
        command = [program(), "serve", "--data", str(self.folder / "data"), "--trusted", self.trusted]
        command += ["--listen", self.address, "--http", "127.0.0.1:0", *self.options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("serving "):
                return
        raise AssertionError((self.folder / "log").read_text())

    def kill(self) -> None:
        """Ends the program as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Cluster:
    """Four replicas of the real program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cluster"
        self.run("init", "--replicas", "4", "--trusted", "127.0.0.0/8", "--port", "0")
        self.run("start")

    def run(self, command: str, *options: str) -> None:
        done = subprocess.run(
            [program(), "cluster", command, "--dir", str(self.folder), *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def addresses(self) -> list[str]:
        """The replicas' addresses for clients, by folder."""
        found = []
        for replica in range(4):
            text = (self.folder / f"replica-{replica}" / "turnpike.toml").read_text()
            listen = re.search(r'^listen = "(.+)"', text, re.MULTILINE)
            assert listen, text
            found.append(listen[1])
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.run("stop")

    def kill(self, replica: int) -> None:
        """Ends a replica as a crash does."""
        os.kill(int((self.folder / f"replica-{replica}" / "pid").read_text()), signal.SIGKILL)
