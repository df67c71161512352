//! The NIC tier of the key-value store, compiled for this machine, against the store: any datagrams, mixed with any
//! requests through other paths. Each of its answers is what the host would have sent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use native::{KvEngine, datagram as frame_of};

/// Room after a frame for a longer reply.
const ROOM: usize = 512;

/// Steps of a sequence, and bytes of one.
const STEPS: usize = 32;
const STEP: usize = 600;

fuzz_target!(|data: &[u8]| {
    let mut engine = KvEngine::new(1 << 20, 1 << 20);
    let mut now = 10;
    for step in data.split(|byte| *byte == b'|').take(STEPS) {
        let step = &step[..step.len().min(STEP)];
        match step.split_first() {
            // Payload of a datagram.
            Some((b'd', payload)) => {
                let ahead = engine.answer(&frame_of(payload), ROOM, now);
                let host = engine.host.serve(payload, now);
                assert!(ahead.is_none() || ahead == host);
            }
            // A network frame.
            Some((b'f', frame)) => drop(engine.answer(frame, ROOM, now)),
            Some((b't', text)) => drop(engine.host.execute(&[text, b"\r\n"].concat(), now)),
            Some((seconds, _)) => now += u32::from(*seconds % 4),
            None => {}
        }
    }
});
