//! iceoryx2 as `bench/link/run` drives it: two processes, a service of slices in each direction, both sides polling.
//!
//! usage: turnpike-bench-iceoryx2 serve            prints the name of its services, and answers until the other side ends
//!        turnpike-bench-iceoryx2 connect NAME     `trip BYTES COUNT` on standard input measures so many round trips and prints
//!                                                 their median in microseconds; `rate BYTES COUNT` so many messages in one
//!                                                 direction and prints the seconds
use std::{
    env,
    error::Error,
    hint, io,
    mem::MaybeUninit,
    process, thread,
    time::{Duration, Instant},
};

use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber},
    prelude::*,
    sample::Sample,
};

type Of<T> = Result<T, Box<dyn Error>>;

const LONGEST: usize = 100 << 10;

/// As many as a channel has.
const BUFFERS: usize = 64;

/// Looks after which a side that waits sleeps between them: some milliseconds.
const IDLE: u32 = 1 << 17;

/// Round trips before anything is measured, that wake the other side.
const WARM_UP: usize = 3;

/// The first byte of a message says what becomes of it. One to be copied that has no other byte is answered, too.
const COPY: u8 = 0;
const ECHO: u8 = 1;
/// The other side is to end, so that it leaves no files of its services.
const END: u8 = 2;

struct Side {
    to: Publisher<ipc::Service, [u8], ()>,
    from: Subscriber<ipc::Service, [u8], ()>,
    _node: Node<ipc::Service>,
}

impl Side {
    fn new(name: &str, to: &str, from: &str) -> Of<Self> {
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let service = |direction: &str| -> Of<_> {
            let builder = node.service_builder(&format!("{name}/{direction}").as_str().try_into()?);
            let builder = builder.publish_subscribe::<[u8]>().enable_safe_overflow(false).history_size(0);
            let builder = builder.subscriber_max_buffer_size(BUFFERS).max_publishers(1).max_subscribers(1);
            Ok(builder.open_or_create()?)
        };
        let (to, from) = (service(to)?, service(from)?);
        let publisher = to.publisher_builder().initial_max_slice_len(LONGEST);
        let to = publisher.backpressure_strategy(BackpressureStrategy::RetryUntilDelivered).create()?;
        let from = from.subscriber_builder().buffer_size(BUFFERS).create()?;
        Ok(Self { to, from, _node: node })
    }

    fn send(&self, length: usize, fill: impl FnOnce(&mut [MaybeUninit<u8>])) -> Of<()> {
        let mut sample = self.to.loan_slice_uninit(length)?;
        fill(sample.payload_mut());
        // SAFETY: it is memory that was mapped, whose bytes all have a value, by whomever it was written last; any is a u8.
        unsafe { sample.assume_init() }.send()?;
        Ok(())
    }

    fn receive(&self) -> Of<Sample<ipc::Service, [u8], ()>> {
        for round in 1_u32.. {
            if let Some(sample) = self.from.receive()? {
                return Ok(sample);
            }
            match round {
                // Others have their turn: this costs nobody anything.
                IDLE.. => thread::sleep(Duration::from_millis(1)),
                // The other side may have no other processor.
                _ if round.is_multiple_of(64) => thread::yield_now(),
                _ => hint::spin_loop(),
            }
        }
        Err("polled for longer than there are numbers".into())
    }
}

fn serve() -> Of<()> {
    let name = format!("turnpike-bench-{}", process::id());
    let side = Side::new(&name, "back", "there")?;
    println!("{name}");
    let mut copy = vec![0; LONGEST];
    loop {
        let message = side.receive()?;
        match message[0] {
            END => return Ok(()),
            COPY if message.len() > 1 => copy[..message.len()].copy_from_slice(&message),
            _ => side.send(message.len(), |to| {
                to.write_copy_of_slice(&message);
            })?,
        }
    }
}

fn connect(name: &str) -> Of<()> {
    let side = Side::new(name, "there", "back")?;
    let message = vec![COPY; LONGEST];
    let round_trip = |length: usize| -> Of<f64> {
        let begun = Instant::now();
        // As a channel's measurement does: the ends are written.
        side.send(length, |to| (to[0], to[length - 1]) = (MaybeUninit::new(ECHO), MaybeUninit::new(ECHO)))?;
        let answer = side.receive()?;
        let time = begun.elapsed().as_secs_f64() * 1e6;
        assert!(answer.len() == length && answer[0] == ECHO && answer[length - 1] == ECHO);
        Ok(time)
    };
    for line in io::stdin().lines() {
        let line = line?;
        let [what, bytes, count] = line.split(' ').collect::<Vec<_>>()[..] else { return Err("no command".into()) };
        let (bytes, count): (usize, usize) = (bytes.parse()?, count.parse()?);
        for _ in 0..WARM_UP {
            round_trip(bytes)?;
        }
        match what {
            "trip" => {
                let mut times = (0..count).map(|_| round_trip(bytes)).collect::<Of<Vec<_>>>()?;
                times.sort_by(f64::total_cmp);
                println!("{}", times[count / 2]);
            }
            "rate" => {
                let begun = Instant::now();
                for _ in 0..count {
                    side.send(bytes, |to| {
                        to.write_copy_of_slice(&message[..bytes]);
                    })?;
                }
                side.send(1, |to| to[0] = MaybeUninit::new(COPY))?;
                side.receive()?;
                println!("{}", begun.elapsed().as_secs_f64());
            }
            _ => return Err("neither trip nor rate".into()),
        }
    }
    side.send(1, |to| to[0] = MaybeUninit::new(END))
}

fn main() -> Of<()> {
    match env::args().skip(1).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(),
        ["connect", name] => connect(name),
        _ => Err("usage: turnpike-bench-iceoryx2 serve | connect NAME".into()),
    }
}
