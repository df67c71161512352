//! A small file system in memory, for what happens where the disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system, gone when this is dropped.
pub struct Disk(PathBuf);

impl Disk {
    /// Mounts one on a directory, with options of tmpfs; only root can.
    pub fn mount(path: &Path, options: &str) -> Option<Self> {
        let mounted = mount(path, options);
        mounted.then(|| Self(path.to_path_buf()))
    }

    #[allow(dead_code, reason = "not every test needs all of it")]
    pub fn resize(&self, options: &str) {
        assert!(mount(&self.0, &format!("remount,{options}")));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn mount(path: &Path, options: &str) -> bool {
    let mut command = Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "turnpike-test"]).arg(path);
    command.output().is_ok_and(|output| output.status.success())
}
