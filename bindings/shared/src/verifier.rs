use std::io;
use std::thread::available_parallelism;

use verify::Pool;

use crate::backend::Backends;
use crate::{Backend, Call, Error, Scheme};

/// A choice of backend, and threads that share the items of a call.
///
/// Many threads may use it at the same time.
pub struct Verifier {
    pub(crate) backends: Backends,
    pub(crate) pool: Pool,
}

/// More threads than any processor has are a mistake, and one that a system may not survive.
const MOST_THREADS: usize = 1024;

impl Verifier {
    /// Creates a verifier on a given backend, with this many threads including the caller's; 0 means one per processor.
    /// Only schemes that support the backend can be called.
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

    /// The number of threads, including the caller's.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The backend that a scheme uses: never [`Backend::Fastest`].
    pub fn backend(&self, scheme: Scheme) -> Result<Backend, Error> {
        self.backends.used(scheme)
    }

    /// A call that runs to completion.
    pub fn call(&self) -> Call<'_> {
        Call { verifier: self, go_on: None }
    }

    /// A call that runs for as long as the function returns true. The calling thread asks at least every few tens of
    /// milliseconds, or after each message that takes longer to hash.
    pub fn call_while<'a>(&'a self, go_on: &'a mut dyn FnMut() -> bool) -> Call<'a> {
        Call { verifier: self, go_on: Some(go_on) }
    }
}
