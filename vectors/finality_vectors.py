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



ADD, REMOVE = 1, 2
LOCAL = bytes(10) + b"\xff\xff" + bytes([127, 0, 0, 1])


def change(action, number, key, generation=0, port=None, address=None):
    """A change of members. The key of connections is no one's, as it is carried and not used."""
    if port is None:
        port = 8000 if action == ADD else 0
    if address is None:
        address = LOCAL if action == ADD else bytes(16)
    return struct.pack(">BBHI32s32s16s", action, number, port, generation, key, key[::-1], address)


def change_hash(network, keys, changed):
    return own_chain.tagged("turnpike/member-change", network + own_chain.tagged("turnpike/replicas", keys) + changed)


def approval(signer, keys, changed, network=NETWORK):
    return changed + KEYS[signer] + own_chain.sign_bip340(SECRETS[signer], change_hash(network, keys, changed))


def approvals():
    """name, verdict, network id, keys of the replicas, approval"""
    four = b"".join(KEYS[:4])
    good = approval(1, four, change(ADD, 2, KEYS[4]))
    yield "addition", "good", NETWORK, four, good
    yield "removal", "good", NETWORK, four, approval(0, four, change(REMOVE, 3, KEYS[3], 7))
    yield "by_the_one_that_joins", "good", NETWORK, four, approval(4, four, change(ADD, 4, KEYS[4]))
    yield "other_network", "bad", bytes(32), four, good
    yield "other_set", "bad", NETWORK, four[:96], good
    for name, offset in (("other_action", 0), ("other_number", 1), ("other_port", 3), ("other_generation", 7),
                         ("other_votes", 39), ("other_identity", 71), ("other_address", 87), ("other_signer", 100),
                         ("other_signature", 183)):
        yield name, "bad", NETWORK, four, good[:offset] + bytes([good[offset] ^ 1]) + good[offset + 1:]


def reconfiguration(signers, members, changed, network=NETWORK):
    """A change with the approvals of members, which are numbers of keys, by their places."""
    keys = b"".join(KEYS[member] for member in members)
    signatures = b"".join(approval(members[place], keys, changed, network)[120:] for place in sorted(signers))
    return changed + struct.pack(">Q", sum(1 << place for place in signers)) + signatures


def reconfigurations():
    """name, verdict, network id, keys of the replicas, reconfiguration of generation 0, keys after it"""
    four, founders = b"".join(KEYS[:4]), [0, 1, 2, 3]
    added = change(ADD, 1, KEYS[5])
    good = reconfiguration([0, 1, 3], founders, added)
    yield "addition", "good", NETWORK, four, good, KEYS[0] + KEYS[5] + four[32:]
    yield "addition_at_the_end", "good", NETWORK, four, reconfiguration(range(4), founders, change(ADD, 4, KEYS[4])), \
        four + KEYS[4]
    yield "removal", "good", NETWORK, four, reconfiguration([0, 1, 2], founders, change(REMOVE, 0, KEYS[0])), four[32:]
    yield "two_of_one", "good", NETWORK, KEYS[0], reconfiguration([0], [0], change(ADD, 0, KEYS[1])), KEYS[1] + KEYS[0]
    for name, signers, changed in (
            ("no_quorum", [0, 1], added), ("later_generation", [0, 1, 2], change(ADD, 1, KEYS[5], 1)),
            ("unknown_action", [0, 1, 2], change(3, 1, KEYS[5])), ("out_of_place", [0, 1, 2], change(ADD, 5, KEYS[5])),
            ("there_already", [0, 1, 2], change(ADD, 4, KEYS[2])), ("no_key", [0, 1, 2], change(ADD, 4, bytes(32))),
            ("other_key", [0, 1, 2], change(REMOVE, 1, KEYS[2])), ("not_there", [0, 1, 2], change(REMOVE, 4, KEYS[4])),
            ("port_of_a_removal", [0, 1, 2], change(REMOVE, 1, KEYS[1], port=1)),
            ("address_of_a_removal", [0, 1, 2], change(REMOVE, 1, KEYS[1], address=LOCAL))):
        yield name, "bad", NETWORK, four, reconfiguration(signers, founders, changed), b""
    yield "last_one", "bad", NETWORK, KEYS[0], reconfiguration([0], [0], change(REMOVE, 0, KEYS[0])), b""
    yield "not_a_replica", "bad", NETWORK, four, reconfiguration([0, 1, 4], range(7), added), b""
    yield "other_network", "bad", bytes(32), four, good, b""
    for name, offset in (("other_identity", 50), ("other_signer", 95), ("other_signature", 100)):
        yield name, "bad", NETWORK, four, good[:offset] + bytes([good[offset] ^ 1]) + good[offset + 1:], b""
    yield "cut_off", "bad", NETWORK, four, good[:-1], b""
    yield "too_long", "bad", NETWORK, four, good + bytes(1), b""


def vouched():
    """name, verdict, network id, what is vouched for, keys of the present set"""
    members, changes = [0, 1, 2, 3], []
    for action, place, member in ((ADD, 4, 4), (REMOVE, 0, 0), (ADD, 0, 6)):
        changed = change(action, place, KEYS[member], len(changes))
        changes.append(reconfiguration([0, 1, 2, 3], members, changed))
        members = members[:place] + [member] * (action == ADD) + members[place + (action == REMOVE):]

    def kept(changes):
        return bytes([4]) + b"".join(KEYS[:4]) + struct.pack(">H", len(changes)) + b"".join(changes) + certificate([0])

    yield "never_changed", "good", NETWORK, kept([]), b"".join(KEYS[:4])
    yield "changed_thrice", "good", NETWORK, kept(changes), b"".join(KEYS[member] for member in members)
    yield "one_left_out", "bad", NETWORK, kept([changes[0], changes[2]]), b""
    yield "turned", "bad", NETWORK, kept([changes[1], changes[0]]), b""
    yield "other_network", "bad", bytes(32), kept(changes), b""
    yield "cut_off", "bad", NETWORK, kept(changes)[:-1], b""
    yield "one_missing", "bad", NETWORK, kept(changes).replace(struct.pack(">H", 3) + changes[0], struct.pack(">H", 4) + changes[0]), b""
