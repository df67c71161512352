//! The commands of README and the chapters, run as they are written.
//!
//! The blocks of a chapter run in order in one shell: in a folder that looks like the repository, with the program in
//! the path, and in network and process namespaces of its own. A comment in the Markdown marks the block after it:
//!
//! - `<!-- not run: REASON -->`: the commands cannot run here.
//! - `<!-- file: NAME -->`: the block is the content of a file that commands below it use.
//! - `<!-- server: ... -->`: the last command serves until it is stopped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest run of a chapter, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(600);

/// First words of commands; other blocks are diagrams, source code or formats.
const COMMANDS: [&str; 15] = [
    "turnpike", "target/", "make", "cargo", "curl", "export", "printf", "kill", "cc", "pip", "ip", "openssl",
    "scripts/", "./", "apt",
];

/// The use of a block.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Server,
    NotRun(String),
    File(String),
}

/// An indented block of a chapter.
#[derive(Debug)]
struct Block {
    line: usize,
    kind: Kind,
    text: String,
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README and the chapters, by their paths below the repository.
fn documents() -> Vec<String> {
    let chapters = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let chapters = chapters.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
    let mut documents: Vec<String> = chapters.map(|name| format!("docs/{name}")).collect();
    documents.push("README.md".into());
    documents.sort();
    documents
}

/// The blocks of commands of a document, and the files that they use. Each marker must have its block.
fn blocks(document: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut marker, mut at) = (Vec::new(), None, 0);
    while at < lines.len() {
        if let Some(comment) = lines[at].strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) {
            let unused = std::mem::replace(&mut marker, kind(comment));
            assert!(unused.is_none(), "{document}:{}: the marker before this one has no block", at + 1);
        } else if lines[at].starts_with("    ") && (at == 0 || lines[at - 1].is_empty()) {
            let start = at;
            while at < lines.len() && (lines[at].starts_with("    ") || lines[at].is_empty()) {
                at += 1;
            }
            let text: Vec<&str> = lines[start..at].iter().map(|line| line.get(4..).unwrap_or_default()).collect();
            let is_command = COMMANDS.iter().any(|word| match text[0].strip_prefix(word) {
                Some(rest) => rest.starts_with(' ') || rest.is_empty() || word.ends_with('/'),
                None => false,
            });
            if is_command || matches!(marker, Some(Kind::File(_))) {
                let kind = marker.take().unwrap_or(Kind::Run);
                found.push(Block { line: start + 1, kind, text: text.join("\n") });
            }
            assert!(marker.is_none(), "{document}:{}: the marked block has no commands", start + 1);
            continue;
        } else if !lines[at].is_empty() {
            assert!(marker.is_none(), "{document}:{}: the marker has no block", at + 1);
        }
        at += 1;
    }
    found
}

/// The kind of block that a comment announces, if it is a marker.
fn kind(comment: &str) -> Option<Kind> {
    let (name, value) = comment.split_once(": ")?;
    match name {
        "not run" => Some(Kind::NotRun(value.into())),
        "file" => Some(Kind::File(value.into())),
        "server" => Some(Kind::Server),
        _ => None,
    }
}

/// A shell script of the blocks that can run, which ends with the first command that fails.
fn script(document: &str, blocks: &[Block]) -> String {
    let mut script =
        String::from("set -emo pipefail\nexport LC_ALL=C\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
    let traced = |commands: &str| format!("set -x\n{commands}\n{{ set +x; }} 2>/dev/null\n");
    for block in blocks {
        script += &format!("echo '== {document}:{}'\n", block.line);
        match &block.kind {
            Kind::NotRun(_) => {}
            Kind::File(name) => script += &format!("cat >{name} <<'END_OF_FILE'\n{}\nEND_OF_FILE\n", block.text),
            Kind::Run => script += &traced(&block.text),
            Kind::Server => {
                let (before, server) = block.text.trim_end().rsplit_once('\n').unwrap_or(("", block.text.trim_end()));
                script += &format!("rm -f server.log\n{}", traced(&format!("{before}\n{server} >server.log &")));
                // A server prints its addresses when it is ready, and exits with 0 on SIGTERM.
                script += "until [ -s server.log ]; do kill -0 $! || exit 1; sleep 0.1; done\ncat server.log; kill $!; wait $!\n";
            }
        }
    }
    script
}

/// A folder with the parts of the repository that the commands use, the program, and a home.
fn workplace(blocks: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["crates", "vectors", "bindings"] {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    for name in ["target", "bin", "home/.bitcoin"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    symlink(blocks, folder.path().join("target/blocks")).unwrap();
    symlink(blocks, folder.path().join("home/.bitcoin/blocks")).unwrap();
    symlink(env!("CARGO_BIN_EXE_turnpike"), folder.path().join("bin/turnpike")).unwrap();
    folder
}

/// A command that runs another one in new namespaces, so that no port is in use, and all its processes end with it.
fn isolated() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "bash", "-c"]);
    command
}

/// Runs the blocks of documents, each document's in one shell.
fn run(documents: &[String]) {
    let Some(file) = skip::blocks("blk_0_to_14131.dat") else { return };
    // The address is one of those that are set aside for documentation (RFC 5737).
    let up = "ip link set lo up && ip address add 192.0.2.1/24 dev lo && mount -t tmpfs tmpfs /dev/shm";
    let probe = isolated().arg(up).output();
    if !probe.as_ref().is_ok_and(|output| output.status.success()) {
        return skip::lacking(skip::Ability::Namespaces, format_args!("unshare and ip: {probe:?}"));
    }
    for document in documents {
        let blocks = blocks(document);
        if !blocks.iter().any(|block| matches!(block.kind, Kind::Run | Kind::Server)) {
            continue;
        }
        let folder = workplace(file.parent().unwrap());
        let (at, log) = (folder.path().join("script"), folder.path().join("log"));
        fs::write(&at, script(document, &blocks)).unwrap();
        let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let output = fs::File::create(&log).unwrap();
        let mut shell = isolated()
            .arg(format!("{up} && exec bash {}", at.display()))
            .current_dir(folder.path())
            .env("PATH", path)
            .env("HOME", folder.path().join("home"))
            .env_remove("TURNPIKE_NODE")
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = shell.try_wait().unwrap() {
                break Some(status);
            }
            if started.elapsed() > PATIENCE {
                shell.kill().unwrap();
                shell.wait().unwrap();
                break None;
            }
            sleep(Duration::from_millis(20));
        };
        let log = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        assert!(status.is_some_and(|status| status.success()), "{document}: {status:?}\n{log}");
    }
}

#[test]
fn the_commands_of_readme_work() {
    run(&["README.md".into()]);
}

#[test]
fn the_commands_of_the_quick_start_work() {
    run(&["docs/quick-start.md".into()]);
}

#[test]
fn the_commands_of_the_chapters_work() {
    let mut chapters = documents();
    chapters.retain(|document| document.starts_with("docs/") && document != "docs/quick-start.md");
    run(&chapters);
}

/// Each block that is left out has its reason, and is counted, so that none is left out by mistake.
#[test]
fn blocks_that_are_not_run_are_known() {
    const NOT_RUN: usize = 23;
    let mut not_run = Vec::new();
    for document in documents() {
        for block in blocks(&document) {
            if let Kind::NotRun(reason) = block.kind {
                assert!(reason.split(' ').count() >= 3, "{document}:{}: {reason:?} is no reason", block.line);
                not_run.push(format!("{document}:{}: {reason}", block.line));
            }
        }
    }
    assert_eq!(not_run.len(), NOT_RUN, "{not_run:#?}");
}
