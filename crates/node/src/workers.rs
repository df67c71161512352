//! The threads that work for the data path: signatures, proofs, verify frames.

use std::{
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{self, Receiver},
    },
    vec::Drain,
};

use nic::{Backend, Class, Costs, Held, QueryKind, Reply, Transmit, cost::Work, held::PoolSize};
use proof::Service;
use verify::WorkQueue;

use crate::{
    Config, Error,
    admission::{self, Admission, Rules},
    chain_queries::ChainQueries,
    cycles::processor_time,
    node_state::NodeState,
    turns::Turns,
    verification::{self, Request},
};

/// The threads that work for the data path.
pub struct Workers {
    /// Verify signed operations, and send them to `verified`.
    pub verifiers: WorkQueue<Held>,
    /// Signed operations that are verified.
    pub verified: Receiver<Held>,
    /// Answer queries that cannot be answered at once.
    pub proofs: WorkQueue<Held>,
    /// Answer history and assets frames.
    pub histories: WorkQueue<Held>,
    /// Answer verify frames.
    pub verification: Turns<Request>,
}

impl Workers {
    /// Queues a query that cannot be answered at once for its worker. Returns it if there is no room.
    pub fn defer(&self, query: QueryKind, held: Held, costs: &Costs) -> Result<(), Held> {
        match query {
            QueryKind::Verify => self.verification.try_push(Request::new(held, costs)).map_err(Request::into_held),
            QueryKind::History | QueryKind::Assets => self.histories.try_push(held),
            QueryKind::Proof | QueryKind::Info | QueryKind::Headers | QueryKind::Finality => self.proofs.try_push(held),
        }
    }
}

/// Starts them; they reply through `backend`, and wake the data path there.
pub fn start<B: Backend>(
    config: &Config,
    network: [u8; 32],
    backend: &B,
    node_state: &Arc<NodeState>,
    proofs: Service,
    chain_queries: ChainQueries,
) -> Result<Workers, Error> {
    let transmitter = || backend.transmitter().map_err(|source| Error::System { what: "a socket", source });
    let proofs = query_worker("proof", Class::Proof, transmitter()?, {
        let mut proofs = proofs;
        move |datagram| proofs.answer(datagram)
    })?;
    let histories =
        query_worker("history", Class::History, transmitter()?, move |datagram| chain_queries.answer(datagram))?;
    let verifying = (0..config.verify_threads()).map(|_| transmitter()).collect::<Result<Vec<_>, _>>()?;
    let waker = backend.waker();
    let system = |source| Error::System { what: "a thread", source };
    let rules = Arc::new(Rules::from_config(config, network));
    // As long as the pool of buffers, which is the limit then.
    let waiting = PoolSize::for_class(Class::Signed).total();
    let (sender, verified) = mpsc::sync_channel(waiting);
    let verifiers = WorkQueue::start_gathering("verify", config.verify_threads(), waiting, admission::FRAMES, || {
        let mut admission = Admission::new(rules.clone());
        let (sender, waker, node_state) = (sender.clone(), waker.clone(), node_state.clone());
        move |frames: Drain<'_, Held>| {
            let mut frames: Vec<Held> = frames.collect();
            let operations = frames.iter_mut().filter_map(|held| {
                let trusted = held.trusted;
                Some((trusted, nic::extractor::signed_operations(held)?))
            });
            let start = processor_time();
            let signatures = admission.check(operations, admission::now());
            node_state.costs.learn(Work::Operation, signatures as u64, processor_time().saturating_sub(start));
            node_state.count_verified(signatures);
            // The data path is gone only when the node stops.
            if frames.into_iter().try_for_each(|held| sender.send(held)).is_ok() {
                waker.wake();
            }
        }
    })
    .map_err(system)?;
    let threads = verifying.len();
    let mut verifying = verifying.into_iter();
    let limits = verification::limits(threads);
    let verification = Turns::start("verification", threads, limits, || {
        let (mut transmit, node_state) = (verifying.next(), node_state.clone());
        move |requests: Vec<Request>| {
            let Some(transmit) = &mut transmit else { return requests };
            let (count, unfinished) = verification::work(requests, limits.slice, &node_state.costs, transmit);
            node_state.verifications.fetch_add(count as u64, Relaxed);
            unfinished
        }
    })?;
    Ok(Workers { verifiers, verified, proofs, histories, verification })
}

/// Starts a thread that answers the queries of a class in place, and sends the replies.
fn query_worker(
    name: &str,
    class: Class,
    transmit: impl Transmit + 'static,
    answer: impl FnMut(&mut [u8]) -> usize + Send + 'static,
) -> Result<WorkQueue<Held>, Error> {
    let mut worker = Some((transmit, answer));
    let start = move || {
        let mut worker = worker.take();
        move |mut held: Held| {
            let Some((transmit, answer)) = &mut worker else { return };
            let length = answer(&mut held);
            if length > 0 {
                transmit.transmit(&mut std::iter::once(Reply { peer: held.peer, bytes: &held[..length] }));
            }
        }
    };
    WorkQueue::start(name, 1, PoolSize::for_class(class).total(), start)
        .map_err(|source| Error::System { what: "a thread", source })
}
