"""A keyboard interrupt ends every long call quickly, with its exception."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np
import pytest

from conftest import ROOT, table
from turnpike_verify import Backend, ByteArray, Verifier, pack

VECTORS: Final = ROOT / "vectors/bls12_381"
KEYS: Final = ROOT / "crates/verify/src/bls12_381/groth16/keys"

BEFORE: Final = 0.3
"""Seconds until the interrupt. Every call here takes at least some seconds."""
SOON: Final = 0.5
"""Limit in seconds of processor time, over all threads. It is about twenty milliseconds each, twice that for bad signatures;
other load on the machine does not count. A whole call takes some seconds."""

GENERATOR: Final = bytes.fromhex("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
ONE: Final = bytes(31) + b"\1"


@pytest.fixture(autouse=True)
def keyboard() -> Iterator[None]:
    """A process that a shell starts in the background ignores keyboard interrupts, and so would Python."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def times(row: bytes, count: int) -> ByteArray:
    """A table of equal rows."""
    return np.tile(np.frombuffer(row, np.uint8), (count, 1))


def hashes(verifier: Verifier) -> object:
    return verifier.sha256(np.zeros((15_000_000, 64), np.uint8))


def long_messages(verifier: Verifier) -> object:
    return verifier.sha256d(np.zeros((2000, 1 << 20), np.uint8))


def merkle_root(verifier: Verifier) -> object:
    return verifier.merkle_root(np.zeros((20_000_000, 32), np.uint8))


def ecdsa(verifier: Verifier) -> object:
    count = 300_000
    return verifier.ecdsa(times(ONE, count), times(GENERATOR + ONE, count), times(b"\2" + GENERATOR, count))


def recover_ecdsa(verifier: Verifier) -> object:
    count = 300_000
    return verifier.recover_ecdsa(times(ONE, count), times(GENERATOR + ONE, count), np.zeros(count, np.uint8))


def schnorr(verifier: Verifier) -> object:
    count = 300_000
    return verifier.schnorr(times(ONE, count), times(GENERATOR + ONE, count), times(GENERATOR, count))


def bls(verifier: Verifier) -> object:
    cases = json.loads((VECTORS / "ethereum/verify.json").read_text()).values()
    given = next(case["input"] for case in cases if case["output"])
    row = [bytes.fromhex(given[name]) for name in ("message", "signature", "pubkey")]
    return verifier.bls(times(row[0], 40_000), times(row[1], 40_000), times(row[2], 40_000))


def groth16(verifier: Verifier) -> object:
    record = (VECTORS / "sapling/outputs.bin").read_bytes()[: 192 + 32 * 5]
    key = (KEYS / "sapling-output.vk").read_bytes()
    return verifier.groth16(key, times(record[:192], 40_000), times(record[192:], 40_000))


def _product() -> bytes:
    cases = json.loads((VECTORS / "eip2537/pairing_check.json").read_text())
    return min((bytes.fromhex(case["Input"]) for case in cases), key=lambda product: product.count(0) / len(product))


def products(verifier: Verifier) -> object:
    return verifier.pairings(times(_product(), 20_000))


def a_long_product(verifier: Verifier) -> object:
    return verifier.pairings(pack([_product() * 20_000]))


CALLS: Final = [
    hashes,
    long_messages,
    merkle_root,
    ecdsa,
    recover_ecdsa,
    schnorr,
    bls,
    groth16,
    products,
    a_long_product,
]


def interrupted(call: Callable[[], object]) -> float:
    """Seconds of processor time from the interrupt to its exception."""
    sent = []

    def interrupt() -> None:
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(BEFORE, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
        timer.cancel()
    return time.process_time() - sent[0]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_an_interrupt_ends_a_call(call: Callable[[Verifier], object], threads: int) -> None:
    verifier = Verifier(threads, Backend.PORTABLE)
    assert interrupted(partial(call, verifier)) < SOON
    # The verifier works for the next call.
    assert not verifier.sha256d(np.zeros((0, 80), np.uint8)).any()


def test_an_interrupt_ends_proofs_of_work(zcash_header: bytes) -> None:
    headers = table([zcash_header] * 60_000)
    inputs, solutions = headers[:, :140].copy(), headers[:, 143:].copy()
    for threads in (1, 3):
        verifier = Verifier(threads, Backend.PORTABLE)
        assert interrupted(partial(verifier.zcash_headers, headers)) < SOON
        assert interrupted(partial(verifier.equihash, 200, 9, inputs, solutions)) < SOON


def test_what_a_handler_raises_ends_a_call() -> None:
    def handler(*_: object) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, BEFORE)
        with pytest.raises(TimeoutError, match="enough"):
            ecdsa(Verifier(1, Backend.PORTABLE))
    finally:
        signal.signal(signal.SIGALRM, before)
