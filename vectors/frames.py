"""The frames of docs/protocol.md, described a second time."""

import struct

from protocol import *  # noqa: F403: the names that the vectors are written with

ERROR, REPLY = ERROR_TYPE, REPLY_BIT
ID = 0x01020304


def account(number):
    return number.to_bytes(16, "big")


KEYED = bytes.fromhex("8f00112233445566778899aabbccddee")
OTHER = bytes.fromhex("80000000000000000000000000000001")
TRANSACTION = bytes.fromhex("f0e0d0c0b0a090807060504030201000")
# The UUIDv7 of RFC 9562, appendix A.6.
TIMED = bytes.fromhex("017f22e279b07cc398c4dc0c0c07398f")
HASHES = [bytes([n]) * 32 for n in range(1, 32)]
KEY = b"\x02" + bytes(range(32))
SIGNATURE = bytes(range(64))


def compact(command, transaction, source, destination=0, amount=0, status=0):
    return struct.pack(">IIIIIH", command, transaction, source, destination, amount, status)


def header(kind, identity=ID, version=VERSION):
    return struct.pack(">HBBI", MAGIC, version, kind, identity)


def operation(command, transaction, source, destination=bytes(16), amount=0, status=0, contract=0, flags=0):
    return struct.pack(">BBHI16s16s16sQ", flags, command, status, contract, transaction, source, destination, amount)


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
         bitcoin=0, accounts=0, sequence=0, program=b"", retry=0):
    return header(kind) + struct.pack(">HBBI32sQ32sQQQ12sI", status, promise, flags, datagram, network, tip, tip_hash,
                                      bitcoin, accounts, sequence, program, retry)


def finality(kind=FINALITY, length=72, status=0, size=0, replicas=0, replica=0, leader=0, reserved=0, view=0, height=0,
             tip_hash=bytes(32), generation=0, generations=0):
    fixed = struct.pack(">HHBBBBQQ32sII", status, size, replicas, replica, leader, reserved, view, height, tip_hash,
                        generation, generations)
    return (header(kind) + fixed).ljust(length, b"\0")


def change(kind=CHANGE, status=0, reserved=bytes(6), approval=bytes(range(184))):
    return header(kind) + struct.pack(">H", status) + reserved + approval


def feed(kind=FEED, status=0, promise=0, flags=0, count=0, signed=0, cursor=1, account=bytes(16), timestamp=0, durable=0,
         finalized=0, first=0):
    return header(kind) + struct.pack(">HBBHHQ16sQQQQ", status, promise, flags, count, signed, cursor, account, timestamp,
                                      durable, finalized, first)


def feed_entry(sequence, done, value):
    return struct.pack(">Q64sQ", sequence, done, value)


def feed_tail(sequence, tail):
    return struct.pack(">Q120s", sequence, tail)


def history(kind=HISTORY, length=96, status=0, count=1, role=0, flags=0, reserved=0, commands=0, first_height=0,
            end_height=0, first_retained=0, first_time=0, end_time=0, cursor=(0, 0), tip=0, account=KEYED,
            counterpart=bytes(16)):
    fixed = struct.pack(">HHBBHIIIIQQIIQ16s16s", status, count, role, flags, reserved, commands, first_height, end_height,
                        first_retained, first_time, end_time, *cursor, tip, account, counterpart)
    return (header(kind) + fixed).ljust(length, b"\0")


def history_entry(height, position, time, done):
    return struct.pack(">IIQ64s", height, position, time, done)


def assets(kind=ASSETS, length=32, status=0, count=1, first=0, following=0, reserved=0, tip=0):
    return (header(kind) + struct.pack(">HHIIIQ", status, count, first, following, reserved, tip)).ljust(length, b"\0")


def asset_total(asset, issued):
    return struct.pack(">II", asset, 0) + issued.to_bytes(16, "big")


def verify(messages, count=None, status=0, reserved=0, reserved_end=0, kind=VERIFY):
    count = len(messages) if count is None else count
    return header(kind) + struct.pack(">HHHH", count, reserved, status, reserved_end) + b"".join(messages)


def message(command, body, index=0x0A0B0C0D0E0F1011, length=None):
    return struct.pack(">IIQ", command, 16 + len(body) if length is None else length, index) + body


def equihash(n, k, solution, flags=0, reserved=0, personalisation=b"ZcashPoW"):
    size = bytes([solution]) if solution < 253 else b"\xfd" + struct.pack("<H", solution)
    head = bytes(range(140)) + size + bytes(index % 256 for index in range(solution))
    return message(EQUIHASH, struct.pack(">HBBI8s", n, k, flags, reserved, personalisation) + head)


def ecdsa(key=KEY, flags=0, length=None, reserved=0, end=b""):
    length = len(key) if length is None else length
    fixed = struct.pack(">BBH32s64s", flags, length, reserved, HASHES[0], SIGNATURE)
    return message(ECDSA, fixed + key.ljust(65, b"\0") + end.rjust(3, b"\0"))


def schnorr():
    return message(SCHNORR, HASHES[0] + KEY[1:] + SIGNATURE)


def merkle(leaves):
    return message(MERKLE_ROOT, HASHES[0] + b"".join(HASHES[1:1 + leaves]))


def bls(length):
    return message(BLS, bytes(48) + bytes(range(96)) + bytes(range(length)))


def groth16(key, inputs, reserved=0):
    return message(GROTH16, bytes([key, reserved]) + bytes(6) + bytes(range(192)) + b"".join(HASHES[:1] * inputs))


def pairing(pairs):
    return message(PAIRING, bytes(384 * pairs))


def delay(length, squarings, magic=b"TPDELAY1"):
    two = 2 * bytes(index % 256 for index in range(length))
    return message(DELAY, magic + struct.pack(">H", length) + two + struct.pack(">Q", squarings) + two)


def result(command, mask, cycles, index=0x0A0B0C0D0E0F1011):
    return struct.pack(">IIQQQ", command | 0x80000000, 32, index, mask, cycles)


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
    if kind == VERIFY:
        return frame[:12] + code + frame[14:16]
    if kind == HEADERS:
        return frame[:10] + code + bytes(2) + frame[14:64]
    if kind == FINALITY:
        return frame[:8] + code + bytes(54) + frame[64:68] + bytes(4)
    if kind == CHANGE:
        return frame[:8] + code + bytes(6) + frame[16:200]
    if kind == FEED:
        return frame[:8] + code + b"\0" + frame[11:12] + bytes(4) + frame[16:40] + bytes(32)
    if kind == HISTORY:
        return frame[:8] + code + bytes(2) + frame[12:14] + bytes(2) + frame[16:28] + bytes(4) + frame[32:56] + bytes(8) + frame[64:96]
    if kind == ASSETS:
        return frame[:8] + code + bytes(2) + frame[12:16] + bytes(16)
    return frame[:8] + code + frame[10:128]
