//! What replicas vouch for.

use std::time::{Duration, Instant};

use spv::finality::{Approval, Certificate, MAX_RECONFIGURATIONS, Reconfiguration, ReplicaSet, Vouched, VouchedError};
use spv::{HeaderChain, HeaderError};
use wire::{ChangeFrame, FinalityFrame, Reply, Status};
use zerocopy::IntoBytes;

use crate::{Client, Error};

/// Room for replies that is asked for first: that of a dozen replicas fits.
const FIRST_ROOM: usize = wire::ETHERNET_DATAGRAM;

/// How long a certificate is waited for that covers what is executed already. Where replicas are idle, one of them orders an empty
/// block for it when its turn comes.
const WAIT: Duration = Duration::from_secs(5);

/// Between two looks at whether it is there.
const PAUSE: Duration = Duration::from_millis(20);

/// What a replica tells of the order.
#[derive(Clone, Debug)]
pub struct Finality {
    /// Its number in the set that votes; none where it is to join, or has left.
    pub replica: Option<u8>,
    /// How many replicas there are.
    pub replicas: u8,
    /// The number of the one that leads, as far as it knows.
    pub leader: u8,
    /// The view that it leads.
    pub view: u64,
    /// Height of the last block that is final and executed by the replica.
    pub height: u64,
    /// Hash of its header.
    pub hash: [u8; 32],
    /// Generation of the set of replicas: how often it was changed.
    pub generation: u32,
    /// The newest certificate, once there is one, and what leads to its replicas, as this one tells.
    pub vouched: Option<Vouched>,
}

/// What a replica tells of one generation.
struct Told {
    fixed: FinalityFrame,
    keys: Vec<[u8; FinalityFrame::KEY]>,
    certificate: Vec<u8>,
}

/// The sets of replicas that are known: the founders, and all changes since.
type Known = (ReplicaSet, Vec<Reconfiguration>);

impl Client {
    /// What the replica tells of the order: who leads, and what is final. A node that is none refuses with `NOT_FOUND`. Nothing of
    /// it is checked; [`HeaderChain::certify`] checks what is vouched for. It takes a request for each change of the set of
    /// replicas, of which [`MAX_RECONFIGURATIONS`] are followed.
    pub fn finality(&mut self) -> Result<Finality, Error> {
        self.finality_after(None)
    }

    /// Hands the replica an approval of a change of the set. An approval counts once, however often it comes; one that comes again
    /// once the change is decided is refused with `STALE_GENERATION`.
    pub fn approve(&mut self, approval: &Approval) -> Result<(), Error> {
        self.exchange(
            |id, _| Ok(ChangeFrame::new(id, zerocopy::transmute!(*approval)).as_bytes().to_vec()),
            |reply, _| if let Reply::Change(_) = reply { Ok(()) } else { Err(Error::WrongReply) },
        )
    }

    /// Asks from the last generation that is known on, or from the founders.
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

    /// Takes the headers for which a certificate of the replicas vouches; others are not kept. Returns how many came.
    pub(crate) fn sync_vouched(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        let first = chain.height();
        let known = chain.vouched().map(|known| (known.founders.clone(), known.reconfigurations.clone()));
        let finality = match self.finality_after(known) {
            // This replica may be behind the one that told of the last change.
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
                // It holds, and so bounds how many headers are asked for.
                Err(HeaderError::Statement) if chain.height() + 1 < vouched.certificate.header.height.get() => {}
                result => return Ok(result.map(drop)?),
            }
            if self.append_own_headers(chain)? == 0 {
                return Err(HeaderError::Statement.into());
            }
        }
    }

    /// Takes headers until `verify` gives no `unknown` any more, which says that the block is not among them. Where replicas order
    /// the chain, a certificate for the block is waited for.
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
            // The block is newer than the headers, or of another branch, which is an error that tells so.
            self.sync_headers(chain)?;
            is_synced = true;
        }
    }
}
