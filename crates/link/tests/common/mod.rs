//! Channels and selectors that tests wait for.
#![allow(dead_code, reason = "each suite uses some of it")]

use std::{
    thread,
    time::{Duration, Instant},
};

use turnpike_link::{Channel, Error, Operations, SelectionKey, Selector, ServerChannel};

/// Longer than any step takes; a test that waits this long fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The next channel of a server.
pub fn accept(server: &mut ServerChannel) -> Channel {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(channel) = server.accept().unwrap() {
            return channel;
        }
        assert!(Instant::now() < deadline, "no connection");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a channel is ready for something.
pub fn wait_for(selector: &mut Selector, key: SelectionKey, operation: Operations) {
    selector.set_interest(key, operation).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        selector.select(Some(Duration::from_secs(1))).unwrap();
        if selector.selected().any(|selected| selected == (key, operation)) {
            break;
        }
        assert!(Instant::now() < deadline, "never ready for {operation:?}");
    }
    selector.set_interest(key, Operations::NONE).unwrap();
}

/// Waits for a message.
pub fn receive(selector: &mut Selector, key: SelectionKey) -> Result<Vec<u8>, Error> {
    loop {
        if let Some(message) = selector.channel(key).unwrap().receive()? {
            return Ok(message.to_vec());
        }
        wait_for(selector, key, Operations::RECEIVE);
    }
}
