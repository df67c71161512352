//! Round trips and throughput, measured the same way on every backend, for `turnpike link` and the benchmark.
//!
//! The first message of a channel is one byte: the [`Role`] of the responder for all later ones.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use crate::{Address, Channel, Config, Error, Operations, SelectionKey, Selector, ServerChannel, Waker};

/// A responder's treatment of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It echoes each message.
    Echo,
    /// It drops messages and echoes an empty one.
    Drop,
    /// It copies messages to its own memory and echoes an empty one.
    Copy,
}

impl Role {
    const fn code(self) -> u8 {
        match self {
            Self::Echo => b'e',
            Self::Drop => b'd',
            Self::Copy => b'c',
        }
    }

    fn from_message(message: &[u8]) -> Option<Self> {
        [Self::Echo, Self::Drop, Self::Copy].into_iter().find(|role| message == [role.code()])
    }
}

/// Serves all probers, on one thread.
#[derive(Debug)]
pub struct Responder {
    selector: Selector,
    server: SelectionKey,
    address: Address,
    roles: HashMap<SelectionKey, Option<Role>>,
    copy: Vec<u8>,
}

impl Responder {
    /// Listens on an address.
    ///
    /// # Errors
    ///
    /// As [`ServerChannel::bind`].
    pub fn bind(address: &Address, config: &Config) -> Result<Self, Error> {
        let server = ServerChannel::bind(address, config)?;
        let address = server.address();
        let mut selector = Selector::new()?;
        let server = selector.register_server(server)?;
        let copy = vec![0; config.buffer_bytes as usize];
        Ok(Self { selector, server, address, roles: HashMap::new(), copy })
    }

    /// The address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Wakes [`run`](Self::run) to check whether it is over.
    pub fn waker(&self) -> Waker {
        self.selector.waker()
    }

    /// Serves until `is_over` is set. Peers that disconnect or break a rule are dropped.
    ///
    /// # Errors
    ///
    /// Those of the selector and of the server channel.
    pub fn run(&mut self, is_over: &AtomicBool) -> Result<(), Error> {
        let mut selected = Vec::new();
        while !is_over.load(Relaxed) {
            self.selector.select(None)?;
            selected.clear();
            selected.extend(self.selector.selected());
            for (key, _) in &selected {
                if *key == self.server {
                    while let Some(channel) = self.selector.server(self.server)?.accept()? {
                        let key = self.selector.register(channel, Operations::RECEIVE)?;
                        self.roles.insert(key, None);
                    }
                } else if self.serve(*key).is_err() {
                    self.roles.remove(key);
                    self.selector.close(*key)?;
                }
            }
        }
        Ok(())
    }

    fn serve(&mut self, key: SelectionKey) -> Result<(), Error> {
        let Self { selector, roles, copy, .. } = self;
        let channel = selector.channel(key)?;
        let Some(role) = roles.get_mut(&key) else { return Err(Error::StaleKey) };
        // Get a buffer first, so that a message that needs an answer is taken only once it can be answered.
        while let Some(mut buffer) = channel.buffer()? {
            let Some(message) = channel.receive()? else { return selector.set_interest(key, Operations::RECEIVE) };
            match role {
                None => *role = Some(Role::from_message(&message).ok_or(Error::BadFrame("the message names no role"))?),
                Some(Role::Echo) => {
                    buffer.fill(&message);
                    channel.send(buffer)?;
                }
                Some(_) if message.is_empty() => channel.send(buffer)?,
                Some(Role::Drop) => {}
                Some(Role::Copy) => copy[..message.len()].copy_from_slice(&message),
            }
        }
        selector.set_interest(key, Operations::SEND)
    }
}

/// Measures one channel.
#[derive(Debug)]
pub struct Prober {
    selector: Selector,
    key: SelectionKey,
    sent: u64,
}

impl Prober {
    /// Connects and sends the responder its role.
    ///
    /// # Errors
    ///
    /// As [`Channel::connect`].
    pub fn connect(address: &Address, config: &Config, role: Role) -> Result<Self, Error> {
        let mut selector = Selector::new()?;
        let key = selector.register(Channel::connect(address, config)?, Operations::CONNECT)?;
        let mut prober = Self { selector, key, sent: 0 };
        while !prober.channel()?.finish_connect()? {
            prober.selector.select(None)?;
        }
        prober.send(1, |bytes| bytes[0] = role.code())?;
        Ok(prober)
    }

    fn channel(&mut self) -> Result<&mut Channel, Error> {
        self.selector.channel(self.key)
    }

    fn wait(&mut self, operation: Operations) -> Result<(), Error> {
        if self.selector.interest(self.key)? != operation {
            self.selector.set_interest(self.key, operation)?;
        }
        self.selector.select(None).map(drop)
    }

    fn send(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        loop {
            let channel = self.channel()?;
            if let Some(mut buffer) = channel.buffer()? {
                buffer.set_len(length);
                fill(&mut buffer);
                return channel.send(buffer);
            }
            self.wait(Operations::SEND)?;
        }
    }

    /// Measures how long a message of `length` bytes takes to the responder and back. Its first bytes hold a number,
    /// which is checked.
    ///
    /// # Errors
    ///
    /// Why the channel failed; [`Error::BadFrame`] if something else comes back.
    ///
    /// # Panics
    ///
    /// If the message is longer than a buffer.
    pub fn round_trip(&mut self, length: usize) -> Result<Duration, Error> {
        self.sent += 1;
        let number = self.sent.to_le_bytes();
        let number = &number[..length.min(number.len())];
        let begun = Instant::now();
        self.send(length, |bytes| {
            bytes[..number.len()].copy_from_slice(number);
            bytes[length - number.len()..].copy_from_slice(number);
        })?;
        loop {
            if let Some(message) = self.channel()?.receive()? {
                let time = begun.elapsed();
                let is_same = message.len() == length && message.starts_with(number) && message.ends_with(number);
                return if is_same {
                    Ok(time)
                } else {
                    Err(Error::BadFrame("the reply is not the message that was sent"))
                };
            }
            self.wait(Operations::RECEIVE)?;
        }
    }

    /// Measures how long `messages` copies of `bytes` take until the responder has the last one.
    ///
    /// # Errors
    ///
    /// Why the channel failed.
    ///
    /// # Panics
    ///
    /// If the message is empty, or longer than a buffer.
    pub fn stream(&mut self, bytes: &[u8], messages: u64) -> Result<Duration, Error> {
        self.stream_of(bytes.len(), messages, |buffer| buffer.copy_from_slice(bytes))
    }

    /// Measures a stream of messages that are sent as they are in their buffers: nothing is copied.
    ///
    /// # Errors
    ///
    /// Why the channel failed.
    ///
    /// # Panics
    ///
    /// If the message is empty, or longer than a buffer.
    pub fn stream_in_place(&mut self, length: usize, messages: u64) -> Result<Duration, Error> {
        self.stream_of(length, messages, |_| {})
    }

    fn stream_of(&mut self, length: usize, messages: u64, mut fill: impl FnMut(&mut [u8])) -> Result<Duration, Error> {
        assert!(length > 0, "an empty message is the last one");
        let begun = Instant::now();
        for _ in 0..messages {
            self.send(length, &mut fill)?;
        }
        self.send(0, |_| {})?;
        while self.channel()?.receive()?.is_none() {
            self.wait(Operations::RECEIVE)?;
        }
        Ok(begun.elapsed())
    }
}
