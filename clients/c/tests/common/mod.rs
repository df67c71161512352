//! A safe client over the C functions, and nodes of the real program.
#![allow(dead_code, reason = "not every test needs all of it")]

pub mod fake;
// The program is no library.
#[path = "../../../../crates/turnpike/src/process.rs"]
mod process;

use std::ffi::{CStr, CString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs};

pub use process::Process;
use skip::Ability;
use turnpike::*;

/// How long a test waits for anything, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The secret key of the vectors, which may issue on nodes of tests.
pub fn secret_key() -> [u8; 32] {
    std::array::from_fn(|at| at as u8 + 1)
}

/// The path of the program, or a skipped test.
#[track_caller]
pub fn program() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("turnpike");
    let named = env::var_os("TURNPIKE").map(PathBuf::from);
    let built = [beside, root.join("target/release/turnpike"), root.join("target/debug/turnpike")];
    let found = named.into_iter().chain(built).find(|path| path.is_file());
    if found.is_none() {
        skip::lacking(Ability::Peers, "the program turnpike is not built: cargo build -p turnpike, or set TURNPIKE");
    }
    found
}

/// A node with an empty ledger on loopback, which can be killed and started again at the same address.
pub struct Node {
    program: PathBuf,
    folder: tempfile::TempDir,
    process: Option<Process>,
    pub address: SocketAddr,
}

impl Node {
    /// Starts a node that recognises every repetition of a test, however busy the machine is.
    #[track_caller]
    pub fn start() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let key = client::Signer::new(secp256k1::SecretKey::from_byte_array(secret_key()).unwrap(), [0; 32]);
        let issuer: String = key.public_key().iter().map(|byte| format!("{byte:02x}")).collect();
        let config = format!("issuers = [\"{issuer}\"]\n[ledger]\nretry_seconds = 600\n[blocks]\ninterval = 100\n");
        fs::write(folder.path().join("turnpike.toml"), config).unwrap();
        let mut node = Self { program, folder, process: None, address: free_address() };
        node.restart();
        Some(node)
    }

    pub fn restart(&mut self) {
        let config = self.folder.path().join("turnpike.toml");
        let arguments = ["--config", config.to_str().unwrap(), "--accounts", "100000"];
        let data = self.folder.path().join("data");
        self.process = Some(Process::start(&self.program, &data, self.address, &arguments).unwrap());
    }

    pub fn kill(&mut self) {
        self.process.take().unwrap().kill().unwrap();
    }

    pub fn client(&self) -> TestClient {
        TestClient::open(&[self.address], patient())
    }
}

/// An address of loopback that no other test uses, outside of the range of ports that the system assigns.
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let [_, high, low, _] = std::process::id().to_be_bytes();
    let mut random = [0; 1];
    getrandom::fill(&mut random).unwrap();
    let number = NEXT.fetch_add(1, Ordering::Relaxed) as u8;
    SocketAddr::from(([127, 1 + (high ^ low) % 250, 1 + random[0] % 250, number.clamp(1, 250)], 20_000))
}

/// Options with a long timeout.
pub fn patient() -> Options {
    Options { size: size_of::<Options>() as u32, timeout_ms: PATIENCE.as_millis() as u32, ..Options::default() }
}

pub fn no_error() -> Error {
    // SAFETY: an error is integers and enumerations that have a value of 0.
    unsafe { std::mem::zeroed() }
}

pub fn message(error: &Error) -> String {
    // SAFETY: the library ends the message with a zero byte.
    unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_str().unwrap().to_owned()
}

pub fn account(number: u64) -> Id {
    let mut id = Id::default();
    // SAFETY: the id is local.
    assert_eq!(unsafe { turnpike_account_from_number(number, &raw mut id) }, ClientStatus::TurnpikeOk);
    id
}

pub fn result() -> OperationResult {
    // SAFETY: a result is integers and enumerations that have a value of 0.
    unsafe { std::mem::zeroed() }
}

/// What a call returned and wrote.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub status: ClientStatus,
    pub result: OperationResult,
    pub error: Error,
}

impl Call {
    #[track_caller]
    pub fn ok(self) -> OperationResult {
        assert_eq!(self.status, ClientStatus::TurnpikeOk, "{}", message(&self.error));
        assert_eq!((self.result.status, self.result.execution), (ClientStatus::TurnpikeOk, Execution::Done));
        self.result
    }
}

/// A client that is freed when it is dropped.
pub struct TestClient(pub *mut Client);

// SAFETY: the header promises that any number of threads may use a client at once.
unsafe impl Send for TestClient {}
// SAFETY: as above.
unsafe impl Sync for TestClient {}

impl Drop for TestClient {
    fn drop(&mut self) {
        // SAFETY: nothing uses it afterwards.
        unsafe { turnpike_client_free(self.0) }
    }
}

impl TestClient {
    #[track_caller]
    pub fn open(nodes: &[SocketAddr], options: Options) -> Self {
        let nodes = Vec::from_iter(nodes.iter().map(|node| CString::new(node.to_string()).unwrap()));
        let pointers = Vec::from_iter(nodes.iter().map(|node| node.as_ptr()));
        let (mut client, mut error) = (null_mut(), no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_client_open(pointers.as_ptr(), pointers.len(), &raw const options, &raw mut client, &raw mut error)
        };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        Self(client)
    }

    pub fn create(&self, account: Id) -> Call {
        self.call(|result, error| {
            // SAFETY: all pointers are to local values.
            unsafe { turnpike_create(self.0, &raw const account, null_mut(), result, error) }
        })
    }

    pub fn issue(&self, account: Id, amount: u64) -> Call {
        self.call(|result, error| {
            // SAFETY: all pointers are to local values.
            unsafe { turnpike_issue(self.0, &raw const account, amount, null_mut(), result, error) }
        })
    }

    pub fn transfer(&self, source: Id, destination: Id, amount: u64, transaction: &mut Id) -> Call {
        let (source, destination) = (&raw const source, &raw const destination);
        self.call(|result, error| {
            // SAFETY: all pointers are to local values.
            unsafe { turnpike_transfer(self.0, source, destination, amount, transaction, result, error) }
        })
    }

    #[track_caller]
    pub fn balance(&self, account: Id) -> u64 {
        let (mut balance, mut error) = (0, no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_refer(self.0, &raw const account, &raw mut balance, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        balance
    }

    pub fn execute(&self, operation: &mut Operation, promise: Promise) -> Call {
        self.call(|result, error| {
            // SAFETY: all pointers are to local values.
            unsafe { turnpike_execute(self.0, operation, promise as u8, result, error) }
        })
    }

    pub fn submit(&self, operations: &mut [Operation], flags: u32) -> (ClientStatus, Vec<OperationResult>, Error) {
        let (mut results, mut error) = (vec![result(); operations.len()], no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_submit(
                self.0,
                operations.as_mut_ptr(),
                operations.len(),
                Promise::Default as u8,
                flags,
                results.as_mut_ptr(),
                &raw mut error,
            )
        };
        (status, results, error)
    }

    pub fn execute_signed(&self, signed: &Signed) -> Call {
        self.call(|result, error| {
            // SAFETY: all pointers are to local values.
            unsafe { turnpike_execute_signed(self.0, signed, result, error) }
        })
    }

    #[track_caller]
    pub fn info(&self) -> Info {
        // SAFETY: an info is integers.
        let (mut info, mut error) = (unsafe { std::mem::zeroed() }, no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_read_info(self.0, &raw mut info, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        info
    }

    #[track_caller]
    pub fn chain(&self, network: &[u8; 32]) -> TestChain {
        let (mut chain, mut error) = (null_mut(), no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_chain_open(self.0, network.as_ptr(), &raw mut chain, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        TestChain(chain)
    }

    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        // SAFETY: the counters are local.
        unsafe { turnpike_client_counters(self.0, &raw mut counters) };
        counters
    }

    pub fn close(&self) {
        // SAFETY: the client is not freed yet.
        unsafe { turnpike_client_close(self.0) }
    }

    pub fn prove_transaction(&self, chain: &TestChain, id: Id, source: Id) -> Result<TransactionProof, ClientStatus> {
        let (mut proof, mut error) = (TransactionProof::default(), no_error());
        let (id, source) = (&raw const id, &raw const source);
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_prove_transaction(
                self.0,
                chain.0,
                id,
                source,
                &raw mut proof,
                null_mut(),
                0,
                null_mut(),
                &raw mut error,
            )
        };
        if status == ClientStatus::TurnpikeOk { Ok(proof) } else { Err(status) }
    }

    /// Asks until the transaction is in a block.
    #[track_caller]
    pub fn wait_for_transaction(&self, chain: &TestChain, id: Id, source: Id) -> TransactionProof {
        let since = std::time::Instant::now();
        loop {
            match self.prove_transaction(chain, id, source) {
                Err(ClientStatus::TurnpikeNotFound) if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                outcome => return outcome.unwrap(),
            }
        }
    }

    pub fn prove_balance(&self, chain: &TestChain, account: Id) -> Result<(BalanceProof, Vec<u8>), ClientStatus> {
        let (mut proof, mut error, mut length) = (BalanceProof::default(), no_error(), 0);
        let mut bytes = vec![0; TURNPIKE_PROOF_LENGTH];
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_prove_balance(
                self.0,
                chain.0,
                &raw const account,
                &raw mut proof,
                bytes.as_mut_ptr(),
                bytes.len(),
                &raw mut length,
                &raw mut error,
            )
        };
        bytes.truncate(length);
        if status == ClientStatus::TurnpikeOk { Ok((proof, bytes)) } else { Err(status) }
    }

    fn call(&self, call: impl FnOnce(*mut OperationResult, *mut Error) -> ClientStatus) -> Call {
        let (mut result, mut error) = (result(), no_error());
        let status = call(&raw mut result, &raw mut error);
        assert_eq!(error.status, status);
        Call { status, result, error }
    }
}

/// A chain that is freed when it is dropped.
pub struct TestChain(pub *mut Chain);

// SAFETY: the header promises that any number of threads may use a chain at once.
unsafe impl Send for TestChain {}
// SAFETY: as above.
unsafe impl Sync for TestChain {}

impl Drop for TestChain {
    fn drop(&mut self) {
        // SAFETY: nothing uses it afterwards.
        unsafe { turnpike_chain_free(self.0) }
    }
}

impl TestChain {
    pub fn restore(network: &[u8; 32], saved: &[u8]) -> Result<Self, ClientStatus> {
        let (mut chain, mut error) = (null_mut(), no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_chain_restore(network.as_ptr(), saved.as_ptr(), saved.len(), &raw mut chain, &raw mut error)
        };
        if status == ClientStatus::TurnpikeOk { Ok(Self(chain)) } else { Err(status) }
    }

    pub fn save(&self) -> Vec<u8> {
        let (mut length, mut error) = (0, no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_chain_save(self.0, null_mut(), 0, &raw mut length, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeBuffer);
        let mut saved = vec![0; length];
        // SAFETY: all pointers are to local values.
        let status =
            unsafe { turnpike_chain_save(self.0, saved.as_mut_ptr(), length, &raw mut length, &raw mut error) };
        assert_eq!((status, saved.len()), (ClientStatus::TurnpikeOk, length), "{}", message(&error));
        saved
    }

    pub fn state(&self) -> ChainState {
        // SAFETY: a state is integers, and all pointers are to local values.
        unsafe {
            let mut state = std::mem::zeroed();
            assert_eq!(turnpike_chain_read(self.0, &raw mut state), ClientStatus::TurnpikeOk);
            state
        }
    }

    pub fn verify_balance(&self, account: Id, proof: &[u8]) -> Result<BalanceProof, ClientStatus> {
        let (mut balance, mut error) = (BalanceProof::default(), no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe {
            turnpike_verify_balance(
                self.0,
                &raw const account,
                proof.as_ptr(),
                proof.len(),
                &raw mut balance,
                &raw mut error,
            )
        };
        if status == ClientStatus::TurnpikeOk { Ok(balance) } else { Err(status) }
    }
}

/// A signer of a secret key that is freed when it is dropped.
pub struct TestSigner(pub *mut Signer);

impl Drop for TestSigner {
    fn drop(&mut self) {
        // SAFETY: nothing uses it afterwards.
        unsafe { turnpike_signer_free(self.0) }
    }
}

impl TestSigner {
    pub fn new(secret: [u8; 32], network: [u8; 32]) -> Self {
        let (mut signer, mut error) = (null_mut(), no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_signer_new(secret.as_ptr(), network.as_ptr(), &raw mut signer, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        Self(signer)
    }

    pub fn account(&self) -> Id {
        let mut id = Id::default();
        // SAFETY: the id is local.
        assert_eq!(unsafe { turnpike_signer_account(self.0, &raw mut id, null_mut()) }, ClientStatus::TurnpikeOk);
        id
    }

    pub fn sign(&self, operation: &mut Operation, promise: Promise) -> Signed {
        let (mut signed, mut error) = (Signed { bytes: [0; 184] }, no_error());
        // SAFETY: all pointers are to local values.
        let status = unsafe { turnpike_sign(self.0, operation, promise as u8, &raw mut signed, &raw mut error) };
        assert_eq!(status, ClientStatus::TurnpikeOk, "{}", message(&error));
        signed
    }
}

fn operation(command: Command, source: Id, destination: Id, amount: u64) -> Operation {
    Operation { command: command as u8, source, destination, amount, ..Operation::default() }
}

pub fn create(account: Id) -> Operation {
    operation(Command::Create, account, Id::default(), 0)
}

pub fn create_for(account: Id, payer: Id, deposit: u64) -> Operation {
    operation(Command::Create, account, payer, deposit)
}

pub fn issue(account: Id, amount: u64) -> Operation {
    operation(Command::Issue, account, Id::default(), amount)
}

pub fn transfer(source: Id, destination: Id, amount: u64) -> Operation {
    operation(Command::Transfer, source, destination, amount)
}

/// A pointer that must not be used.
pub fn nothing<T>() -> *const T {
    null()
}
