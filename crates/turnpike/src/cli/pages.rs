//! Parts of help and man pages beside arguments: groups of commands, examples, files, exit status, environment.

use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::{Command, CommandFactory};

use super::Cli;

/// The version, with the commit if `TURNPIKE_COMMIT` was set at compile time.
static VERSION: LazyLock<String> = LazyLock::new(|| match option_env!("TURNPIKE_COMMIT") {
    Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
    _ => env!("CARGO_PKG_VERSION").to_owned(),
});

/// The commands, in the groups and the order in which help lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Node", &["serve", "kv", "cluster", "in-nic", "import", "backup", "check", "config", "doctor", "plan"]),
    ("Client", &["account", "feed", "key", "info", "top", "load", "replay"]),
    ("Chain", &["proof", "headers"]),
    ("Tools", &["verify", "delay", "link", "completions", "man"]),
    ("Development", &["demo", "coproc"]),
];

/// Examples by command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "serve",
        &[
            "turnpike serve --data data --trusted 127.0.0.0/8",
            "turnpike serve --config turnpike.toml",
            "turnpike serve --data copy --follow 10.0.0.7:7400",
        ],
    ),
    ("kv", &["turnpike kv -p 11211 -m 1024 -t 2"]),
    ("cluster init", &["turnpike cluster init --dir cluster --replicas 4 --trusted 127.0.0.0/8"]),
    ("cluster start", &["turnpike cluster start --dir cluster"]),
    ("cluster status", &["turnpike cluster status --dir cluster"]),
    ("import bitcoin", &["turnpike import bitcoin ~/.bitcoin/blocks --data data"]),
    ("backup", &["turnpike backup --data data copy"]),
    ("check", &["turnpike check data"]),
    (
        "plan",
        &[
            "turnpike plan --accounts 50000000 --rate 20000",
            "turnpike plan --accounts 1000000 --signed-rate 500 --days 90",
        ],
    ),
    ("account create", &["turnpike account create 1", "turnpike account create --key alice.key"]),
    ("account issue", &["turnpike account issue 1 1000"]),
    (
        "account transfer",
        &[
            "turnpike account transfer 1 2 250",
            "turnpike account transfer 1 2 250 --transaction 77 --node ledger.example",
        ],
    ),
    (
        "account hold",
        &["turnpike account hold 1 2 250 --expires-in 3600", "turnpike account hold 1 2 250 --key alice.key"],
    ),
    ("account capture", &["turnpike account capture 0190163d8694739baea5966c26f8ad91 1 2 200 --expiry 1893456000"]),
    ("account release", &["turnpike account release 0190163d8694739baea5966c26f8ad91 1 2"]),
    ("account reclaim", &["turnpike account reclaim 0190163d8694739baea5966c26f8ad91 1 2 --expiry 1893456000"]),
    (
        "account freeze",
        &["turnpike account freeze 1", "turnpike account freeze a4c1e58694739baea5966c26f8ad9101 --key issuer.key"],
    ),
    ("account unfreeze", &["turnpike account unfreeze 1"]),
    ("account close", &["turnpike account close 1", "turnpike account close --key alice.key"]),
    ("account refer", &["turnpike account refer 2"]),
    ("account list", &["turnpike account list --all --json"]),
    (
        "account history",
        &[
            "turnpike account history 1 --count 10",
            "turnpike account history 1 --kind transfer,capture --counterpart 2 --after @1893456000 --all --json",
        ],
    ),
    ("account holds", &["turnpike account holds 1 --all", "turnpike account holds 2 --role destination --json"]),
    ("key new", &["turnpike key new alice.key"]),
    ("key show", &["turnpike key show alice.key", "turnpike key show alice.key --account"]),
    ("info", &["turnpike info --node localhost:7400", "turnpike info --wait 10"]),
    ("feed", &["turnpike feed --from 1 --json", "turnpike feed --from 1000 --until 2000 --account 7"]),
    ("top", &["turnpike top", "turnpike top --http localhost:7480 --once --json"]),
    (
        "load",
        &[
            "turnpike load --accounts 1000 --operations 100000 --batch 60 --check",
            "turnpike load --mix two-phase --batch 20 --operations 100000",
        ],
    ),
    ("replay", &["turnpike replay capture.pcap --timed"]),
    (
        "proof get",
        &[
            "turnpike proof get --balance 2 --headers headers.own",
            "turnpike proof get --transaction 77 --source 1 --wait",
        ],
    ),
    (
        "proof verify",
        &[
            "turnpike proof verify proof.own --headers headers.own",
            "turnpike proof verify txoutproof.hex --headers headers.bitcoin --coinbase coinbase.hex",
        ],
    ),
    ("headers", &["turnpike headers --chain bitcoin headers.bitcoin"]),
    ("verify block", &["turnpike verify block blk00000.dat"]),
    ("verify schnorr", &["turnpike verify schnorr signatures.txt --server localhost:7400"]),
    ("delay evaluate", &["turnpike delay evaluate \"block 170\" --iterations 10000000 --out delay.proof"]),
    ("delay verify", &["turnpike delay verify delay.proof --message \"block 170\" --iterations 10000000"]),
    ("completions", &["turnpike completions bash"]),
    ("man", &["turnpike man ~/.local/share/man/man1"]),
    ("demo", &["turnpike demo --blocks target/blocks"]),
];

/// Files that a command and those below it use.
const FILES: &[(&str, &[(&str, &str)])] = &[
    (
        "serve",
        &[
            ("turnpike.toml", "configuration, under any name; `turnpike config default` prints one with every key"),
            ("DATA/", "journal, blocks and index of a node; one process uses it at a time"),
        ],
    ),
    ("cluster", &[("DIR/replica-N/", "configuration, key, log and data directory of a replica")]),
    ("key", &[("FILE", "secret key as 64 hexadecimal digits, mode 600")]),
    ("import", &[("blk*.dat", "blocks as Bitcoin Core stores them")]),
    ("headers", &[("FILE", "verified headers, one after the other")]),
];

/// Environment variables.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("TURNPIKE_NODE", "node that client commands use without --node"),
    ("TURNPIKE_HTTP", "HTTP address that lists and `top` read without --http"),
    ("NO_COLOR", "if not empty, the log and `top` have no colours"),
];

/// The program's command line, complete with groups and examples.
pub fn command() -> Command {
    let mut command = Cli::command().version(VERSION.as_str());
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Global options:\n{{options}}{{after-help}}",
        groups(&command)
    );
    command = command.help_template(template).after_help(after_help(""));
    with_examples(command, "")
}

/// The commands below the program, by group.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{group}:");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<12}{about}", sub.get_name());
        }
        text.push('\n');
    }
    text
}

/// Adds examples to the help of each command below one.
fn with_examples(mut command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(&name, |sub| {
            let sub = with_examples(sub, &path);
            if examples(&path).is_empty() { sub } else { sub.after_help(after_help(&path)) }
        });
    }
    command
}

/// The examples of a command, by its path below the program.
pub fn examples(path: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(command, _)| *command == path).map_or(&[], |(_, examples)| examples)
}

/// The files of a command, by its path below the program.
pub fn files(path: &str) -> &'static [(&'static str, &'static str)] {
    let is_of = |command: &str| path == command || path.starts_with(&format!("{command} "));
    FILES.iter().find(|(command, _)| is_of(command)).map_or(&[], |(_, files)| files)
}

/// The meanings of a command's exit statuses.
pub fn exit_status(path: &str) -> [(&'static str, &'static str); 3] {
    let (failed, usage) = match path.split(' ').next() {
        Some("verify") => ("something is not valid", "wrong usage, or a file cannot be used"),
        _ => ("the command failed; standard error has the reason", "wrong usage"),
    };
    [("0", "success"), ("1", failed), ("2", usage)]
}

fn after_help(path: &str) -> String {
    let mut text = String::new();
    if path.is_empty() {
        text.push_str("Exit status:\n");
        exit_status(path).iter().for_each(|(code, meaning)| text.push_str(&format!("  {code}  {meaning}\n")));
        text.push_str("\n`turnpike help COMMAND` explains a command; `turnpike man DIR` writes the man pages.");
    } else {
        text.push_str("Examples:");
        examples(path).iter().for_each(|example| text.push_str(&format!("\n  {example}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every command without subcommands.
    fn leaves(command: &Command, path: &str, into: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
            match sub.has_subcommands() {
                true => leaves(sub, &path, into),
                false => into.push(path),
            }
        }
    }

    #[test]
    fn each_command_is_in_one_group() {
        let command = Cli::command();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let there: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(listed.len(), there.len(), "a command is in two groups");
    }

    #[test]
    fn examples_and_files_are_of_commands_and_parse() {
        let mut paths = Vec::new();
        leaves(&Cli::command(), "", &mut paths);
        for (path, examples) in EXAMPLES {
            assert!(paths.iter().any(|known| known == path), "{path}");
            for example in *examples {
                let words = example.replace("\"block 170\"", "block-170");
                let parsed = command().try_get_matches_from(words.split(' '));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                assert!(example.starts_with(&format!("turnpike {path}")), "{example}");
            }
        }
        for (command, _) in FILES {
            assert!(paths.iter().any(|path| path == command || path.starts_with(&format!("{command} "))), "{command}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
        let help = command().render_help().to_string();
        for (group, _) in GROUPS {
            assert!(help.contains(&format!("{group}:\n")), "{help}");
        }
        assert!(help.contains("Global options:") && help.contains("Exit status:"), "{help}");
        assert!(!help.contains("Commands:"), "{help}");
    }

    #[test]
    fn short_help_is_short() {
        for sub in Cli::command().get_subcommands() {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((10..=90).contains(&about.len()), "{}: {about}", sub.get_name());
        }
    }
}
