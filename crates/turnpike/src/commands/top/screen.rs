//! The terminal: raw input and a second screen, which end with the program however it ends.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::view::{Line, allows_colour};
use crate::cli::variable;

/// Switches to the second screen, without a cursor and without wrapping long lines.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// Reverses `ENTER`.
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// The size of a terminal that does not report one.
const DEFAULT_SIZE: (usize, usize) = (80, 24);
/// Maximum size of a picture, whatever the terminal reports.
const MAX_SIZE: usize = 1000;

/// The settings of the terminal before the program changed them; `None` while they are in effect.
static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// What wakes the program.
pub enum Input {
    Key(Key),
    /// The number of a signal.
    Signal(i32),
    /// There is something new to show.
    Wake,
}

/// A key with a meaning.
pub enum Key {
    Quit,
    Suspend,
}

/// Wakes the program from another thread.
pub struct Waker(SyncSender<Input>);

impl Waker {
    /// Wakes the program, unless it has other input to handle first.
    pub fn wake(&self) {
        // A full channel wakes it as well, and a closed one means that it ends.
        let _ = self.0.try_send(Input::Wake);
    }
}

/// The terminal while pictures are shown. Dropping it restores the terminal.
pub struct Screen {
    sender: SyncSender<Input>,
    receiver: Receiver<Input>,
    is_coloured: bool,
}

impl Screen {
    /// Takes the terminal, and restores it on a panic and on each signal that ends the program.
    pub fn open() -> io::Result<Self> {
        // Registered first: a signal must find either the old settings or a handler.
        let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCONT, SIGWINCH])?;
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // Before the message, which would be lost with the second screen.
            restore();
            previous(panic);
        }));
        let (sender, receiver) = sync_channel(16);
        let screen = Self { sender, receiver, is_coloured: allows_colour() };
        enter()?;
        let keys = screen.sender.clone();
        thread::spawn(move || read_keys(&keys));
        let sender = screen.sender.clone();
        thread::spawn(move || read_signals(signals, &sender));
        Ok(screen)
    }

    /// Wakes [`Self::next`].
    pub fn waker(&self) -> Waker {
        Waker(self.sender.clone())
    }

    /// The next input; `None` after a timeout.
    pub fn next(&self, patience: Duration) -> Option<Input> {
        self.receiver.recv_timeout(patience).ok()
    }

    /// Draws lines, which are made for the size of the terminal in columns and rows.
    pub fn draw(&self, lines: impl FnOnce(usize, usize) -> Vec<Line>) -> io::Result<()> {
        let (columns, rows) = size();
        let mut text = String::new();
        for (index, line) in lines(columns, rows).iter().take(rows).enumerate() {
            // Writing to a string cannot fail. Lines have the width of the terminal, so they erase the picture before.
            let _ = write!(text, "\x1b[{};1H{}", index + 1, line.text(columns, self.is_coloured));
        }
        text.push_str("\x1b[J");
        show(&text)
    }

    /// Stops the program as Ctrl-Z does, and continues once the shell continues it.
    pub fn suspend(&self) -> io::Result<()> {
        restore();
        kill_process(getpid(), Signal::TSTP)?;
        enter()
    }

    /// Takes the terminal again after the program was stopped: a shell restores its own settings meanwhile.
    pub fn resume(&self) -> io::Result<()> {
        enter()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether input and output are a terminal that understands escape sequences.
pub fn is_usable() -> bool {
    let is_dumb = variable("TERM").is_none_or(|name| name == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

fn saved() -> MutexGuard<'static, Option<Termios>> {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn enter() -> io::Result<()> {
    let mut saved = saved();
    let settings = saved.take().map_or_else(|| tcgetattr(io::stdin()), Ok)?;
    let mut raw = settings.clone();
    raw.make_raw();
    *saved = Some(settings);
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    show(ENTER)
}

fn restore() {
    if let Some(settings) = saved().take() {
        // Nothing can be done about a terminal that is gone.
        let _ = show(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &settings);
    }
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    let Ok(size) = tcgetwinsize(io::stdout()) else { return DEFAULT_SIZE };
    match (size.ws_col.into(), size.ws_row.into()) {
        (0, _) | (_, 0) => DEFAULT_SIZE,
        (columns, rows) => (MAX_SIZE.min(columns), MAX_SIZE.min(rows)),
    }
}

fn show(text: &str) -> io::Result<()> {
    let mut terminal = io::stdout().lock();
    terminal.write_all(text.as_bytes())?;
    terminal.flush()
}

/// Sends keys until the terminal closes. Raw input has no signals, so Ctrl-C and Ctrl-Z are keys.
fn read_keys(sender: &SyncSender<Input>) {
    for byte in io::stdin().lock().bytes() {
        let key = match byte {
            Ok(b'q' | b'Q' | 0x03) | Err(_) => Key::Quit,
            Ok(0x1a) => Key::Suspend,
            Ok(_) => continue,
        };
        if sender.send(Input::Key(key)).is_err() {
            return;
        }
    }
    // The program may have ended already.
    let _ = sender.send(Input::Key(Key::Quit));
}

fn read_signals(mut signals: Signals, sender: &SyncSender<Input>) {
    for signal in signals.forever() {
        if sender.send(Input::Signal(signal)).is_err() {
            return;
        }
    }
}
