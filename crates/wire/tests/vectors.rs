//! The golden vectors of `vectors/wire`, in both directions: bytes are parsed, and built frames equal the bytes.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use turnpike_wire::*;
use zerocopy::IntoBytes;

/// The records of a file of vectors.
fn records(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/wire").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split(' ').map(String::from).collect())
        .collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex = if hex == "-" { "" } else { hex };
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn account(id: u128) -> AccountId {
    AccountId::from(id)
}

const KEYED: u128 = 0x8f00_1122_3344_5566_7788_99aa_bbcc_ddee;
const OTHER: u128 = 0x8000_0000_0000_0000_0000_0000_0000_0001;
const TRANSACTION: u128 = 0xf0e0_d0c0_b0a0_9080_7060_5040_3020_1000;
const ID: u32 = 0x0102_0304;

fn transaction() -> TransactionId {
    TransactionId::from(TRANSACTION)
}

fn hash(n: u8) -> [u8; 32] {
    [n; 32]
}

/// The signed operation of the vectors.
fn signed(operation: Operation, promise: Promise) -> SignedOperation {
    let mut key = [2; 33];
    let mut signature = [0; 64];
    for n in 0..32 {
        key[n + 1] = n as u8;
    }
    for (n, byte) in signature.iter_mut().enumerate() {
        *byte = n as u8;
    }
    SignedOperation { signature, ..SignedOperation::unsigned(operation, 1_700_000_000_000_000, 7, promise, key) }
}

fn wide(amount: u64) -> Operation {
    let mut operation = Operation::transfer(transaction(), account(KEYED), account(OTHER), amount);
    operation.contract = U32::new(0xc0_ffee);
    operation
}

fn padded(frame: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    bytes.resize(length, 0);
    bytes
}

fn batch(format: BatchFormat, promise: Promise, entries: &[&[u8]]) -> Vec<u8> {
    let mut bytes = BatchHeader::new(ID, format, entries.len() as u16, promise).as_bytes().to_vec();
    entries.iter().for_each(|entry| bytes.extend_from_slice(entry));
    bytes
}

const INDEX: u64 = 0x0a0b_0c0d_0e0f_1011;

fn verify(messages: &[Vec<u8>]) -> Vec<u8> {
    [VerifyHeader::new(ID, messages.len() as u16).as_bytes(), &messages.concat()].concat()
}

fn message(command: VerifyCommand, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [MessageHeader::new(command, INDEX, body.len()).as_bytes(), &body].concat()
}

fn equihash(n: u16, k: u8, solution: usize, flags: u8) -> Vec<u8> {
    let body = EquihashBody { n: U16::new(n), k, flags, reserved: U32::ZERO, personalisation: *b"ZcashPoW" };
    let input: Vec<u8> = (0..140).collect();
    let size = if solution < 253 { vec![solution as u8] } else { vec![0xfd, solution as u8, (solution >> 8) as u8] };
    let solution: Vec<u8> = (0..solution).map(|byte| byte as u8).collect();
    message(VerifyCommand::Equihash, &[body.as_bytes(), &input, &size, &solution])
}

fn key_33() -> Vec<u8> {
    [2].into_iter().chain(0..32).collect()
}

fn key_65() -> Vec<u8> {
    [4].into_iter().chain(0..64).collect()
}

fn signature() -> [u8; 64] {
    std::array::from_fn(|byte| byte as u8)
}

fn ecdsa(key: &[u8], flags: u8) -> Vec<u8> {
    message(VerifyCommand::Ecdsa, &[EcdsaBody::new(flags, hash(1), signature(), key).unwrap().as_bytes()])
}

fn schnorr() -> Vec<u8> {
    let key = std::array::from_fn(|byte| byte as u8);
    message(VerifyCommand::Schnorr, &[SchnorrBody { message: hash(1), key, signature: signature() }.as_bytes()])
}

fn merkle(leaves: u8) -> Vec<u8> {
    let leaves: Vec<[u8; 32]> = (2..2 + leaves).map(hash).collect();
    message(VerifyCommand::MerkleRoot, &[&hash(1), leaves.as_bytes()])
}

fn bls(length: u8) -> Vec<u8> {
    let body = BlsBody { key: [0; 48], signature: std::array::from_fn(|byte| byte as u8) };
    message(VerifyCommand::Bls, &[body.as_bytes(), &Vec::from_iter(0..length)])
}

fn groth16(key: VerifyingKeyId, inputs: usize) -> Vec<u8> {
    let body = Groth16Body { key: key.code(), reserved: [0; 7], proof: std::array::from_fn(|byte| byte as u8) };
    message(VerifyCommand::Groth16, &[body.as_bytes(), &hash(1).repeat(inputs)])
}

fn pairing(pairs: usize) -> Vec<u8> {
    message(VerifyCommand::Pairing, &[&vec![0; size_of::<PairBytes>() * pairs]])
}

fn delay(length: u16, iterations: u64) -> Vec<u8> {
    let body = DelayBody { magic: DelayBody::MAGIC, length: U16::new(length) };
    let number = Vec::from_iter((0..length).map(|byte| byte as u8));
    let (two, iterations) = (number.repeat(2), iterations.to_be_bytes());
    message(VerifyCommand::Delay, &[body.as_bytes(), &two, &iterations, &two])
}

#[test]
fn status_codes() {
    let records = records("status.txt");
    assert_eq!(records.len(), Status::ALL.len());
    for (record, status) in records.iter().zip(Status::ALL) {
        assert_eq!((record[0].as_str(), record[1].as_str()), (status.name(), status.code().to_string().as_str()));
        assert_eq!(Status::try_from(status.code()), Ok(*status));
    }
}

#[test]
fn requests_parse() {
    for record in records("requests.txt") {
        let [name, kind, status, answer, frame] = &record[..] else { panic!("{record:?}") };
        let mut frame = bytes(frame);
        let length = frame.len();
        match Frame::parse(&frame) {
            Ok(parsed) => {
                let found = match parsed {
                    Frame::Compact(_) => "compact",
                    Frame::Full(_) => "full",
                    Frame::Batch(_) => "batch",
                    Frame::Proof(proof) => {
                        assert_eq!(proof.room, length, "{name}");
                        "proof"
                    }
                    Frame::Headers(headers) => {
                        assert_eq!(headers.room, length, "{name}");
                        "headers"
                    }
                    Frame::Info(_) => "info",
                    Frame::Verify(_) => "verify",
                    Frame::Finality(finality) => {
                        assert_eq!(finality.room, length, "{name}");
                        "finality"
                    }
                    Frame::Change(_) => "change",
                    Frame::Feed(_) => "feed",
                    Frame::History(history) => {
                        assert_eq!(history.room, length, "{name}");
                        "history"
                    }
                    Frame::Assets(assets) => {
                        assert_eq!(assets.room, length, "{name}");
                        "assets"
                    }
                };
                assert_eq!((found, "OK"), (kind.as_str(), status.as_str()), "{name}");
            }
            Err(error) => {
                assert_eq!(error.status.name(), status, "{name}");
                assert_eq!(FrameMut::parse(&mut frame).unwrap_err(), error, "{name}");
                let answered = error.write_reply(&mut frame);
                assert!(answered <= length, "{name}: the answer is longer than the request");
                assert_eq!(&frame[..answered], bytes(answer), "{name}");
                assert_eq!(error.is_answered(), answered > 0, "{name}");
                if answered > 0 {
                    Reply::parse(&frame[..answered]).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
        }
    }
}

#[test]
fn requests_build() {
    let open_holds = HistoryFrame {
        flags: HistoryFrame::OPEN_HOLDS,
        role: HistoryFrame::SOURCE,
        ..HistoryFrame::new(ID, account(KEYED), 17)
    };
    let executed: Vec<_> = Command::ALL.iter().copied().filter(|command| command.is_executed()).collect();
    let selected = HistoryFrame {
        role: HistoryFrame::DESTINATION,
        flags: HistoryFrame::CURSOR,
        commands: HistoryFrame::bits_of(&executed),
        first_height: U32::new(1),
        end_height: U32::MAX_VALUE,
        first_time: U64::new(2),
        end_time: U64::MAX_VALUE,
        cursor_height: U32::new(3),
        cursor_position: U32::new(4),
        counterpart: account(OTHER),
        ..HistoryFrame::new(ID, account(KEYED), u16::MAX)
    };
    let at_cursor = HistoryFrame { flags: HistoryFrame::CURSOR, ..HistoryFrame::new(ID, account(KEYED), 1) };
    let refer = Operation::refer(transaction(), account(5));
    let entry = CompactEntry::from(CompactFrame::new(Command::Transfer, 7, 1, 2, 50));
    let entry_2 = CompactEntry::from(CompactFrame::new(Command::Refer, 8, 2, 0, 0));
    let own = <[u8; 32]>::from(account(KEYED));
    let keyed = account(KEYED);
    // The UUIDv7 of RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC.
    let timed = TransactionId::timed(1_645_557_742_000, 0x0cc3_18c4_dc0c_0c07_398f);
    let compact = |command, id, source, destination, amount| {
        CompactFrame::new(command, id, source, destination, amount).as_bytes().to_vec()
    };
    let full = |operation, promise| FullFrame::new(ID, signed(operation, promise)).as_bytes().to_vec();
    let proof = |chain, query, key, length| padded(ProofRequest::new(ID, chain, query, key).as_bytes(), length);
    let headers = |chain, first, count, length| padded(HeadersFrame::new(ID, chain, first, count).as_bytes(), length);
    let mut built = HashMap::from([
        ("compact_create", compact(Command::Create, 1, 0x1122_3344, 0, 0)),
        ("compact_issue", compact(Command::Issue, 2, 0x1122_3344, 0, u32::MAX)),
        ("compact_transfer", compact(Command::Transfer, u32::MAX, 0x1122_3344, 0x5566_7788, 1000)),
        ("compact_refer", compact(Command::Refer, 4, 0, 0, 0)),
        ("full_transfer", full(wide(u64::MAX), Promise::Durable)),
        ("full_timed", full(Operation::create(timed, keyed).timed(), Promise::Durable)),
        ("full_create", full(Operation::create(transaction(), keyed), Promise::Default)),
        (
            "full_create_for_deposit",
            full(Operation::create_for(transaction(), keyed, account(OTHER), 100), Promise::Durable),
        ),
        ("full_issue", full(Operation::issue(transaction(), keyed, 1), Promise::Final)),
        ("full_refer", full(Operation::refer(transaction(), keyed), Promise::Accepted)),
        ("batch_compact", batch(BatchFormat::Compact, Promise::Default, &[entry.as_bytes(), entry_2.as_bytes()])),
        (
            "batch_operation",
            batch(BatchFormat::Operation, Promise::Durable, &[wide(u64::MAX).as_bytes(), refer.as_bytes()]),
        ),
        (
            "batch_signed",
            batch(BatchFormat::Signed, Promise::Accepted, &[signed(wide(u64::MAX), Promise::Durable).as_bytes()]),
        ),
        ("proof_latest", proof(Chain::Own, Query::Latest, own, 1472)),
        ("proof_transaction", proof(Chain::Own, Query::Transaction, key_of_transaction(transaction(), keyed), 1000)),
        ("proof_locator", proof(Chain::Own, Query::Locator, key_of_locator(77, 5), 500)),
        ("proof_index", proof(Chain::Own, Query::Index, own, 49)),
        ("proof_bitcoin_latest", proof(Chain::Bitcoin, Query::Latest, hash(1), 1472)),
        ("proof_bitcoin_transaction", proof(Chain::Bitcoin, Query::Transaction, hash(1), 1472)),
        ("proof_without_room", proof(Chain::Own, Query::Latest, own, 48)),
        ("headers_own", headers(Chain::Own, 10, 11, 1472)),
        ("headers_bitcoin", headers(Chain::Bitcoin, 0, 17, 1472)),
        ("headers_tip", headers(Chain::Own, 0, 0, 64)),
        ("info", InfoFrame::new(ID).as_bytes().to_vec()),
        ("finality", FinalityFrame::new(ID, 0).as_bytes().to_vec()),
        ("finality_with_room", [FinalityFrame::new(ID, 0).as_bytes(), &[0; 1400]].concat()),
        ("finality_of_a_generation", [FinalityFrame::new(ID, 0x0102_0304).as_bytes(), &[0; 1400]].concat()),
        ("change", ChangeFrame::new(ID, std::array::from_fn(|i| i as u8)).as_bytes().to_vec()),
        ("feed", FeedFrame::new(ID, 1, None, Promise::Default).as_bytes().to_vec()),
        ("feed_from_a_cursor", FeedFrame::new(ID, 0x0102_0304_0506_0708, None, Promise::Final).as_bytes().to_vec()),
        ("feed_of_account", FeedFrame::new(ID, 9, Some(account(KEYED)), Promise::Durable).as_bytes().to_vec()),
        ("feed_of_account_0", FeedFrame::new(ID, 1, Some(AccountId::default()), Promise::Default).as_bytes().to_vec()),
        ("history", HistoryFrame::new(ID, account(KEYED), 1).as_bytes().to_vec()),
        ("history_with_room", padded(HistoryFrame::new(ID, account(KEYED), 1).as_bytes(), 1472)),
        ("history_of_open_holds", padded(open_holds.as_bytes(), 1472)),
        ("history_selected", selected.as_bytes().to_vec()),
        ("history_at_cursor_0", at_cursor.as_bytes().to_vec()),
        ("history_of_account_0", HistoryFrame::new(ID, AccountId::ZERO, 1).as_bytes().to_vec()),
        ("assets", AssetsFrame::new(ID, 0, 1).as_bytes().to_vec()),
        ("assets_from_a_code", padded(AssetsFrame::new(ID, 0x0102_0304, 0x0506).as_bytes(), 1472)),
        ("feed_with_tails", FeedFrame::new(ID, 1, None, Promise::Default).with_tails().as_bytes().to_vec()),
        (
            "feed_of_account_with_tails",
            FeedFrame::new(ID, 1, Some(account(KEYED)), Promise::Default).with_tails().as_bytes().to_vec(),
        ),
        ("change_of_nothing", ChangeFrame::new(ID, [0; 184]).as_bytes().to_vec()),
        ("verify_equihash", verify(&[equihash(200, 9, 1344, 0)])),
        ("verify_equihash_small", verify(&[equihash(48, 5, 36, EquihashBody::SOLUTION_ONLY), equihash(96, 5, 68, 0)])),
        ("verify_ecdsa", verify(&[ecdsa(&key_33(), 0), ecdsa(&key_65(), EcdsaBody::LOW_S)])),
        ("verify_schnorr", verify(&[schnorr()])),
        ("verify_merkle", verify(&[merkle(1), merkle(5)])),
        ("verify_all", verify(&[equihash(200, 9, 1344, 0), ecdsa(&key_33(), 0), schnorr(), merkle(3)])),
        ("verify_bls", verify(&[bls(0), bls(32)])),
        (
            "verify_groth16",
            verify(&[
                groth16(VerifyingKeyId::SaplingSpend, 7),
                groth16(VerifyingKeyId::Sprout, 0),
                groth16(VerifyingKeyId::SaplingOutput, 16),
            ]),
        ),
        ("verify_pairing", verify(&[pairing(1), pairing(MAX_PAIRS)])),
        ("verify_delay", verify(&[delay(128, 1), delay(512, DelayBody::MAX_ITERATIONS)])),
    ]);
    let mut bad_entries = Operation::refer(transaction(), keyed);
    bad_entries.command = 13;
    built.insert(
        "batch_bad_entries",
        batch(BatchFormat::Operation, Promise::Default, &[bad_entries.as_bytes(), &[0; 64]]),
    );
    for record in records("requests.txt") {
        if record[2] == "OK" {
            let name = record[0].as_str();
            assert_eq!(
                built.remove(name).unwrap_or_else(|| panic!("{name} is not built here")),
                bytes(&record[4]),
                "{name}"
            );
        }
    }
    assert!(built.is_empty(), "not among the vectors: {:?}", built.keys());
}

#[test]
fn replies_parse() {
    for record in records("replies.txt") {
        let [name, kind, status, frame] = &record[..] else { panic!("{record:?}") };
        let frame = bytes(frame);
        if let Ok(reply) = Reply::parse(&frame) {
            // A compact frame has its transaction id instead.
            assert_eq!(reply.id(), if kind == "compact" { 7 } else { ID }, "{name}");
        }
        let (found, found_status) = match Reply::parse(&frame) {
            Ok(Reply::Compact(reply)) => ("compact", reply.status().unwrap()),
            Ok(Reply::Full(reply)) => ("full", reply.operation.status().unwrap()),
            Ok(Reply::Batch(reply)) => ("batch", reply.status),
            Ok(Reply::Proof(_)) => ("proof", Status::Ok),
            Ok(Reply::Index(_)) => ("index", Status::Ok),
            Ok(Reply::ProofRefused(_, status)) => ("proof", status),
            Ok(Reply::Headers(reply)) => ("headers", reply.status),
            Ok(Reply::Info(reply)) => ("info", reply.status().unwrap()),
            Ok(Reply::Verify(reply)) => ("verify", reply.status),
            Ok(Reply::Finality(reply)) => ("finality", reply.status),
            Ok(Reply::Change(reply)) => ("change", reply.status().unwrap()),
            Ok(Reply::Feed(reply)) => ("feed", reply.status),
            Ok(Reply::History(reply)) => ("history", reply.status),
            Ok(Reply::Assets(reply)) => ("assets", reply.status),
            Ok(Reply::Error(_, status)) => ("error", status),
            Err(_) => {
                assert_eq!((kind.as_str(), status.as_str()), ("bad", "-"), "{name}");
                continue;
            }
        };
        assert_eq!((found, found_status.name()), (kind.as_str(), status.as_str()), "{name}");
    }
}

/// The replies that a node makes in place of requests.
#[test]
fn replies_build() {
    let frames: HashMap<String, Vec<u8>> =
        records("replies.txt").into_iter().map(|record| (record[0].clone(), bytes(&record[3]))).collect();
    let same = |name: &str, reply: &[u8]| assert_eq!(frames[name], reply, "{name}");

    let mut compact = CompactFrame::new(Command::Transfer, 7, 1, 2, 50);
    compact.set_reply(Status::Ok, 950);
    same("compact", compact.as_bytes());
    let mut compact = CompactFrame::new(Command::Refer, 7, 1, 0, 0);
    compact.set_reply(Status::Ok, 1 << 32);
    same("compact_saturated", compact.as_bytes());
    for status in Status::ALL {
        let mut compact = CompactFrame::new(Command::Transfer, 7, 1, 2, 50);
        compact.set_reply(*status, 0);
        same(&format!("compact_{}", status.name().to_lowercase()), compact.as_bytes());
    }

    let mut full = FullFrame::new(ID, signed(wide(8), Promise::Default));
    full.set_reply(Status::Ok, 42, Promise::Durable);
    same("full", &full.as_bytes()[..FullReply::LENGTH]);

    let failed = Operation::transfer(transaction(), account(KEYED), account(OTHER), 8);
    let mut request = batch(BatchFormat::Operation, Promise::Default, &[wide(8).as_bytes(), failed.as_bytes()]);
    let FrameMut::Batch(BatchMut { header, mut entries }) = FrameMut::parse(&mut request).unwrap() else { panic!() };
    header.set_reply(Status::Ok, Promise::Durable);
    entries.set_reply(0, Status::Ok, 42, Promise::Durable);
    entries.set_reply(1, Status::InsufficientBalance, 7, Promise::Durable);
    entries.set_reply(2, Status::Busy, 7, Promise::Durable);
    same("batch_operation", &request);

    let mut request = batch(BatchFormat::Signed, Promise::Default, &[signed(wide(8), Promise::Default).as_bytes()]);
    let FrameMut::Batch(BatchMut { header, mut entries }) = FrameMut::parse(&mut request).unwrap() else { panic!() };
    header.set_reply(Status::Ok, Promise::Durable);
    entries.set_reply(0, Status::Ok, 42, Promise::Durable);
    same("batch_signed", &request);

    let mut busy = BatchHeader::new(ID, BatchFormat::Operation, 2, Promise::Durable);
    busy.set_reply(Status::Busy, Promise::Default);
    same("batch_busy", busy.as_bytes());

    let mut index = IndexReply {
        request: ProofRequest::new(ID, Chain::Own, Query::Index, account(KEYED).into()),
        block_hash: hash(2),
        block_height: U64::new(90),
        reserved: U64::ZERO,
        depth: 2,
        entry_count: 2,
        reserved_end: [0; 6],
    };
    index.request.set_reply(Status::Ok, (index.frame_length() - ProofRequest::LENGTH) as u32);
    let entries = [
        IndexEntry { account: account(KEYED), balance: U64::new(42), height: U32::new(77), position: U32::new(3) },
        IndexEntry { account: account(OTHER), balance: U64::ZERO, height: U32::new(1), position: U32::ZERO },
    ];
    same("index", &[index.as_bytes(), &hash(4), &hash(5), entries.as_bytes()].concat());

    let mut headers = HeadersFrame::new(ID, Chain::Own, 10, 11);
    headers.set_reply(Chain::Own, 2, 11, hash(1));
    let given: Vec<u8> = (0..2).flat_map(|_| 0..192).collect();
    same("headers_own", &[headers.as_bytes(), &given].concat());
    let mut headers = HeadersFrame::new(ID, Chain::Own, 0, 5);
    headers.chain = 9;
    headers.set_refusal(Status::UnknownChain);
    same("headers_unknown_chain", headers.as_bytes());

    let mut info = InfoFrame::new(ID);
    info.header.set_reply();
    info.promise = Promise::Durable.code();
    info.flags = InfoFrame::SERVES_BITCOIN | InfoFrame::READS_ONLY;
    info.max_datagram = U32::new(MAX_DATAGRAM as u32);
    info.network = hash(1);
    info.tip_height = U64::new(11);
    info.tip_hash = hash(2);
    info.bitcoin_height = U64::new(14_131);
    info.accounts = U64::new(2_000_000);
    info.durable_sequence = U64::new(123_456_789);
    info.program = InfoFrame::program_field("0.1.0");
    info.retry_milliseconds = U32::new(10_000);
    assert_eq!(info.program(), "0.1.0");
    same("info", info.as_bytes());

    let mut finality = FinalityFrame::new(ID, 9);
    finality.set_refusal(Status::NotFound);
    same("finality_not_found", finality.as_bytes());
    for (name, status) in [("change", Status::Ok), ("change_stale", Status::StaleGeneration)] {
        let mut change = ChangeFrame::new(ID, std::array::from_fn(|i| i as u8));
        change.set_reply(status);
        same(name, change.as_bytes());
    }

    let mut assets = AssetsFrame::new(ID, 0, 2);
    assets.header.set_reply();
    (assets.next_asset, assets.tip_height) = (U32::new(841), U64::new(9));
    let totals = [AssetTotal::new(0, 10_u128.pow(30)), AssetTotal::new(840, 1)];
    assert_eq!(totals.map(|total| total.issued()), [10_u128.pow(30), 1]);
    let bytes = [assets.as_bytes(), totals.as_bytes()].concat();
    assert_eq!(bytes.len(), assets.frame_length());
    same("assets", &bytes);
    let mut history = HistoryFrame::new(ID, account(KEYED), 2);
    history.header.set_reply();
    (history.flags, history.first_retained, history.tip_height) = (HistoryFrame::CURSOR, U32::new(5), U64::new(9));
    (history.cursor_height, history.cursor_position) = (U32::new(6), U32::new(1));
    let entries =
        [(7, 3, 1_700_000_000_000_001), (6, 1, 1_700_000_000_000_000)].map(|(height, position, time)| HistoryEntry {
            height: U32::new(height),
            position: U32::new(position),
            time: U64::new(time),
            operation: wide(42),
        });
    let bytes = [history.as_bytes(), entries.as_bytes()].concat();
    assert_eq!(bytes.len(), history.frame_length());
    same("history", &bytes);
    let mut history = HistoryFrame::new(ID, account(KEYED), 1);
    history.set_refusal(Status::NotFound);
    same("history_not_found", history.as_bytes());

    let entry = |sequence: u64, operation: Operation, value: u64| FeedEntry {
        sequence: U64::new(sequence),
        operation,
        value: U64::new(value),
    };
    let failed = Operation {
        status: Status::InsufficientBalance.code().into(),
        ..Operation::transfer(transaction(), account(KEYED), account(OTHER), 7)
    };
    let mut feed = FeedFrame::new(ID, 43, None, Promise::Durable);
    feed.header.set_reply();
    feed.count = U16::new(2);
    feed.timestamp = U64::new(1_700_000_000_000_000);
    (feed.durable, feed.first) = (U64::new(50), U64::new(11));
    let bytes = [feed.as_bytes(), entry(41, wide(42), 42).as_bytes(), entry(42, failed, 7).as_bytes()].concat();
    assert_eq!(bytes.len(), feed.frame_length());
    same("feed", &bytes);
    let mut signed = FeedFrame::new(ID, 43, None, Promise::Durable).with_tails();
    signed.header.set_reply();
    (signed.count, signed.signed, signed.first) = (U16::new(2), U16::new(1), U64::new(11));
    let tail = FeedTail { sequence: U64::new(42), tail: std::array::from_fn(|at| at as u8) };
    let entries = &bytes[FeedFrame::LENGTH..];
    let bytes = [signed.as_bytes(), entries, tail.as_bytes()].concat();
    assert_eq!(bytes.len(), signed.frame_length());
    same("feed_with_tails", &bytes);
    let mut feed = FeedFrame::new(ID, 9, Some(account(KEYED)), Promise::Final);
    feed.set_refusal(Status::Pruned);
    feed.first = U64::new(11);
    same("feed_pruned", feed.as_bytes());

    let mut request = verify(&[equihash(200, 9, 1344, 0), ecdsa(&key_33(), 0)]);
    let length = write_verify_reply(&mut request, [(0, 60_000), (1 << 20, 20_000)]);
    same("verify", &request[..length]);
    assert_eq!(write_verify_reply(&mut verify(&[schnorr(), schnorr()]), [(0, 0)]), 0, "too few results");

    same("error_too_large", ErrorFrame::new(ID, Status::ReplyTooLarge, 592).as_bytes());
}

/// The parts of proofs are where the reply says.
#[test]
fn proofs_are_taken_apart() {
    let frames: HashMap<String, Vec<u8>> =
        records("replies.txt").into_iter().map(|record| (record[0].clone(), bytes(&record[3]))).collect();
    let Ok(Reply::Proof(proof)) = Reply::parse(&frames["proof_own"]) else { panic!() };
    assert_eq!(proof.fixed.tip_hash, hash(1));
    assert_eq!((proof.fixed.tip_height.get(), proof.fixed.block_height.get()), (90, 77));
    assert_eq!((proof.fixed.transaction_count.get(), proof.fixed.position.get()), (5, 3));
    assert_eq!((proof.fixed.leaf, proof.path), (hash(3), &[hash(4), hash(5), hash(6)][..]));
    assert_eq!(proof.transaction, Operation::transfer(transaction(), account(KEYED), account(OTHER), 42).as_bytes());
    assert!(proof.coinbase.is_empty() && proof.coinbase_path.is_empty());

    let Ok(Reply::Proof(proof)) = Reply::parse(&frames["proof_bitcoin"]) else { panic!() };
    assert_eq!((proof.path, proof.coinbase_path), (&[hash(4)][..], &[hash(5)][..]));
    assert_eq!(proof.coinbase, (0..100).collect::<Vec<u8>>());
    assert!(proof.transaction.is_empty());

    let Ok(Reply::Index(proof)) = Reply::parse(&frames["index"]) else { panic!() };
    assert_eq!((proof.path, proof.entries.len()), (&[hash(4), hash(5)][..], 2));
    assert_eq!((proof.entries[0].account, proof.entries[0].balance.get()), (account(KEYED), 42));
}
