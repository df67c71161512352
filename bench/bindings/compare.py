"""Times the package and its peers, alternating: compare.py SIGNATURES ROUNDS; bench/bindings/run calls it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median

import coincurve
import numpy as np

from turnpike_verify import Policy, Scheme, Verifier, pack

VERIFIER = Verifier()


def compare(name: str, peer_name: str, items: int, peer: Callable[[], object], ours: Callable[[], object], rounds: int) -> None:
    """Both must return a true value."""
    times: dict[Callable[[], object], list[float]] = {peer: [], ours: []}
    for _ in range(rounds):
        for work, taken in times.items():
            start = time.thread_time_ns()
            good = work()
            taken.append((time.thread_time_ns() - start) / items)
            assert good, name
    theirs, mine = median(times[peer]), median(times[ours])
    print(f"{name}, {items} at once: {peer_name} {theirs:,.0f} ns, turnpike_verify {mine:,.0f} ns, {theirs / mine:.2f} x")
    if figures := os.environ.get("TURNPIKE_FIGURES"):
        with open(figures, "a") as file:
            print(f"{name}, {items} at once", mine, "ns", peer_name, theirs, sep="\t", file=file)


def read(data: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Digests, signatures and keys of a file of records, in the format described in docs/bindings.md."""
    digests, signatures, keys = [], [], []
    at = 0
    while at < len(data):
        digests.append(data[at : at + 32])
        at += 32
        keys.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
        signatures.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return digests, signatures, keys


def ecdsa(path: Path, rounds: int) -> None:
    """Signatures of a real block as bytes objects: both times include parsing, ours also packing into arrays."""
    digests, signatures, keys = read(path.read_bytes())
    table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    # libsecp256k1 rejects a high s.
    low = np.flatnonzero(VERIFIER.ecdsa(table, pack(signatures), pack(keys), Policy.DER) == 0)
    digests, signatures, keys = ([items[item] for item in low] for items in (digests, signatures, keys))
    packed = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32), pack(signatures), pack(keys)

    def peer() -> bool:
        items = zip(digests, signatures, keys, strict=True)
        return all(coincurve.PublicKey(key).verify(signature, digest, hasher=None) for digest, signature, key in items)

    def from_bytes() -> bool:
        table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
        return not VERIFIER.ecdsa(table, pack(signatures), pack(keys), Policy.DER).any()

    def from_arrays() -> bool:
        return not VERIFIER.ecdsa(*packed, Policy.DER).any()

    compare("ECDSA from lists of bytes", "coincurve", len(low), peer, from_bytes, rounds)
    compare("ECDSA from arrays", "coincurve", len(low), peer, from_arrays, rounds)


def schnorr(rounds: int) -> None:
    secrets = [coincurve.PrivateKey(number.to_bytes(32, "big")) for number in range(1, 1025)]
    messages = [sha256(bytes([number % 256])).digest() for number in range(len(secrets))]
    keys = [secret.public_key_xonly.format() for secret in secrets]
    signatures = [secret.sign_schnorr(message) for secret, message in zip(secrets, messages, strict=True)]
    arrays = [np.frombuffer(b"".join(items), np.uint8).reshape(len(items), -1) for items in (messages, signatures, keys)]

    def peer() -> bool:
        items = zip(messages, signatures, keys, strict=True)
        return all(coincurve.PublicKeyXOnly(key).verify(signature, message) for message, signature, key in items)

    compare("Schnorr from arrays", "coincurve", len(keys), peer, lambda: not VERIFIER.schnorr(*arrays).any(), rounds)


def hashes(length: int, rounds: int) -> None:
    count = 16384
    messages = np.random.default_rng(1).integers(0, 256, (count, length), np.uint8)
    data = messages.tobytes()

    def peer() -> list[bytes]:
        return [sha256(sha256(data[at : at + length]).digest()).digest() for at in range(0, len(data), length)]

    assert b"".join(peer()) == VERIFIER.sha256d(messages).tobytes()
    compare(f"SHA256d of {length} bytes", "hashlib", count, peer, lambda: len(VERIFIER.sha256d(messages)), rounds)


def main() -> None:
    path, rounds = Path(sys.argv[1]), int(sys.argv[2])
    print("backends:", ", ".join(f"{scheme.name} {VERIFIER.backend(scheme).name}" for scheme in Scheme))
    hashes(64, rounds)
    hashes(80, rounds)
    ecdsa(path, rounds)
    schnorr(rounds)


if __name__ == "__main__":
    main()
