//! Compiles `engine.c`, including the headers of `bpf/`, for this machine. Undefined behaviour traps.

use std::{env, path::PathBuf, process::Command};

/// Compilers that report coverage to libFuzzer, best first.
const CLANGS: [&str; 4] = ["clang-21", "clang-20", "clang-19", "clang"];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let headers = here.join("../../bpf");
    println!("cargo::rerun-if-changed={}", headers.display());
    println!("cargo::rerun-if-changed=engine.c");
    let mut build = cc::Build::new();
    build.file("engine.c").include(headers).opt_level(2).warnings(true).warnings_into_errors(true);
    // Because of `#pragma clang`.
    build
        .flag_if_supported("-Wno-unknown-pragmas")
        .flags(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]);
    let is_there = |clang: &&str| Command::new(clang).arg("--version").output().is_ok();
    if env::var_os("CARGO_CFG_FUZZING").is_some()
        && let Some(clang) = CLANGS.into_iter().find(is_there)
    {
        build.compiler(clang).flag("-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp");
    }
    build.compile("engine");
}
