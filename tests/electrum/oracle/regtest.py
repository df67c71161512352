"""Chains of regtest: what they begin with, and how a block is put on another."""

import struct

from blocks import sha256d

MAGIC = bytes.fromhex("fabfb5da")
BITS = 0x207FFFFF
TARGET = 0x7FFFFF << 8 * (0x20 - 3)
GENESIS_TIME, GENESIS_NONCE = 1296688602, 2
COIN = 100_000_000


def size(count):
    return bytes([count]) if count < 253 else b"\xfd" + struct.pack("<H", count)


def sized(data):
    return size(len(data)) + data


def root_of(hashes):
    while len(hashes) > 1:
        hashes = hashes + hashes[-1:] * (len(hashes) % 2)
        hashes = [sha256d(one + other) for one, other in zip(hashes[::2], hashes[1::2])]
    return hashes[0]


def genesis(mainnet):
    """The first block and its hash. Its transaction is that of mainnet's, which a file of blocks begins with."""
    with open(mainnet, "rb") as file:
        file.read(8)
        raw = file.read(285)
    header = raw[:68] + struct.pack("<III", GENESIS_TIME, BITS, GENESIS_NONCE)
    return header + raw[80:], sha256d(header)


def block(parent, height, raws, ids, time=None):
    """A block of transactions, by their bytes and hashes: its bytes and hash."""
    root, time = root_of(ids), time or GENESIS_TIME + 600 * height
    for nonce in range(2**32):
        header = struct.pack("<I", 4) + parent + root + struct.pack("<III", time, BITS, nonce)
        hash_ = sha256d(header)
        if int.from_bytes(hash_, "little") <= TARGET:
            return header + size(len(raws)) + b"".join(raws), hash_


def write(path, raws):
    """A file of blocks as Bitcoin Core writes them."""
    with open(path, "wb") as file:
        file.writelines(MAGIC + struct.pack("<I", len(raw)) + raw for raw in raws)
