"""Hashes, signatures and proofs of the own chain."""

import struct

import own_chain
from frames import *  # The layouts are this module's language.

NETWORK = "vectors"
SECRET = int.from_bytes(bytes(range(1, 33)), "big")
GENESIS = own_chain.genesis(NETWORK, bytes(range(16)), 1_700_000_000_000_000, own_chain.x_only(SECRET))
SIGNER = own_chain.public_key(SECRET)


def signed_by_key(body, timestamp, nonce, promise, network=own_chain.header_hash(GENESIS)):
    blank = signed(body, timestamp, nonce, promise, SIGNER, bytes(64))
    digest = own_chain.tagged("turnpike/transfer", network + blank[:120])
    return blank[:120] + own_chain.sign(SECRET, digest)


def signatures():
    """name, verdict, network id, signed operation"""
    network = own_chain.header_hash(GENESIS)
    holder = own_chain.account_of_key(SIGNER)
    good = signed_by_key(operation(TRANSFER, TRANSACTION, holder, account(9), 77), 1_700_000_000_000_000, 1, 2)
    yield "transfer", "good", network, good
    yield "create", "good", network, signed_by_key(operation(CREATE, TRANSACTION, holder), 1_700_000_000_000_001, 2, 0)
    yield "other_network", "bad", own_chain.header_hash(b"another"), good
    for_deposit = operation(CREATE, TRANSACTION, KEYED, holder, 100)
    yield "create_for_deposit", "good", network, signed_by_key(for_deposit, 1_700_000_000_000_002, 3, 0)
    for name, offset in (("other_amount", 63), ("other_timestamp", 71), ("other_nonce", 75), ("other_promise", 76),
                         ("other_r", 130), ("other_s", 183), ("other_key", 100)):
        yield name, "bad", network, flip(good, offset, good[offset] ^ 1)
    high = own_chain.N - int.from_bytes(good[152:], "big")
    yield "high_s", "bad", network, good[:152] + high.to_bytes(32, "big")
    yield "zero_r", "bad", network, good[:120] + bytes(32) + good[152:]
    yield "zero_s", "bad", network, good[:152] + bytes(32)
    yield "zero_key", "bad", network, good[:80] + bytes(33) + good[113:]


def own_transactions(count):
    """Transactions of a block, every fifth of them signed."""
    for number in range(count):
        body = operation(TRANSFER, account(1000 + number), account(number), account(number + 1), number + 1)
        yield signed_by_key(body, number, number, 0) if number % 5 == 4 else body


def seals():
    """name, verdict, chain key, header and seal"""
    key = own_chain.x_only(SECRET)
    header = own_chain.header(1, 1, 1_700_000_000_000_001, 1, own_chain.header_hash(GENESIS), HASHES[5], HASHES[6])
    good = own_chain.sealed(SECRET, header)
    yield "genesis", "good", key, own_chain.sealed(SECRET, GENESIS)
    yield "header", "good", key, good
    for name, offset in (("other_version", 3), ("other_height", 15), ("other_time", 23), ("other_root", 100),
                         ("other_r", 130), ("other_s", 191)):
        yield name, "bad", key, flip(good, offset, good[offset] ^ 1)
    yield "other_header", "bad", key, GENESIS + good[128:]
    yield "other_key", "bad", own_chain.x_only(SECRET + 1), good
    yield "no_key", "bad", bytes(32), good
    yield "bare_hash", "bad", key, header + own_chain.sign_bip340(SECRET, own_chain.header_hash(header))
    yield "ecdsa", "bad", key, header + own_chain.sign(SECRET, own_chain.seal_message(header))
    yield "zeros", "bad", key, header + bytes(64)


def header_chains():
    """name, verdict, network id, headers with their seals from genesis on"""
    key, replicas = own_chain.x_only(SECRET), HASHES[9]

    def chain(first, *versions, names=key, change=lambda height, header: header):
        """Headers of these versions after a genesis of version `first`; 4 and 5 repeat the index root before them."""
        genesis = own_chain.header(0, 0, 5, 0, own_chain.tagged("turnpike/network", b"vectors"), names, own_chain.ZERO,
                                   first)
        headers, index_root = [genesis], own_chain.ZERO
        for height, version in enumerate(versions, 1):
            index_root = index_root if version in (4, 5) else HASHES[height]
            header = own_chain.header(2, height, 5 + height, height + 1, own_chain.header_hash(headers[-1]),
                                      HASHES[height + 1], index_root, version)
            headers.append(change(height, header))
        return headers

    def record(name, verdict, headers, is_ordered=False):
        seal = (lambda header: header + bytes(64)) if is_ordered else (lambda header: own_chain.sealed(SECRET, header))
        return name, verdict, own_chain.header_hash(headers[0]), b"".join(map(seal, headers))

    yield record("sealed", "good", chain(2, 2, 2))
    yield record("ordered", "good", chain(3, 3, 3, names=replicas), True)
    yield record("sealed_without_index", "good", chain(2, 2, 4, 4, 2, 4))
    yield record("ordered_without_index", "good", chain(3, 3, 5, 5, 3, 5, names=replicas), True)
    for first, without, names in ((2, 4, key), (3, 5, replicas)):
        kind = "sealed" if first == 2 else "ordered"

        def other_root(height, header):
            return flip(header, 96, header[96] ^ 1) if height == 3 else header

        yield record(f"{kind}_repeats_another_root", "bad",
                     chain(first, first, without, without, names=names, change=other_root), first == 3)
        yield record(f"{kind}_repeats_no_root", "bad", chain(first, without, names=names), first == 3)
        yield record(f"{kind}_genesis_without_index", "bad", chain(without, first, names=names), first == 3)
        for version in sorted({0, 1, 2, 3, 4, 5, 6} - {first, without}):
            yield record(f"{kind}_then_version_{version}", "bad", chain(first, first, version, names=names), first == 3)


def transaction_proofs():
    """name, verdict, header of the block, reply"""
    for count in (1, 2, 3, 5, 8, 9, 100):
        transactions = list(own_transactions(count))
        leaves = [own_chain.transaction_leaf(transaction) for transaction in transactions]
        for position in sorted({0, count // 2, count - 1}):
            root, path = own_chain.transaction_tree(leaves, position)
            block = own_chain.header(count, 7, 1_700_000_000_000_007, 50, HASHES[5], root, HASHES[6])
            name = f"{position}_of_{count}"

            def reply(transaction=transactions[position], leaf=leaves[position], path=path, count=count,
                      position=position, block_hash=own_chain.header_hash(block)):
                body = struct.pack(">32sQ32sQIIBBHHH32s", HASHES[0], 9, block_hash, 7, count, position, len(path), 0,
                                   len(transaction), 0, 0, leaf) + b"".join(path) + transaction
                key = struct.pack(">QI20x", 7, position)
                return proof(0, 3, key, body=len(body), kind=PROOF | REPLY) + body

            yield name, "good", block, reply()
            yield f"{name}_other_transaction", "bad", block, reply(transaction=flip(transactions[position], 63, 99))
            yield f"{name}_other_leaf", "bad", block, reply(leaf=HASHES[7])
            yield f"{name}_other_count", "bad", block, reply(count=count + 1)
            yield f"{name}_outside", "bad", block, reply(position=position + 2 ** len(path))
            yield f"{name}_longer", "bad", block, reply(path=path + [own_chain.ZERO])
            if path:
                yield f"{name}_other_position", "bad", block, reply(position=position ^ 1)
                yield f"{name}_other_path", "bad", block, reply(path=[HASHES[8]] + path[1:])
                yield f"{name}_shorter", "bad", block, reply(path=path[:-1])


def index_proofs():
    """name, verdict (entry, absent or bad), account, header of the block, reply"""
    # The last are accounts of the trie's left half only: the right half is an empty leaf.
    left = [number for number in range(100) if own_chain.account_path(account(number)) < 2**63]
    right = next(number for number in range(100) if number not in left)
    for label, numbers in [*((count, range(count)) for count in (0, 1, 16, 17, 300)), ("left", left)]:
        count = len(numbers)
        entries = [own_chain.index_entry(account(number), number * 100, number % 7, number) for number in numbers]
        for number in sorted({0, count - 1, count + 5, 100_000, right if numbers is left else 0} - {-1}):
            of = account(number)
            root, path, leaf = own_chain.index_tree(entries, own_chain.account_path(of))
            block = own_chain.header(1, 7, 1_700_000_000_000_007, count, HASHES[5], HASHES[6], root)

            def reply(path=path, leaf=leaf, block_hash=own_chain.header_hash(block)):
                body = struct.pack(">32sQQBB6x", block_hash, 7, 0, len(path), len(leaf)) + b"".join(path + leaf)
                return proof(0, 4, of + bytes(16), body=len(body), kind=PROOF | REPLY) + body

            name = f"{number}_of_{label}"
            held = [entry for entry in leaf if entry[:16] == of]
            yield name, "entry" if held else "absent", of, block, reply()
            if leaf:
                changed = [flip(leaf[0], 23, leaf[0][23] ^ 1)] + leaf[1:]
                yield f"{name}_other_balance", "bad", of, block, reply(leaf=changed)
                yield f"{name}_left_out", "bad", of, block, reply(leaf=leaf[1:])
            if len(leaf) > 1:
                yield f"{name}_order", "bad", of, block, reply(leaf=[leaf[1], leaf[0], *leaf[2:]])
            if path:
                yield f"{name}_other_path", "bad", of, block, reply(path=[HASHES[8]] + path[1:])
                yield f"{name}_shorter", "bad", of, block, reply(path=path[:-1])
            for version in (4, 5):
                without = flip(block, 3, version)
                yield (f"{name}_stated_by_no_header_of_version_{version}", "bad", of, without,
                       reply(block_hash=own_chain.header_hash(without)))


def definitions():
    """name, input, output"""
    yield "genesis", NETWORK.encode() + bytes(range(16)), GENESIS
    yield "header", GENESIS, own_chain.header_hash(GENESIS)
    yield "sealed", GENESIS, own_chain.sealed(SECRET, GENESIS)
    next_header = own_chain.header(1, 1, 1_700_000_000_000_001, 1, own_chain.header_hash(GENESIS), HASHES[5], HASHES[6])
    yield "sealed", next_header, own_chain.sealed(SECRET, next_header)
    yield "account", SIGNER, own_chain.account_of_key(SIGNER)
    for number in (0, 1, 2**32 - 1):
        yield "path", account(number), own_chain.account_path(account(number)).to_bytes(8, "big")
    yield "transaction", operation(REFER, TRANSACTION, KEYED), own_chain.transaction_leaf(operation(REFER, TRANSACTION, KEYED))
    yield "node", HASHES[0] + HASHES[1], own_chain.tagged("turnpike/node", HASHES[0] + HASHES[1])
    yield "index_node", HASHES[0] + HASHES[1], own_chain.tagged("turnpike/index/node", HASHES[0] + HASHES[1])
    yield "index_leaf", HASHES[0], own_chain.tagged("turnpike/index/leaf", HASHES[0])
