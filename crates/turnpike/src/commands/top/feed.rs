//! What a node reports over HTTP: its status, and a stream of figures.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::figures::Figures;
use super::screen::Waker;
use super::status::Status;
use crate::cli::Host;
use crate::error::Error;
use crate::http;

/// The stream has an event each second, and a node whose processors are busy answers within a few.
const PATIENCE: Duration = Duration::from_secs(10);
/// A node's first status probes the kernel's BPF, which waits while others load programs.
const STATUS_PATIENCE: Duration = Duration::from_secs(30);
/// Pause before a failed stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum length of a line of the stream; an event has less than 2 KiB.
const LINE: u64 = 64 << 10;
/// Maximum length of a status, which contains the configuration.
const STATUS: u64 = 4 << 20;
/// Maximum length of the text of a refusal.
const REFUSAL: u64 = 4 << 10;
/// Maximum number of lines of the stream between two rows.
const LINES: usize = 1000;

/// A change of the picture.
pub enum News {
    Fresh(Figures, Status),
    /// The reason for which the node does not answer.
    Failed(String),
}

/// A connection to a node.
pub struct Feed {
    http: Host,
    agent: ureq::Agent,
    events: BufReader<ureq::BodyReader<'static>>,
}

impl Feed {
    /// Opens the stream of figures.
    pub fn open(http: &Host) -> Result<Self, Error> {
        let body = get(&http::streaming_agent(PATIENCE), http, "/figures/events")?;
        Ok(Self { http: http.clone(), agent: http::agent(STATUS_PATIENCE), events: BufReader::new(body.into_reader()) })
    }

    /// The next row of figures.
    pub fn row(&mut self) -> Result<Figures, Error> {
        let Self { http, events, .. } = self;
        let failed = |reason: String| Error::Failed(format!("cannot read figures from http://{http}: {reason}"));
        let mut data = String::new();
        for _ in 0..LINES {
            let line = line(events).map_err(|error| failed(error.to_string()))?;
            match line.strip_prefix("data:") {
                Some(_) if data.len() as u64 > LINE => return Err(failed("the event is too long".into())),
                Some(more) => data.push_str(more.trim()),
                // A blank line ends an event. Comments keep the connection alive.
                None if line.is_empty() && !data.is_empty() => return Figures::parse(&data).map_err(failed),
                None => {}
            }
        }
        Err(failed(format!("{LINES} lines without a row")))
    }

    /// The present status.
    pub fn status(&self) -> Result<Status, Error> {
        let http = &self.http;
        let failed = |error: &dyn std::fmt::Display| {
            Error::Failed(format!("cannot read the status from http://{http}/status: {error}"))
        };
        let body = get(&self.agent, http, "/status")?;
        let text = body.into_with_config().limit(STATUS).read_to_string().map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    /// Reads rows and the status in a thread while the receiver exists, and opens the stream again if it fails.
    pub fn follow(self, waker: Waker) -> mpsc::Receiver<News> {
        // While the program is stopped, the thread waits and the node drops rows.
        let (sender, receiver) = mpsc::sync_channel(8);
        let http = self.http.clone();
        let mut feed: Result<Self, Error> = Ok(self);
        thread::spawn(move || {
            loop {
                let read = match &mut feed {
                    Ok(feed) => feed.row().and_then(|row| Ok((row, feed.status()?))).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                let has_failed = read.is_err();
                let news = read.map_or_else(News::Failed, |(row, status)| News::Fresh(row, status));
                if sender.send(news).is_err() {
                    return;
                }
                waker.wake();
                if has_failed {
                    thread::sleep(PAUSE);
                    feed = Self::open(&http);
                }
            }
        });
        receiver
    }
}

/// The body at a path of a node, or the reason for a refusal.
fn get(agent: &ureq::Agent, http: &Host, path: &str) -> Result<ureq::Body, Error> {
    let response = agent.get(format!("http://{http}{path}")).call().map_err(|error| unreachable(http, &error))?;
    let (status, body) = (response.status(), response.into_body());
    if status.is_success() {
        return Ok(body);
    }
    if status.as_u16() == 404 {
        return Err(Error::Failed(format!(
            "http://{http}{path} does not exist: `turnpike top` needs a node of version {} or newer, and a key-value store \
             that runs alone has only /metrics",
            env!("CARGO_PKG_VERSION")
        )));
    }
    // The node gives the reason, such as a host name that it does not know.
    let text = body.into_with_config().limit(REFUSAL).read_to_string().unwrap_or_default();
    Err(Error::Failed(format!("http://{http}{path} answers {status}: {}", text.trim())))
}

fn unreachable(http: &Host, error: &ureq::Error) -> Error {
    let advice = "set --http to the address of the node's metrics, which `turnpike serve` prints; an empty `http` in its \
                  configuration turns it off";
    let reason = match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        error => error.to_string(),
    };
    Error::Failed(format!("cannot reach http://{http}: {reason}; {advice}"))
}

/// A line of the stream, without its end.
fn line(events: &mut impl io::BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = events.take(LINE).read_until(b'\n', &mut bytes)?;
    match bytes.last() {
        Some(b'\n') => Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        _ if read as u64 == LINE => Err(io::Error::other("a line is too long")),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the node closed the connection")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_must_end() {
        assert_eq!(line(&mut &b"data: 1\r\n\r\n"[..]).unwrap(), "data: 1");
        assert_eq!(line(&mut &b"data"[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let long = vec![b'a'; 2 * LINE as usize];
        assert!(line(&mut &long[..]).unwrap_err().to_string().contains("too long"));
    }
}
