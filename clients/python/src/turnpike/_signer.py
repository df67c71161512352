"""Keys of accounts: signing operations, and checking signatures."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass

from coincurve import PrivateKey, PublicKey, PublicKeyXOnly

from . import _hash
from . import _protocol as protocol
from ._ids import KEYED_BIT, account_text
from ._operations import Operation
from ._protocol import Promise

_SIGNED_BYTES = protocol.SIGNED_OPERATION_COLUMNS["signature"].start
_KEY = protocol.SIGNED_OPERATION_COLUMNS["public_key"]


def keyed_account(public_key: bytes) -> int:
    """Id of the account that a compressed public key is bound to."""
    return int.from_bytes(_hash.account(public_key)[:16], "big") >> 1 | KEYED_BIT


@dataclass(frozen=True, slots=True)
class SignedOperation:
    """An operation with the signature of an authorised key. Make it with `Signer.sign`."""

    operation: Operation
    promise: Promise
    entry: bytes
    """The signed operation as an entry of a batch."""

    def pack(self) -> bytes:
        """The signed operation as an entry of a batch."""
        return self.entry


class Signer:
    """Signs the operations of one key on one network."""

    def __init__(self, secret: bytes, network: bytes) -> None:
        """`secret` has 32 bytes; the info frame and `turnpike serve` name the network id."""
        if len(network) != 32:
            raise ValueError(f"the network id has {len(network)} bytes, not 32; take it from `turnpike info`")
        self._key = PrivateKey(secret)
        self.network = network
        self.public_key: bytes = self._key.public_key.format()
        """The public key, compressed."""
        self.account = keyed_account(self.public_key)
        """The account that the key is bound to."""
        self._nonces = itertools.count(int.from_bytes(os.urandom(4), "big"))

    def __repr__(self) -> str:
        return f"Signer(account={account_text(self.account)})"

    def sign(
        self,
        operation: Operation,
        promise: Promise = Promise.DEFAULT,
        *,
        timestamp: int | None = None,
        nonce: int | None = None,
    ) -> SignedOperation:
        """Signs an operation as of now, or of a time in microseconds since the Unix epoch.

        The node accepts it only near that time, so sign shortly before sending.
        """
        signed = protocol.SignedOperation(
            operation=operation.pack(),
            timestamp=time.time_ns() // 1000 if timestamp is None else timestamp,
            nonce=next(self._nonces) & 0xFFFF_FFFF if nonce is None else nonce,
            promise=promise,
            public_key=self.public_key,
        ).pack()[:_SIGNED_BYTES]
        # The first 64 bytes of a recoverable signature are r and a low s.
        signature = self._key.sign_recoverable(_hash.transfer(self.network, signed), hasher=None)[:64]
        return SignedOperation(operation, promise, signed + signature)


def is_signed(entry: bytes, network: bytes) -> bool:
    """Whether the key in a signed operation signed it for a network."""
    key, signature = entry[_KEY.start : _KEY.stop], entry[_SIGNED_BYTES:]
    try:
        public = PublicKey(key)
        # libsecp256k1 accepts only a low s.
        return public.verify(
            _der(signature[:32], signature[32:]), _hash.transfer(network, entry[:_SIGNED_BYTES]), hasher=None
        )
    except ValueError:
        return False


def is_sealed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a BIP340 signature of a message is an x-only key's."""
    try:
        return PublicKeyXOnly(key).verify(signature, message)
    except ValueError:
        return False


def is_key(key: bytes) -> bool:
    """Whether these bytes are an x-only public key."""
    try:
        PublicKeyXOnly(key)
    except ValueError:
        return False
    return True


def _der(*numbers: bytes) -> bytes:
    """A sequence of two positive integers in DER."""
    parts = []
    for number in numbers:
        digits = number.lstrip(b"\0") or b"\0"
        digits = b"\0" + digits if digits[0] & 0x80 else digits
        parts.append(bytes([2, len(digits)]) + digits)
    return bytes([0x30, sum(map(len, parts))]) + b"".join(parts)
