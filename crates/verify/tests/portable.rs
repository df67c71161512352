//! The portable backend of SHA-256 uses no SHA extensions, whatever the processor has: a child process hashes, and is
//! inspected after each instruction.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(clippy::unwrap_used)]

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use turnpike_verify::sha256::{Backend, Engine, sha256d_many_on};

/// Far more than a hash takes.
const MOST_STEPS: usize = 5_000_000;

/// `sha256rnds2`, `sha256msg1`, `sha256msg2` and those of SHA-1.
fn is_of_sha_extensions(code: [u8; 8]) -> bool {
    let has_rex = code[0] & 0xf0 == 0x40;
    let code = &code[usize::from(has_rex)..];
    matches!(code, [0x0f, 0x38, 0xc8..=0xcd, ..] | [0x0f, 0x3a, 0xcc, ..])
}

/// The number of instructions of the extensions that a hash executes.
fn sha_instructions(engine: &Engine) -> usize {
    // SAFETY: the child of a process with threads only calls functions that allocate nothing and take no lock, then
    // ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: only the child runs this: tracing, raising and ending are system calls without locks, and the null
        // pointers are ignored. Hashing with a ready engine allocates nothing.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) == 0 {
                libc::raise(libc::SIGSTOP);
            }
            let mut digests = [[0; 32]; 3];
            sha256d_many_on(engine, &[[7; 80]; 3], &mut digests);
            libc::_exit(i32::from(digests[0] != digests[2]));
        }
    }
    assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
    let (mut count, mut status) = (0, 0);
    for step in 0..MOST_STEPS {
        // SAFETY: the child is this process's own, and the pointers are to variables.
        unsafe {
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            if libc::WIFEXITED(status) {
                assert_eq!(libc::WEXITSTATUS(status), 0);
                assert!(step > 1000, "the child was not traced");
                return count;
            }
            assert!(libc::WIFSTOPPED(status), "the child ended by a signal: {status:#x}");
            let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
            assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, child, null_mut::<u8>(), registers.as_mut_ptr()), 0);
            let at = registers.assume_init().rip as *mut u8;
            let code = libc::ptrace(libc::PTRACE_PEEKTEXT, child, at, null_mut::<u8>());
            count += usize::from(is_of_sha_extensions(code.to_ne_bytes()));
            assert_eq!(libc::ptrace(libc::PTRACE_SINGLESTEP, child, null_mut::<u8>(), null_mut::<u8>()), 0);
        }
    }
    // SAFETY: the child is this process's own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    panic!("the child does not end");
}

#[test]
fn portable_means_no_sha_extensions() {
    assert_eq!(sha_instructions(&Engine::only(Backend::Portable).unwrap()), 0);
    // Shows that the extensions are detected where they are used.
    if let Some(engine) = Engine::only(Backend::ShaNi) {
        assert!(sha_instructions(&engine) > 96);
    }
}
