"""Certificates of finality and evidence, from docs/order.md."""

import struct

import own_chain
from chain_vectors import GENESIS, SECRET

NETWORK = own_chain.header_hash(GENESIS)
SECRETS = [SECRET + number for number in range(7)]
KEYS = [own_chain.x_only(secret) for secret in SECRETS]
NOTARIZE, NULLIFY, FINALIZE = 1, 2, 3


def vote(kind, view, block, network=NETWORK, epoch=0):
    parent = 0 if kind == NULLIFY else view - 1
    return struct.pack(">B32sQQQ32s", kind, network, epoch, view, parent, block)


def signed(replica, ballot):
    return own_chain.sign_bip340(SECRETS[replica], own_chain.tagged("turnpike/vote", ballot))


def ordered(height, parent, statement, body):
    return struct.pack(">Q32s32s32s", height, parent, statement, own_chain.tagged("turnpike/ordered/body", body))


HEADER = ordered(7, bytes([1]) * 32, bytes([2]) * 32, b"body")
BLOCK = own_chain.tagged("turnpike/ordered", HEADER)


def certificate(signers, kind=FINALIZE, network=NETWORK):
    head = HEADER + struct.pack(">QQQQ", 0, 5, 4, sum(1 << replica for replica in signers))
    return head + b"".join(signed(replica, vote(kind, 5, BLOCK, network)) for replica in sorted(signers))


def certificates():
    """name, verdict, network id, keys of the replicas, certificate"""
    four, seven = b"".join(KEYS[:4]), b"".join(KEYS)
    good = certificate([0, 1, 3])
    yield "three_of_four", "good", NETWORK, four, good
    yield "all_of_four", "good", NETWORK, four, certificate(range(4))
    yield "five_of_seven", "good", NETWORK, seven, certificate([0, 2, 3, 5, 6])
    yield "two_of_four", "bad", NETWORK, four, certificate([1, 2])
    yield "four_of_seven", "bad", NETWORK, seven, certificate([0, 1, 2, 3])
    yield "not_a_replica", "bad", NETWORK, four, certificate([0, 1, 4])
    yield "notarized_only", "bad", NETWORK, four, certificate([0, 1, 3], NOTARIZE)
    yield "other_network", "bad", bytes(32), four, good
    yield "keys_in_another_order", "bad", NETWORK, KEYS[1] + KEYS[0] + four[64:], good
    for name, offset in (("other_height", 7), ("other_parent", 8), ("other_statement", 40), ("other_body", 72),
                         ("other_epoch", 111), ("other_view", 119), ("other_parent_view", 127), ("other_signer", 135),
                         ("other_signature", 200)):
        yield name, "bad", NETWORK, four, good[:offset] + bytes([good[offset] ^ 1]) + good[offset + 1:]
    yield "cut_off", "bad", NETWORK, four, good[:-1]
    yield "too_long", "bad", NETWORK, four, good + bytes(1)


def double(replica, first, second, accused=None):
    votes = b"".join(ballot + signed(replica, ballot) for ballot in (first, second))
    return bytes([replica if accused is None else accused]) + votes


def evidence():
    """name, verdict, network id, keys of the replicas, evidence"""
    four, other = b"".join(KEYS[:4]), bytes([3]) * 32
    nullify = vote(NULLIFY, 5, bytes(32))
    for name, kind in (("two_notarized", NOTARIZE), ("two_finalized", FINALIZE)):
        yield name, "good", NETWORK, four, double(2, vote(kind, 5, BLOCK), vote(kind, 5, other))
    yield "given_up_and_finalized", "good", NETWORK, four, double(2, nullify, vote(FINALIZE, 5, BLOCK))
    yield "the_same", "bad", NETWORK, four, double(2, vote(NOTARIZE, 5, BLOCK), vote(NOTARIZE, 5, BLOCK))
    yield "two_views", "bad", NETWORK, four, double(2, vote(NOTARIZE, 5, BLOCK), vote(NOTARIZE, 6, other))
    yield "notarized_and_given_up", "bad", NETWORK, four, double(2, vote(NOTARIZE, 5, BLOCK), nullify)
    yield "another_replica", "bad", NETWORK, four, double(2, vote(NOTARIZE, 5, BLOCK), vote(NOTARIZE, 5, other), 1)
    yield "no_replica", "bad", NETWORK, four, double(4, vote(NOTARIZE, 5, BLOCK), vote(NOTARIZE, 5, other))

