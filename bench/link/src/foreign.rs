//! What others have for messages: programs of two processes, which are told on standard input what to measure.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

/// How long a program has to end once it is told to.
const PATIENCE: Duration = Duration::from_secs(2);

/// `PROGRAM serve` prints where it is, and `PROGRAM connect WHERE` measures.
pub(crate) struct Foreign {
    processes: [Child; 2],
    answers: BufReader<ChildStdout>,
}

impl Foreign {
    pub(crate) fn start(program: &str) -> Self {
        let mut server = Command::new(program).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let place = line(&mut BufReader::new(server.stdout.take().unwrap()));
        let mut client = Command::new(program);
        let client = client.args(["connect", &place]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().unwrap();
        let answers = BufReader::new(client.stdout.take().unwrap());
        Self { processes: [client, server], answers }
    }

    fn ask(&mut self, what: &str, bytes: usize, count: usize) -> f64 {
        writeln!(self.processes[0].stdin.as_mut().unwrap(), "{what} {bytes} {count}").unwrap();
        line(&mut self.answers).parse().unwrap()
    }

    /// The median of so many round trips, in seconds.
    pub(crate) fn round_trip(&mut self, bytes: usize, count: usize) -> f64 {
        self.ask("trip", bytes, count) / 1e6
    }

    /// The time of so many messages in one direction.
    pub(crate) fn stream(&mut self, bytes: usize, messages: usize) -> Duration {
        Duration::from_secs_f64(self.ask("rate", bytes, messages))
    }
}

impl Drop for Foreign {
    /// The end of its input tells the one that measures, and that one the other.
    fn drop(&mut self) {
        drop(self.processes[0].stdin.take());
        for process in &mut self.processes {
            let step = Duration::from_millis(10);
            let steps = PATIENCE.as_millis() / step.as_millis();
            if !(0..steps).any(|_| {
                process.try_wait().is_ok_and(|ended| ended.is_some()) || {
                    thread::sleep(step);
                    false
                }
            }) {
                let _ = process.kill();
            }
            let _ = process.wait();
        }
    }
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim().to_owned()
}
