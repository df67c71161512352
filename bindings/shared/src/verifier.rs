use std::io;
use std::thread::available_parallelism;

use verify::Pool;

use crate::backend::Backends;
use crate::{Backend, Call, Error, Scheme};

/// A choice of a backend, and threads that share out the items of a call among them.
///
/// It may be used by many threads at the same time.
pub struct Verifier {
    pub(crate) backends: Backends,
    pub(crate) pool: Pool,
}

/// More threads than any processor has are a mistake, and one that a system may not survive.
const MOST_THREADS: usize = 1024;

impl Verifier {
    /// A verifier on a backend of the caller's choice, with this many threads, counting the caller's; 0 are as many as
    /// there are processors. Only what has the backend can be called.
    pub fn new(threads: usize, backend: Backend) -> Result<Self, Error> {
        if !Scheme::ALL.into_iter().any(|scheme| backend.is_available(scheme)) {
            return Err(Error::Backend { backend, scheme: Scheme::Sha256 });
        }
        let threads = if threads == 0 { available_parallelism().map_or(1, Into::into) } else { threads };
        let refused = |source| Error::Threads { threads, source };
        if threads > MOST_THREADS {
            return Err(refused(io::Error::other(format!("at most {MOST_THREADS} are allowed"))));
        }
        Ok(Self { backends: Backends::new(backend), pool: Pool::start(threads).map_err(refused)? })
    }

    /// The number of threads, with the caller's.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Which backend a scheme runs on: never [`Backend::Fastest`].
    pub fn backend(&self, scheme: Scheme) -> Result<Backend, Error> {
        self.backends.used(scheme)
    }

    /// A call that goes on to its end.
    pub fn call(&self) -> Call<'_> {
        Call { verifier: self, go_on: None }
    }

    /// A call that goes on for as long as the function says so. The calling thread asks it every few tens of milliseconds at the
    /// longest, or after each message that takes longer than that to hash.
    pub fn call_while<'a>(&'a self, go_on: &'a mut dyn FnMut() -> bool) -> Call<'a> {
        Call { verifier: self, go_on: Some(go_on) }
    }
}
