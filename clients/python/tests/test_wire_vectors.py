"""The golden vectors of frames: replies parse, and requests have the golden bytes."""

import struct
import uuid

import pytest

from turnpike import AssetPage, BatchFormat, Command, Operation, Promise, Status, _history, errors
from turnpike import _protocol as protocol
from turnpike._protocol import FrameType, Query
from turnpike._replies import answers, parse, transient_entry
from turnpike.errors import StatusError

from .golden import octets, records

KEYED, OTHER = 0x8F00112233445566778899AABBCCDDEE, 1 << 127 | 1
TRANSACTION = uuid.UUID("f0e0d0c0-b0a0-9080-7060-504030201000")
TIMED = uuid.UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
# Replies to frames that this client does not send.
OTHERS = ("compact", "full", "change", "feed", "verify")
ID = 0x01020304

REPLIES = {name: (kind, status, octets(frame)) for name, kind, status, frame in records("wire/replies.txt")}
REQUESTS = {name: octets(frame) for name, _, _, _, frame in records("wire/requests.txt")}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_parses_as_the_vector_says(name: str) -> None:
    kind, status, frame = REPLIES[name]
    reply = parse(frame)
    is_unknown = kind in (*OTHERS, "bad") or name in ("batch_compact", "proof_bitcoin", "headers_bitcoin")
    if is_unknown:
        assert reply is None
        return
    assert reply is not None
    assert reply.status is Status[status]
    assert reply.kind is (None if kind == "error" else FrameType.PROOF if kind == "index" else FrameType[kind.upper()])


def test_a_reply_may_not_end_early() -> None:
    for name in ("batch_operation", "proof_own", "index", "headers_own", "info", "finality"):
        frame = REPLIES[name][2]
        assert all(parse(frame[:length]) is None for length in range(len(frame))), name


def test_statuses_are_those_of_the_vectors() -> None:
    assert {name: int(code) for name, code in records("wire/status.txt")} == {s.name: s.value for s in Status}


def test_every_status_has_an_error_with_advice() -> None:
    for status in Status:
        if status is Status.OK:
            continue
        error = protocol.STATUS_ERRORS[status](value=100)
        assert isinstance(error, StatusError)
        assert error.status is status
        assert str(error).startswith(f"{status.name}: {status.advice}")


def wide(amount: int, transaction: uuid.UUID = TRANSACTION, command: Command = Command.TRANSFER) -> Operation:
    return Operation(command, KEYED, OTHER, amount, transaction, 0xC0FFEE)


def batch(form: BatchFormat, promise: Promise, *entries: bytes) -> bytes:
    fixed = protocol.BatchHeader(kind=FrameType.BATCH, id=ID, count=len(entries), format=form, promise=promise)
    return fixed.pack() + b"".join(entries)


def test_requests_have_the_golden_bytes() -> None:
    golden = REQUESTS["batch_operation"]
    entries = [golden[at : at + 64] for at in range(16, len(golden), 64)]
    assert batch(BatchFormat.OPERATION, Promise(golden[11]), *(Operation.unpack(e).pack() for e in entries)) == golden
    index = protocol.ProofRequest(kind=FrameType.PROOF, id=ID, query=Query.INDEX, key=octets(f"{KEYED:032x}"))
    assert index.pack() == REQUESTS["proof_index"][:48]
    locator = REQUESTS["proof_locator"]
    key = (77).to_bytes(8, "big") + (5).to_bytes(4, "big")
    assert protocol.ProofRequest(kind=FrameType.PROOF, id=ID, query=Query.LOCATOR, key=key).pack() == locator[:48]
    assert protocol.InfoFrame(kind=FrameType.INFO, id=ID).pack() == REQUESTS["info"]
    assert protocol.FinalityFrame(kind=FrameType.FINALITY, id=ID).pack() == REQUESTS["finality"]
    assert protocol.HeadersFrame(kind=FrameType.HEADERS, id=ID).pack() == REQUESTS["headers_tip"]


def test_the_flag_of_a_time_follows_the_form_of_the_id() -> None:
    timed, other = REQUESTS["full_timed"][8:72], REQUESTS["full_transfer"][8:72]
    assert (timed[0], other[0]) == (1, 0)
    assert Operation.unpack(timed).pack() == timed
    assert Operation.unpack(other).pack() == other


def test_generated_layouts_have_the_protocol_s_lengths() -> None:
    assert (protocol.OPERATION.size, protocol.SIGNED_OPERATION.size, protocol.INFO_FRAME.size) == (64, 184, 128)
    assert (protocol.PROOF_REPLY.size, protocol.INDEX_REPLY.size, protocol.FINALITY_FRAME.size) == (176, 104, 72)


def test_a_reply_answers_only_its_request() -> None:
    entry = wide(1).pack()
    request = batch(BatchFormat.OPERATION, Promise.DURABLE, entry, entry)
    frame = bytearray(request)
    frame[3] |= protocol.REPLY_BIT

    def answers_with(at: int) -> bool:
        other = bytearray(frame)
        other[at] ^= 1
        reply = parse(bytes(other))
        return reply is not None and answers(request, reply)

    values = {16 + offset + at for offset in (0, 64) for at in (*range(8), *range(40, 64))}
    header = {4, 5, 6, 7, 11, 13, 14, 15}
    assert {at for at in range(len(frame)) if answers_with(at)} <= values | header
    assert all(answers_with(at) for at in values)


def test_a_transient_entry_is_found_among_many() -> None:
    for status in (Status.BUSY, Status.RATE_LIMITED, Status.NOT_FINAL, Status.INSUFFICIENT_BALANCE):
        entries = [protocol.Operation(status=status if at == 77 else 0).pack() for at in range(100)]
        found = transient_entry(batch(BatchFormat.OPERATION, Promise.DURABLE, *entries))
        assert found is (None if status is Status.INSUFFICIENT_BALANCE else status)


def test_pages_with_which_a_client_would_not_end_are_refused() -> None:
    _, _, frame = REPLIES["history"]
    assert [past.height for past in _history.unpack_history(frame, None).transactions] == [7, 6]
    assert _history.unpack_history(frame, (7, 4)).next == (6, 1)
    for cursor in ((7, 3), (7, 2), (6, 1), (0, 0)):
        with pytest.raises(errors.WrongReply):
            _history.unpack_history(frame, cursor)
    for following in ((6, 2), (7, 4), (2**32 - 1, 0)):
        with pytest.raises(errors.WrongReply):
            _history.unpack_history(frame[:48] + struct.pack(">II", *following) + frame[56:], None)
    # An unknown command.
    with pytest.raises(errors.WrongReply):
        _history.unpack_history(frame[:113] + b"\xc8" + frame[114:], None)
    _, _, frame = REPLIES["assets"]
    assert _history.unpack_assets(frame) == AssetPage(9, {0: 10**30, 840: 1}, 841)
    for first, end in ((1, 841), (0, 840), (841, 841), (0, 1)):
        with pytest.raises(errors.WrongReply):
            _history.unpack_assets(frame[:12] + struct.pack(">II", first, end) + frame[20:])
