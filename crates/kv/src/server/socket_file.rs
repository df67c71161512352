//! A socket in the file system.

use std::{
    fs::{self, Metadata},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, chmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, connect, listen, socket_with},
};

use super::Error;

/// The file of a listening socket. Dropping it removes the file, unless it was replaced.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn is(&self, file: &Metadata) -> bool {
        (file.dev(), file.ino()) == (self.device, self.inode)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| self.is(&file)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a socket in the file system, with a mode for its file.
pub(super) fn bind(path: &Path, mode: u32, backlog: i32) -> Result<(OwnedFd, SocketFile), Error> {
    if fs::symlink_metadata(path).is_ok_and(|file| !file.file_type().is_socket()) {
        return Err(Error::NotASocket(path.to_owned()));
    }
    let fail = |source| Error::Listen { at: path.display().to_string(), source };
    let fd = bind_socket(path, mode, backlog).map_err(fail)?;
    let file = fs::symlink_metadata(path).map_err(fail)?;
    Ok((fd, SocketFile { path: path.to_owned(), device: file.dev(), inode: file.ino() }))
}

fn bind_socket(path: &Path, mode: u32, backlog: i32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let address = SocketAddrUnix::new(path)?;
    // A socket without a listener is left over from a crash.
    if connect(&socket()?, &address) == Err(rustix::io::Errno::CONNREFUSED) {
        fs::remove_file(path)?;
    }
    let socket = socket()?;
    bind_to(&socket, &address)?;
    chmod(path, Mode::from_raw_mode(mode))?;
    listen(&socket, backlog)?;
    Ok(socket)
}
