"""Hashes of the protocol: BIP340's tagged SHA-256, and the SipHash of account paths."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from . import _protocol as protocol
from ._base import Buffer

NO_HASH = bytes(32)
"""The hash of nothing: an empty tree, or an absent child."""

_WORD = (1 << 64) - 1


def tagged(tag: str) -> Callable[..., bytes]:
    """The tagged hash of the concatenated parts; SHA-256 absorbs the tag only once."""
    digest = hashlib.sha256(tag.encode()).digest()
    prepared = hashlib.sha256(digest + digest)

    def hash_of(*parts: Buffer) -> bytes:
        state = prepared.copy()
        for part in parts:
            state.update(part)
        return state.digest()

    return hash_of


account = tagged(protocol.ACCOUNT_TAG)
transfer = tagged(protocol.TRANSFER_TAG)
hold = tagged(protocol.HOLD_TAG)
asset = tagged(protocol.ASSET_TAG)
header = tagged(protocol.HEADER_TAG)
seal = tagged(protocol.SEAL_TAG)
replicas = tagged(protocol.REPLICAS_TAG)
ordered = tagged(protocol.ORDERED_TAG)
vote = tagged(protocol.VOTE_TAG)
member_change = tagged(protocol.MEMBER_CHANGE_TAG)
transaction = tagged(protocol.TRANSACTION_TAG)
node = tagged(protocol.NODE_TAG)
index_leaf = tagged(protocol.INDEX_LEAF_TAG)
index_node = tagged(protocol.INDEX_NODE_TAG)


def account_path(account: bytes) -> int:
    """Path of an account in the index, the first step in the most significant bit: its SipHash-2-4."""
    key = b"turnpike/index/p"
    k0, k1 = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    state = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    words = [int.from_bytes(account[at : at + 8], "little") for at in (0, 8)]
    for word in (*words, len(account) << 56):
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b, d = _rotate(b, 13) ^ a, _rotate(d, 16) ^ c
        a, c = (_rotate(a, 32) + d) & _WORD, (c + b) & _WORD
        b, d = _rotate(b, 17) ^ c, _rotate(d, 21) ^ a
        c = _rotate(c, 32)
    state[:] = a, b, c, d


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _WORD
