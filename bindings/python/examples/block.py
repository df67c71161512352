"""Verifies a file of ECDSA signatures on all processors: python examples/block.py FILE

A record of the file is a digest of 32 bytes, a length byte and the key, a length byte and the DER signature; the file
vectors/secp256k1/bitcoin_block_413567.bin has all signatures of a Bitcoin block. Exit status 0 if all are valid, 1 if not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from turnpike_verify import Policy, Rule, Verifier, pack


def read(data: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    digests, signatures, keys = [], [], []
    at = 0

    def take(length: int) -> bytes:
        nonlocal at
        at += length
        if at > len(data):
            raise SystemExit("error: the file ends within a record")
        return data[at - length : at]

    while at < len(data):
        digests.append(take(32))
        keys.append(take(take(1)[0]))
        signatures.append(take(take(1)[0]))
    return digests, signatures, keys


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit("usage: block.py FILE")
    digests, signatures, keys = read(Path(sys.argv[1]).read_bytes())
    table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    codes = Verifier(threads=0).ecdsa(table, pack(signatures), pack(keys), Policy.BITCOIN)
    for item in np.flatnonzero(codes):
        print(f"signature {item}: {Rule(codes[item]).message}")
    print(f"{np.count_nonzero(codes == Rule.VALID)} of {len(codes)} signatures are valid")
    return int(codes.any())


if __name__ == "__main__":
    sys.exit(main())
