//! Finality: the order of blocks, and what replicas vouch for.

use std::time::{Duration, Instant};

use spv::finality::{Approval, Certificate, MAX_RECONFIGURATIONS, Reconfiguration, ReplicaSet, Vouched, VouchedError};
use spv::{HeaderChain, HeaderError};
use wire::{ChangeFrame, FinalityFrame, Reply, Status};
use zerocopy::IntoBytes;

use crate::{Client, Error};

/// Initial room for replies: that of a dozen replicas fits.
const FIRST_ROOM: usize = wire::ETHERNET_DATAGRAM;

/// How long to wait for a certificate that covers what is executed already. If replicas are idle, one of them orders an
/// empty block for it in its turn as leader.
const WAIT: Duration = Duration::from_secs(5);

/// Pause between checks for it.
const PAUSE: Duration = Duration::from_millis(20);

/// A replica's report on the order.
#[derive(Clone, Debug)]
pub struct Finality {
    /// Its number in the voting set; `None` if it will join, or has left.
    pub replica: Option<u8>,
    /// Number of replicas.
    pub replicas: u8,
    /// Number of the leader, as far as the replica knows.
    pub leader: u8,
    /// The leader's view.
    pub view: u64,
    /// Height of the last final block that the replica has executed.
    pub height: u64,
    /// Hash of its header.
    pub hash: [u8; 32],
    /// Generation of the set of replicas: the number of its changes.
    pub generation: u32,
    /// The newest certificate, if any, with the changes that lead to its replicas, according to this replica.
    pub vouched: Option<Vouched>,
}

/// A replica's report on one generation.
struct Told {
    fixed: FinalityFrame,
    keys: Vec<[u8; FinalityFrame::KEY]>,
    certificate: Vec<u8>,
}

/// The known sets of replicas: the founders, and all changes since.
type Known = (ReplicaSet, Vec<Reconfiguration>);

impl Client {
    /// Asks the replica about the order: the leader, and what is final.
    ///
    /// A node that is not a replica refuses with `NOT_FOUND`. Nothing is verified here; [`HeaderChain::certify`]
    /// verifies what is vouched for. It takes one request per change of the set of replicas, and follows at most
    /// [`MAX_RECONFIGURATIONS`].
    pub fn finality(&mut self) -> Result<Finality, Error> {
        self.finality_after(None)
    }

    /// Sends the replica an approval of a change of the set. Repeating it has no effect; once the change is decided, a
    /// repetition is refused with `STALE_GENERATION`.
    pub fn approve(&mut self, approval: &Approval) -> Result<(), Error> {
        self.exchange(
            |id, _| Ok(ChangeFrame::new(id, zerocopy::transmute!(*approval)).as_bytes().to_vec()),
            |reply, _| if let Reply::Change(_) = reply { Ok(()) } else { Err(Error::WrongReply) },
        )
    }

    /// Asks from the last known generation on, or from the founders.
    fn finality_after(&mut self, known: Option<Known>) -> Result<Finality, Error> {
        let (mut founders, mut reconfigurations) = known.unzip();
        let reconfigurations = reconfigurations.get_or_insert_default();
        loop {
            let asked = reconfigurations.len();
            let told = self.with_room(FIRST_ROOM, |client, room| client.generation_within(asked as u32, room))?;
            let Told { fixed, keys, certificate } = &told;
            let newest = fixed.generations.get() as usize;
            if newest < asked {
                return Err(Error::WrongReply);
            }
            if newest > MAX_RECONFIGURATIONS {
                return Err(VouchedError::Reconfigurations(newest).into());
            }
            let founders = match &mut founders {
                Some(founders) => founders,
                None => founders.insert(ReplicaSet::from_bytes(keys).map_err(VouchedError::from)?),
            };
            if asked < newest {
                reconfigurations.push(Reconfiguration::decode(certificate).map_err(VouchedError::from)?);
                continue;
            }
            let certificate = (!certificate.is_empty()).then(|| Certificate::decode(certificate));
            let certificate = certificate.transpose().map_err(VouchedError::from)?;
            let vouched = certificate.map(|certificate| Vouched {
                founders: founders.clone(),
                reconfigurations: std::mem::take(reconfigurations),
                certificate,
            });
            let FinalityFrame { replica, replicas, leader, view, height, hash, .. } = *fixed;
            let (view, height) = (view.get(), height.get());
            let replica = (replica != FinalityFrame::NO_REPLICA).then_some(replica);
            return Ok(Finality { replica, replicas, leader, view, height, hash, generation: asked as u32, vouched });
        }
    }

    fn generation_within(&mut self, generation: u32, room: usize) -> Result<Told, Error> {
        self.exchange(
            |id, _| {
                let mut frame = FinalityFrame::new(id, generation).as_bytes().to_vec();
                frame.resize(room, 0);
                Ok(frame)
            },
            |reply, _| {
                let Reply::Finality(reply) = reply else { return Err(Error::WrongReply) };
                let (keys, certificate) = (reply.keys.to_vec(), reply.certificate.to_vec());
                Ok(Told { fixed: *reply.fixed, keys, certificate })
            },
        )
    }

    /// Fetches the headers that a certificate of the replicas vouches for, and no others. Returns their number.
    pub(crate) fn sync_vouched(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        let first = chain.height();
        let known = chain.vouched().map(|known| (known.founders.clone(), known.reconfigurations.clone()));
        let finality = match self.finality_after(known) {
            // This replica may be behind the one that reported the last change.
            Err(Error::Refused(Status::NotFound)) if chain.vouched().is_some() => self.finality_after(None),
            finality => finality,
        };
        let Some(vouched) = finality?.vouched else { return Ok(0) };
        let result = self.certify(chain, &vouched);
        chain.forget_unvouched();
        result.map(|()| chain.height() - first)
    }

    fn certify(&mut self, chain: &mut HeaderChain, vouched: &Vouched) -> Result<(), Error> {
        loop {
            match chain.certify(vouched) {
                // The certificate is valid, and so bounds the number of headers to request.
                Err(HeaderError::Statement) if chain.height() + 1 < vouched.certificate.header.height.get() => {}
                result => return Ok(result.map(drop)?),
            }
            if self.append_own_headers(chain)? == 0 {
                return Err(HeaderError::Statement.into());
            }
        }
    }

    /// Fetches headers until `verify` no longer returns `unknown`, which means that the block is missing. On a chain
    /// that replicas order, waits for a certificate for the block.
    pub(crate) fn sync_until<T, E: PartialEq>(
        &mut self,
        chain: &mut HeaderChain,
        unknown: E,
        mut verify: impl FnMut(&HeaderChain) -> Result<T, E>,
    ) -> Result<Result<T, E>, Error> {
        let since = Instant::now();
        let mut is_synced = false;
        loop {
            let verified = verify(chain);
            let is_over = is_synced && (chain.key().is_some() || since.elapsed() > WAIT);
            if verified.as_ref().err() != Some(&unknown) || is_over {
                return Ok(verified);
            }
            if is_synced {
                std::thread::sleep(PAUSE);
            }
            // The block is newer than the headers, or on another branch, for which this returns an error.
            self.sync_headers(chain)?;
            is_synced = true;
        }
    }
}
