//! The header is up to date with the code.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_src(folder.join("src/lib.rs"))
        .with_config(config)
        .generate()
        .unwrap()
        .write(&mut made);
    let path = folder.join("include/turnpike.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let is = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == String::from_utf8(made).unwrap(),
        "the header is not what the code makes: run UPDATE_HEADER=1 cargo test -p turnpike-client-c --test header"
    );
}
