//! The engine headers of `bpf/`, compiled for this machine, against the Rust engines: any network frame, and any
//! sequence of compact frames, to the in-NIC ledger and to the tier.
#![no_main]

use ledger::{Ledger, Limits, Secret, retries};
use libfuzzer_sys::fuzz_target;
use native::{Engine, InNicConfig, Reference, frame};
use wire::{Command, CompactFrame, Status};

const LIMITS: Limits = Limits { accounts: 16, retries: retries::Limits::with_operations(retries::MIN_CAPACITY) };

/// The same as in the tests; any values will do.
const SECRET: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

/// Steps of a sequence: no more than both remember.
const STEPS: usize = 64;

/// Bytes of a step: command, transaction, source, destination, amount (2), status.
const STEP: usize = 7;

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else { return };
    let frames: Vec<Vec<u8>> = match kind % 2 {
        0 => vec![rest[..rest.len().min(2048)].to_vec()],
        _ => rest.chunks_exact(STEP).take(STEPS).map(|step| frame(&request(step))).collect(),
    };
    let mut reference = Reference::new(Ledger::new(LIMITS, Secret::from_seed([3; 16])).expect("memory"));
    let config = InNicConfig { accounts: LIMITS.accounts, retries: 1, ..InNicConfig::default() };
    let mut in_nic = Engine::in_nic(&config, SECRET).expect("memory");
    let (mut tier, ledger) = Engine::tier(LIMITS, [3; 16]).expect("memory");
    let mut below = Reference::new(ledger);
    for frame in &frames {
        let Some(request) = reference.request(frame) else {
            assert!(in_nic.answer(frame).is_none(), "what the Rust engines do not take");
            // There is no cache to answer proof frames from.
            assert!(tier.answer(frame).is_none());
            continue;
        };
        let (reply, recorded) = reference.execute(&request);
        let (answer, committed) = in_nic.answer(frame).expect("what the Rust engines take");
        assert_eq!(answer, reference.turned(frame, &reply));
        let committed = committed.map(|committed| (committed.sequence, committed.status, committed.value));
        let sequence = reference.ledger.last_sequence();
        assert_eq!(committed, recorded.map(|(operation, value)| (sequence, operation.status.get(), value)));

        let answer = tier.answer(frame);
        let (reply, recorded) = below.execute(&request);
        // An account that the tier does not find may be frozen.
        let is_missing = request.command() == Ok(Command::Refer) && reply.status() == Ok(Status::SourceUnknown);
        let is_known = recorded.is_none() && reply.status() != Ok(Status::TransactionIdReused) && !is_missing;
        assert_eq!(answer, is_known.then(|| (below.turned(frame, &reply), None)));
    }
});

/// A request with few distinct ids, so that they collide.
fn request(step: &[u8]) -> CompactFrame {
    let &[command, transaction, source, destination, high, low, status] = step else { return CompactFrame::default() };
    let amount = u32::from(low) << (high % 25);
    CompactFrame {
        command: u32::from(command % 6).into(),
        transaction: u32::from(transaction % 32).into(),
        source: u32::from(source % 20).into(),
        destination: u32::from(destination % 20).into(),
        amount: amount.into(),
        status: u16::from(status == 1).into(),
    }
}
