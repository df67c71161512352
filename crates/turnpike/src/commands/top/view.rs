//! The text of a picture.

use super::Picture;
use super::figures::{Interval, share};
use super::status::{Row, Section, State, Status};
use crate::cli::variable;
use crate::output::thousands;

/// Width of the left half.
const HALF: usize = 41;
/// Narrower terminals show one half above the other.
const TWO_HALVES: usize = 80;
/// Units of memory and disks, as in the status of a node.
const BINARY: [(f64, &str); 5] = [
    ((1_u64 << 40) as f64, "TiB"),
    ((1_u64 << 30) as f64, "GiB"),
    ((1_u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];
/// Shown if a figure does not apply.
const NONE: &str = "-";

/// The look of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Title,
    Good,
    Warning,
    Bad,
}

impl Style {
    /// The escape sequence that begins it.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Title => "\x1b[1m",
            Self::Good => "\x1b[32m",
            Self::Warning => "\x1b[33m",
            Self::Bad => "\x1b[1;31m",
        }
    }
}

/// A line of a picture.
#[derive(Debug, Clone, Default)]
pub struct Line(Vec<(Style, String)>);

impl Line {
    fn new(style: Style, text: impl Into<String>) -> Self {
        Self(vec![(style, text.into())])
    }

    fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line, cut or padded to a number of columns.
    pub fn text(&self, columns: usize, is_coloured: bool) -> String {
        let (mut text, mut left) = (String::new(), columns);
        for (style, piece) in &self.0 {
            // A node's texts must not control the terminal.
            let piece: String = piece.chars().take(left).map(|c| if c.is_control() { '?' } else { c }).collect();
            left -= piece.chars().count();
            match style.code() {
                code if is_coloured && !code.is_empty() => text.extend([code, &piece, "\x1b[0m"]),
                _ => text.push_str(&piece),
            }
        }
        text.extend(std::iter::repeat_n(' ', left));
        text
    }
}

/// Whether the environment allows colours (<https://no-color.org>).
pub fn allows_colour() -> bool {
    variable("NO_COLOR").is_none()
}

/// The lines of a picture of this size. With `usize::MAX` rows it is complete.
pub fn lines(picture: &Picture, columns: usize, rows: usize) -> Vec<Line> {
    let Picture { status, interval, .. } = picture;
    let mut lines = vec![head(picture)];
    let problems: Vec<Line> = problems(picture).iter().flat_map(|(style, text)| wrap(*style, text, columns)).collect();
    // Figures remain visible below many problems.
    let shown = problems.len().min(rows / 5);
    lines.extend(problems.iter().take(shown).cloned());
    lines.extend(halves(requests(interval), latencies(interval), columns));
    lines.extend(halves(process(interval), store(interval), columns));
    lines.extend(sections(status).iter().flat_map(|section| describe(section, columns)));
    if rows == usize::MAX {
        return lines;
    }
    let hidden = (lines.len() + 1).saturating_sub(rows) + problems.len() - shown;
    lines.truncate(rows.saturating_sub(1));
    lines.resize_with(rows.saturating_sub(1), Line::default);
    let more = if hidden == 0 {
        String::new()
    } else {
        format!("   {hidden} more lines: enlarge the terminal, or use --once")
    };
    lines.push(Line::new(Style::Title, "q").with(Style::Plain, format!(" quit{more}")));
    lines
}

fn head(picture: &Picture) -> Line {
    let Picture { http, status, stale, .. } = picture;
    let (style, state) = match status {
        _ if stale.is_some() => (Style::Bad, "no answer"),
        Status { ready: false, .. } => (Style::Bad, "not ready"),
        Status { healthy: false, .. } => (Style::Bad, "damaged"),
        _ => (Style::Good, "ready"),
    };
    let network: String = status.network.as_deref().unwrap_or(NONE).chars().take(8).collect();
    let promise = status.promise.as_deref().unwrap_or(NONE);
    let text = format!("  {http}  network {network}  {promise}  up {}  ", uptime(status.uptime_seconds));
    Line::new(Style::Title, format!("turnpike {}", status.program)).with(Style::Plain, text).with(style, state)
}

/// Everything that needs attention, with advice.
fn problems(picture: &Picture) -> Vec<(Style, String)> {
    let Picture { status, stale, .. } = picture;
    let mut found = Vec::new();
    found.extend(stale.iter().map(|reason| (Style::Bad, reason.clone())));
    found.extend(status.reason.iter().map(|reason| (Style::Bad, format!("not ready: {reason}"))));
    if !status.healthy {
        found.push((Style::Bad, "blocks on disk are damaged: /health lists them".into()));
    }
    for (state, style) in [(State::Error, Style::Bad), (State::Warning, Style::Warning)] {
        for section in &status.sections {
            for row in section.rows.iter().filter(|row| row.state == Some(state)) {
                let advice = row.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
                found.push((style, format!("{}: {}: {}{advice}", section.title, row.name, row.text())));
            }
        }
    }
    found
}

fn requests(interval: &Interval) -> Vec<Line> {
    let names = [
        ("executed", "executed_total"),
        ("transfers", "transfer_total"),
        ("creates", "create_total"),
        ("issues", "issue_total"),
        ("refers", "refer_total"),
        ("queries", "queries_total"),
        ("refused", "refused_total"),
        ("busy", "busy_total"),
        ("dropped", "dropped_total"),
    ];
    let mut lines = vec![title("Requests", ["per second", "total"])];
    for (name, counter) in names {
        let is_bad =
            matches!(name, "refused" | "busy" | "dropped") && interval.rate(counter).is_some_and(|rate| rate > 0.0);
        let style = if is_bad { Style::Warning } else { Style::Plain };
        lines.push(row(style, name, [number(interval.rate(counter)), number(interval.figures.get(counter))]));
    }
    lines
}

fn latencies(interval: &Interval) -> Vec<Line> {
    let Interval { figures, .. } = interval;
    let mut lines = vec![title("Latency", ["p50", "p99"])];
    for (name, figure) in
        [("accepted", "accepted"), ("durable", "durable"), ("final", "final"), ("journal sync", "sync")]
    {
        let quantile = |quantile: &str| seconds(figures.get(&format!("{figure}_{quantile}_seconds")));
        lines.push(row(Style::Plain, name, [quantile("p50"), quantile("p99")]));
    }
    lines.push(title("Stages", ["at", "lag"]));
    let built = number(interval.lag("durable_sequence", "built_sequence"));
    let final_lag = number(interval.lag("height", "final_height"));
    for (name, at, lag) in [
        ("journal", "durable_sequence", String::new()),
        ("block builder", "built_sequence", built),
        ("block", "height", String::new()),
        ("index root", "index_height", number(interval.lag("height", "index_height"))),
        ("final block", "final_height", final_lag),
    ] {
        lines.push(row(Style::Plain, name, [number(figures.get(at)), lag]));
    }
    lines
}

fn process(interval: &Interval) -> Vec<Line> {
    let Interval { figures, .. } = interval;
    let values = [
        ("disk free", bytes(figures.get("disk_free_bytes"))),
        ("memory", bytes(figures.get("resident_bytes"))),
        ("processor", percent(interval.rate("cpu_seconds_total"))),
        ("connections", number(figures.get("connections"))),
        ("accounts", number(figures.get("accounts"))),
        ("transactions", number(figures.get("transactions"))),
    ];
    let mut lines = vec![title("Node", ["", ""])];
    lines.extend(values.map(|(name, value)| row(Style::Plain, name, [String::new(), value])));
    lines
}

fn store(interval: &Interval) -> Vec<Line> {
    let proofs = interval.share("proof_hits_total", "proof_misses_total");
    let hits = interval.rate("kv_hits_total").zip(interval.rate("kv_get_total"));
    let hits = hits.and_then(|(hits, gets)| share(hits, gets));
    vec![
        title("Key-value store", ["per second", "hits"]),
        row(Style::Plain, "gets", [number(interval.rate("kv_get_total")), percent(hits)]),
        row(Style::Plain, "sets", [number(interval.rate("kv_set_total")), String::new()]),
        title("Caches", ["per second", "hits"]),
        row(Style::Plain, "proofs", [number(interval.rate("proof_hits_total")), percent(proofs)]),
        row(Style::Plain, "network driver", [number(interval.rate("xdp_total")), String::new()]),
        row(Style::Plain, "Bitcoin block", [number(interval.figures.get("bitcoin_height")), String::new()]),
    ]
}

/// The sections of the status, that of the replica first: it has no other place in a small picture.
fn sections(status: &Status) -> Vec<&Section> {
    let is_replica = |section: &&Section| ["replica", "order", "cluster"].contains(&section.name.as_str());
    let (mut sections, rest): (Vec<_>, Vec<_>) = status.sections.iter().partition(is_replica);
    sections.extend(rest);
    sections
}

/// A section in as few lines as it fits in.
fn describe(section: &Section, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::new(Style::Title, &section.title);
    for row in &section.rows {
        let style = match row.state {
            Some(State::Error) => Style::Bad,
            Some(State::Warning) => Style::Warning,
            _ => Style::Plain,
        };
        let Row { name, .. } = row;
        let text = format!("  {name}: {}", row.text());
        if line.width() + text.chars().count() > columns && line.width() > 0 {
            lines.push(std::mem::take(&mut line));
        }
        line = line.with(style, text);
    }
    lines.push(line);
    lines
}

/// Two blocks side by side, or one above the other in a narrow terminal.
fn halves(left: Vec<Line>, right: Vec<Line>, columns: usize) -> Vec<Line> {
    if columns < TWO_HALVES {
        return left.into_iter().chain(right).collect();
    }
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let both = (0..count).map(|_| {
        let (mut line, right) = (left.next().unwrap_or_default(), right.next().unwrap_or_default());
        line.0.push((Style::Plain, " ".repeat(HALF.saturating_sub(line.width()))));
        line.0.extend(right.0);
        line
    });
    both.collect()
}

/// Text in lines of at most this width, broken between words.
fn wrap(style: Style, text: &str, columns: usize) -> Vec<Line> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > columns {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.into_iter().map(|line| Line::new(style, line)).collect()
}

fn title(name: &str, columns: [&str; 2]) -> Line {
    Line::new(Style::Title, format!("{name:<15}{:>11}{:>13}", columns[0], columns[1]))
}

fn row(style: Style, name: &str, values: [String; 2]) -> Line {
    Line::new(style, format!("{name:<15}{:>11}{:>13}", values[0], values[1]))
}

/// A number or a rate, with one decimal if it is small.
fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 100.0 || value.fract() == 0.0 => thousands(value.round() as u64),
        Some(value) => format!("{value:.1}"),
        None => NONE.into(),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.into(), |share| format!("{:.1} %", 100.0 * share))
}

/// A value in the largest unit of which there is at least one.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let found = units.iter().find(|(size, _)| value >= *size).or(units.last());
    let (size, unit) = found.copied().unwrap_or((1.0, ""));
    let scaled = value / size;
    let decimals = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.decimals$} {unit}")
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.into(), |value| scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]))
}

fn bytes(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.into(), |value| scaled(value, &BINARY))
}

/// The two largest units of a time.
fn uptime(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::*;

    fn picture(status: &str) -> Picture {
        let row = |time: u32, total: u32| {
            let names =
                r#"["time","transfer_total","durable_p99_seconds","durable_sequence","built_sequence","kv_get_total"]"#;
            Figures::parse(&format!(r#"{{"names":{names},"row":[{time},{total},0.0123,1500,1400,null]}}"#)).unwrap()
        };
        let interval = Interval::between(Some(&row(1, 0)), row(2, 1_234_567));
        let status = serde_json::from_str(status).unwrap();
        Picture { http: "127.0.0.1:7480".into(), status, interval, stale: None }
    }

    const READY: &str = r#"{"program":"1.0","network":"0011223344556677","promise":"final","uptime_seconds":90061.5,
        "ready":true,"reason":null,"healthy":true,"configuration":"","sections":[
        {"name":"storage","title":"Storage","rows":[{"name":"segments","value":4,"state":null,"advice":null}]},
        {"name":"replica","title":"Replica","rows":[{"name":"leader","value":"3","state":"ok","advice":null}]}]}"#;

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.text(80, false) + "\n").collect()
    }

    #[test]
    fn a_small_terminal_shows_figures_and_the_replica() {
        let lines = lines(&picture(READY), 80, 24);
        let shown = text(&lines);
        assert_eq!(lines.len(), 24);
        assert!(lines.iter().all(|line| line.width() <= 80), "{shown}");
        for expected in [
            "turnpike 1.0  127.0.0.1:7480  network 00112233  final  up 1d 1h  ready",
            "transfers        1,234,567    1,234,567",
            "durable                  -      12.3 ms",
            "block builder        1,400          100",
            "gets                     -            -",
            "Replica  leader: 3",
            "q quit",
        ] {
            assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
        }
        assert!(shown.find("Replica") < shown.find("Storage"), "{shown}");
    }

    #[test]
    fn problems_come_first_with_advice_and_leave_room_for_figures() {
        let mut picture = picture(READY);
        picture.status.ready = false;
        picture.status.reason = Some("the disk has no room".into());
        picture.status.sections[0].rows[0].state = Some(State::Warning);
        picture.status.sections[0].rows[0].advice = Some("free space ".repeat(100));
        let shown = text(&lines(&picture, 80, 24));
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{shown}"));
        assert!(at("not ready: the disk") < at("Storage: segments: 4; free space"), "{shown}");
        assert!(at("Storage: segments") < at("Requests"), "{shown}");
        assert!(at("transfers") < at("more lines"), "{shown}");
        assert!(text(&lines(&picture, 80, usize::MAX)).matches("space").count() == 100);
    }

    #[test]
    fn any_size_of_terminal_works() {
        for columns in [1, 2, 10, 79, 80, 200] {
            for rows in [1, 2, 10, 24, 100] {
                let lines = lines(&picture(READY), columns, rows);
                assert_eq!(lines.len(), rows);
                assert!(lines.iter().all(|line| line.text(columns, false).chars().count() == columns));
            }
        }
    }

    #[test]
    fn texts_of_a_node_do_not_control_the_terminal() {
        let shown = Line::new(Style::Bad, "a\x1b[2Jb\r\n").text(10, false);
        assert_eq!(shown, "a?[2Jb??  ");
        assert_eq!(Line::new(Style::Bad, "a").text(2, true), "\x1b[1;31ma\x1b[0m ");
        assert_eq!(Line::new(Style::Plain, "a").text(2, true), "a ");
    }

    #[test]
    fn values_have_units() {
        assert_eq!(seconds(Some(0.000_045)), "45.0 us");
        assert_eq!(seconds(Some(2.5)), "2.50 s");
        assert_eq!(bytes(Some(44.6 * 1024.0 * 1024.0 * 1024.0)), "44.6 GiB");
        assert_eq!(number(Some(0.25)), "0.2");
        assert_eq!(number(Some(f64::NAN)), "NaN");
        assert_eq!(uptime(59.9), "59s");
        assert_eq!(uptime(-1.0), "0s");
    }
}
