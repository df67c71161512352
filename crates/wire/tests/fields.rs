//! Fields of parsed frames.
#![allow(clippy::unwrap_used)]

use turnpike_wire::*;
use zerocopy::{FromZeros, IntoBytes};

const ID: u32 = 0x0102_0304;

fn account(id: u32) -> AccountId {
    AccountId::from(id)
}

fn transfer() -> Operation {
    Operation::transfer(TransactionId::from(5_u32), account(1), account(2), 8)
}

#[test]
fn a_reply_has_the_type_of_its_request_and_the_highest_bit() {
    let types = [
        (FrameType::Full, 0x81),
        (FrameType::Batch, 0x82),
        (FrameType::Proof, 0x83),
        (FrameType::Headers, 0x84),
        (FrameType::Info, 0x85),
        (FrameType::Verify, 0x86),
        (FrameType::Finality, 0x87),
        (FrameType::Change, 0x88),
        (FrameType::Feed, 0x89),
        (FrameType::History, 0x8a),
        (FrameType::Assets, 0x8b),
    ];
    for (kind, reply) in types {
        assert_eq!(kind.reply(), reply);
        let mut header = FrameHeader::new(kind, ID);
        for _ in 0..2 {
            header.set_reply();
            assert_eq!((header.kind, header.id.get()), (reply, ID), "once is as good as twice");
        }
    }
}

#[test]
fn the_ledger_executes_all_but_refer() {
    for &command in Command::ALL {
        let is_executed = command != Command::Refer;
        assert_eq!(command.is_executed(), is_executed);
        let operation = Operation { command: command as u8, ..transfer() };
        assert_eq!(operation.is_executed(), is_executed);
    }
    assert!(!Operation { command: 0, ..transfer() }.is_executed());
}

#[test]
fn the_end_of_a_hold_repeats_its_name() {
    let (id, a, b) = (TransactionId::timed(7, 8), account(1), account(2));
    let hold = Operation::hold(id, a, b, 50, 90).timed();
    assert_eq!((hold.check(), hold.expiry(), hold.is_of_hold(), hold.ends_hold()), (Status::Ok, Some(90), true, false));
    assert_eq!((hold.signer(), hold.name()), (a, (a, id, false)));
    assert_eq!(Operation::hold(id, a, b, 50, 0).expiry(), None);
    assert_eq!(Operation { contract: 90.into(), ..transfer() }.expiry(), None);
    for (end, amount, signer) in
        [(Operation::capture(&hold, 20), 20, b), (Operation::release(&hold), 0, b), (Operation::reclaim(&hold), 0, a)]
    {
        let named = (end.source, end.destination, end.transaction, end.contract);
        assert_eq!(named, (hold.source, hold.destination, hold.transaction, hold.contract));
        assert_eq!((end.amount(), end.flags, end.expiry(), end.ends_hold()), (amount, 0, Some(90), true));
        assert_eq!((end.signer(), end.name()), (signer, (b, id, true)));
        assert_eq!((end.check(), end.timed().check()), (Status::Ok, Status::Malformed));
    }
    let keyed = AccountId::from(1_u128 << 127);
    for (operation, acts_for_key) in [
        (Operation::hold(id, keyed, a, 1, 0), true),
        (Operation::hold(id, a, keyed, 1, 0), false),
        (Operation::capture(&Operation::hold(id, keyed, a, 1, 0), 1), false),
        (Operation::capture(&Operation::hold(id, a, keyed, 1, 0), 1), true),
        (Operation::reclaim(&Operation::hold(id, keyed, a, 1, 0)), true),
        (Operation::create(id, keyed), true),
        (Operation::create_for(id, a, keyed, 1), false),
    ] {
        assert_eq!(operation.acts_for_key(), acts_for_key, "{operation:?}");
    }
}

#[test]
fn holds_expire_in_whole_seconds() {
    use turnpike_wire::holds::is_expired;
    for (expiry, now, expected) in [
        (None, u64::MAX, false),
        (Some(90), 89_999_999, false),
        (Some(90), 90_000_000, true),
        (Some(u32::MAX), u64::MAX, true),
    ] {
        assert_eq!(is_expired(expiry, now), expected, "{expiry:?} at {now}");
    }
}

#[test]
fn statuses_tell_what_becomes_of_a_request() {
    let journalled = [
        Status::Ok,
        Status::AccountExists,
        Status::SourceUnknown,
        Status::DestinationUnknown,
        Status::InsufficientBalance,
        Status::Overflow,
        Status::TableFull,
        Status::LinkedFailed,
        Status::AccountFrozen,
        Status::AccountNotFrozen,
        Status::AccountNotEmpty,
        Status::AssetMismatch,
    ];
    for status in Status::ALL {
        assert_eq!(status.is_ok(), *status == Status::Ok);
        let is_transient = matches!(status, Status::Busy | Status::RateLimited | Status::NotFinal);
        assert_eq!(status.is_transient(), is_transient, "{status}");
        assert_eq!(status.is_journalled(), journalled.contains(status), "{status}");
        assert_eq!(Status::try_from(status.code()), Ok(*status));
        let text = status.to_string();
        assert!(text.starts_with(status.name()) && text.contains(status.advice()), "{text}");
    }
    assert!(!Status::Malformed.is_journalled() && !Status::ZeroAmount.is_journalled());
    assert_eq!(Status::ZeroAmount.code(), 16);
    let unknown = Status::try_from(0xfff0).unwrap_err();
    assert!(unknown.to_string().contains("65520"), "{unknown}");
}

#[test]
fn errors_tell_what_to_do() {
    let mut short = *b"TP\x01\x01\0\0\0\x09tail of no frame";
    let error = Frame::parse(&short).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("frame 9") && text.contains(Status::Malformed.name()), "{text}");
    assert!(error.is_answered());
    // The shortest frame that gets an answer is as long as the answer.
    short[2] = 2;
    for (length, is_answered) in [(15, false), (16, true)] {
        let error = Frame::parse(&short[..length]).unwrap_err();
        assert_eq!((error.status, error.is_answered()), (Status::UnsupportedVersion, is_answered), "{length} bytes");
    }
    for (error, advice) in [
        (ReplyError::NotAReply, "address"),
        (ReplyError::UnsupportedVersion(7), "version 7"),
        (ReplyError::WrongLength, "faulty"),
        (ReplyError::UnknownCode, "client of the node's version"),
    ] {
        assert!(error.to_string().contains(advice), "{error}");
    }
    assert!(ParseIdError.to_string().contains("hexadecimal"));
}

/// Equal bytes do not cancel each other.
#[test]
fn padding_is_zero() {
    for length in [64, 128, 130] {
        let mut frame = ProofRequest::new(ID, Chain::Own, Query::Latest, account(1).into()).as_bytes().to_vec();
        let begin = frame.len();
        frame.resize(begin + length, 0);
        assert!(Frame::parse(&frame).is_ok());
        for places in [&[0, 1][..], &[0], &[length - 1], &[length - 2, length - 1]] {
            let mut changed = frame.clone();
            places.iter().for_each(|place| changed[begin + place] = 6);
            assert_eq!(Frame::parse(&changed).map(drop).unwrap_err().status, Status::Malformed, "{length} {places:?}");
        }
    }
}

#[test]
fn entries_of_a_batch() {
    // After 16 bytes of header, entries of 24, 64 and 184 bytes in a datagram that fits an Ethernet frame.
    for (format, entries) in [(BatchFormat::Compact, 60), (BatchFormat::Operation, 22), (BatchFormat::Signed, 7)] {
        assert_eq!(format.entries_in(1472), entries);
        assert_eq!([0, 15, 16].map(|datagram| format.entries_in(datagram)), [0; 3]);
        assert_eq!(format.entries_in(16 + format.entry_length()), 1);
        assert_eq!(format.entries_in(15 + format.entry_length()), 0);
    }
    let operations = [transfer(), Operation::refer(TransactionId::from(6_u32), account(3))];
    let compact = operations.map(|operation| CompactEntry::from(CompactFrame::from_operation(&operation).unwrap()));
    let signed = operations
        .map(|operation| SignedOperation::unsigned(operation, 1_700_000_000_000_000, 7, Promise::Default, [2; 33]));
    for entries in
        [BatchEntries::Compact(&compact), BatchEntries::Operation(&operations), BatchEntries::Signed(&signed)]
    {
        assert_eq!((entries.len(), entries.is_empty()), (2, false));
        assert_eq!([0, 1, 2].map(|index| entries.operation(index)), [Some(operations[0]), Some(operations[1]), None]);
    }
    assert!(BatchEntries::Compact(&[]).is_empty());
    let mut header = BatchHeader::new(ID, BatchFormat::Operation, 3, Promise::Durable);
    assert_eq!(header.frame_length(), Ok(16 + 3 * 64));
    assert_eq!(
        (header.format(), header.promise(), header.status()),
        (Ok(BatchFormat::Operation), Ok(Promise::Durable), Ok(Status::Ok))
    );
    header.set_reply(Status::Busy, Promise::Accepted);
    assert_eq!((header.promise(), header.status()), (Ok(Promise::Accepted), Ok(Status::Busy)));
}

#[test]
fn compact_frames() {
    let mut frame = CompactFrame::new(Command::Transfer, 7, 1, 2, 50);
    assert_eq!((frame.value(), frame.command(), frame.check()), (50, Ok(Command::Transfer), Status::Ok));
    let mut entry = CompactEntry::from(frame);
    assert_eq!(entry.check(), Status::Ok);
    entry.reserved = U16::new(1);
    assert_eq!(entry.check(), Status::Malformed);
    let zero = CompactEntry { frame: CompactFrame::new(Command::Transfer, 7, 1, 2, 0), reserved: U16::new(1) };
    assert_eq!(zero.check(), Status::ZeroAmount, "what is wrong with the frame comes first");
    frame.set_reply(Status::InsufficientBalance, 49);
    assert_eq!((frame.value(), frame.status()), (49, Ok(Status::InsufficientBalance)));
}

#[test]
fn who_pays_and_who_names_an_operation() {
    let id = TransactionId::from(9_u32);
    let (a, b) = (account(1), account(2));
    for (operation, payer, other, namer) in [
        (Operation::create(id, a), None, None, a),
        (Operation::create_for(id, a, b, 5), Some(b), Some(b), b),
        (Operation::issue(id, a, 5), None, None, a),
        (Operation::transfer(id, a, b, 5), None, Some(b), a),
        (Operation::refer(id, a), None, None, a),
        (Operation::hold(id, a, b, 5, 0), None, Some(b), a),
        (Operation::capture(&Operation::hold(id, a, b, 5, 0), 5), None, Some(b), b),
    ] {
        assert_eq!((operation.payer(), operation.other_account(), operation.namer()), (payer, other, namer));
        assert_eq!(operation.amount(), operation.value());
        assert_eq!(operation.time(), None);
    }
    assert_eq!(Operation { command: 9, ..transfer() }.other_account(), None);
    // The example of RFC 9562, appendix A.6.
    let uuid = TransactionId::from(0x017F_22E2_79B0_7CC3_98C4_DC0C_0C07_398F_u128);
    let operation = Operation::transfer(uuid, a, b, 1).timed();
    assert_eq!(operation.time(), Some(1_645_557_742_000_000));
    assert_eq!((operation.timed().flags, operation.check()), (Operation::TIMED, Status::Ok));
}

#[test]
fn a_signed_operation_comes_apart_and_together() {
    let mut signed = SignedOperation::unsigned(transfer(), 3, 4, Promise::Final, [2; 33]);
    signed.signature = std::array::from_fn(|byte| byte as u8);
    assert_eq!(signed.tail().len(), 120);
    assert_eq!(signed.tail()[..], signed.as_bytes()[64..]);
    assert_eq!(SignedOperation::join(&signed.operation, signed.tail()), signed);
    assert_eq!((signed.promise(), signed.timestamp.get(), signed.nonce.get()), (Ok(Promise::Final), 3, 4));
    signed.set_reply(Status::Busy, 6, Promise::Accepted);
    assert_eq!(
        (signed.operation.status(), signed.operation.value(), signed.promise()),
        (Ok(Status::Busy), 6, Ok(Promise::Accepted))
    );
    assert_eq!((signed.public_key, signed.signature), ([0; 33], [0; 64]));
}

#[test]
fn frames_tell_their_length() {
    let finality = FinalityFrame { replicas: 3, certificate_size: U16::new(100), ..FinalityFrame::new(ID, 2) };
    assert_eq!(finality.frame_length(), 72 + 3 * 32 + 100);
    let mut headers = HeadersFrame::new(ID, Chain::Bitcoin, 4, 7);
    assert_eq!(headers.frame_length(), 64, "a request has none");
    headers.set_reply(Chain::Bitcoin, 7, 10, [1; 32]);
    assert_eq!(
        (headers.frame_length(), headers.status(), headers.chain()),
        (64 + 7 * 80, Ok(Status::Ok), Ok(Chain::Bitcoin))
    );
    let mut proof = ProofReply {
        request: ProofRequest::new(ID, Chain::Own, Query::Latest, [0; 32]),
        depth: 3,
        transaction_length: U16::new(64),
        coinbase_length: U16::new(200),
        ..ProofReply::new_zeroed()
    };
    assert_eq!(proof.frame_length(), 176 + 3 * 32 + 64 + 200);
    proof.request.chain = Chain::Bitcoin.code();
    assert_eq!(proof.frame_length(), 176 + 3 * 32 + 64 + 3 * 32 + 200);
    let index = IndexReply { depth: 4, entry_count: 5, ..IndexReply::new_zeroed() };
    assert_eq!(index.frame_length(), 104 + 4 * 32 + 5 * 32);
}

#[test]
fn keys_of_proofs_have_zeros_behind_them() {
    let request = |query, key| ProofRequest::new(ID, Chain::Own, query, key);
    let good = <[u8; 32]>::from(account(0xffff_ffff));
    for byte in 16..32 {
        let mut key = good;
        key[byte] = 1;
        assert_eq!(request(Query::Latest, key).account(), Err(Status::Malformed), "byte {byte}");
    }
    let good = key_of_locator(u64::MAX, u32::MAX);
    for byte in 12..32 {
        let mut key = good;
        key[byte] = 1;
        assert_eq!(request(Query::Locator, key).locator(), Err(Status::Malformed), "byte {byte}");
    }
    let mut proof = request(Query::Locator, good);
    assert_eq!((proof.chain(), proof.query(), proof.status()), (Ok(Chain::Own), Ok(Query::Locator), Ok(Status::Ok)));
    proof.set_reply(Status::NotFound, 12);
    assert_eq!((proof.status(), proof.body_length.get(), proof.header.kind), (Ok(Status::NotFound), 12, 0x83));
}

#[test]
fn what_a_node_tells_of_itself() {
    let mut info = InfoFrame::new(ID);
    assert_eq!((info.serves_bitcoin(), info.reads_only(), info.program()), (false, false, ""));
    info.flags = InfoFrame::SERVES_BITCOIN;
    assert_eq!((info.serves_bitcoin(), info.reads_only()), (true, false));
    info.flags = InfoFrame::READS_ONLY;
    assert_eq!((info.serves_bitcoin(), info.reads_only()), (false, true));
    info.promise = Promise::Final.code();
    info.status = U16::new(Status::Busy.code());
    assert_eq!((info.promise(), info.status()), (Ok(Promise::Final), Ok(Status::Busy)));
    info.program = InfoFrame::program_field("1.22.333-rc.4 is longer");
    assert_eq!(info.program(), "1.22.333-rc.");
    info.program = *b"1.2\xff\0\0\0\0\0\0\0\0";
    assert_eq!(info.program(), "1.2");
}

#[test]
fn keys_of_ecdsa_have_two_lengths() {
    let body = |length: usize| EcdsaBody::new(0, [1; 32], [2; 64], &vec![3; length]);
    for length in [0, 32, 34, 64, 66, 300] {
        assert_eq!(body(length), None, "{length}");
    }
    for length in [33, 65] {
        assert_eq!(body(length).unwrap().key(), vec![3; length]);
    }
}

/// Messages of each kind, as they were encoded, and none after them.
#[test]
fn messages_of_a_verify_frame() {
    let ecdsa = EcdsaBody::new(EcdsaBody::LOW_S, [1; 32], [2; 64], &[3; 33]).unwrap();
    let schnorr = SchnorrBody { message: [4; 32], key: [5; 32], signature: [6; 64] };
    let message =
        |command, index, body: &[u8]| [MessageHeader::new(command, index, body.len()).as_bytes(), body].concat();
    let leaves = [[8; 32], [9; 32]];
    let merkle = [[7; 32].as_slice(), leaves.as_bytes()].concat();
    let messages = [
        message(VerifyCommand::Ecdsa, 11, ecdsa.as_bytes()),
        message(VerifyCommand::Schnorr, 12, schnorr.as_bytes()),
        message(VerifyCommand::MerkleRoot, 13, &merkle),
    ];
    let mut header = VerifyHeader::new(ID, 3);
    let frame = [header.as_bytes(), &messages.concat()].concat();
    let Ok(Frame::Verify(verify)) = Frame::parse(&frame) else { panic!() };
    let found: Vec<_> = verify.messages().collect();
    assert_eq!(found.iter().map(|(header, _)| header.index.get()).collect::<Vec<_>>(), [11, 12, 13]);
    let lengths = found.iter().map(|(header, _)| header.length.get() as usize);
    assert!(lengths.eq(messages.iter().map(Vec::len)));
    let [(_, Verification::Ecdsa(first)), (_, Verification::Schnorr(second)), (_, Verification::Merkle(root, nodes))] =
        found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((*first, *second, *root, nodes), (ecdsa, schnorr, [7; 32], &leaves[..]));
    // Replies replace messages, each with its index.
    let mut reply = frame.clone();
    let length = write_verify_reply(&mut reply, [(1, 2), (3, 4), (5, 6)]);
    assert_eq!(length, 16 + 3 * 32);
    let Ok(Reply::Verify(reply)) = Reply::parse(&reply[..length]) else { panic!() };
    let results = reply.results.iter();
    let results =
        results.map(|result| (result.message.index.get(), result.result_mask.get(), result.cycle_count.get()));
    assert_eq!(results.collect::<Vec<_>>(), [(11, 1, 2), (12, 3, 4), (13, 5, 6)]);
    assert_eq!(header.status(), Ok(Status::Ok));
    header.set_reply(Status::Busy);
    assert_eq!((header.status(), header.header.kind), (Ok(Status::Busy), 0x86));
}
