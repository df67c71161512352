//! The engine's signature scheme: votes signed with BIP340.
//!
//! Votes are those of [`spv::finality`], so certificates can be verified without the engine. Each signature names its
//! signer: a certificate is a set of signatures, and two contradicting ones are evidence.
use crate::committee::{Committee, ReplicaKey};
use bytes::BufMut;
use commonware_codec::{Buf, EncodeSize, Error, FixedSize, Read, ReadExt, Write, types::lazy::Lazy};
use commonware_consensus::simplex::types::{Proposal, Subject};
use commonware_cryptography::certificate::{
    AssemblyError, Attestation, Membership, Scheme, Verification, Verifier, verify_then_assemble,
};
use commonware_cryptography::{Digest, ed25519::PublicKey};
use commonware_parallel::Strategy;
use commonware_utils::{N3f1, Participant, iter::NonEmpty, ordered::Set};
use rand_core::CryptoRng;
use spv::finality::{MAX_REPLICAS, Vote, VoteKind};
use spv::{Hash, Seal, SealingKey};
use std::sync::Arc;

/// The signature of a vote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature(pub(crate) [u8; 64]);

impl Write for Signature {
    fn write(&self, buffer: &mut impl BufMut) {
        self.0.write(buffer);
    }
}

impl FixedSize for Signature {
    const SIZE: usize = 64;
}

impl Read for Signature {
    type Cfg = ();

    fn read_cfg(buffer: &mut impl Buf, (): &()) -> Result<Self, Error> {
        Ok(Self(ReadExt::read(buffer)?))
    }
}

/// The votes of a quorum, by the numbers of the signers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Votes {
    /// Bit `n` is set if replica `n` voted.
    signers: u64,
    /// The signatures, by ascending replica number.
    signatures: Vec<Signature>,
}

impl Votes {
    /// From replica numbers in ascending order, with their signatures.
    pub(crate) fn new(votes: impl Iterator<Item = (u32, Signature)>) -> Self {
        let (mut signers, mut signatures) = (0, Vec::new());
        for (number, signature) in votes {
            signers |= 1 << number;
            signatures.push(signature);
        }
        Self { signers, signatures }
    }

    /// Signers in ascending order, with their signatures.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Signature)> {
        let signers = (0..u64::BITS).filter(|number| self.signers >> number & 1 == 1);
        signers.zip(&self.signatures)
    }
}

impl Write for Votes {
    fn write(&self, buffer: &mut impl BufMut) {
        self.signers.write(buffer);
        self.signatures.iter().for_each(|signature| signature.write(buffer));
    }
}

impl EncodeSize for Votes {
    fn encode_size(&self) -> usize {
        u64::SIZE + self.signatures.len() * Signature::SIZE
    }
}

impl Read for Votes {
    /// The number of replicas.
    type Cfg = usize;

    fn read_cfg(buffer: &mut impl Buf, replicas: &usize) -> Result<Self, Error> {
        let signers = u64::read(buffer)?;
        if signers == 0 || (u64::BITS - signers.leading_zeros()) as usize > *replicas {
            return Err(Error::Invalid("order::Votes", "no replica signed, or one outside the set"));
        }
        let signatures = (0..signers.count_ones()).map(|_| Signature::read(buffer)).collect::<Result<_, _>>()?;
        Ok(Self { signers, signatures })
    }
}

/// The committee as the engine sees it.
#[derive(Clone, Debug)]
pub(crate) struct Bip340 {
    network: Hash,
    committee: Arc<Committee>,
    signer: Option<(Participant, SealingKey)>,
}

impl Bip340 {
    /// The scheme of an epoch with this committee. A replica that is not a member verifies votes and casts none.
    pub(crate) fn new(network: Hash, committee: Arc<Committee>, key: &ReplicaKey) -> Self {
        let number = committee.number(&key.name());
        let signer = number.map(|number| (Participant::new(number), key.votes().clone()));
        Self { network, committee, signer }
    }

    /// The committee.
    pub(crate) fn committee(&self) -> &Arc<Committee> {
        &self.committee
    }

    /// The vote for a subject of the engine.
    pub(crate) fn vote<D: Digest>(&self, subject: &Subject<'_, D>) -> Vote {
        let for_block = |kind, proposal: &Proposal<D>| {
            let mut block = [0; 32];
            block.copy_from_slice(&proposal.payload);
            let (round, parent) = (proposal.round, proposal.parent);
            Vote::for_block(kind, self.network, round.epoch().get(), round.view().get(), parent.get(), block)
        };
        match subject {
            Subject::Notarize { proposal } => for_block(VoteKind::Notarize, proposal),
            Subject::Finalize { proposal } => for_block(VoteKind::Finalize, proposal),
            Subject::Nullify { round } => Vote::nullify(self.network, round.epoch().get(), round.view().get()),
        }
    }

    fn signed(&self, vote: &Vote, signer: u32, signature: &Signature) -> bool {
        let key = self.committee.replicas().keys().get(signer as usize);
        key.is_some_and(|key| vote.signed_by(key, &Seal(signature.0)))
    }
}

impl Verifier for Bip340 {
    type Subject<'a, D: Digest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = PublicKey;
    type Certificate = Votes;

    fn verify_certificate<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        votes: &Votes,
        _: &impl Strategy,
    ) -> bool {
        let vote = self.vote(&subject);
        votes.signatures.len() >= self.committee.replicas().quorum()
            && votes.signers.count_ones() as usize == votes.signatures.len()
            && votes.iter().all(|(signer, signature)| self.signed(&vote, signer, signature))
    }

    /// Votes are verified as they arrive: verifying a quorum at once is no cheaper.
    fn is_batchable() -> bool {
        false
    }

    fn max_certificate_size(replicas: u32) -> usize {
        u64::SIZE + replicas as usize * Signature::SIZE
    }

    fn certificate_codec_config(&self) -> usize {
        self.committee.replicas().keys().len()
    }

    fn certificate_codec_config_unbounded() -> usize {
        MAX_REPLICAS
    }
}

impl Scheme for Bip340 {
    type Signature = Signature;

    fn me(&self) -> Option<Membership> {
        self.signer.as_ref().map(|(number, _)| Membership::Signer(*number))
    }

    fn participants(&self) -> &Set<PublicKey> {
        self.committee.identities()
    }

    fn sign<D: Digest>(&self, subject: Subject<'_, D>) -> Option<Attestation<Self>> {
        let (signer, key) = self.signer.as_ref()?;
        let signature = Signature(self.vote(&subject).sign(key).0);
        Some(Attestation { signer: *signer, signature: Lazy::from(signature) })
    }

    fn verify_attestation<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool {
        let signature = attestation.signature.get();
        signature.is_some_and(|signature| self.signed(&self.vote(&subject), attestation.signer.get(), signature))
    }

    fn optimistic_assemble<'a, R, D, I, J>(
        &self,
        rng: &mut R,
        subject: Subject<'_, D>,
        pending: I,
        verified: J,
        strategy: &impl Strategy,
    ) -> Result<Votes, Verification<Self>>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: ExactSizeIterator + Send,
        J: IntoIterator<Item = &'a Attestation<Self>>,
        J::IntoIter: Send,
    {
        verify_then_assemble::<Self, _, D, _, _>(self, rng, subject, pending, verified, strategy)
    }

    fn assemble<I: Iterator<Item = Attestation<Self>> + Send>(
        &self,
        attestations: NonEmpty<I>,
        _: &impl Strategy,
    ) -> Result<Votes, AssemblyError> {
        let (number, quorum) = (self.committee.replicas().keys().len(), self.committee.replicas().quorum());
        let mut signatures: Vec<Option<Signature>> = vec![None; number];
        for Attestation { signer, signature } in attestations {
            let place = signatures.get_mut(signer.get() as usize).ok_or(AssemblyError::UnknownSigner(signer))?;
            let signature = signature.get().ok_or(AssemblyError::MalformedSignature(signer))?;
            if place.replace(signature.clone()).is_some() {
                return Err(AssemblyError::DuplicateSigner(signer));
            }
        }
        let votes = Votes::new((0..).zip(signatures).filter_map(|(signer, signature)| Some((signer, signature?))));
        let found = votes.signatures.len();
        if found < quorum {
            return Err(AssemblyError::InsufficientAttestations(quorum as u32, found as u32));
        }
        Ok(votes)
    }

    fn is_attributable() -> bool {
        true
    }
}
