#!/usr/bin/env python3
"""Writes the golden vectors of the wire protocol: `vectors/generate.py`, or `--check` to compare with what is there.

`--seeds DIR` writes the frames as binary files into DIR/wire_request and DIR/wire_reply, for fuzzers to start from.

The frames are described here a second time, from docs/protocol.md and not from the Rust code, so that a mistake in one
of the two shows. The files are plain text with one record a line and fields parted by spaces, for fscanf("%s") in C and
$fscanf in SystemVerilog; the files *.hex hold words of one width, for $readmemh.
"""

import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent

STATUS = {
    "OK": 0, "ACCOUNT_EXISTS": 1, "SOURCE_UNKNOWN": 2, "DESTINATION_UNKNOWN": 3, "INSUFFICIENT_BALANCE": 4,
    "OVERFLOW": 5, "TABLE_FULL": 6, "ZERO_AMOUNT": 16, "SELF_TRANSFER": 17, "TRANSACTION_ID_REUSED": 18,
    "UNKNOWN_COMMAND": 32, "MALFORMED": 33, "NOT_TRUSTED": 34, "NOT_AUTHORISED": 35, "NOT_ISSUER": 36,
    "STALE_TIMESTAMP": 37, "BAD_SIGNATURE": 38, "RATE_LIMITED": 39, "BUSY": 40, "STORAGE_FAILED": 41,
    "UNSUPPORTED_VERSION": 42, "NOT_FOUND": 64, "REPLY_TOO_LARGE": 65, "NOT_PROVABLE": 66, "UNKNOWN_CHAIN": 67,
}
CREATE, ISSUE, TRANSFER, REFER = 1, 2, 3, 4
FULL, BATCH, PROOF, HEADERS, INFO, ERROR = 1, 2, 3, 4, 5, 0xFF
REPLY = 0x80
ID = 0x01020304


def account(number):
    return number.to_bytes(16, "big")


KEYED = bytes.fromhex("8f00112233445566778899aabbccddee")
OTHER = bytes.fromhex("80000000000000000000000000000001")
TRANSACTION = bytes.fromhex("f0e0d0c0b0a090807060504030201000")
HASHES = [bytes([n]) * 32 for n in range(1, 32)]
KEY = b"\x02" + bytes(range(32))
SIGNATURE = bytes(range(64))


def compact(command, transaction, source, destination=0, amount=0, status=0):
    return struct.pack(">IIIIIH", command, transaction, source, destination, amount, status)


def header(kind, identity=ID, version=1):
    return struct.pack(">HBBI", 0x5450, version, kind, identity)


def operation(command, transaction, source, destination=bytes(16), amount=0, status=0, contract=0):
    return struct.pack(">HHI16s16s16sQ", command, status, contract, transaction, source, destination, amount)


def signed(body, timestamp=1_700_000_000_000_000, nonce=7, promise=2, key=KEY, signature=SIGNATURE,
           reserved=bytes(3), reserved_key=bytes(7)):
    return struct.pack(">64sQIB3s33s7s64s", body, timestamp, nonce, promise, reserved, key, reserved_key, signature)


def batch(entries, form, promise=0, status=0, kind=BATCH, count=None, reserved=0):
    count = len(entries) if count is None else count
    return header(kind) + struct.pack(">HBBHH", count, form, promise, status, reserved) + b"".join(entries)


def proof(chain, query, key, length=48, status=0, body=0, kind=PROOF):
    return (header(kind) + struct.pack(">BBHI32s", chain, query, status, body, key)).ljust(length, b"\0")


def headers(chain, first, count, length=64, status=0, size=0, tip=0, tip_hash=bytes(32), kind=HEADERS, reserved=0):
    fixed = struct.pack(">BBHHHQQ32s", chain, reserved, status, count, size, first, tip, tip_hash)
    return (header(kind) + fixed).ljust(length, b"\0")


def info(kind=INFO, status=0, promise=0, flags=0, datagram=0, network=bytes(32), tip=0, tip_hash=bytes(32),
         bitcoin=0, accounts=0, sequence=0, program=b""):
    return header(kind) + struct.pack(">HBBI32sQ32sQQQ16s", status, promise, flags, datagram, network, tip, tip_hash,
                                      bitcoin, accounts, sequence, program)


def error(status, detail=0, identity=ID, kind=ERROR):
    return header(kind, identity) + struct.pack(">HHI", STATUS[status], 0, detail)


def flip(frame, offset, value):
    return frame[:offset] + bytes([value]) + frame[offset + 1:]


def refuse(frame, status):
    """The answer in the frame's own shape."""
    code = struct.pack(">H", STATUS[status])
    if frame[:2] != b"TP":
        return frame[:16] + bytes(4) + code
    kind = frame[3]
    frame = flip(frame, 3, kind | REPLY)
    if kind == FULL:
        return frame[:10] + code + frame[12:64] + bytes(8) + frame[72:84] + b"\0" + frame[85:88]
    if kind == BATCH:
        return flip(frame[:12], 11, 0) + code + frame[14:16]
    if kind == PROOF:
        return frame[:10] + code + bytes(4) + frame[16:48]
    if kind == HEADERS:
        return frame[:10] + code + bytes(2) + frame[14:64]
    return frame[:8] + code + frame[10:128]


def requests():
    """name, kind, status, answer (of refused frames), frame"""
    def good(name, kind, frame):
        return name, kind, "OK", b"", frame

    def own(name, kind, status, frame):
        return name, kind, status, refuse(frame, status), frame

    def other(name, kind, status, frame):
        return name, kind, status, error(status, identity=int.from_bytes(frame[4:8], "big")), frame

    def silent(name, kind, frame, status="MALFORMED"):
        return name, kind, status, b"", frame

    transfer = compact(TRANSFER, 7, 1, 2, 50)
    yield "# Compact transfer frames"
    yield good("compact_create", "compact", compact(CREATE, 1, 0x11223344))
    yield good("compact_issue", "compact", compact(ISSUE, 2, 0x11223344, 0, 0xFFFFFFFF))
    yield good("compact_transfer", "compact", compact(TRANSFER, 0xFFFFFFFF, 0x11223344, 0x55667788, 1000))
    yield good("compact_refer", "compact", compact(REFER, 4, 0))
    yield own("compact_command_0", "compact", "UNKNOWN_COMMAND", compact(0, 1, 1, 2, 3))
    yield own("compact_command_5", "compact", "UNKNOWN_COMMAND", compact(5, 1, 1, 2, 3))
    yield own("compact_command_wide", "compact", "UNKNOWN_COMMAND", compact(0x10003, 1, 1, 2, 3))
    yield own("compact_status_set", "compact", "MALFORMED", compact(TRANSFER, 1, 1, 2, 3, 1))
    yield own("compact_command_5_status_set", "compact", "MALFORMED", compact(5, 1, 1, 2, 3, 32))
    yield silent("compact_status_malformed", "compact", compact(TRANSFER, 1, 1, 2, 3, 33))
    yield own("compact_create_with_amount", "compact", "MALFORMED", compact(CREATE, 1, 1, 0, 3))
    yield own("compact_create_with_destination", "compact", "MALFORMED", compact(CREATE, 1, 1, 2, 0))
    yield own("compact_issue_with_destination", "compact", "MALFORMED", compact(ISSUE, 1, 1, 2, 3))
    yield own("compact_refer_with_amount", "compact", "MALFORMED", compact(REFER, 1, 1, 0, 3))
    yield own("compact_refer_with_destination", "compact", "MALFORMED", compact(REFER, 1, 1, 2, 0))
    yield own("compact_issue_zero", "compact", "ZERO_AMOUNT", compact(ISSUE, 1, 1))
    yield own("compact_transfer_zero", "compact", "ZERO_AMOUNT", compact(TRANSFER, 1, 1, 2, 0))
    yield own("compact_transfer_self", "compact", "SELF_TRANSFER", compact(TRANSFER, 1, 2, 2, 3))
    yield other("compact_short", "compact", "MALFORMED", transfer[:21])
    yield other("compact_of_16", "compact", "MALFORMED", transfer[:16])
    yield silent("compact_of_15", "compact", transfer[:15])
    yield other("compact_long", "compact", "MALFORMED", transfer + b"\0")
    yield other("compact_padded", "compact", "MALFORMED", transfer + bytes(24))

    yield "# Frames with a header that fits none"
    yield silent("byte", "none", b"T")
    yield silent("header_short", "none", header(INFO)[:7])
    yield silent("header_alone", "none", header(INFO))
    yield silent("header_of_15", "none", header(BATCH) + bytes(7))
    yield other("version_0", "none", "UNSUPPORTED_VERSION", flip(info(), 2, 0))
    yield other("version_2", "none", "UNSUPPORTED_VERSION", flip(info(), 2, 2))
    yield other("type_0", "none", "UNKNOWN_COMMAND", flip(info(), 3, 0))
    yield other("type_6", "none", "UNKNOWN_COMMAND", flip(info(), 3, 6))
    yield silent("type_info_reply", "none", info(INFO | REPLY))
    yield silent("type_batch_reply", "none", batch([operation(REFER, TRANSACTION, KEYED)], 1, kind=BATCH | REPLY))
    yield silent("type_error", "none", error("BUSY"))
    yield silent("type_reply_of_other_version", "none", flip(info(INFO | REPLY), 2, 2))

    wide = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 2**64 - 1, contract=0xC0FFEE)
    full = header(FULL) + signed(wide)
    yield "# Full transfer frames"
    yield good("full_transfer", "full", full)
    yield good("full_create", "full", header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED), promise=0))
    yield good("full_issue", "full", header(FULL) + signed(operation(ISSUE, TRANSACTION, KEYED, amount=1), promise=3))
    yield good("full_refer", "full", header(FULL) + signed(operation(REFER, TRANSACTION, KEYED), promise=1))
    yield other("full_short", "full", "MALFORMED", full[:-1])
    yield other("full_long", "full", "MALFORMED", full + b"\0")
    yield own("full_command_9", "full", "UNKNOWN_COMMAND", flip(full, 9, 9))
    yield own("full_status_set", "full", "MALFORMED", flip(full, 11, 1))
    yield own("full_promise_4", "full", "MALFORMED", flip(full, 84, 4))
    yield own("full_reserved_set", "full", "MALFORMED", flip(full, 87, 1))
    yield own("full_reserved_key_set", "full", "MALFORMED", flip(full, 121, 1))
    yield own("full_transfer_zero", "full", "ZERO_AMOUNT",
              header(FULL) + signed(operation(TRANSFER, TRANSACTION, KEYED, OTHER)))
    yield own("full_transfer_self", "full", "SELF_TRANSFER",
              header(FULL) + signed(operation(TRANSFER, TRANSACTION, KEYED, KEYED, 1)))

    refer = operation(REFER, TRANSACTION, account(5))
    entry = compact(TRANSFER, 7, 1, 2, 50) + bytes(2)
    two = batch([wide, refer], 1, promise=2)
    yield "# Batch frames; their entries are checked one by one later"
    yield good("batch_compact", "batch", batch([entry, compact(REFER, 8, 2) + bytes(2)], 0))
    yield good("batch_operation", "batch", two)
    yield good("batch_signed", "batch", batch([signed(wide)], 2, promise=1))
    yield good("batch_bad_entries", "batch", batch([operation(9, TRANSACTION, KEYED), bytes(64)], 1))
    yield own("batch_empty", "batch", "MALFORMED", batch([], 1))
    yield own("batch_format_3", "batch", "MALFORMED", batch([wide], 3))
    yield own("batch_promise_4", "batch", "MALFORMED", batch([wide], 1, promise=4))
    yield own("batch_status_set", "batch", "MALFORMED", batch([wide], 1, status=40))
    yield own("batch_reserved_set", "batch", "MALFORMED", batch([wide], 1, reserved=1))
    yield other("batch_short", "batch", "MALFORMED", two[:-1])
    yield other("batch_long", "batch", "MALFORMED", two + b"\0")
    yield other("batch_count_low", "batch", "MALFORMED", batch([wide, refer], 1, count=1))
    yield other("batch_count_high", "batch", "MALFORMED", batch([wide, refer], 1, count=3))
    yield other("batch_count_65535", "batch", "MALFORMED", batch([wide], 1, count=65535))

    own_key = KEYED + bytes(16)
    yield "# Proof frames"
    yield good("proof_latest", "proof", proof(0, 1, own_key, 1472))
    yield good("proof_transaction", "proof", proof(0, 2, TRANSACTION + KEYED, 1000))
    yield good("proof_locator", "proof", proof(0, 3, struct.pack(">QI20x", 77, 5), 500))
    yield good("proof_index", "proof", proof(0, 4, own_key, 49))
    yield good("proof_bitcoin_latest", "proof", proof(1, 1, HASHES[0], 1472))
    yield good("proof_bitcoin_transaction", "proof", proof(1, 2, HASHES[0], 1472))
    yield good("proof_without_room", "proof", proof(0, 1, own_key))
    yield own("proof_chain_2", "proof", "UNKNOWN_CHAIN", proof(2, 1, own_key))
    yield own("proof_query_0", "proof", "UNKNOWN_COMMAND", proof(0, 0, own_key))
    yield own("proof_query_5", "proof", "UNKNOWN_COMMAND", proof(0, 5, own_key))
    yield own("proof_bitcoin_index", "proof", "UNKNOWN_COMMAND", proof(1, 4, HASHES[0]))
    yield own("proof_status_set", "proof", "MALFORMED", proof(0, 1, own_key, status=64))
    yield own("proof_body_set", "proof", "MALFORMED", proof(0, 1, own_key, body=1))
    yield own("proof_key_long", "proof", "MALFORMED", proof(0, 1, KEYED + bytes(15) + b"\1"))
    yield own("proof_locator_long", "proof", "MALFORMED", proof(0, 3, struct.pack(">QII16x", 77, 5, 1)))
    yield own("proof_padding_set", "proof", "MALFORMED", proof(0, 1, own_key, 500) + b"\1")
    yield other("proof_short", "proof", "MALFORMED", proof(0, 1, own_key)[:47])

    yield "# Headers frames"
    yield good("headers_own", "headers", headers(0, 10, 11, 1472))
    yield good("headers_bitcoin", "headers", headers(1, 0, 17, 1472))
    yield good("headers_tip", "headers", headers(0, 0, 0))
    yield own("headers_chain_9", "headers", "UNKNOWN_CHAIN", headers(9, 0, 1, 200))
    yield own("headers_reserved_set", "headers", "MALFORMED", headers(0, 0, 1, reserved=1))
    yield own("headers_status_set", "headers", "MALFORMED", headers(0, 0, 1, status=1))
    yield own("headers_size_set", "headers", "MALFORMED", headers(0, 0, 1, size=128))
    yield own("headers_tip_set", "headers", "MALFORMED", headers(0, 0, 1, tip=1))
    yield own("headers_tip_hash_set", "headers", "MALFORMED", headers(0, 0, 1, tip_hash=HASHES[0]))
    yield own("headers_padding_set", "headers", "MALFORMED", headers(0, 0, 1, 127) + b"\1")
    yield other("headers_short", "headers", "MALFORMED", headers(0, 0, 1)[:63])

    yield "# Info frames"
    yield good("info", "info", info())
    yield own("info_set", "info", "MALFORMED", info(program=b"1"))
    yield own("info_status_set", "info", "MALFORMED", info(status=33))
    yield other("info_short", "info", "MALFORMED", info()[:127])
    yield other("info_long", "info", "MALFORMED", info() + b"\0")


def replies():
    """name, kind ("bad": to be refused), status, frame"""
    wide = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 42, contract=0xC0FFEE)
    failed = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 7, status=4)
    yield "# Compact transfer frames"
    yield "compact", "compact", "OK", compact(TRANSFER, 7, 1, 2, 950)
    yield "compact_saturated", "compact", "OK", compact(REFER, 7, 1, 0, 0xFFFFFFFF)
    for name, code in STATUS.items():
        yield f"compact_{name.lower()}", "compact", name, compact(TRANSFER, 7, 1, 2, 0, code)
    yield "compact_status_7", "bad", "-", compact(TRANSFER, 7, 1, 2, 0, 7)
    yield "compact_short", "bad", "-", compact(TRANSFER, 7, 1, 2, 0)[:21]

    full = header(FULL | REPLY) + signed(wide)[:80]
    yield "# Full transfer frames"
    yield "full", "full", "OK", full
    yield "full_insufficient_balance", "full", "INSUFFICIENT_BALANCE", header(FULL | REPLY) + signed(failed)[:80]
    yield "full_short", "bad", "-", full[:-1]
    yield "full_long", "bad", "-", full + b"\0"
    yield "full_status_999", "bad", "-", full[:10] + struct.pack(">H", 999) + full[12:]
    yield "full_request", "bad", "-", header(FULL) + signed(wide)

    blank = signed(wide, key=bytes(33), signature=bytes(64))
    two = batch([wide, failed], 1, promise=2, kind=BATCH | REPLY)
    yield "# Batch frames"
    yield "batch_compact", "batch", "OK", batch([compact(TRANSFER, 7, 1, 2, 950) + bytes(2)], 0, 1, kind=BATCH | REPLY)
    yield "batch_operation", "batch", "OK", two
    yield "batch_signed", "batch", "OK", batch([blank], 2, promise=2, kind=BATCH | REPLY)
    yield "batch_busy", "batch", "BUSY", batch([], 1, status=40, count=2, kind=BATCH | REPLY)
    yield "batch_short", "bad", "-", two[:-1]
    yield "batch_long", "bad", "-", two + b"\0"
    yield "batch_format_3", "bad", "-", batch([wide], 3, kind=BATCH | REPLY)

    transaction = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 42)
    fixed = struct.pack(">32sQ32sQIIBBHHH32s", HASHES[0], 90, HASHES[1], 77, 5, 3, 3, 0, 64, 0, 0, HASHES[2])
    body = fixed + b"".join(HASHES[3:6]) + transaction
    own = proof(0, 1, KEYED + bytes(16), body=len(body), kind=PROOF | REPLY) + body
    coinbase = bytes(range(100))
    fixed = struct.pack(">32sQ32sQIIBBHHH32s", HASHES[0], 90, HASHES[1], 77, 2, 1, 1, 0, 0, len(coinbase), 0, HASHES[2])
    body = fixed + HASHES[3] + HASHES[4] + coinbase
    bitcoin = proof(1, 2, HASHES[2], body=len(body), kind=PROOF | REPLY) + body
    yield "# Proof frames"
    yield "proof_own", "proof", "OK", own
    yield "proof_own_padded", "proof", "OK", own + bytes(100)
    yield "proof_bitcoin", "proof", "OK", bitcoin
    yield "proof_not_found", "proof", "NOT_FOUND", proof(0, 1, KEYED + bytes(16), status=64, kind=PROOF | REPLY)
    yield "proof_short", "bad", "-", own[:-1]
    yield "proof_cut_in_path", "bad", "-", own[:200]
    yield "proof_depth_255", "bad", "-", flip(own, 136, 255)
    yield "proof_body_wrong", "bad", "-", flip(own, 15, own[15] - 1) + bytes(64)
    yield "proof_length_wrong", "bad", "-", flip(bitcoin, 141, 101)

    entries = struct.pack(">16sQII", KEYED, 42, 77, 3) + struct.pack(">16sQII", OTHER, 0, 1, 0)
    body = struct.pack(">32sQQBB6x", HASHES[1], 90, 0, 2, 2) + HASHES[3] + HASHES[4] + entries
    index = proof(0, 4, KEYED + bytes(16), body=len(body), kind=PROOF | REPLY) + body
    yield "index", "index", "OK", index
    yield "index_short", "bad", "-", index[:-1]
    yield "index_entries_255", "bad", "-", flip(index, 97, 255)

    yield "# Headers frames"
    given = headers(0, 10, 2, size=128, tip=11, tip_hash=HASHES[0], kind=HEADERS | REPLY) + bytes(range(256))
    yield "headers_own", "headers", "OK", given
    yield "headers_bitcoin", "headers", "OK", headers(1, 5, 1, 144, size=80, tip=5, kind=HEADERS | REPLY)
    yield "headers_tip", "headers", "OK", headers(0, 0, 0, size=128, tip=11, tip_hash=HASHES[0], kind=HEADERS | REPLY)
    yield "headers_unknown_chain", "headers", "UNKNOWN_CHAIN", headers(9, 0, 0, status=67, kind=HEADERS | REPLY)
    yield "headers_short", "bad", "-", given[:-1]
    yield "headers_size_0", "bad", "-", headers(0, 5, 1, 192, kind=HEADERS | REPLY)

    yield "# Info frames"
    told = info(INFO | REPLY, 0, 2, 3, 65507, HASHES[0], 11, HASHES[1], 14131, 2_000_000, 123456789, b"0.1.0")
    yield "info", "info", "OK", told
    yield "info_malformed", "info", "MALFORMED", info(INFO | REPLY, status=33)
    yield "info_short", "bad", "-", told[:-1]
    yield "info_version_2", "bad", "-", flip(told, 2, 2)
    yield "info_request", "bad", "-", info()

    yield "# Error frames"
    yield "error_version", "error", "UNSUPPORTED_VERSION", error("UNSUPPORTED_VERSION")
    yield "error_too_large", "error", "REPLY_TOO_LARGE", error("REPLY_TOO_LARGE", detail=592)
    yield "error_short", "bad", "-", error("BUSY")[:-1]
    yield "error_status_7", "bad", "-", flip(error("BUSY"), 9, 7)
    yield "type_6", "bad", "-", error("BUSY", kind=0x86)
    yield "empty", "bad", "-", b""


class Ledger:
    """The four commands on compact frames, as plainly as can be said; every transaction id is used once."""

    def __init__(self):
        self.balance = {}

    def execute(self, command, source, destination, amount):
        held = self.balance.get(source)
        if command == CREATE:
            if held is not None:
                return "ACCOUNT_EXISTS", held
            self.balance[source] = 0
            return "OK", 0
        if held is None:
            return "SOURCE_UNKNOWN", 0
        if command == TRANSFER:
            if destination not in self.balance:
                return "DESTINATION_UNKNOWN", held
            if held < amount:
                return "INSUFFICIENT_BALANCE", held
            self.balance[destination] += amount
            self.balance[source] -= amount
        if command == ISSUE:
            self.balance[source] += amount
        return "OK", self.balance[source]


def conversation():
    """Requests to an empty ledger and their replies, in order."""
    ledger = Ledger()
    state = 1

    def random(bound):
        # Numerical Recipes' generator: any twin of this script can have it.
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 8) % bound

    script = [
        (REFER, 1, 0, 0), (ISSUE, 1, 0, 5), (TRANSFER, 1, 2, 5), (CREATE, 1, 0, 0), (CREATE, 1, 0, 0), (REFER, 1, 0, 0),
        (TRANSFER, 1, 2, 5), (ISSUE, 1, 0, 1000), (CREATE, 1, 0, 0), (TRANSFER, 1, 2, 5), (CREATE, 2, 0, 0),
        (TRANSFER, 1, 2, 1001), (TRANSFER, 1, 2, 1000), (REFER, 1, 0, 0), (TRANSFER, 2, 1, 1), (REFER, 2, 0, 0),
        (ISSUE, 2, 0, 0xFFFFFFFF), (REFER, 2, 0, 0), (TRANSFER, 2, 1, 0xFFFFFFFF), (REFER, 1, 0, 0),
    ]
    for _ in range(480):
        command = (CREATE, ISSUE, TRANSFER, TRANSFER, TRANSFER, TRANSFER, REFER, REFER)[random(8)]
        source = 16 + random(24)
        destination = 16 + random(24)
        if command == TRANSFER:
            destination += source == destination
        script.append((command, source, destination if command == TRANSFER else 0,
                       1 + random(100) if command in (ISSUE, TRANSFER) else 0))
    for transaction, (command, source, destination, amount) in enumerate(script, 1):
        status, value = ledger.execute(command, source, destination, amount)
        yield (compact(command, transaction, source, destination, amount),
               compact(command, transaction, source, destination, min(value, 0xFFFFFFFF), STATUS[status]))


def lines(title, columns, records):
    yield f"# {title}"
    yield "# Fields: " + ", ".join(columns) + ". Bytes are in hexadecimal, none are -. Made by vectors/generate.py."
    for record in records:
        if isinstance(record, str):
            yield ""
            yield record
        else:
            yield " ".join((field.hex() or "-") if isinstance(field, bytes) else field for field in record)


def files():
    yield "wire/requests.txt", lines(
        "Datagrams to a node: what a parser must make of them before the ledger is asked.",
        ("name", "kind", "status", "answer (of refused frames)", "frame"), requests())
    yield "wire/replies.txt", lines(
        "Datagrams to a client: what a parser must make of them.",
        ("name", "kind (bad: no reply)", "status", "frame"), replies())
    yield "wire/status.txt", lines(
        "Status codes.", ("name", "code (decimal)"), ((name, str(code)) for name, code in STATUS.items()))
    talk = list(conversation())
    for name, part in (("requests", 0), ("replies", 1)):
        yield f"ledger/compact_{name}.hex", [
            f"// {len(talk)} compact frames in order, from an empty ledger: {name}. Words of 176 bits for $readmemh.",
            "// Made by vectors/generate.py.", *(pair[part].hex() for pair in talk)]


def seeds(directory):
    for target, records, frame in (("wire_request", requests(), 4), ("wire_reply", replies(), 3)):
        path = Path(directory) / target
        path.mkdir(parents=True, exist_ok=True)
        for record in records:
            if not isinstance(record, str):
                (path / record[0]).write_bytes(record[frame])


def main():
    match sys.argv[1:]:
        case ["--seeds", directory]:
            return seeds(directory)
        case [] | ["--check"]:
            check = len(sys.argv) == 2
        case _:
            sys.exit(f"usage: {sys.argv[0]} [--check | --seeds DIR]")
    for name, content in files():
        path = HERE / name
        text = "\n".join(content) + "\n"
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what vectors/generate.py writes; run it and look at the difference")


if __name__ == "__main__":
    main()
