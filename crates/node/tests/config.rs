//! Any text as a configuration: no text makes it panic, and an accepted one survives a round trip through text.
#![allow(missing_docs, clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*, sample::Index};
use turnpike_node::{Config, config::DEFAULT_TOML};

/// What becomes of a line of the default configuration.
#[derive(Clone, Debug)]
enum Change {
    Remove,
    Repeat,
    Value(String),
    Byte(Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let number = prop_oneof![Just(0), 1_u64..100, any::<u64>()].prop_map(|number| number.to_string());
    let values: [&str; 8] =
        ["\"127.0.0.1:0\"", "\"[::1]:7400\"", "\"\"", "\"xdp\"", "\"final\"", "\"a/b\"", "true", "[\"10.0.0.0/8\"]"];
    let value =
        prop_oneof![number, prop::sample::select(values.to_vec()).prop_map(String::from), "[-0-9a-z\"\\[\\]{}.]{0,9}"];
    prop_oneof![
        1 => Just(Change::Remove),
        1 => Just(Change::Repeat),
        4 => value.prop_map(Change::Value),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
    ]
}

/// The default configuration with some lines changed.
fn text() -> impl Strategy<Value = String> {
    let lines = Vec::from_iter(
        DEFAULT_TOML.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(String::from),
    );
    vec((any::<Index>(), change()), 0..6).prop_map(move |changes| {
        let mut lines = lines.clone();
        for (at, change) in changes {
            let at = at.index(lines.len());
            let line = &mut lines[at];
            match change {
                Change::Remove => line.clear(),
                Change::Repeat => *line = format!("{line}\n{line}"),
                Change::Value(value) => {
                    let key = line.split(" =").next().unwrap_or_default();
                    *line = format!("{key} = {value}");
                }
                Change::Byte(at, byte) if !line.is_empty() => {
                    let mut bytes = line.clone().into_bytes();
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                    *line = String::from_utf8_lossy(&bytes).into_owned();
                }
                Change::Byte(..) => {}
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_accepted_is_read_as_the_same_again(text in prop_oneof![9 => text(), 1 => any::<String>()]) {
        if let Ok(config) = Config::parse(&text) {
            let written = toml::to_string(&config).unwrap();
            prop_assert_eq!(Config::parse(&written).unwrap(), config);
        }
    }
}

/// The property looks at more than refusals.
#[test]
fn the_default_configuration_is_accepted() {
    assert_eq!(Config::parse(DEFAULT_TOML).unwrap(), Config::default());
}
