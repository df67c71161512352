//! The experiment of the in-NIC transfer paper (ISPA 2018, section V): 1 to 10,000 packets of each command, the in-NIC ledger next to a
//! server that does the same behind a socket; throughput (its figures 7 to 10) and latency without load (figure 11).

use std::{
    fmt::Write as _,
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use figures::Figure;
use node::{Config, InNic};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use wire::Command;
use xdp::{
    LedgerCounter,
    generator::{Generator, Requests},
};

use crate::cable::{Cable, Failure, SERVER, median};

const COMMANDS: [(Command, &str); 4] = [
    (Command::Create, "CREATE"),
    (Command::Issue, "ISSUE"),
    (Command::Transfer, "TRANSFER"),
    (Command::Refer, "REFER"),
];

/// Packets of a burst, and how often each is repeated in a round: short ones vary more.
const PACKETS: [(u32, u32); 5] = [(1, 21), (10, 11), (100, 5), (1_000, 3), (10_000, 1)];

/// Enough for all packets of the largest burst, so that the server loses none.
const RECEIVE_BUFFER: usize = 64 << 20;

/// One of the two, behind its cable.
struct Side {
    cable: Cable,
    generator: Generator,
    /// The lowest account and the transaction id to be used next.
    next: u32,
    /// Packets a second of each command and number of packets, in each repetition.
    rates: Vec<Vec<f64>>,
    lost: u64,
}

impl Side {
    fn new(cable: Cable) -> Result<Self, Failure> {
        let generator = cable.generator()?;
        Ok(Self { cable, generator, next: 1, rates: vec![Vec::new(); COMMANDS.len() * PACKETS.len()], lost: 0 })
    }

    /// Every command in turn, on accounts that CREATE makes.
    fn measure(&mut self, packets: usize) -> Result<(), Failure> {
        let count = PACKETS[packets].0;
        // The last TRANSFER needs someone to go to.
        self.burst(Command::Create, self.next + count, 1)?;
        for (at, (command, _)) in COMMANDS.into_iter().enumerate() {
            let rate = self.burst(command, self.next, count)?;
            self.rates[at * PACKETS.len() + packets].extend(rate);
        }
        self.next += count + 1;
        Ok(())
    }

    /// One command for so many accounts: replies a second, unless most of them were lost.
    fn burst(&mut self, command: Command, lowest: u32, count: u32) -> Result<Option<f64>, Failure> {
        let code = command.code().into();
        // Of another source, or for another command, an id is another one.
        let transactions = code << 28 | lowest;
        let requests = Requests { command: code, lowest, accounts: count, any: false, transactions };
        let tally = self.cable.burst(&self.generator, &requests, count)?;
        self.lost += tally.made - tally.replies;
        let bad = tally.replies - tally.good;
        // Where requests were lost, commands that follow miss their accounts.
        if bad > 0 && self.lost == 0 {
            return Err(format!("{command:?}: {bad} of {count} replies are not OK").into());
        }
        let rate = tally.replies as f64 * 1e9 / tally.nanoseconds.max(1) as f64;
        Ok((2 * tally.replies > tally.made).then_some(rate))
    }

    fn rate(&self, command: usize, packets: usize) -> f64 {
        median(self.rates[command * PACKETS.len() + packets].clone())
    }
}

/// Runs the experiment; the journal of the in-NIC ledger goes below `scratch`, the plot where `plot` tells.
pub fn run(scratch: &Path, rounds: u32, plot: Option<&PathBuf>) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let cable = Cable::new()?;
    let _pass = cable.pass()?;
    let socket = cable.at_server(|| Ok(UdpSocket::bind(SERVER)?))?;
    set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let server = thread::spawn({
        let stop = stop.clone();
        move || crate::software::serve(&socket, &stop)
    });
    let mut software = Side::new(cable)?;

    let cable = Cable::new()?;
    let mut config = Config {
        data: scratch.join("in-nic"),
        listen: SERVER.into(),
        http: None,
        trusted: vec!["10.77.0.0/24".parse()?],
        ..Config::default()
    };
    // As `turnpike in-nic` has it.
    config.ledger.retry_operations = 1 << 24;
    let service = cable.at_server(|| Ok(InNic::start(&config)?))?;
    let mut in_nic = Side::new(cable)?;

    for round in 0..=rounds {
        for (packets, (_, repeats)) in PACKETS.into_iter().enumerate() {
            for _ in 0..repeats {
                software.measure(packets)?;
                in_nic.measure(packets)?;
            }
        }
        // The first is for both to have their memory.
        if round == 0 {
            software.rates.iter_mut().chain(&mut in_nic.rates).for_each(Vec::clear);
        }
    }
    stop.store(true, Relaxed);
    let _ = server.join();

    println!("\n## The in-NIC ledger next to recvfrom and sendto, promise accepted, medians");
    println!("| packets | command | recvfrom/sendto, a second | in-NIC, a second | ratio |");
    println!("|---|---|---|---|---|");
    let (mut ratios, mut latencies) = (Vec::new(), Vec::new());
    for (command, (_, name)) in COMMANDS.iter().enumerate() {
        for (packets, (count, _)) in PACKETS.iter().enumerate() {
            let (slow, fast) = (software.rate(command, packets), in_nic.rate(command, packets));
            println!("| {count} | {name} | {slow:.0} | {fast:.0} | {:.2} |", fast / slow);
            ratios.push(fast / slow);
            let name = format!("{name}, {count} packets");
            Figure { name: &name, value: fast, unit: "/s", peer: Some(("recvfrom and sendto", slow)) }.record();
        }
        latencies.push((name, 1e6 / software.rate(command, 0), 1e6 / in_nic.rate(command, 0)));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    println!("throughput: {:.2} x on average (the paper: 6.04 x; goal 10 x)", mean(&ratios));
    for (name, slow, fast) in &latencies {
        println!("latency of {name}: {slow:.2} us against {fast:.2} us, {:.2} x", slow / fast);
        let name = format!("{name}, latency of one packet");
        Figure { name: &name, value: *fast, unit: "us", peer: Some(("recvfrom and sendto", *slow)) }.record();
    }
    Figure { name: "throughput on average", value: mean(&ratios), unit: "x", peer: None }.record();
    let ratio = mean(&latencies.iter().map(|(_, slow, fast)| slow / fast).collect::<Vec<_>>());
    println!("latency: {ratio:.2} x on average (the paper: 15.4 x)");
    Figure { name: "latency on average", value: ratio, unit: "x", peer: None }.record();
    let (executed, journalled) = service.sequences();
    println!(
        "in-NIC: {executed} executed, {journalled} in the journal so far, {} left to the host as the ring was full; replies lost: {} and {}",
        service.count(LedgerCounter::RingFull),
        software.lost,
        in_nic.lost
    );
    if let Some(path) = plot {
        fs::write(path, svg(&software, &in_nic))?;
        println!("plot: {}", path.display());
    }
    Ok(())
}

/// Four panels of throughput and one of latency, after the paper's figures 7 to 11; both axes logarithmic.
fn svg(software: &Side, in_nic: &Side) -> String {
    const SIZE: f64 = 220.0;
    let sides = [(software, "#b22222", "recvfrom/sendto"), (in_nic, "#1e5aa8", "in-NIC")];
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"10\">\n",
        5.0 * (SIZE + 40.0),
        SIZE + 70.0
    );
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    for (at, (_, name)) in COMMANDS.iter().enumerate() {
        let left = at as f64 * (SIZE + 40.0) + 35.0;
        // From 1,000 to 10 million a second.
        let y = |rate: f64| 20.0 + SIZE * (1.0 - (rate.log10() - 3.0) / 4.0);
        let x = |count: u32| left + (SIZE - 20.0) * f64::from(count).log10() / 4.0;
        line(format_args!("<text x=\"{left}\" y=\"12\">{name}: packets a second, by packets sent</text>"));
        for power in 3..=7 {
            let at = y(10_f64.powi(power));
            line(format_args!(
                "<path d=\"M{left} {at}h{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{at}\">1e{power}</text>",
                SIZE - 20.0,
                left - 25.0
            ));
        }
        for (count, _) in PACKETS {
            line(format_args!("<text x=\"{}\" y=\"{}\">{count}</text>", x(count) - 5.0, SIZE + 34.0));
        }
        for (row, (side, colour, label)) in sides.iter().enumerate() {
            let points: String = PACKETS
                .iter()
                .enumerate()
                .map(|(to, (count, _))| format!("{:.1},{:.1} ", x(*count), y(side.rate(at, to))))
                .collect();
            line(format_args!("<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
            line(format_args!(
                "<text x=\"{left}\" y=\"{}\" fill=\"{colour}\">{label}</text>",
                SIZE + 48.0 + 12.0 * row as f64
            ));
        }
    }
    let left = 4.0 * (SIZE + 40.0) + 35.0;
    line(format_args!("<text x=\"{left}\" y=\"12\">latency of one packet, microseconds</text>"));
    let most = (0..COMMANDS.len()).map(|at| 1e6 / software.rate(at, 0)).fold(1.0, f64::max);
    for (at, (_, name)) in COMMANDS.iter().enumerate() {
        for (bar, (side, colour, _)) in sides.iter().enumerate() {
            let latency = 1e6 / side.rate(at, 0);
            let (x, height) = (left + at as f64 * 50.0 + bar as f64 * 20.0, SIZE * latency / most);
            line(format_args!(
                "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"{height}\" fill=\"{colour}\"/>",
                20.0 + SIZE - height
            ));
            line(format_args!("<text x=\"{x}\" y=\"{}\">{latency:.1}</text>", 18.0 + SIZE - height));
        }
        line(format_args!("<text x=\"{}\" y=\"{}\">{name}</text>", left + at as f64 * 50.0, SIZE + 34.0));
    }
    text + "</svg>\n"
}
