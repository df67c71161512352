//! `turnpike top`: rates, latencies and state of a node, refreshed each second.

mod feed;
mod figures;
mod screen;
mod status;
mod view;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use serde::Serialize;
use signal_hook::consts::{SIGCONT, SIGWINCH};

use self::feed::{Feed, News};
use self::figures::Interval;
use self::screen::{Input, Key, Screen};
use self::status::Status;
use crate::cli::{Host, TopArgs};
use crate::error::Error;
use crate::output::Output;

/// Columns of a picture that is not for a terminal.
const COLUMNS: usize = 80;

/// Everything that one picture shows.
#[derive(Serialize)]
struct Picture {
    /// The HTTP address of the node.
    http: String,
    status: Status,
    #[serde(flatten)]
    interval: Interval,
    /// Why the picture is not current, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
}

/// Runs `turnpike top`.
pub fn run(args: &TopArgs, output: Output) -> Result<(), Error> {
    let http = args.address()?;
    // Before the screen changes, so that an error of the address remains readable.
    let feed = Feed::open(&http)?;
    let is_live = !args.once && !output.is_json() && screen::is_usable();
    if is_live { watch(&http, feed) } else { print(&http, feed, output) }
}

/// Prints one picture: two rows make rates.
fn print(http: &Host, mut feed: Feed, output: Output) -> Result<(), Error> {
    let first = feed.row()?;
    let interval = Interval::between(Some(&first), feed.row()?);
    let picture = Picture { http: http.to_string(), status: feed.status()?, interval, stale: None };
    output.result(&picture, |picture| {
        let is_coloured = view::allows_colour() && io::stdout().is_terminal();
        let lines = view::lines(picture, COLUMNS, usize::MAX);
        let lines = lines.iter().map(|line| line.text(COLUMNS, is_coloured).trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(())
}

/// Shows pictures until the user quits.
fn watch(http: &Host, mut feed: Feed) -> Result<(), Error> {
    let status = feed.status()?;
    let interval = Interval::between(None, feed.row()?);
    let mut picture = Picture { http: http.to_string(), status, interval, stale: None };
    let screen = Screen::open().map_err(|error| Error::Failed(format!("cannot use the terminal: {error}")))?;
    let news = feed.follow(screen.waker());
    loop {
        screen.draw(|columns, rows| view::lines(&picture, columns, rows)).map_err(Error::other)?;
        match screen.next(Duration::from_secs(1)) {
            Some(Input::Key(Key::Quit)) => return Ok(()),
            Some(Input::Key(Key::Suspend)) => screen.suspend().map_err(Error::other)?,
            Some(Input::Signal(SIGWINCH)) | Some(Input::Wake) | None => {}
            Some(Input::Signal(SIGCONT)) => screen.resume().map_err(Error::other)?,
            Some(Input::Signal(signal)) => {
                // The shell sees that a signal ended the program, as with any other program.
                drop(screen);
                return signal_hook::low_level::emulate_default_handler(signal).map_err(Error::other);
            }
        }
        for news in news.try_iter() {
            match news {
                News::Fresh(row, status) => {
                    picture.interval = Interval::between(Some(&picture.interval.figures), row);
                    picture.status = status;
                    picture.stale = None;
                }
                News::Failed(reason) => picture.stale = Some(reason),
            }
        }
    }
}
