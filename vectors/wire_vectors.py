"""Datagrams and what a parser must make of them."""

import struct

from frames import *  # The layouts are this module's language.


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
    yield other("type_12", "none", "UNKNOWN_COMMAND", flip(info(), 3, 12))
    yield silent("type_info_reply", "none", info(INFO | REPLY))
    yield silent("type_batch_reply", "none", batch([operation(REFER, TRANSACTION, KEYED)], 1, kind=BATCH | REPLY))
    yield silent("type_error", "none", error("BUSY"))
    yield silent("type_reply_of_other_version", "none", flip(info(INFO | REPLY), 2, 2))

    wide = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 2**64 - 1, contract=0xC0FFEE)
    full = header(FULL) + signed(wide)
    yield "# Full transfer frames"
    yield good("full_transfer", "full", full)
    timed = operation(CREATE, TIMED, KEYED, flags=1)
    yield good("full_timed", "full", header(FULL) + signed(timed, promise=2))
    yield own("full_timed_id_of_another_form", "full", "MALFORMED",
              header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED, flags=1)))
    yield own("full_flag_2", "full", "MALFORMED", header(FULL) + signed(operation(CREATE, TIMED, KEYED, flags=2)))
    yield good("full_create", "full", header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED), promise=0))
    yield good("full_create_for_deposit", "full", header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED, OTHER, 100)))
    yield good("full_issue", "full", header(FULL) + signed(operation(ISSUE, TRANSACTION, KEYED, amount=1), promise=3))
    yield good("full_refer", "full", header(FULL) + signed(operation(REFER, TRANSACTION, KEYED), promise=1))
    yield other("full_short", "full", "MALFORMED", full[:-1])
    yield other("full_long", "full", "MALFORMED", full + b"\0")
    yield own("full_command_13", "full", "UNKNOWN_COMMAND", flip(full, 9, 13))
    yield own("full_status_set", "full", "MALFORMED", flip(full, 11, 1))
    yield own("full_promise_4", "full", "MALFORMED", flip(full, 84, 4))
    yield own("full_reserved_set", "full", "MALFORMED", flip(full, 87, 1))
    yield own("full_reserved_key_set", "full", "MALFORMED", flip(full, 121, 1))
    yield own("full_transfer_zero", "full", "ZERO_AMOUNT",
              header(FULL) + signed(operation(TRANSFER, TRANSACTION, KEYED, OTHER)))
    yield own("full_transfer_self", "full", "SELF_TRANSFER",
              header(FULL) + signed(operation(TRANSFER, TRANSACTION, KEYED, KEYED, 1)))
    yield own("full_create_for_nothing", "full", "ZERO_AMOUNT",
              header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED, OTHER)))
    yield own("full_create_for_itself", "full", "SELF_TRANSFER",
              header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED, KEYED, 1)))
    yield own("full_create_without_payer", "full", "MALFORMED",
              header(FULL) + signed(operation(CREATE, TRANSACTION, KEYED, amount=1)))

    refer = operation(REFER, TRANSACTION, account(5))
    entry = compact(TRANSFER, 7, 1, 2, 50) + bytes(2)
    two = batch([wide, refer], 1, promise=2)
    yield "# Batch frames; their entries are checked one by one later"
    yield good("batch_compact", "batch", batch([entry, compact(REFER, 8, 2) + bytes(2)], 0))
    yield good("batch_operation", "batch", two)
    yield good("batch_signed", "batch", batch([signed(wide)], 2, promise=1))
    yield good("batch_bad_entries", "batch", batch([operation(13, TRANSACTION, KEYED), bytes(64)], 1))
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
    yield own("headers_size_set", "headers", "MALFORMED", headers(0, 0, 1, size=192))
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

    yield "# Finality frames"
    yield good("finality", "finality", finality())
    yield good("finality_with_room", "finality", finality(length=1472))
    yield good("finality_of_a_generation", "finality", finality(length=1472, generation=0x01020304))
    yield own("finality_status_set", "finality", "MALFORMED", finality(status=1))
    yield own("finality_size_set", "finality", "MALFORMED", finality(size=328))
    yield own("finality_replicas_set", "finality", "MALFORMED", finality(replicas=4))
    yield own("finality_reserved_set", "finality", "MALFORMED", finality(reserved=1))
    yield own("finality_view_set", "finality", "MALFORMED", finality(view=1))
    yield own("finality_hash_set", "finality", "MALFORMED", finality(tip_hash=HASHES[0]))
    yield own("finality_generations_set", "finality", "MALFORMED", finality(generation=3, generations=5))
    yield own("finality_padding_set", "finality", "MALFORMED", finality(length=127) + b"\1")
    yield other("finality_short", "finality", "MALFORMED", finality()[:71])

    yield "# Member change frames; the approval is for replicas to look at"
    yield good("change", "change", change())
    yield good("change_of_nothing", "change", change(approval=bytes(184)))
    yield own("change_status_set", "change", "MALFORMED", change(status=44))
    yield own("change_reserved_set", "change", "MALFORMED", change(reserved=bytes(5) + b"\1"))
    yield other("change_short", "change", "MALFORMED", change()[:199])
    yield other("change_long", "change", "MALFORMED", change() + b"\0")

    yield "# Feed frames"
    yield good("feed", "feed", feed())
    yield good("feed_from_a_cursor", "feed", feed(promise=3, cursor=0x0102030405060708))
    yield good("feed_of_account", "feed", feed(promise=2, flags=1, cursor=9, account=KEYED))
    yield good("feed_of_account_0", "feed", feed(flags=1))
    yield good("feed_with_tails", "feed", feed(flags=2))
    yield good("feed_of_account_with_tails", "feed", feed(flags=3, account=KEYED))
    yield own("feed_cursor_0", "feed", "MALFORMED", feed(cursor=0))
    yield own("feed_promise_4", "feed", "MALFORMED", feed(promise=4))
    yield own("feed_flag_2_set", "feed", "MALFORMED", feed(flags=5, account=KEYED))
    yield own("feed_account_without_flag", "feed", "MALFORMED", feed(account=KEYED))
    yield own("feed_status_set", "feed", "MALFORMED", feed(status=68))
    yield own("feed_count_set", "feed", "MALFORMED", feed(count=1))
    yield own("feed_signed_set", "feed", "MALFORMED", feed(signed=1))
    yield own("feed_timestamp_set", "feed", "MALFORMED", feed(timestamp=1))
    yield own("feed_durable_set", "feed", "MALFORMED", feed(durable=1))
    yield own("feed_finalized_set", "feed", "MALFORMED", feed(finalized=1))
    yield own("feed_first_set", "feed", "MALFORMED", feed(first=1))
    yield other("feed_short", "feed", "MALFORMED", feed()[:71])
    yield other("feed_long", "feed", "MALFORMED", feed() + b"\0")

    yield "# History frames"
    yield good("history", "history", history())
    yield good("history_with_room", "history", history(length=1472))
    yield good("history_of_account_0", "history", history(account=bytes(16)))
    yield good("history_of_open_holds", "history", history(flags=1, role=1, count=17, length=1472))
    yield good("history_selected", "history", history(
        role=2, flags=2, commands=0x1fee, first_height=1, end_height=0xffffffff, first_time=2, end_time=2**64 - 1,
        cursor=(3, 4), counterpart=OTHER, count=0xffff))
    yield good("history_at_cursor_0", "history", history(flags=2))
    yield own("history_count_0", "history", "MALFORMED", history(count=0))
    yield own("history_role_3", "history", "MALFORMED", history(role=3))
    yield own("history_flag_2_set", "history", "MALFORMED", history(flags=4))
    yield own("history_command_0", "history", "MALFORMED", history(commands=1))
    yield own("history_of_refer", "history", "MALFORMED", history(commands=1 << REFER))
    yield own("history_command_13", "history", "MALFORMED", history(commands=1 << 13))
    yield own("history_cursor_without_flag", "history", "MALFORMED", history(cursor=(0, 1)))
    yield own("history_status_set", "history", "MALFORMED", history(status=64))
    yield own("history_reserved_set", "history", "MALFORMED", history(reserved=1))
    yield own("history_first_retained_set", "history", "MALFORMED", history(first_retained=1))
    yield own("history_tip_set", "history", "MALFORMED", history(tip=1))
    yield own("history_padding_set", "history", "MALFORMED", flip(history(length=200), 199, 1))
    yield other("history_short", "history", "MALFORMED", history()[:95])

    yield "# Assets frames"
    yield good("assets", "assets", assets())
    yield good("assets_from_a_code", "assets", assets(first=0x01020304, count=0x0506, length=1472))
    yield own("assets_count_0", "assets", "MALFORMED", assets(count=0))
    yield own("assets_status_set", "assets", "MALFORMED", assets(status=1))
    yield own("assets_next_set", "assets", "MALFORMED", assets(following=1))
    yield own("assets_reserved_set", "assets", "MALFORMED", assets(reserved=1))
    yield own("assets_tip_set", "assets", "MALFORMED", assets(tip=1))
    yield own("assets_padding_set", "assets", "MALFORMED", flip(assets(length=33), 32, 1))
    yield other("assets_short", "assets", "MALFORMED", assets()[:31])

    header_200_9 = equihash(200, 9, 1344)
    all_four = [header_200_9, ecdsa(), schnorr(), merkle(3)]
    yield "# Verify frames"
    yield good("verify_equihash", "verify", verify([header_200_9]))
    yield good("verify_equihash_small", "verify", verify([equihash(48, 5, 36, flags=1), equihash(96, 5, 68)]))
    yield good("verify_ecdsa", "verify", verify([ecdsa(), ecdsa(b"\x04" + bytes(range(64)), flags=1)]))
    yield good("verify_schnorr", "verify", verify([schnorr()]))
    yield good("verify_merkle", "verify", verify([merkle(1), merkle(5)]))
    yield good("verify_all", "verify", verify(all_four))
    yield good("verify_bls", "verify", verify([bls(0), bls(32)]))
    yield good("verify_groth16", "verify", verify([groth16(1, 7), groth16(3, 0), groth16(2, 16)]))
    yield good("verify_pairing", "verify", verify([pairing(1), pairing(16)]))
    yield good("verify_delay", "verify", verify([delay(128, 1), delay(512, 2**48)]))
    yield own("verify_nothing", "verify", "MALFORMED", verify([]))
    yield own("verify_count_low", "verify", "MALFORMED", verify(all_four, 3))
    yield own("verify_count_high", "verify", "MALFORMED", verify(all_four, 5))
    yield own("verify_status_set", "verify", "MALFORMED", verify([schnorr()], status=1))
    yield own("verify_reserved_set", "verify", "MALFORMED", verify([schnorr()], reserved=1))
    yield own("verify_reserved_end_set", "verify", "MALFORMED", verify([schnorr()], reserved_end=1))
    yield own("verify_command_0", "verify", "UNKNOWN_COMMAND", verify([message(0, bytes(128))]))
    yield own("verify_command_reply", "verify", "UNKNOWN_COMMAND", verify([message(0x80000102, bytes(128))]))
    yield own("verify_second_unknown", "verify", "UNKNOWN_COMMAND", verify([schnorr(), message(0x1FF, bytes(9))]))
    for length in (0, 15, 16, 143, 145, 0xFFFFFFFF):
        yield own(f"verify_schnorr_length_{length}", "verify", "MALFORMED",
                  verify([message(SCHNORR, bytes(128), length=length)]))
    yield own("verify_schnorr_cut", "verify", "MALFORMED", verify([schnorr()])[:-1])
    yield own("verify_message_cut", "verify", "MALFORMED", verify([schnorr()])[:31])
    yield own("verify_header_alone", "verify", "MALFORMED", verify([schnorr()])[:16])
    yield own("verify_equihash_200_8", "verify", "MALFORMED", verify([equihash(200, 8, 1344)]))
    yield own("verify_equihash_flag_2", "verify", "MALFORMED", verify([equihash(200, 9, 1344, flags=2)]))
    yield own("verify_equihash_reserved", "verify", "MALFORMED", verify([equihash(200, 9, 1344, reserved=1)]))
    yield own("verify_equihash_long", "verify", "MALFORMED", verify([equihash(200, 9, 1345)]))
    yield own("verify_equihash_no_header", "verify", "MALFORMED", verify([message(EQUIHASH, bytes([0, 200, 9]) + bytes(13))]))
    yield own("verify_ecdsa_flag_2", "verify", "MALFORMED", verify([ecdsa(flags=2)]))
    yield own("verify_ecdsa_key_34", "verify", "MALFORMED", verify([ecdsa(length=34)]))
    yield own("verify_ecdsa_behind_key", "verify", "MALFORMED", verify([ecdsa(KEY + b"\1", length=33)]))
    yield own("verify_ecdsa_reserved", "verify", "MALFORMED", verify([ecdsa(reserved=1)]))
    yield own("verify_ecdsa_reserved_end", "verify", "MALFORMED", verify([ecdsa(end=b"\1")]))
    yield own("verify_merkle_no_leaves", "verify", "MALFORMED", verify([merkle(0)]))
    yield own("verify_merkle_half_a_leaf", "verify", "MALFORMED", verify([message(MERKLE_ROOT, bytes(80))]))
    yield own("verify_bls_short", "verify", "MALFORMED", verify([message(BLS, bytes(143))]))
    for key in (0, 4):
        yield own(f"verify_groth16_key_{key}", "verify", "MALFORMED", verify([groth16(key, 1)]))
    yield own("verify_groth16_reserved", "verify", "MALFORMED", verify([groth16(1, 7, reserved=1)]))
    yield own("verify_groth16_inputs_17", "verify", "MALFORMED", verify([groth16(1, 17)]))
    yield own("verify_groth16_half_an_input", "verify", "MALFORMED", verify([message(GROTH16, b"\1" + bytes(199 + 16))]))
    for pairs in (0, 17):
        yield own(f"verify_pairing_{pairs}", "verify", "MALFORMED", verify([pairing(pairs)]))
    yield own("verify_pairing_half_a_pair", "verify", "MALFORMED", verify([message(PAIRING, bytes(384 + 192))]))
    for length in (0, 127, 513):
        yield own(f"verify_delay_modulus_{length}", "verify", "MALFORMED", verify([delay(length, 1)]))
    for squarings in (0, 2**48 + 1):
        yield own(f"verify_delay_squarings_{squarings}", "verify", "MALFORMED", verify([delay(128, squarings)]))
    yield own("verify_delay_magic", "verify", "MALFORMED", verify([delay(128, 1, magic=b"TPDELAY2")]))
    for length in (9, 10 + 256 + 7):
        cut = delay(128, 1)[16:16 + length]
        yield own(f"verify_delay_cut_{length}", "verify", "MALFORMED", verify([message(DELAY, cut)]))


def replies():
    """name, kind ("bad": to be refused), status, frame"""
    wide = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 42, contract=0xC0FFEE)
    failed = operation(TRANSFER, TRANSACTION, KEYED, OTHER, 7, status=4)
    yield "# Compact transfer frames"
    yield "compact", "compact", "OK", compact(TRANSFER, 7, 1, 2, 950)
    yield "compact_saturated", "compact", "OK", compact(REFER, 7, 1, 0, 0xFFFFFFFF)
    for name, code in STATUS.items():
        yield f"compact_{name.lower()}", "compact", name, compact(TRANSFER, 7, 1, 2, 0, code)
    yield "compact_status_12", "bad", "-", compact(TRANSFER, 7, 1, 2, 0, 12)
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
    given = headers(0, 10, 2, size=192, tip=11, tip_hash=HASHES[0], kind=HEADERS | REPLY) + bytes(range(192)) * 2
    yield "headers_own", "headers", "OK", given
    yield "headers_bitcoin", "headers", "OK", headers(1, 5, 1, 144, size=80, tip=5, kind=HEADERS | REPLY)
    yield "headers_tip", "headers", "OK", headers(0, 0, 0, size=192, tip=11, tip_hash=HASHES[0], kind=HEADERS | REPLY)
    yield "headers_unknown_chain", "headers", "UNKNOWN_CHAIN", headers(9, 0, 0, status=67, kind=HEADERS | REPLY)
    yield "headers_short", "bad", "-", given[:-1]
    yield "headers_size_0", "bad", "-", headers(0, 5, 1, 192, kind=HEADERS | REPLY)

    yield "# Info frames"
    told = info(INFO | REPLY, 0, 2, 3, 65507, HASHES[0], 11, HASHES[1], 14131, 2_000_000, 123456789, b"0.1.0", 10_000)
    yield "info", "info", "OK", told
    yield "info_malformed", "info", "MALFORMED", info(INFO | REPLY, status=33)
    yield "info_short", "bad", "-", told[:-1]
    yield "info_version_2", "bad", "-", flip(told, 2, 2)
    yield "info_request", "bad", "-", info()

    told = finality(FINALITY | REPLY, 72, 0, 328, 4, 2, 3, 0, 77, 41, HASHES[0], 2, 5) + bytes(range(256)) + bytes(200)
    yield "# Finality frames"
    yield "finality", "finality", "OK", told
    yield "finality_without_certificate", "finality", "OK", finality(FINALITY | REPLY, replicas=1, view=1) + bytes(32)
    yield "finality_not_found", "finality", "NOT_FOUND", finality(FINALITY | REPLY, status=64, generation=9)
    yield "finality_short", "bad", "-", told[:-1]

    told = change(CHANGE | REPLY)
    yield "# Member change frames"
    yield "change", "change", "OK", told
    yield "change_stale", "change", "STALE_GENERATION", change(CHANGE | REPLY, status=44)
    yield "change_short", "bad", "-", told[:-1]
    yield "change_long", "bad", "-", told + b"\0"
    yield "change_status_999", "bad", "-", change(CHANGE | REPLY, status=999)

    done = [feed_entry(41, wide, 42), feed_entry(42, failed, 7)]
    told = feed(FEED | REPLY, promise=2, count=2, cursor=43, timestamp=1_700_000_000_000_000, durable=50, first=11) + b"".join(done)
    yield "# Feed frames"
    yield "feed", "feed", "OK", told
    tails = feed_tail(42, bytes(range(120)))
    tailed = feed(FEED | REPLY, promise=2, flags=2, count=2, signed=1, cursor=43, first=11) + b"".join(done) + tails
    yield "feed_with_tails", "feed", "OK", tailed
    yield "feed_tail_short", "bad", "-", tailed[:-1]
    yield "feed_tail_missing", "bad", "-", tailed[:-128]
    yield "feed_heartbeat", "feed", "OK", feed(FEED | REPLY, promise=3, cursor=51, durable=50, finalized=50, first=11)
    yield "feed_pruned", "feed", "PRUNED", feed(FEED | REPLY, status=68, flags=1, cursor=9, account=KEYED, first=11)
    yield "feed_short", "bad", "-", told[:-1]
    yield "feed_long", "bad", "-", told + b"\0"
    yield "feed_too_few", "bad", "-", told[:-80]
    yield "feed_pruned_with_entries", "bad", "-", flip(told, 9, 68)
    yield "feed_promise_4", "bad", "-", flip(told, 10, 4)
    yield "feed_status_999", "bad", "-", feed(FEED | REPLY, status=999)

    told = history(HISTORY | REPLY, count=2, flags=2, first_retained=5, cursor=(6, 1), tip=9) + b"".join(
        [history_entry(7, 3, 1_700_000_000_000_001, wide), history_entry(6, 1, 1_700_000_000_000_000, wide)])
    yield "# History frames"
    yield "history", "history", "OK", told
    yield "history_empty", "history", "OK", history(HISTORY | REPLY, count=0, flags=4, first_retained=5, tip=9)
    yield "history_not_found", "history", "NOT_FOUND", history(HISTORY | REPLY, status=64, count=0)
    yield "history_short", "bad", "-", told[:-1]
    yield "history_long", "bad", "-", told + b"\0"
    yield "history_too_few", "bad", "-", told[:-80]
    yield "history_refused_with_entries", "bad", "-", flip(told, 9, 64)
    yield "history_status_999", "bad", "-", history(HISTORY | REPLY, count=0, status=999)

    told = assets(ASSETS | REPLY, count=2, following=841, tip=9) + asset_total(0, 10**30) + asset_total(840, 1)
    yield "# Assets frames"
    yield "assets", "assets", "OK", told
    yield "assets_of_none", "assets", "OK", assets(ASSETS | REPLY, count=0, first=2**32 - 1, tip=9)
    yield "assets_diverged", "assets", "DIVERGED", assets(ASSETS | REPLY, count=0, status=47)
    yield "assets_short", "bad", "-", told[:-1]
    yield "assets_long", "bad", "-", told + b"\0"
    yield "assets_too_few", "bad", "-", told[:-24]
    yield "assets_refused_with_entries", "bad", "-", flip(told, 9, 47)
    yield "assets_status_999", "bad", "-", assets(ASSETS | REPLY, count=0, status=999)

    results = [result(EQUIHASH, 0, 60_000), result(ECDSA, 1 << 20, 20_000)]
    two = verify(results, kind=VERIFY | REPLY)
    yield "# Verify frames"
    yield "verify", "verify", "OK", two
    yield "verify_malformed", "verify", "MALFORMED", verify([], 2, status=33, kind=VERIFY | REPLY)
    yield "verify_short", "bad", "-", two[:-1]
    yield "verify_long", "bad", "-", two + b"\0"
    yield "verify_too_few", "bad", "-", verify(results, 3, kind=VERIFY | REPLY)
    yield "verify_refused_with_results", "bad", "-", verify(results, status=40, kind=VERIFY | REPLY)
    yield "verify_request", "bad", "-", verify([schnorr()])

    yield "# Error frames"
    yield "error_version", "error", "UNSUPPORTED_VERSION", error("UNSUPPORTED_VERSION")
    yield "error_too_large", "error", "REPLY_TOO_LARGE", error("REPLY_TOO_LARGE", detail=592)
    yield "error_short", "bad", "-", error("BUSY")[:-1]
    yield "error_status_12", "bad", "-", flip(error("BUSY"), 9, 12)
    yield "type_7", "bad", "-", error("BUSY", kind=0x87)
    yield "type_9", "bad", "-", error("BUSY", kind=0x89)
    yield "empty", "bad", "-", b""
