//! What replicas vouch for.

use std::time::{Duration, Instant};

use spv::finality::{Certificate, ReplicaSet, Vouched, VouchedError};
use spv::{HeaderChain, HeaderError};
use wire::{FinalityFrame, Reply};
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
    /// Its number.
    pub replica: u8,
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
    /// The newest certificate, once there is one, and the replicas as this one names them.
    pub vouched: Option<Vouched>,
}

impl Client {
    /// What the replica tells of the order: who leads, and what is final. A node that is none refuses with `NOT_FOUND`. Nothing of
    /// it is checked; [`HeaderChain::certify`] checks what is vouched for.
    pub fn finality(&mut self) -> Result<Finality, Error> {
        self.with_room(FIRST_ROOM, |client, room| client.finality_within(room))
    }

    fn finality_within(&mut self, room: usize) -> Result<Finality, Error> {
        self.exchange(
            |id, _| {
                let mut frame = FinalityFrame::new(id).as_bytes().to_vec();
                frame.resize(room, 0);
                Ok(frame)
            },
            |reply, _| {
                let Reply::Finality(reply) = reply else { return Err(Error::WrongReply) };
                let parse = || -> Result<_, VouchedError> {
                    let founders = ReplicaSet::from_bytes(reply.keys)?;
                    let certificate = Certificate::decode(reply.certificate)?;
                    Ok(Vouched { founders, reconfigurations: vec![], certificate })
                };
                let vouched = (!reply.certificate.is_empty()).then(parse).transpose()?;
                let FinalityFrame { replica, replicas, leader, view, height, hash, .. } = *reply.fixed;
                let (view, height) = (view.get(), height.get());
                Ok(Finality { replica, replicas, leader, view, height, hash, vouched })
            },
        )
    }

    /// Takes the headers for which a certificate of the replicas vouches; others are not kept. Returns how many came.
    pub(crate) fn sync_vouched(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        let first = chain.height();
        let Some(vouched) = self.finality()?.vouched else { return Ok(0) };
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
