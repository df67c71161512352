//! The C examples, compiled with all warnings and, if the compiler has them, the address and undefined behaviour
//! sanitizers, linked with the static and with the shared library.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

const SANITIZERS: &str = "-fsanitize=address,undefined";
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/secp256k1/bitcoin_block_413567.bin");

fn compiler(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.current_dir(folder).args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1"]);
    command
}

fn has_sanitizers(folder: &Path) -> bool {
    fs::write(folder.join("empty.c"), "int main(void) { return 0; }\n").unwrap();
    let linked = compiler(folder).args([SANITIZERS, "empty.c", "-o", "empty"]).output().unwrap().status.success();
    linked && Command::new(folder.join("empty")).status().unwrap().success()
}

/// Compiles an example and returns the program.
fn compile(folder: &Path, example: &str, library: &[&str]) -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = compiler(folder);
    command.arg("-I").arg(crate_folder.join("include")).arg(crate_folder.join(format!("examples/{example}.c")));
    if has_sanitizers(folder) {
        command.arg(SANITIZERS).arg("-fno-sanitize-recover=all");
    } else {
        eprintln!("note: the compiler has no sanitizers");
    }
    let output = command.args(library).args(["-lpthread", "-ldl", "-lm", "-o", example]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join(example)
}

/// Where cargo puts this package's libraries for its tests: beside the tests.
fn libraries() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn run(program: &Path, argument: &Path) -> Output {
    Command::new(program).arg(argument).env("LD_LIBRARY_PATH", libraries()).output().unwrap()
}

fn check(library: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "verify", library);

    let output = run(&program, Path::new(VECTORS));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        text,
        format!("turnpike_verify {}\n5815 of 5815 signatures are valid\n", env!("CARGO_PKG_VERSION")),
        "the real signatures"
    );

    let mut records = fs::read(VECTORS).unwrap();
    records[7] ^= 1;
    let broken = folder.path().join("broken.bin");
    fs::write(&broken, &records).unwrap();
    let output = run(&program, &broken);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("signature 0: the signature is not valid for this message and this key\n"), "{text}");
    assert!(text.contains("5814 of 5815 signatures are valid\n"), "{text}");

    fs::write(&broken, &records[..1000]).unwrap();
    assert_eq!(run(&program, &broken).status.code(), Some(2), "a file that ends within a record");
    fs::write(&broken, []).unwrap();
    assert_eq!(run(&program, &broken).status.code(), Some(0), "an empty file");
}

#[test]
fn linked_with_the_static_library() {
    let library = libraries().join("libturnpike_verify_c.a");
    check(&[library.to_str().unwrap()]);
}

#[test]
fn linked_with_the_shared_library() {
    check(&["-L", libraries().to_str().unwrap(), "-lturnpike_verify_c"]);
}

#[test]
fn a_delay() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "delay", &[libraries().join("libturnpike_verify_c.a").to_str().unwrap()]);
    let run = |modulus: &str| Command::new(&program).args([modulus, "message", "1000"]).output().unwrap();
    let output = run("ffffffffffffffc5");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("10 %\n20 %\n"), "{text}");
    assert!(text.contains("\nproved in 50 bytes: "), "{text}");
    assert_eq!(run("ffff").status.code(), Some(0));
    for wrong in ["", "fff", "10", "xx"] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_header_is_one_of_cpp_too() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include \"turnpike_verify.h\"\nint main() { return turnpike_backend_available(TURNPIKE_SCHEME_SHA256, 9); }\n";
    fs::write(folder.path().join("main.cpp"), source).unwrap();
    let mut command = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    command.current_dir(folder.path()).args([
        "-std=c++11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-fsyntax-only",
    ]);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let output = command.arg("-I").arg(include).arg("main.cpp").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
