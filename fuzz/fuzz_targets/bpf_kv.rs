//! The NIC tier of the key-value store, compiled for this machine, beside the store: any datagrams and any requests by other
//! ways. Whatever it answers, the host would have said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use native::{KvEngine, datagram as frame_of};

/// Room behind a frame for a longer reply: any.
const ROOM: usize = 512;

/// Steps of a talk, and bytes of one.
const STEPS: usize = 32;
const STEP: usize = 600;

fuzz_target!(|data: &[u8]| {
    let mut engine = KvEngine::new(1 << 20, 1 << 20);
    let mut now = 10;
    for step in data.split(|byte| *byte == b'|').take(STEPS) {
        let step = &step[..step.len().min(STEP)];
        match step.split_first() {
            // A datagram's payload.
            Some((b'd', payload)) => {
                let ahead = engine.answer(&frame_of(payload), ROOM, now);
                let host = engine.host.serve(payload, now);
                assert!(ahead.is_none() || ahead == host);
            }
            // A frame of the network.
            Some((b'f', frame)) => drop(engine.answer(frame, ROOM, now)),
            Some((b't', text)) => drop(engine.host.execute(&[text, b"\r\n"].concat(), now)),
            Some((seconds, _)) => now += u32::from(*seconds % 4),
            None => {}
        }
    }
});
