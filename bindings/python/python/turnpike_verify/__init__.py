"""Fast verification for blockchains: SHA-256 and Merkle trees, Equihash, ECDSA and Schnorr signatures on secp256k1, BLS
signatures, Groth16 proofs and pairings on BLS12-381, and delay functions.

Each call verifies many items. They are passed as numpy arrays (or any other objects with the buffer protocol), which are
read in place, without copying:

- items of one length as an array of ``uint8`` with shape ``(count, length)``;
- items of any lengths as `Packed` bytes and offsets, which `pack` makes.

The result is an array of ``uint8`` with a code for each item: 0 (`Rule.VALID`), or the number of the first `Rule` that the
item breaks. The interpreter's other threads run during a call; they must not write to its arrays.

>>> import numpy as np
>>> verifier = Verifier()
>>> verifier.sha256d(np.zeros((2, 80), np.uint8)).shape
(2, 32)
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._delay import evaluate_delay, verify_delay
from ._native import BackendError, __version__
from ._rules import Rule

__all__ = [
    "Backend",
    "BackendError",
    "ByteArray",
    "Items",
    "MerkleRoot",
    "Packed",
    "Policy",
    "Rule",
    "Scheme",
    "Table",
    "Verifier",
    "__version__",
    "evaluate_delay",
    "pack",
    "verify_delay",
]

ByteArray: TypeAlias = npt.NDArray[np.uint8]
"""An array of bytes."""

Table: TypeAlias = ByteArray | memoryview
"""Items of one length, ``uint8`` with shape ``(count, length)``. Other objects with the buffer protocol are accepted too."""


class Scheme(enum.IntEnum):
    """A kind of computation or verification."""

    SHA256 = 0
    EQUIHASH = 1
    SECP256K1 = 2
    BLS12_381 = 3


class Backend(enum.IntEnum):
    """The instructions that compute a scheme. The choice never changes a result."""

    FASTEST = 0
    """The fastest one that this processor supports."""
    AVX512 = 1
    """AVX-512; for curves its IFMA."""
    AVX2 = 2
    """AVX2; for signatures of secp256k1 with FMA. Not for BLS12-381."""
    SHA_NI = 3
    """The SHA extensions. SHA-256 only."""
    PORTABLE = 4
    """Any processor: no vectors, and no extensions except ADX, which products of BLS12-381 use if available."""

    def is_available(self, scheme: Scheme) -> bool:
        """Whether this processor supports the backend for a scheme."""
        return _native.Verifier.available(scheme, self)


class Policy(enum.IntFlag):
    """Encoding of ECDSA signatures: one of the first three values, plus any of the next two, combined with ``|``."""

    COMPACT = 0
    """Signatures are r and s, of 32 bytes each, big-endian, and s is low."""
    DER = 1
    """Signatures are strict DER (BIP66) without the byte of the signature hash type, and s is low."""
    LAX_DER = 2
    """Signatures are in the form that Bitcoin accepted as DER before BIP66."""
    NORMALISE_HIGH_S = 16
    """A high s is normalised, not rejected."""
    HYBRID_KEYS = 32
    """Keys in the hybrid form are accepted."""
    BITCOIN = DER | NORMALISE_HIGH_S | HYBRID_KEYS
    """Bitcoin's consensus since BIP66."""
    BITCOIN_LAX = LAX_DER | NORMALISE_HIGH_S | HYBRID_KEYS
    """Bitcoin's consensus before BIP66."""


class Packed(NamedTuple):
    """Contiguous items of any lengths: item ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: ByteArray | memoryview
    """All bytes, ``uint8``, one dimension."""
    offsets: npt.NDArray[np.uint64] | memoryview
    """``uint64``, one more than there are items."""


Items: TypeAlias = Table | Packed
"""Items of one length, or of any lengths."""


class MerkleRoot(NamedTuple):
    """The root of a Bitcoin Merkle tree."""

    hash: bytes
    """The root, 32 bytes."""
    ambiguous: bool
    """Whether two adjacent nodes are equal. If so, a shorter list of leaves has the same root (CVE-2012-2459)."""


def pack(items: Sequence[bytes]) -> Packed:
    """Copies items of any lengths into one array."""
    offsets = np.zeros(len(items) + 1, np.uint64)
    np.cumsum([len(item) for item in items], out=offsets[1:], dtype=np.uint64)
    return Packed(np.frombuffer(b"".join(items), np.uint8), offsets)


def _count(items: Items) -> int:
    """The number of items, whose form is checked later."""
    return max(len(items[1]) - 1, 0) if isinstance(items, tuple) else len(items)


class Verifier:
    """A choice of backend, and threads that share the items of a call.

    Many threads may use it at the same time. In the child of a fork it continues with the calling thread alone.

    Every method raises TypeError for an argument that is not an array of its type, ValueError for an array of another shape,
    one that is not C-contiguous, or one whose number of items differs from the others', and `BackendError` for a scheme that
    does not support the backend. An invalid item is not an error: its code gives the reason. An unknown policy, backend or
    scheme raises ValueError, however large its number is.

    In the main thread, a keyboard interrupt ends a call with KeyboardInterrupt after about 50 ms, and so does any other
    exception that a signal handler raises.
    """

    def __init__(self, threads: int = 1, backend: Backend = Backend.FASTEST) -> None:
        """``threads`` includes the calling one; 0 means one per processor.

        Raises `BackendError` if this processor does not support the backend for any scheme.
        """
        self._native: Final = _native.Verifier(threads, backend)

    def __repr__(self) -> str:
        return f"Verifier(threads={self.threads})"

    @property
    def threads(self) -> int:
        """The number of threads, including the calling one."""
        return self._native.threads()

    def backend(self, scheme: Scheme) -> Backend:
        """The backend that a scheme uses: never ``FASTEST``."""
        return Backend(self._native.backend(scheme))

    def _hash(self, double: bool, tag: str | None, messages: Table) -> ByteArray:
        digests = np.empty((_count(messages), 32), np.uint8)
        self._native.hash(double, tag, messages, digests)
        return digests

    def sha256(self, messages: Table) -> ByteArray:
        """SHA-256 of each message; shape ``(count, length)`` to ``(count, 32)``."""
        return self._hash(False, None, messages)

    def sha256d(self, messages: Table) -> ByteArray:
        """SHA-256 of SHA-256 of each message, Bitcoin's hash; shape ``(count, length)`` to ``(count, 32)``."""
        return self._hash(True, None, messages)

    def tagged_sha256(self, tag: str, messages: Table) -> ByteArray:
        """BIP340's tagged hash of each message; shape ``(count, length)`` to ``(count, 32)``. A tag has any length."""
        return self._hash(False, tag, messages)

    def merkle_parents(self, children: Table) -> ByteArray:
        """One level of a Bitcoin Merkle tree; shape ``(count, 32)`` to ``((count + 1) // 2, 32)``.

        Each parent is the double hash of left and right; a missing right child is replaced by the left one.
        """
        parents = np.empty(((_count(children) + 1) // 2, 32), np.uint8)
        self._native.merkle_parents(children, parents)
        return parents

    def merkle_root(self, leaves: Table) -> MerkleRoot:
        """The root of a Bitcoin Merkle tree over at least one leaf; shape ``(count, 32)``."""
        return MerkleRoot(*self._native.merkle_root(leaves))

    def equihash(self, n: int, k: int, inputs: Items, solutions: Items, personalisation: bytes = b"ZcashPoW") -> ByteArray:
        """Verifies Equihash solutions with the parameters of a chain. An input is a header up to and including the nonce.

        A solution whose length does not match the parameters breaks a rule.
        """
        codes = np.empty(_count(inputs), np.uint8)
        self._native.equihash(n, k, personalisation, inputs, solutions, codes)
        return codes

    def zcash_headers(self, headers: Table) -> ByteArray:
        """Verifies that headers of Zcash, shape ``(count, 1487)``, have the proof of work that their own targets require.

        The caller must check that a target is the one that the chain requires.
        """
        codes = np.empty(_count(headers), np.uint8)
        self._native.zcash_headers(headers, codes)
        return codes

    def ecdsa(self, digests: Table, signatures: Items, keys: Items, policy: Policy = Policy.COMPACT) -> ByteArray:
        """Verifies ECDSA signatures of digests, shape ``(count, 32)``. The policy defines the encoding of signatures.

        Keys have 33 bytes (2 or 3, x), 65 bytes (4, x, y), or, if the policy allows it, 65 bytes (6 or 7, x, y).
        """
        codes = np.empty(_count(digests), np.uint8)
        self._native.ecdsa(policy, digests, signatures, keys, codes)
        return codes

    def recover_ecdsa(
        self, digests: Table, signatures: Items, ids: Table, policy: Policy = Policy.COMPACT
    ) -> tuple[ByteArray, ByteArray]:
        """Recovers the keys that made ECDSA signatures of digests, shape ``(count, 32)``.

        An id, shape ``(count,)``, is from 0 to 3: plus 1 if the y of the nonce's point is odd, plus 2 if its x is r + n.
        If the policy replaces a high s, the id is adjusted with it: the key is that of the original signature. Returns keys,
        shape ``(count, 33)``, and codes; the key of an item that breaks a rule is all zeros.
        """
        count = _count(digests)
        keys, codes = np.empty((count, 33), np.uint8), np.empty(count, np.uint8)
        self._native.recover_ecdsa(policy, digests, signatures, ids, keys, codes)
        return keys, codes

    def schnorr(self, messages: Items, signatures: Table, keys: Table) -> ByteArray:
        """Verifies BIP340 signatures, shape ``(count, 64)``, of messages of any lengths with keys of shape ``(count, 32)``."""
        codes = np.empty(_count(messages), np.uint8)
        self._native.schnorr(messages, signatures, keys, codes)
        return codes

    def bls(self, messages: Items, signatures: Table, keys: Table) -> ByteArray:
        """Verifies BLS signatures, shape ``(count, 96)``, of messages of any lengths with keys of shape ``(count, 48)``.

        Keys are points of G1 and signatures of G2, with the tag of proofs of possession, as in Ethereum.
        """
        codes = np.empty(_count(messages), np.uint8)
        self._native.bls(messages, signatures, keys, codes)
        return codes

    def groth16(self, key: bytes, proofs: Table, inputs: Items) -> ByteArray:
        """Verifies Groth16 proofs, shape ``(count, 192)``, for a verifying key in bellman's encoding.

        The public inputs of a proof have 32 little-endian bytes each: shape ``(count, 32 * inputs)``. Raises ValueError if the
        key is invalid.
        """
        codes = np.empty(_count(proofs), np.uint8)
        self._native.groth16(key, proofs, inputs, codes)
        return codes

    def pairings(self, products: Items) -> ByteArray:
        """Verifies that products of pairings are one.

        A product has at least one pair of a point of G1 and one of G2 in the encoding of EIP-2537, 384 bytes each.
        """
        codes = np.empty(_count(products), np.uint8)
        self._native.pairings(products, codes)
        return codes
