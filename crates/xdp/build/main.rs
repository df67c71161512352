//! Compiles the XDP programs of `bpf/` if there is a suitable clang.
//!
//! Without one the crate still builds, and reports that the programs are missing when they are loaded. If the compiler
//! exists and refuses a program, the build fails.

mod compiler;

use std::{env, fs, path::PathBuf};

use compiler::Compiler;

fn main() {
    let variable = |name| PathBuf::from(env::var_os(name).unwrap_or_default());
    let (source, output) = (variable("CARGO_MANIFEST_DIR").join("../../bpf"), variable("OUT_DIR"));
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=CLANG");
    let compiler = match Compiler::find(env::var("CLANG").ok().as_deref()) {
        Ok(compiler) => Some(compiler),
        Err(reason) => {
            println!(
                "cargo::warning=the programs of bpf/ were not compiled, so the node serves without XDP: \
                 install clang 19 (scripts/setup does) and build again"
            );
            lines("warning", &reason);
            None
        }
    };
    for program in ["turnpike", "bench", "kv", "kv_bench", "storm", "ledger", "ledger_bench", "generator"] {
        let object = output.join(format!("{program}.o"));
        let made = match &compiler {
            Some(compiler) => compiler.compile(&source.join(format!("{program}.bpf.c")), &object),
            // An empty object stands for a missing one.
            None => fs::write(&object, []).map_err(|error| format!("cannot write {}: {error}", object.display())),
        };
        if let Err(refused) = made {
            lines("error", &refused);
        }
    }
}

/// Prints a text for cargo line by line.
fn lines(kind: &str, text: &str) {
    text.lines().for_each(|line| println!("cargo::{kind}={line}"));
}
