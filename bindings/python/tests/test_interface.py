"""Errors, backends, threads, and that codes are those of the engines."""

from __future__ import annotations

import doctest
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import turnpike_verify
from turnpike_verify import Backend, BackendError, Policy, Rule, Scheme, Verifier, _native, pack

HEADERS = np.zeros((4, 80), np.uint8)
DIGESTS = np.zeros((4, 32), np.uint8)
SIGNATURES = np.zeros((4, 64), np.uint8)
KEYS = np.zeros((4, 33), np.uint8)


def test_rules_are_those_of_the_engines() -> None:
    native = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper(): number for name, number, _ in _native.RULES}
    assert {rule.name: rule.value for rule in Rule} == {"VALID": 0, "NOT_VERIFIED": 255} | native
    assert len({rule.message for rule in Rule}) == len(Rule)


def test_the_example_in_the_text() -> None:
    failed, attempted = doctest.testmod(turnpike_verify)
    assert (failed, attempted) == (0, 3)


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", turnpike_verify.__version__)


@pytest.mark.parametrize(
    ("messages", "error", "text"),
    [
        (HEADERS.astype(np.float32), TypeError, "messages must be an array of uint8, not of float32"),
        (HEADERS.astype(np.int8), TypeError, "messages must be an array of uint8, not of int8"),
        (HEADERS.astype(np.uint16), TypeError, "messages must be an array of uint8, not of uint16"),
        ([b"list"], TypeError, "messages must be an array of uint8, not of list"),
        (None, TypeError, "has no len"),
        (HEADERS[0], ValueError, "messages must have 2 dimensions, not 1"),
        (HEADERS[None], ValueError, "messages must have 2 dimensions, not 3"),
        (np.uint8(7), TypeError, "has no len"),
        (b"bytes", ValueError, "messages must have 2 dimensions, not 1"),
        (HEADERS[:, ::2], ValueError, "messages must be contiguous in C's order: use numpy.ascontiguousarray"),
        (HEADERS[::2], ValueError, "contiguous"),
        (np.asfortranarray(HEADERS), ValueError, "contiguous"),
    ],
)
def test_wrong_arrays(messages: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Verifier().sha256(messages)


def test_wrong_shapes() -> None:
    verifier = Verifier()
    with pytest.raises(ValueError, match=r"leaves must have the shape \(count, 32\), not \[4, 80\]"):
        verifier.merkle_root(HEADERS)
    with pytest.raises(ValueError, match=r"headers must have the shape \(count, 1487\)"):
        verifier.zcash_headers(HEADERS)
    with pytest.raises(ValueError, match=r"digests must have the shape \(count, 32\)"):
        verifier.ecdsa(HEADERS, SIGNATURES, KEYS)
    with pytest.raises(ValueError, match=r"signatures must have the shape \(count, 64\)"):
        verifier.schnorr(DIGESTS, DIGESTS, DIGESTS)
    with pytest.raises(ValueError, match=r"keys must have the shape \(count, 32\)"):
        verifier.schnorr(DIGESTS, SIGNATURES, KEYS)


def test_counts_that_differ() -> None:
    verifier = Verifier()
    with pytest.raises(ValueError, match="3 signatures are given where 4 are needed"):
        verifier.ecdsa(DIGESTS, SIGNATURES[:3], KEYS)
    with pytest.raises(ValueError, match="5 keys are given where 4 are needed"):
        verifier.ecdsa(DIGESTS, SIGNATURES, pack([b"key"] * 5))
    with pytest.raises(ValueError, match="3 solutions are given where 4 are needed"):
        verifier.equihash(200, 9, HEADERS, HEADERS[:3])


@pytest.mark.parametrize("offsets", [[], [0, 65], [3, 2], [0, 2**64 - 1]])
def test_offsets_that_are_none(offsets: list[int]) -> None:
    packed = turnpike_verify.Packed(np.zeros(64, np.uint8), np.array(offsets, np.uint64))
    with pytest.raises(ValueError, match="offsets must begin at 0 or later, never fall, and end within the 64 bytes"):
        Verifier().ecdsa(DIGESTS[:1], packed, KEYS[:1])


def test_offsets_of_another_type() -> None:
    packed: Any = (np.zeros(64, np.uint8), np.array([0, 64], np.int32))
    with pytest.raises(TypeError, match="signatures must be an array of uint64, not of int32"):
        Verifier().ecdsa(DIGESTS[:1], packed, KEYS[:1])


def test_offsets_of_another_byte_order() -> None:
    """They are not read as if they were in this machine's order."""
    for order in "><":
        offsets = np.array([0, 64], np.dtype(f"{order}u8"))
        packed: Any = (np.zeros(64, np.uint8), offsets)
        if offsets.dtype.isnative:
            assert len(Verifier().ecdsa(DIGESTS[:1], packed, KEYS[:1])) == 1
            continue
        with pytest.raises(TypeError, match=f"signatures must be an array of uint64, not of {order}u8"):
            Verifier().ecdsa(DIGESTS[:1], packed, KEYS[:1])


@pytest.mark.parametrize("number", [3, 256, -1, 2**32, -(2**63), 2**70])
def test_numbers_that_stand_for_nothing(number: Any) -> None:
    verifier = Verifier()
    with pytest.raises(ValueError, match=f"^{number} is not a policy$"):
        verifier.ecdsa(DIGESTS, SIGNATURES, KEYS, number)
    with pytest.raises(ValueError, match=f"^{number} is not a policy$"):
        verifier.recover_ecdsa(DIGESTS, SIGNATURES, np.zeros(4, np.uint8), number)
    with pytest.raises(ValueError, match="Equihash"):
        verifier.equihash(number, 9, HEADERS, HEADERS)
    with pytest.raises(ValueError, match="Equihash"):
        verifier.equihash(200, number, HEADERS, HEADERS)
    other: Any = number if number != 3 else 9
    with pytest.raises(ValueError, match=f"^{other} is not a backend$"):
        Verifier(backend=other)
    with pytest.raises(ValueError, match=f"^{other} is not a scheme$"):
        verifier.backend(other)
    with pytest.raises(ValueError, match=f"^{other} is not a scheme$"):
        Backend.PORTABLE.is_available(other)


def test_numbers_that_are_none() -> None:
    none: Any = "1"
    with pytest.raises(TypeError):
        Verifier().ecdsa(DIGESTS, SIGNATURES, KEYS, none)
    with pytest.raises(TypeError):
        Verifier(none)


def test_wrong_numbers() -> None:
    wrong: Any = 3
    with pytest.raises(ValueError, match="3 is not a policy"):
        Verifier().ecdsa(DIGESTS, SIGNATURES, KEYS, wrong)
    wrong = 9
    with pytest.raises(ValueError, match="9 is not a backend"):
        Verifier(backend=wrong)
    with pytest.raises(OSError, match="use fewer"):
        Verifier(threads=1_000_000)
    with pytest.raises(ValueError, match="-1 is not a number of threads"):
        Verifier(threads=-1)


def test_every_backend_says_what_it_is() -> None:
    for backend in Backend:
        schemes = [scheme for scheme in Scheme if backend.is_available(scheme)]
        if not schemes:
            with pytest.raises(BackendError, match="use Fastest or Portable"):
                Verifier(backend=backend)
            continue
        verifier = Verifier(backend=backend)
        for scheme in Scheme:
            if scheme in schemes:
                used = verifier.backend(scheme)
                assert used is backend or backend is Backend.FASTEST
                assert used is not Backend.FASTEST
            else:
                with pytest.raises(BackendError, match="there is no backend"):
                    verifier.backend(scheme)
        if Scheme.SECP256K1 not in schemes:
            with pytest.raises(BackendError):
                verifier.ecdsa(DIGESTS, SIGNATURES, KEYS)
    assert all(Backend.PORTABLE.is_available(scheme) for scheme in Scheme)


def test_threads() -> None:
    assert Verifier().threads == 1
    assert Verifier(3).threads == 3
    assert Verifier(0).threads >= 1
    assert repr(Verifier(2)) == "Verifier(threads=2)"


def test_arrays_are_read_where_they_are() -> None:
    """Read-only arrays, views and any object with the buffer protocol."""
    verifier = Verifier()
    expected = verifier.sha256d(HEADERS)
    still = HEADERS.copy()
    still.setflags(write=False)
    assert np.array_equal(verifier.sha256d(still), expected)
    assert np.array_equal(verifier.sha256d(memoryview(bytes(320)).cast("B", (4, 80))), expected)
    assert np.array_equal(verifier.sha256d(np.zeros((9, 80), np.uint8)[3:7]), expected)


def test_other_threads_go_on_during_a_call() -> None:
    """While the call works, another thread of the interpreter counts."""
    verifier = Verifier(backend=Backend.PORTABLE)
    messages = np.zeros((200_000, 64), np.uint8)
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    try:
        most = 0
        for _ in range(20):
            before = counted
            verifier.sha256d(messages)
            most = max(most, counted - before)
            if most > 100:
                break
        # With the lock held it would be one or two: those around the call.
        assert most > 100
    finally:
        stop.set()
        other.join()


def test_one_verifier_in_many_threads() -> None:
    verifier = Verifier(3)
    expected = Verifier().sha256d(np.arange(5000 * 64, dtype=np.uint32).astype(np.uint8).reshape(5000, 64))

    def hash_all(_: int) -> bool:
        messages = np.arange(5000 * 64, dtype=np.uint32).astype(np.uint8).reshape(5000, 64)
        return np.array_equal(verifier.sha256d(messages), expected)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(hash_all, range(32)))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_goes_on_alone() -> None:
    verifier = Verifier(3)
    messages = np.zeros((50_000, 64), np.uint8)
    expected = verifier.sha256d(messages)
    child = os.fork()
    if child == 0:
        os._exit(0 if all(np.array_equal(verifier.sha256d(messages), expected) for _ in range(20)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_policies() -> None:
    assert Policy.BITCOIN == Policy.DER | Policy.NORMALISE_HIGH_S | Policy.HYBRID_KEYS
    assert Verifier().ecdsa(DIGESTS, SIGNATURES, KEYS, Policy.COMPACT).tolist() == [Rule.SIGNATURE_RANGE] * 4
