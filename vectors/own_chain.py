"""The own chain a second time: its hashes, trees and signatures, from docs/protocol.md and with nothing but hashlib."""

import hashlib
import hmac
import struct

ZERO = bytes(32)
LEAF_ENTRIES = 16
MASK = 2**64 - 1


def tagged(tag, message):
    digest = hashlib.sha256(tag.encode()).digest()
    return hashlib.sha256(digest + digest + message).digest()


def siphash_2_4(key, message):
    def rotate(word, by):
        return (word << by | word >> (64 - by)) & MASK

    k0, k1 = struct.unpack("<QQ", key)
    v0, v1, v2, v3 = (k ^ c for k, c in zip(
        (k0, k1, k0, k1), (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)))

    def rounds(count):
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
            v1, v3 = rotate(v1, 13) ^ v0, rotate(v3, 16) ^ v2
            v0 = rotate(v0, 32)
            v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
            v1, v3 = rotate(v1, 17) ^ v2, rotate(v3, 21) ^ v0
            v2 = rotate(v2, 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def header(transactions, height, timestamp, accounts, previous, transaction_root, index_root, version=2):
    return struct.pack(">IIQQQ32s32s32s", version, transactions, height, timestamp, accounts, previous,
                       transaction_root, index_root)


def header_hash(encoded):
    return tagged("turnpike/header", encoded)


def genesis(network, random, timestamp, key):
    return header(0, 0, timestamp, 0, tagged("turnpike/network", network.encode() + random), key, ZERO)


def seal_message(encoded):
    return tagged("turnpike/seal", header_hash(encoded))


def sealed(secret, encoded):
    return encoded + sign_bip340(secret, seal_message(encoded))


def transaction_leaf(transaction):
    return tagged("turnpike/transaction", transaction)


def transaction_tree(leaves, position):
    """The root, and the path of the leaf at a position."""
    level, path = list(leaves), []
    while len(level) > 1:
        if len(level) % 2:
            level.append(ZERO)
        path.append(level[position ^ 1])
        level = [tagged("turnpike/node", level[n] + level[n + 1]) for n in range(0, len(level), 2)]
        position //= 2
    return (level or [ZERO])[0], path


def account_path(account):
    return siphash_2_4(b"turnpike/index/p", account)


def index_entry(account, balance, height, position):
    return struct.pack(">16sQII", account, balance, height, position)


def index_tree(entries, route, depth=0):
    """The hash of the subtree at a depth, and path (leaf first) and entries of the leaf that a route leads to."""
    if len(entries) <= LEAF_ENTRIES or depth == 64:
        entries = sorted(entries, key=lambda entry: (account_path(entry[:16]), entry[:16]))
        return tagged("turnpike/index/leaf", b"".join(entries)) if entries else ZERO, [], entries
    def bit(path):
        return path >> (63 - depth) & 1

    halves = [[entry for entry in entries if bit(account_path(entry[:16])) == side] for side in (0, 1)]
    nodes = [index_tree(half, route, depth + 1) for half in halves]
    _, path, leaf = nodes[bit(route)]
    return tagged("turnpike/index/node", nodes[0][0] + nodes[1][0]), path + [nodes[1 - bit(route)][0]], leaf


P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = (3 * a[0] * a[0] * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(point, factor):
    result = None
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def public_key(secret):
    x, y = multiply(G, secret)
    return bytes([2 + y % 2]) + x.to_bytes(32, "big")


def x_only(secret):
    return public_key(secret)[1:]


def sign_bip340(secret, message):
    """BIP340 without auxiliary randomness."""
    point = multiply(G, secret)
    secret = secret if point[1] % 2 == 0 else N - secret
    key = point[0].to_bytes(32, "big")
    masked = (secret ^ int.from_bytes(tagged("BIP0340/aux", bytes(32)), "big")).to_bytes(32, "big")
    nonce = int.from_bytes(tagged("BIP0340/nonce", masked + key + message), "big") % N
    commitment = multiply(G, nonce)
    nonce = nonce if commitment[1] % 2 == 0 else N - nonce
    r = commitment[0].to_bytes(32, "big")
    challenge = int.from_bytes(tagged("BIP0340/challenge", r + key + message), "big") % N
    return r + ((nonce + challenge * secret) % N).to_bytes(32, "big")


def account_of_key(key):
    first = int.from_bytes(tagged("turnpike/account", key)[:16], "big")
    return (first >> 1 | 1 << 127).to_bytes(16, "big")


def sign(secret, digest):
    """ECDSA with the nonce of RFC 6979 and a low s."""
    secret_bytes, k, v = secret.to_bytes(32, "big"), bytes(32), b"\1" * 32
    for separator in (b"\0", b"\1"):
        k = hmac.digest(k, v + separator + secret_bytes + digest, "sha256")
        v = hmac.digest(k, v, "sha256")
    v = hmac.digest(k, v, "sha256")
    nonce = int.from_bytes(v, "big")
    r = multiply(G, nonce)[0] % N
    s = (int.from_bytes(digest, "big") + r * secret) * pow(nonce, -1, N) % N
    return r.to_bytes(32, "big") + min(s, N - s).to_bytes(32, "big")
