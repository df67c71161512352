//! The C examples and the benchmark, compiled with all warnings and, if the compiler has them, the address and
//! undefined behaviour sanitizers, linked with the static and with the shared library, and run against a node.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use common::Node;

const SANITIZERS: &str = "-fsanitize=address,undefined";
const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic", "-Werror"];

fn compiler(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.current_dir(folder).arg("-std=c11").args(STRICT).args(["-g", "-O1"]);
    command
}

fn has_sanitizers(folder: &Path) -> bool {
    fs::write(folder.join("empty.c"), "int main(void) { return 0; }\n").unwrap();
    let linked = compiler(folder).args([SANITIZERS, "empty.c", "-o", "empty"]).output().unwrap().status.success();
    linked && Command::new(folder.join("empty")).status().unwrap().success()
}

/// Compiles a program.
fn compile(folder: &Path, source: &str, library: &[&str]) -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = compiler(folder);
    command.arg("-I").arg(crate_folder.join("include")).arg(crate_folder.join(source));
    if has_sanitizers(folder) {
        command.arg(SANITIZERS).arg("-fno-sanitize-recover=all");
    } else {
        eprintln!("note: the compiler has no sanitizers");
    }
    let output = command.args(library).args(["-lpthread", "-ldl", "-lm", "-o", "program"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("program")
}

/// Where cargo puts this package's libraries for its tests: beside the tests.
fn libraries() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).env("LD_LIBRARY_PATH", libraries()).output().unwrap()
}

/// The output of a program that must succeed.
fn succeed(program: &Path, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    text.into_owned()
}

fn check(library: &[&str]) {
    let Some(node) = Node::start() else { return };
    let address = node.address.to_string();
    let network = node.client().info().network.map(|byte| format!("{byte:02x}")).concat();
    let folder = tempfile::tempdir().unwrap();

    let quick_start = compile(folder.path(), "examples/quick_start.c", library);
    for (arguments, left, received) in [(vec![&*address], 950, 50), (vec![&*address, &*network], 1900, 100)] {
        let text = succeed(&quick_start, &arguments);
        assert!(
            text.contains(&format!(" is durable, and alice has {left} left\nproved: it is transaction ")),
            "{text}"
        );
        assert!(text.contains(&format!("proved: bob has {received} as of block ")), "{text}");
        assert!(text.ends_with(&format!("verified again without a node: {received}\n")), "{text}");
    }
    let other = run(&quick_start, &[&address, &"00".repeat(32)]);
    assert_eq!(other.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&other.stderr);
    assert!(errors.starts_with("error: WRONG_NETWORK: "), "{errors}");
    for wrong in [&[][..], &[&*address, "00"], &[&*address, &*"zz".repeat(32)]] {
        assert_eq!(run(&quick_start, wrong).status.code(), Some(2), "{wrong:?}");
    }

    let batch = compile(folder.path(), "examples/batch.c", library);
    let text = succeed(&batch, &[&address, "3000"]);
    assert!(
        text.starts_with("3000 transfers, the same results when repeated; the balances are 300000 in all\n"),
        "{text}"
    );
    assert!(text.contains("\nINSUFFICIENT_BALANCE: the paying account holds less than the amount; pay less"), "{text}");
    assert!(text.contains("\nZERO_AMOUNT: the amount is 0; use an amount of at least 1\n"), "{text}");
}

#[test]
fn linked_with_the_static_library() {
    check(&[libraries().join("libturnpike.a").to_str().unwrap()]);
}

#[test]
fn linked_with_the_shared_library() {
    check(&["-L", libraries().to_str().unwrap(), "-lturnpike"]);
}

/// Compilers find an installed client by pkg-config alone, as a shared and as a static library.
#[test]
fn it_can_be_installed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let install = |prefix: &str| {
        let mut command = Command::new(root.join("install"));
        command.arg(prefix).env("DESTDIR", folder.path()).env("LIBRARIES", libraries()).output().unwrap()
    };
    assert_eq!(install("usr").status.code(), Some(2), "a relative prefix");
    let installed = install("/usr");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));

    let library = folder.path().join("usr/lib");
    let flags = |more: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(["--cflags", "--libs", "turnpike"]).args(more).env("PKG_CONFIG_PATH", library.join("pkgconfig"));
        let output = command.env("PKG_CONFIG_SYSROOT_DIR", folder.path()).output();
        let Ok(output) = output else { return None };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    };
    for (more, linker) in [(&[][..], &[][..]), (&["--static"], &["-static-pie"])] {
        let Some(flags) = flags(more) else {
            return skip::lacking(skip::Ability::Peers, "pkg-config is not installed");
        };
        let program = folder.path().join("quick_start");
        let mut command = compiler(folder.path());
        command.arg(root.join("examples/quick_start.c")).args(flags.split_whitespace()).args(linker).arg("-o");
        let output = command.arg(&program).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new(program).env("LD_LIBRARY_PATH", &library).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "it prints its usage");
    }
}

#[test]
fn the_benchmark_runs() {
    let Some(node) = Node::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bench = compile(folder.path(), "bench/bench.c", &[libraries().join("libturnpike.a").to_str().unwrap()]);
    let text = succeed(&bench, &[&node.address.to_string(), "1", "8"]);
    assert!(text.contains("processor time of the client: ") && text.contains("one by one: p50 "), "{text}");
}

/// Both headers of this repository fit into one program, in C and in C++.
#[test]
fn the_header_is_one_of_cpp_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = "#include \"turnpike.h\"\n#include \"turnpike_verify.h\"\nint main(void) {\n    \
                  return turnpike_status_text(TURNPIKE_NO_REPLY) == 0 || TURNPIKE_STATUS_OK != 0;\n}\n";
    for (name, compiler, default, standard) in [
        ("main.cpp", "CXX", "c++", "-std=c++17"),
        ("main.cpp", "CXX", "c++", "-std=c++11"),
        ("main.c", "CC", "cc", "-std=c11"),
    ] {
        fs::write(folder.path().join(name), source).unwrap();
        let mut command = Command::new(env::var_os(compiler).unwrap_or_else(|| default.into()));
        command.current_dir(folder.path()).arg(standard).args(STRICT).arg("-fsyntax-only");
        let includes = [root.join("include"), root.join("../../bindings/c/include")];
        let output = command.arg("-I").arg(&includes[0]).arg("-I").arg(&includes[1]).arg(name).output().unwrap();
        assert!(output.status.success(), "{standard}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
