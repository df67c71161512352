//! Any text as a configuration: what is accepted is written so that it is read as the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use node::Config;

fuzz_target!(|text: &str| {
    let Ok(config) = Config::parse(text) else { return };
    let written = toml::to_string(&config).expect("a configuration can be written");
    assert_eq!(Config::parse(&written).expect("what was written can be read"), config);
});
