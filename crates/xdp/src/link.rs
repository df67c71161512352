//! An attached program.

use std::{
    fmt,
    os::fd::{AsFd, OwnedFd},
};

use crate::{Error, Interface, error::refused, sys};

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel processes a frame.
    Native,
    /// After the driver, on any interface: correct, but not much faster than the host's network stack.
    Generic,
}

impl Mode {
    /// The kernel's flag (include/uapi/linux/if_link.h).
    const fn flag(self) -> u32 {
        match self {
            Self::Generic => 1 << 1,
            Self::Native => 1 << 2,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

/// A program that is attached to an interface until this value is dropped or the process ends in any way.
///
/// It is never pinned: a program that outlived its node would answer from tables that nobody updates.
#[derive(Debug)]
pub struct Link {
    _link: OwnedFd,
    mode: Mode,
}

impl Link {
    /// Attaches a program in the driver if possible, otherwise after it.
    pub fn attach(program: &impl AsFd, interface: &Interface) -> Result<Self, Error> {
        Self::attach_as(program, interface, Mode::Native)
            .or_else(|_| Self::attach_as(program, interface, Mode::Generic))
    }

    /// Attaches a program in a mode.
    pub fn attach_as(program: &impl AsFd, interface: &Interface, mode: Mode) -> Result<Self, Error> {
        let link = sys::link(program.as_fd(), interface.index, mode.flag());
        Ok(Self { _link: link.map_err(refused("to attach the XDP program"))?, mode })
    }

    /// The mode that it is attached in.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}
