//! What plain programs do with sockets.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{CreateFlags, EventData, EventFlags, add, create, delete, wait},
};

use crate::{LONGEST, settled};

/// What a plain program does with a socket: a length, then the message. Without a message, it answers with one of no bytes;
/// with the highest bit of the length set, the message is sent back.
pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let (mut socket, _) = listener.accept().unwrap();
    socket.set_nodelay(true).unwrap();
    let mut message = vec![0; 4 + LONGEST];
    while socket.read_exact(&mut message[..4]).is_ok() {
        let head = u32::from_be_bytes(message[..4].try_into().unwrap());
        let length = 4 + (head & !ECHO) as usize;
        socket.read_exact(&mut message[4..length]).unwrap();
        if head & ECHO != 0 || length == 4 {
            socket.write_all(&message[..length]).unwrap();
        }
    }
}

const ECHO: u32 = 1 << 31;

pub(crate) struct Raw(TcpStream, Vec<u8>);

impl Raw {
    pub(crate) fn connect(address: &str) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        Self(socket, vec![7; 4 + LONGEST])
    }

    fn send(&mut self, length: usize, flag: u32) {
        self.1[..4].copy_from_slice(&(length as u32 | flag).to_be_bytes());
        self.0.write_all(&self.1[..4 + length]).unwrap();
    }

    pub(crate) fn round_trip(&mut self, length: usize) -> Duration {
        let begun = Instant::now();
        self.send(length, ECHO);
        self.0.read_exact(&mut self.1[..4]).unwrap();
        self.0.read_exact(&mut self.1[4..4 + length]).unwrap();
        begun.elapsed()
    }

    pub(crate) fn stream(&mut self, length: usize, messages: usize) -> Duration {
        let begun = Instant::now();
        (0..messages).for_each(|_| self.send(length, 0));
        self.send(0, 0);
        self.0.read_exact(&mut self.1[..4]).unwrap();
        begun.elapsed()
    }
}

/// What a plain program does with many sockets: one thread asks `epoll` which can be read, and sends back what it reads.
struct Many {
    epoll: OwnedFd,
    sockets: Vec<TcpStream>,
    message: [u8; 1 << 10],
}

impl Many {
    fn new() -> Self {
        Self { epoll: create(CreateFlags::CLOEXEC).unwrap(), sockets: Vec::new(), message: [7; 1 << 10] }
    }

    fn add(&mut self, socket: TcpStream) {
        socket.set_nodelay(true).unwrap();
        add(&self.epoll, &socket, EventData::new_u64(self.sockets.len() as u64), EventFlags::IN).unwrap();
        self.sockets.push(socket);
    }

    /// Answers whoever has sent a message, and tells how many that were. What else can be read is told by its number.
    fn turn(&mut self, mut other: impl FnMut(&mut Self, u64)) -> usize {
        let mut ready = Vec::with_capacity(1024);
        wait(&self.epoll, spare_capacity(&mut ready), None).unwrap();
        for event in &ready {
            let number = event.data.u64();
            match self.sockets.get_mut(number as usize) {
                // A peer that is gone has been killed: that is how a measurement ends.
                Some(socket) => match socket.read_exact(&mut self.message) {
                    Ok(()) => socket.write_all(&self.message).unwrap(),
                    Err(_) => delete(&self.epoll, socket).unwrap(),
                },
                None => other(self, number),
            }
        }
        ready.len()
    }
}

pub(crate) fn serve_many() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let mut many = Many::new();
    add(&many.epoll, &listener, EventData::new_u64(u64::MAX), EventFlags::IN).unwrap();
    loop {
        many.turn(|many, _| many.add(listener.accept().unwrap().0));
    }
}

/// As [`many`](crate::many), over plain sockets.
pub(crate) fn many(address: &str, channels: usize) -> f64 {
    let mut many = Many::new();
    for _ in 0..channels {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(&many.message).unwrap();
        many.add(socket);
    }
    settled(8 * channels, |messages| {
        let begun = Instant::now();
        let mut answered = 0;
        while answered < messages {
            answered += many.turn(|_, _| {});
        }
        begun.elapsed().as_secs_f64() / answered as f64
    })
}
