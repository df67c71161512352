//! Compiles the XDP program of `bpf/`, where there is a clang that can.
//!
//! Without one the crate is built all the same; it then says that the program is missing when it is to be loaded.

use std::{env, fs, path::PathBuf, process::Command};

/// Compilers to try, best first. BPF arenas need clang 19.
const COMPILERS: [&str; 4] = ["clang-21", "clang-20", "clang-19", "clang"];

/// Where C headers of the system are that clang does not look for when it compiles for BPF (Debian).
const HEADERS: [&str; 2] = ["/usr/include/x86_64-linux-gnu", "/usr/include"];

fn main() {
    let variable = |name| PathBuf::from(env::var_os(name).unwrap_or_default());
    let (source, output) = (variable("CARGO_MANIFEST_DIR").join("../../bpf"), variable("OUT_DIR"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    for program in ["turnpike", "bench", "storm", "ledger", "ledger_bench", "generator"] {
        let object = output.join(format!("{program}.o"));
        let compiled = compilers().into_iter().find(|clang| {
            Command::new(clang)
                .args(["-O2", "-g0", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"])
                .args(HEADERS.map(|folder| format!("-idirafter{folder}")))
                .arg("-c")
                .arg(source.join(format!("{program}.bpf.c")))
                .arg("-o")
                .arg(&object)
                .output()
                .is_ok_and(|output| output.status.success())
        });
        if compiled.is_none() {
            println!(
                "cargo::warning=bpf/{program}.bpf.c was not compiled, so the node serves without XDP: \
                 install clang 19 (scripts/setup does) and build again"
            );
            // An empty object stands for none.
            if let Err(error) = fs::write(&object, []) {
                println!("cargo::error=cannot write {}: {error}", object.display());
            }
        }
    }
}

fn compilers() -> Vec<String> {
    match env::var("CLANG") {
        Ok(clang) => vec![clang],
        Err(_) => COMPILERS.map(String::from).to_vec(),
    }
}
