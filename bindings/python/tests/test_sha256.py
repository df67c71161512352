from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from conftest import COUNTS, verifiers
from turnpike_verify import Scheme, Verifier

NOISE = np.random.default_rng(1).integers(0, 256, (1000, 200), np.uint8)


def double(message: bytes) -> bytes:
    return sha256(sha256(message).digest()).digest()


@pytest.mark.parametrize("length", [0, 1, 55, 56, 64, 80, 200])
def test_hashes_agree_with_hashlib(length: int) -> None:
    messages = np.ascontiguousarray(NOISE[:, :length])
    tag = sha256(b"turnpike/test").digest()
    single = [sha256(row.tobytes()).digest() for row in messages]
    twice = [double(row.tobytes()) for row in messages]
    tagged = [sha256(tag + tag + row.tobytes()).digest() for row in messages]
    for verifier in verifiers(Scheme.SHA256):
        for count in COUNTS:
            some = messages[:count]
            assert verifier.sha256(some).tobytes() == b"".join(single[:count])
            assert verifier.sha256d(some).tobytes() == b"".join(twice[:count])
            assert verifier.tagged_sha256("turnpike/test", some).tobytes() == b"".join(tagged[:count])


def test_the_genesis_block() -> None:
    header = bytes.fromhex(
        "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3"
        "888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c"
    )
    for verifier in verifiers(Scheme.SHA256):
        digest = verifier.sha256d(memoryview(header).cast("B", (1, 80)))
        assert digest.shape == (1, 32)
        assert digest.dtype == np.uint8
        assert digest[0, ::-1].tobytes().hex() == "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"


def root(leaves: list[bytes]) -> bytes:
    while len(leaves) > 1:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        leaves = [double(pair[0] + pair[-1]) for pair in pairs]
    return leaves[0]


def test_merkle_roots() -> None:
    leaves = np.ascontiguousarray(NOISE[:, :32])
    rows = [row.tobytes() for row in leaves]
    for verifier in verifiers(Scheme.SHA256):
        for count in COUNTS[1:]:
            found = verifier.merkle_root(leaves[:count])
            assert (found.hash, found.ambiguous) == (root(rows[:count]), False)
            parents = verifier.merkle_parents(leaves[:count])
            assert parents.shape == ((count + 1) // 2, 32)
            # A lone leaf is the root, but it has a parent too.
            if count > 1:
                assert verifier.merkle_root(parents).hash == found.hash


def test_a_repeated_transaction_is_told() -> None:
    leaves = np.ascontiguousarray(NOISE[:6, :32])
    repeated = np.concatenate([leaves, leaves[4:]])
    verifier = Verifier()
    assert verifier.merkle_root(leaves).hash == verifier.merkle_root(repeated).hash
    assert not verifier.merkle_root(leaves).ambiguous
    assert verifier.merkle_root(repeated).ambiguous


def test_a_tree_has_leaves() -> None:
    with pytest.raises(ValueError, match="one leaf at least"):
        Verifier().merkle_root(np.empty((0, 32), np.uint8))
