//! Checks of this machine for `turnpike doctor`: what channels need, and what to change.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::{Config, memory::Memory};

/// Where Linux lists RDMA devices.
const DEVICES: &str = "/sys/class/infiniband";

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing checked.
    pub what: String,
    /// Whether it is as it should be.
    pub good: bool,
    /// Its state.
    pub how: String,
    /// How to improve it; empty if there is nothing to do.
    pub advice: String,
}

impl Finding {
    fn new(what: &str, good: bool, how: String, advice: &str) -> Self {
        let advice = if good { String::new() } else { advice.to_owned() };
        Self { what: what.to_owned(), good, how, advice }
    }
}

/// Checks shared memory, RDMA devices and the limit of locked memory.
pub fn machine() -> Vec<Finding> {
    vec![shared_memory(), devices(Path::new(DEVICES)), locked_memory(getrlimit(Resource::Memlock).current)]
}

fn shared_memory() -> Finding {
    let made = Memory::shared(4096).map(drop);
    let how = made.as_ref().map_or_else(ToString::to_string, |()| "can be made and sealed".to_owned());
    Finding::new("shared memory", made.is_ok(), how, "shm:// needs memfd_create and its seals: Linux 5.1 or newer")
}

fn devices(directory: &Path) -> Finding {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let how = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let advice = "rdma:// needs a device: load its driver, or make a software one: \
                  modprobe rdma_rxe; rdma link add rxe0 type rxe netdev INTERFACE";
    Finding::new("rdma devices", !names.is_empty(), how, advice)
}

fn locked_memory(limit: Option<u64>) -> Finding {
    let Config { buffers, buffer_bytes, .. } = Config::default();
    let channel = 2 * u64::from(buffers) * u64::from(buffer_bytes);
    let good = limit.is_none_or(|limit| limit >= channel);
    let how = limit.map_or_else(|| "unlimited".to_owned(), |limit| format!("{} KiB", limit >> 10));
    let advice = format!(
        "a channel over rdma:// locks {} MiB by default: raise it (ulimit -l, LimitMEMLOCK= of systemd), or have fewer buffers",
        channel >> 20
    );
    Finding::new("locked memory", good, how, &advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_advice() {
        for finding in machine() {
            assert_eq!(finding.good, finding.advice.is_empty(), "{finding:?}");
        }
        assert!(shared_memory().good);
        let none = devices(Path::new("/nowhere"));
        assert!(!none.good && none.advice.contains("rdma_rxe"));
        assert_eq!(devices(Path::new("/sys/class")).advice, "");
        assert!(locked_memory(None).good && locked_memory(Some(16 << 20)).good);
        let little = locked_memory(Some(64 << 10));
        assert_eq!((little.good, &*little.how), (false, "64 KiB"));
        assert!(little.advice.contains("16 MiB"), "{}", little.advice);
    }
}
