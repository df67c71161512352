//! Tests of the build script's module: a program that the compiler refuses, and a machine without a compiler.
#![allow(clippy::unwrap_used)]

#[path = "../build/compiler.rs"]
mod compiler;

use std::fs;
use std::path::PathBuf;

use compiler::Compiler;
use skip::Ability;

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiler");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A copy of `bpf/` with a mistake fails the build, with the place and the compiler's message.
#[test]
fn a_mistake_is_told() {
    let Ok(compiler) = Compiler::find(None) else {
        return skip::lacking(Ability::Clang, "there is no clang 19");
    };
    let bpf = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let (copy, object) = (folder(), folder().join("turnpike.o"));
    for entry in fs::read_dir(bpf).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
    }
    let source = copy.join("turnpike.bpf.c");
    compiler.compile(&source, &object).unwrap();
    assert!(fs::metadata(&object).unwrap().len() > 10_000);
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text + "\nint planted(void) { return nothing_of_this_name; }\n").unwrap();
    let refused = compiler.compile(&source, &object).unwrap_err();
    assert!(refused.contains("turnpike.bpf.c:") && refused.contains("nothing_of_this_name"), "{refused}");
}

/// A missing compiler is reported by name, and so is one that cannot compile for BPF.
#[test]
fn a_compiler_that_will_not_do_is_told() {
    let reason = |name| Compiler::find(Some(name)).err().unwrap();
    assert!(reason("clang-of-nowhere").starts_with("clang-of-nowhere: "));
    assert!(reason("false").starts_with("false ends with "));
}
