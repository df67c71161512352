"""Proofs of delay functions, and what a verifier must make of them."""

import struct
from hashlib import sha256
from itertools import count

RSA_1024 = int(
    "135066410865995223349603216278805969938881475605667027524485143851526510604859533833940287150571909441798207282164471"
    "551373680419703964191743046496589274256239341020864383202110372958725762358509643110564073501508187510676594629205563"
    "685529475213500852879416377328533906109750544334999811150056977236890927563")
LENGTH = 128
# Of two segments.
SQUARINGS = 70_000
# Bits of result masks.
FORM, MODULUS, RANGE, INPUT, CANONICAL, MISMATCH = (1 << bit for bit in range(56, 62))


def number(value):
    return value.to_bytes(LENGTH, "big")


def tagged(tag, message):
    return sha256(2 * sha256(tag.encode()).digest() + message).digest()


def hashed(message):
    blocks = -(-(LENGTH + 16) // 32)
    wide = b"".join(tagged("turnpike/vdf/input", struct.pack(">Q", block) + message) for block in range(blocks))
    return int.from_bytes(wide, "big") % RSA_1024


def canonical(value):
    return min(value, RSA_1024 - value)


def is_prime(candidate):
    """The test of Miller and Rabin: a composite number passes a base with a probability of a quarter at most."""
    odd, twos = candidate - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    powers = ([pow(base, odd << two, candidate) for two in range(twos)] for base in range(2, 42))
    return all(each[0] == 1 or candidate - 1 in each for each in powers)


def prime(message):
    ends = 1 << 255 | 1
    hashes = (tagged("turnpike/vdf/prime", struct.pack(">Q", at) + message) for at in count())
    return next(filter(is_prime, (int.from_bytes(digest, "big") | ends for digest in hashes)))


def segments(rest):
    while rest > 1 << 16:
        yield rest - rest // 8
        rest //= 8
    yield rest


def file(start, pairs, modulus=number(RSA_1024), squarings=SQUARINGS):
    head = b"TPDELAY1" + struct.pack(">H", len(modulus)) + modulus + number(start) + struct.pack(">Q", squarings)
    return head + b"".join(number(output) + number(proof) for output, proof in pairs)


def proved(start):
    """Output and proof of each segment."""
    x = canonical(start)
    for squarings in segments(SQUARINGS):
        y = canonical(pow(x, 1 << squarings, RSA_1024))
        challenge = prime(struct.pack(">Q", squarings) + number(RSA_1024) + number(x) + number(y))
        yield y, canonical(pow(x, (1 << squarings) // challenge, RSA_1024))
        x = y


def proofs():
    """name, result mask, bytes of the proof"""
    start = hashed(b"message")
    first, last = good = list(proved(start))

    def record(name, mask, *of, **changed):
        return name, str(mask), file(*of, **changed)

    yield record("good", 0, start, good)
    yield record("negated_input", 0, RSA_1024 - start, good)
    yield record("negated_proof", 0, start, [first, (last[0], RSA_1024 - last[1])])
    yield record("zero_before_modulus", FORM, start, good, modulus=number(RSA_1024 >> 8 | 1))
    yield record("segment_missing", FORM, start, good[:1])
    yield record("segment_more", FORM, start, [first, last, last])
    yield record("modulus_even", MODULUS, start, good, modulus=number(RSA_1024 + 1))
    yield record("input_is_modulus", RANGE, RSA_1024, good)
    yield record("proof_is_modulus", RANGE, start, [first, (last[0], RSA_1024)])
    yield record("input_0", INPUT, 0, [(0, 0), (0, 0)])
    yield record("input_1", INPUT, 1, [(1, 1), (1, 1)])
    yield record("input_less_1", INPUT, RSA_1024 - 1, [(1, 1), (1, 1)])
    yield record("output_negated", CANONICAL, start, [first, (RSA_1024 - last[0], last[1])])
    yield record("output_changed", MISMATCH, start, [first, (last[0] ^ 1, last[1])])
    yield record("proof_changed", MISMATCH, start, [(first[0], first[1] ^ 1), last])
    yield record("input_changed", MISMATCH, start ^ 1, good)
    yield record("squarings_changed", MISMATCH, start, good, squarings=SQUARINGS + 1)
    yield record("segments_swapped", MISMATCH, start, [last, first])
