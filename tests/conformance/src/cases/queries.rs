//! Info, headers and proofs.

use spv::finality::{
    Approval, Certificate, MAX_RECONFIGURATIONS, MemberAction, MemberChange, Reconfiguration, ReplicaSet, Vouched,
    VouchedError,
};
use spv::{HeaderChain, IndexProof, SEALED_HEADER_SIZE, SealedHeader, SealingKey, TransactionProof};
use wire::{
    AccountId, Chain, ChangeFrame, ErrorFrame, FinalityFrame, HeadersFrame, InfoFrame, Operation, Promise,
    ProofRequest, Query, Reply, Status, TransactionId, key_of_locator, key_of_transaction,
};
use zerocopy::{FromBytes, IntoBytes};

use super::cases;
use crate::link::excerpt;
use crate::session::Session;
use crate::{Stop, ensure, ensure_eq};

cases! {
    "info: MALFORMED where anything is set" => info_malformed,
    "info: the durable sequence covers what was answered durable" => info_durable,
    "headers: linked from the network id to the tip" => headers_linked,
    "headers: no more than asked for, than fit and than there are" => headers_counts,
    "headers: MALFORMED and UNKNOWN_CHAIN" => headers_refused,
    "headers: Bitcoin" => headers_bitcoin,
    "finality: who leads and a certificate, or NOT_FOUND where one key seals the blocks" => finality_told,
    "finality: MALFORMED where anything is set" => finality_malformed,
    "finality: NOT_FOUND of a generation that is not there" => finality_of_no_generation,
    "member change: a stranger's approval is refused, and NOT_FOUND where one key seals the blocks" => change_refused,
    "member change: MALFORMED where anything is set, or the length is wrong" => change_malformed,
    "proof: the latest transaction of both sides of a transfer" => latest,
    "proof: the latest transaction follows the next one" => latest_follows,
    "proof: by transaction id and by locator" => by_id,
    "proof: a signed transaction with its signature" => signed,
    "proof: an account that was opened for a deposit, and who paid it" => deposit,
    "proof: index entry with the balance, and of an account that does not exist" => index,
    "proof: failed operations are in no block" => failed_operations,
    "proof: NOT_FOUND" => not_found,
    "proof: REPLY_TOO_LARGE tells the length that is enough" => too_large,
    "proof: MALFORMED" => proof_malformed,
    "proof: UNKNOWN_COMMAND and UNKNOWN_CHAIN" => proof_unknown,
}

/// A length that every proof of the own chain fits in: the deepest path, and the largest leaf.
const ROOM: usize = 4096;

/// The request with zeros up to a length.
fn padded(request: &[u8], length: usize) -> Vec<u8> {
    let mut request = request.to_vec();
    request.resize(length.max(request.len()), 0);
    request
}

fn proof_request(session: &mut Session, query: Query, key: [u8; 32]) -> Vec<u8> {
    padded(ProofRequest::new(session.fresh(), Chain::Own, query, key).as_bytes(), ROOM)
}

/// The reply to a proof request, or the status that it was refused with.
fn prove(session: &mut Session, query: Query, key: [u8; 32]) -> Result<Result<Vec<u8>, Status>, Stop> {
    let request = proof_request(session, query, key);
    let reply = session.link.ask(&request)?;
    match Reply::parse(&reply) {
        Ok(Reply::Proof(_) | Reply::Index(_)) => {
            // Chain, query and key are the request's; the status between them is 0.
            ensure_eq!(&reply[8..12], &request[8..12], "chain and query of the reply");
            ensure_eq!(&reply[16..48], &request[16..48], "key of the reply");
            Ok(Ok(reply))
        }
        Ok(Reply::ProofRefused(_, status)) => {
            ensure_eq!(reply.len(), ProofRequest::LENGTH, "length of a refusal");
            Ok(Err(status))
        }
        other => Err(Stop::Failed(format!("{query} was answered with {other:?}"))),
    }
}

/// The headers from `first` on, at most `count`, in a request of `length`, and the tip's height and hash.
fn headers(
    session: &mut Session,
    first: u64,
    count: u16,
    length: usize,
) -> Result<(Vec<SealedHeader>, u64, [u8; 32]), Stop> {
    let request = padded(HeadersFrame::new(session.fresh(), Chain::Own, first, count).as_bytes(), length);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Headers(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("headers were answered with {}", excerpt(&reply))));
    };
    ensure_eq!(answer.status, Status::Ok, "status of a headers reply");
    ensure_eq!(answer.fixed.first_height.get(), first, "first height of a headers reply");
    let Ok(headers) = <[SealedHeader]>::ref_from_bytes(answer.headers) else {
        return Err(Stop::Failed("a headers reply has parts of headers".to_owned()));
    };
    Ok((headers.to_vec(), answer.fixed.tip_height.get(), answer.fixed.tip_hash))
}

/// All headers, checked.
fn chain(session: &mut Session) -> Result<HeaderChain, Stop> {
    let network = session.info()?.network;
    let invalid = |error| Stop::Failed(format!("the headers are no chain: {error}"));
    let (genesis, _, _) = headers(session, 0, 1, 64 + SEALED_HEADER_SIZE)?;
    let [genesis] = genesis[..] else {
        return Err(Stop::Failed(format!("{} headers instead of genesis", genesis.len())));
    };
    let mut chain = HeaderChain::new(&network, genesis).map_err(invalid)?;
    // Asked for before the headers, so that the one that it vouches for is among them.
    let vouched = if chain.key().is_none() { finality(session)?.1 } else { None };
    loop {
        let (more, tip, hash) = headers(session, chain.height() + 1, 500, 60_000)?;
        for header in &more {
            chain.append(*header).map_err(invalid)?;
        }
        if more.is_empty() {
            ensure_eq!((chain.height(), chain.tip_hash()), (tip, &hash), "the tip");
            if let Some(vouched) = vouched {
                chain.certify(&vouched).map_err(|error| Stop::Failed(format!("the certificate: {error}")))?;
            }
            return Ok(chain);
        }
    }
}

/// All headers, once somebody vouches for that of a height.
fn chain_to(session: &mut Session, height: u64) -> Result<HeaderChain, Stop> {
    session.wait_for("headers that are vouched for", |session| {
        let chain = chain(session)?;
        Ok((chain.trusted() >= height).then_some(chain))
    })
}

/// The fixed part of the reply about the newest generation, and the newest certificate with all that leads to its replicas.
fn finality(session: &mut Session) -> Result<(FinalityFrame, Option<Vouched>), Stop> {
    let (mut founders, mut reconfigurations) = (None, Vec::new());
    for generation in 0..=MAX_RECONFIGURATIONS as u32 {
        let (fixed, keys, certificate) = finality_of(session, generation)?;
        ensure!(fixed.generations.get() >= generation, "{fixed:?}");
        let invalid =
            |error: VouchedError| Stop::Failed(format!("the certificate of generation {generation}: {error}"));
        if generation == 0 {
            founders = Some(ReplicaSet::from_bytes(&keys).map_err(|error| invalid(error.into()))?);
        }
        if generation < fixed.generations.get() {
            reconfigurations.push(Reconfiguration::decode(&certificate).map_err(|error| invalid(error.into()))?);
            continue;
        }
        let certificate = (!certificate.is_empty()).then(|| Certificate::decode(&certificate)).transpose();
        let certificate = certificate.map_err(|error| invalid(error.into()))?;
        let vouched = founders.zip(certificate).map(|(founders, certificate)| Vouched {
            founders,
            reconfigurations,
            certificate,
        });
        return Ok((fixed, vouched));
    }
    Err(Stop::Failed(format!("there are more than {MAX_RECONFIGURATIONS} generations")))
}

/// What a replica tells of a generation: the fixed part, its keys, and its certificate or what ended it.
type Told = (FinalityFrame, Vec<[u8; 32]>, Vec<u8>);

/// What the replica tells of a generation.
fn finality_of(session: &mut Session, generation: u32) -> Result<Told, Stop> {
    let request = FinalityFrame::new(session.fresh(), generation);
    let reply = session.link.ask(&padded(request.as_bytes(), ROOM))?;
    let Ok(Reply::Finality(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("finality was answered with {}", excerpt(&reply))));
    };
    ensure_eq!(answer.status, Status::Ok, "status of a finality reply");
    ensure_eq!(answer.fixed.frame_length(), reply.len(), "length of a finality reply");
    ensure_eq!(answer.fixed.generation.get(), generation, "the generation of a finality reply");
    Ok((*answer.fixed, answer.keys.to_vec(), answer.certificate.to_vec()))
}

/// Waits until a transaction can be proved, and returns the proof with a chain that has its block.
fn proved(session: &mut Session, query: Query, key: [u8; 32]) -> Result<(Vec<u8>, HeaderChain), Stop> {
    let reply = session.wait_for("a proof", |session| match prove(session, query, key)? {
        Ok(reply) => Ok(Some(reply)),
        Err(Status::NotFound) => Ok(None),
        Err(status) => Err(Stop::Failed(format!("{query} was refused with {status}"))),
    })?;
    let height = TransactionProof::parse(&reply).map_err(|error| Stop::Failed(format!("the proof: {error}")))?.height;
    Ok((reply, chain_to(session, height)?))
}

fn verified<'a>(reply: &'a [u8], chain: &HeaderChain) -> Result<TransactionProof<'a>, Stop> {
    let invalid = |error| Stop::Failed(format!("the proof does not verify: {error}"));
    let proof = TransactionProof::parse(reply).map_err(invalid)?;
    proof.verify(chain).map_err(invalid)?;
    Ok(proof)
}

/// Two accounts and a transfer between them.
fn transferred(session: &mut Session) -> Result<Operation, Stop> {
    let (sender, receiver) = (session.funded_account(10)?, session.funded_account(0)?);
    let transfer = Operation::transfer(session.fresh_transaction(), sender, receiver, 3);
    ensure_eq!(session.operation(transfer)?, (Status::Ok, 7), "TRANSFER");
    Ok(transfer)
}

fn info_malformed(session: &mut Session) -> Result<(), Stop> {
    for offset in [8, 10, 11, 12, 16, 48, 64, 100, 112, 127] {
        let mut request = InfoFrame::new(session.fresh()).as_bytes().to_vec();
        request[offset] = 1;
        let reply = session.link.ask(&request)?;
        let status = match Reply::parse(&reply) {
            Ok(Reply::Info(info)) => info.status(),
            other => return Err(Stop::Failed(format!("answered with {other:?}"))),
        };
        ensure_eq!(status, Ok(Status::Malformed), "byte {offset} set");
    }
    Ok(())
}

fn info_durable(session: &mut Session) -> Result<(), Stop> {
    let before = session.info()?.durable_sequence.get();
    let account = session.fresh_account();
    let create = Operation::create(session.fresh_transaction(), account);
    let (_, given) = session.operations(&[create], Promise::Durable)?;
    ensure!(given >= Promise::Durable, "durable was asked for, and {given} given");
    let info = session.info()?;
    ensure!(info.durable_sequence.get() > before, "the durable sequence is still {before}");
    ensure!(info.accounts.get() > 0, "there are no accounts");
    ensure!(info.max_datagram.get() as usize >= wire::ETHERNET_DATAGRAM, "no datagram of an Ethernet is taken");
    ensure!(!info.program().is_empty(), "the program tells no version");
    Ok(())
}

fn headers_linked(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    proved(session, Query::Latest, transfer.source.into())?;
    let chain = chain(session)?;
    ensure!(chain.height() > 0, "there is no block after genesis");
    let info = session.info()?;
    ensure!(info.tip_height.get() >= chain.height(), "the info frame is behind the headers");
    Ok(())
}

fn headers_counts(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    proved(session, Query::Latest, transfer.source.into())?;
    let (none, tip, _) = headers(session, 0, 0, 64)?;
    ensure_eq!((none.len(), tip > 0), (0, true), "a request of 0 headers");
    ensure_eq!(headers(session, 0, 1, 4096)?.0.len(), 1, "headers where 1 is asked for");
    ensure_eq!(headers(session, 0, 100, 64 + 2 * SEALED_HEADER_SIZE - 1)?.0.len(), 1, "headers where 1 fits");
    ensure_eq!(headers(session, 0, 100, 64)?.0.len(), 0, "headers where none fits");
    ensure_eq!(headers(session, tip + 1_000_000, 5, 4096)?.0.len(), 0, "headers beyond the tip");
    ensure_eq!(headers(session, u64::MAX, u16::MAX, 4096)?.0.len(), 0, "headers at the end of time");
    Ok(())
}

fn headers_refused(session: &mut Session) -> Result<(), Stop> {
    let right = padded(HeadersFrame::new(session.fresh(), Chain::Own, 0, 1).as_bytes(), 256);
    let mut wrong = vec![(8, 2, Status::UnknownChain), (8, 255, Status::UnknownChain)];
    wrong.extend([9, 10, 14, 24, 32, 63, 64, 255].map(|offset| (offset, 1, Status::Malformed)));
    for (offset, value, status) in wrong {
        let mut request = right.clone();
        request[offset] = value;
        let reply = session.link.ask(&request)?;
        ensure_eq!(reply.len(), HeadersFrame::LENGTH, "length of a refusal");
        match Reply::parse(&reply) {
            Ok(Reply::Headers(answer)) => ensure_eq!(answer.status, status, "byte {offset} set to {value}"),
            other => return Err(Stop::Failed(format!("answered with {other:?}"))),
        }
    }
    session.expect_error(&right[..63], Status::Malformed)?;
    Ok(())
}

fn headers_bitcoin(session: &mut Session) -> Result<(), Stop> {
    let serves = session.info()?.serves_bitcoin();
    let request = padded(HeadersFrame::new(session.fresh(), Chain::Bitcoin, 0, 1).as_bytes(), 144);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Headers(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("answered with {}", excerpt(&reply))));
    };
    if !serves {
        ensure_eq!(answer.status, Status::UnknownChain, "status without Bitcoin");
        return Ok(());
    }
    ensure_eq!(answer.status, Status::Ok, "status");
    ensure_eq!(answer.headers.len(), 80, "bytes of one header");
    Ok(())
}

fn finality_told(session: &mut Session) -> Result<(), Stop> {
    let request = FinalityFrame::new(session.fresh(), 0);
    if session.info()?.promise() != Ok(Promise::Final) {
        let reply = session.link.ask(request.as_bytes())?;
        ensure_eq!(reply.len(), FinalityFrame::LENGTH, "length of a refusal");
        let refused = matches!(Reply::parse(&reply), Ok(Reply::Finality(answer)) if answer.status == Status::NotFound);
        ensure!(refused, "finality was answered with {}", excerpt(&reply));
        return Ok(());
    }
    transferred(session)?;
    let told = session.wait_for("a certificate", |session| {
        let (told, vouched) = finality(session)?;
        Ok(vouched.is_some().then_some(told))
    })?;
    ensure!(told.replica < told.replicas && told.leader < told.replicas, "{told:?}");
    ensure!(told.view.get() > 0 && told.height.get() > 0, "{told:?}");
    let reply = session.link.ask(request.as_bytes())?;
    let needed = match Reply::parse(&reply) {
        Ok(Reply::Error(error, Status::ReplyTooLarge)) => error.detail.get() as usize,
        _ => return Err(Stop::Failed(format!("a request without room was answered with {}", excerpt(&reply)))),
    };
    ensure!((FinalityFrame::LENGTH + 1..=ROOM).contains(&needed), "{needed} bytes are said to be needed");
    Ok(())
}

fn finality_malformed(session: &mut Session) -> Result<(), Stop> {
    let right = padded(FinalityFrame::new(session.fresh(), 0).as_bytes(), 500);
    for offset in [8, 10, 12, 13, 14, 15, 16, 24, 32, 63, 68, 71, 72, 499] {
        let mut request = right.clone();
        request[offset] = 1;
        let reply = session.link.ask(&request)?;
        ensure_eq!(reply.len(), FinalityFrame::LENGTH, "length of a refusal");
        let refused = matches!(Reply::parse(&reply), Ok(Reply::Finality(answer)) if answer.status == Status::Malformed);
        ensure!(refused, "byte {offset} set was answered with {}", excerpt(&reply));
    }
    session.expect_error(&right[..71], Status::Malformed)
}

fn finality_of_no_generation(session: &mut Session) -> Result<(), Stop> {
    for generation in [MAX_RECONFIGURATIONS as u32 + 1, u32::MAX] {
        let request = padded(FinalityFrame::new(session.fresh(), generation).as_bytes(), ROOM);
        let reply = session.link.ask(&request)?;
        ensure_eq!(reply.len(), FinalityFrame::LENGTH, "length of a refusal");
        let Ok(Reply::Finality(answer)) = Reply::parse(&reply) else {
            return Err(Stop::Failed(format!("generation {generation} was answered with {}", excerpt(&reply))));
        };
        ensure_eq!(answer.status, Status::NotFound, "status of generation {generation}");
        ensure_eq!(answer.fixed.generation.get(), generation, "the generation that is refused");
    }
    Ok(())
}

/// An approval by a key that is nobody's, which no replica takes.
fn strange_approval(session: &mut Session) -> Result<ChangeFrame, Stop> {
    let network = session.info()?.network;
    let key = |byte| SealingKey::from_bytes(&[byte; 32]).ok_or(Stop::Failed("no key".into()));
    let (signer, member) = (key(0x5a)?, key(0x5b)?.public());
    let set = ReplicaSet::new(vec![member]).map_err(|error| Stop::Failed(error.to_string()))?;
    let change = MemberChange {
        action: MemberAction::Remove as u8,
        number: 0,
        port: 0.into(),
        generation: 0.into(),
        votes: member.to_bytes(),
        identity: [0; 32],
        address: [0; 16],
    };
    let approval = Approval::sign(change, &network, &set, &signer);
    Ok(ChangeFrame::new(session.fresh(), zerocopy::transmute!(approval)))
}

fn change_refused(session: &mut Session) -> Result<(), Stop> {
    let request = strange_approval(session)?;
    let is_replica = session.info()?.promise() == Ok(Promise::Final);
    let reply = session.link.ask(request.as_bytes())?;
    let Ok(Reply::Change(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("a member change was answered with {}", excerpt(&reply))));
    };
    ensure_eq!(answer.approval, request.approval, "the approval in the reply");
    ensure_eq!(answer.reserved, [0; 6], "what is reserved in the reply");
    match answer.status() {
        Ok(Status::NotFound) if !is_replica => Ok(()),
        Ok(Status::BadSignature | Status::NotAuthorised | Status::StaleGeneration) if is_replica => Ok(()),
        status => Err(Stop::Failed(format!("a stranger's approval was answered with {status:?}"))),
    }
}

fn change_malformed(session: &mut Session) -> Result<(), Stop> {
    let right = strange_approval(session)?;
    for offset in 8..16 {
        let mut request = right;
        request.as_mut_bytes()[offset] = 1;
        let reply = session.link.ask(request.as_bytes())?;
        let refused =
            matches!(Reply::parse(&reply), Ok(Reply::Change(answer)) if answer.status() == Ok(Status::Malformed));
        ensure!(refused, "byte {offset} set was answered with {}", excerpt(&reply));
    }
    session.expect_error(&right.as_bytes()[..199], Status::Malformed)?;
    session.expect_error(&padded(right.as_bytes(), 201), Status::Malformed)
}

fn latest(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    for account in [transfer.source, transfer.destination] {
        // An earlier transaction of the account may be in a block before the transfer is.
        let reply = session.wait_for("the transfer's proof", |session| {
            let (reply, chain) = proved(session, Query::Latest, account.into())?;
            let proof = verified(&reply, &chain)?;
            ensure!(proof.involves(&account.0), "the proof is of another account's transaction");
            let found = proof.transaction_id() == Some((transfer.transaction.0, transfer.source.0));
            Ok(found.then(|| reply.clone()))
        })?;
        let chain = chain(session)?;
        let proof = verified(&reply, &chain)?;
        ensure_eq!(proof.transaction, transfer.as_bytes(), "the transaction");
        ensure_eq!(chain.hash(proof.tip_height), Some(&proof.tip_hash), "the tip that the answer is as of");
    }
    Ok(())
}

fn latest_follows(session: &mut Session) -> Result<(), Stop> {
    let first = transferred(session)?;
    for round in 0..3 {
        let next = Operation { transaction: session.fresh_transaction(), amount: 1.into(), ..first };
        ensure_eq!(session.operation(next)?.0, Status::Ok, "TRANSFER {round}");
        session.wait_for("the latest transfer", |session| {
            let (reply, chain) = proved(session, Query::Latest, first.source.into())?;
            let id = verified(&reply, &chain)?.transaction_id();
            Ok((id == Some((next.transaction.0, next.source.0))).then_some(()))
        })?;
        // Once it is the latest, it stays so: no answer may come from before it.
        for _ in 0..20 {
            let (reply, chain) = proved(session, Query::Latest, first.source.into())?;
            let id = verified(&reply, &chain)?.transaction_id();
            ensure_eq!(id, Some((next.transaction.0, next.source.0)), "the latest transfer, asked again");
        }
    }
    Ok(())
}

fn by_id(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    let key = key_of_transaction(transfer.transaction, transfer.source);
    let (reply, chain) = proved(session, Query::Transaction, key)?;
    let proof = verified(&reply, &chain)?;
    ensure_eq!(proof.transaction, transfer.as_bytes(), "the transaction");
    let locator = key_of_locator(proof.height, proof.position);
    let (again, chain) = proved(session, Query::Locator, locator)?;
    let again = verified(&again, &chain)?;
    ensure_eq!((again.transaction, again.leaf), (proof.transaction, proof.leaf), "the transaction by locator");
    let beyond = prove(session, Query::Locator, key_of_locator(proof.height, proof.transactions))?;
    ensure_eq!(beyond.err(), Some(Status::NotFound), "a locator behind the last transaction");
    Ok(())
}

fn signed(session: &mut Session) -> Result<(), Stop> {
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let signed = signer.sign(create, Promise::Durable).map_err(|error| Stop::Failed(error.to_string()))?;
    ensure_eq!(session.full(signed)?.0, Status::Ok, "signed CREATE");
    let (reply, chain) = proved(session, Query::Latest, signer.account().into())?;
    ensure_eq!(verified(&reply, &chain)?.transaction, signed.as_bytes(), "the transaction");
    Ok(())
}

fn deposit(session: &mut Session) -> Result<(), Stop> {
    let deposit = session.target.deposit;
    let (mut payer, new) = (session.signer()?, session.signer()?.account());
    let account = payer.account();
    let giver = session.funded_account(deposit + 5)?;
    let own = Operation::create(session.fresh_transaction(), account);
    let fund = Operation::transfer(session.fresh_transaction(), giver, account, deposit + 5);
    let create = Operation::create_for(session.fresh_transaction(), new, account, deposit);
    let mut sign = |operation| payer.sign(operation, Promise::Durable).map_err(|error| Stop::Failed(error.to_string()));
    let (own, create) = (sign(own)?, sign(create)?);
    ensure_eq!(session.full(own)?.0, Status::Ok, "CREATE of the payer");
    ensure_eq!(session.operation(fund)?.0, Status::Ok, "TRANSFER to the payer");
    ensure_eq!(session.full(create)?.0, Status::Ok, "CREATE for a deposit");
    // It is the latest of both, and in both balances.
    for (of, balance) in [(new, 0), (account, 5)] {
        session.wait_for("the balance in the index", |session| {
            let entry = index_entry(session, of)?;
            Ok(entry.filter(|entry| entry.balance.get() == balance))
        })?;
        let (reply, chain) = proved(session, Query::Latest, of.into())?;
        ensure_eq!(verified(&reply, &chain)?.transaction, create.as_bytes(), "the latest transaction");
    }
    Ok(())
}

fn index(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    for (account, balance) in [(transfer.source, 7), (transfer.destination, 3)] {
        session.wait_for("the balance in the index", |session| {
            let entry = index_entry(session, account)?;
            Ok(entry.filter(|entry| entry.balance.get() == balance))
        })?;
    }
    let nobody = session.fresh_account();
    ensure!(index_entry(session, nobody)?.is_none(), "an account that was never created is in the index");
    Ok(())
}

pub(super) fn index_entry(session: &mut Session, account: AccountId) -> Result<Option<spv::IndexEntry>, Stop> {
    let reply = match prove(session, Query::Index, account.into())? {
        Ok(reply) => reply,
        Err(status) => return Err(Stop::Failed(format!("the index entry was refused with {status}"))),
    };
    let invalid = |error| Stop::Failed(format!("the index proof does not verify: {error}"));
    let proof = IndexProof::parse(&reply).map_err(invalid)?;
    proof.verify(&account.0, &chain_to(session, proof.height)?).map_err(invalid)
}

fn failed_operations(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded_account(1)?, session.funded_account(0)?);
    let failed = Operation::transfer(session.fresh_transaction(), sender, receiver, 2);
    ensure_eq!(session.operation(failed)?.0, Status::InsufficientBalance, "TRANSFER");
    // Once a later one is in a block, the failed one would be.
    let later = Operation::transfer(session.fresh_transaction(), sender, receiver, 1);
    ensure_eq!(session.operation(later)?.0, Status::Ok, "TRANSFER");
    proved(session, Query::Transaction, key_of_transaction(later.transaction, sender))?;
    let found = prove(session, Query::Transaction, key_of_transaction(failed.transaction, sender))?;
    ensure_eq!(found.err(), Some(Status::NotFound), "proof of a failed operation");
    Ok(())
}

fn not_found(session: &mut Session) -> Result<(), Stop> {
    let account = session.fresh_account();
    let absent = [
        (Query::Latest, account.into()),
        (Query::Transaction, key_of_transaction(TransactionId::from(1u32), account)),
        (Query::Locator, key_of_locator(u64::MAX, 0)),
        (Query::Locator, key_of_locator(0, 0)),
    ];
    for (query, key) in absent {
        let found = prove(session, query, key)?;
        ensure_eq!(found.err(), Some(Status::NotFound), "{query} of what there is not");
    }
    Ok(())
}

fn too_large(session: &mut Session) -> Result<(), Stop> {
    let transfer = transferred(session)?;
    proved(session, Query::Latest, transfer.source.into())?;
    for query in [Query::Latest, Query::Index] {
        let request = ProofRequest::new(session.fresh(), Chain::Own, query, transfer.source.into());
        let reply = session.link.ask(request.as_bytes())?;
        let Ok(Reply::Error(error, Status::ReplyTooLarge)) = Reply::parse(&reply) else {
            return Err(Stop::Failed(format!("a request without room was answered with {}", excerpt(&reply))));
        };
        ensure_eq!(reply.len(), ErrorFrame::LENGTH, "length of the error frame");
        let needed = error.detail.get() as usize;
        ensure!((ProofRequest::LENGTH + 1..=ROOM).contains(&needed), "{needed} bytes are said to be needed");
        let reply = session.link.ask(&padded(request.as_bytes(), needed - 1))?;
        let refused = matches!(Reply::parse(&reply), Ok(Reply::Error(_, Status::ReplyTooLarge)));
        // A new block in between may have changed the length.
        let reply = session.link.ask(&padded(request.as_bytes(), needed + 256))?;
        let answered = matches!(Reply::parse(&reply), Ok(Reply::Proof(_) | Reply::Index(_)));
        ensure!(refused && answered, "{query}: {needed} bytes were said to be needed, but others are");
    }
    Ok(())
}

fn proof_malformed(session: &mut Session) -> Result<(), Stop> {
    let account = session.fresh_account();
    let right = proof_request(session, Query::Latest, account.into());
    // Status, reserved, the key's upper half, padding.
    for offset in [10, 11, 12, 15, 32, 47, 48, ROOM - 1] {
        let mut request = right.clone();
        request[offset] = 1;
        expect_refused(session, &request, Status::Malformed)?;
    }
    for offset in [28, 47] {
        let mut request = proof_request(session, Query::Locator, key_of_locator(1, 0));
        request[offset] = 1;
        expect_refused(session, &request, Status::Malformed)?;
    }
    session.expect_error(&right[..47], Status::Malformed)?;
    Ok(())
}

fn proof_unknown(session: &mut Session) -> Result<(), Stop> {
    let account = session.fresh_account();
    let right = proof_request(session, Query::Latest, account.into());
    for (offset, value, status) in [
        (8, 2, Status::UnknownChain),
        (8, 255, Status::UnknownChain),
        (9, 0, Status::UnknownCommand),
        (9, 5, Status::UnknownCommand),
        (9, 255, Status::UnknownCommand),
    ] {
        let mut request = right.clone();
        request[offset] = value;
        expect_refused(session, &request, status)?;
    }
    let index = ProofRequest::new(session.fresh(), Chain::Bitcoin, Query::Index, [0; 32]);
    expect_refused(session, index.as_bytes(), Status::UnknownCommand)?;
    if !session.info()?.serves_bitcoin() {
        let latest = ProofRequest::new(session.fresh(), Chain::Bitcoin, Query::Latest, [1; 32]);
        expect_refused(session, &padded(latest.as_bytes(), ROOM), Status::UnknownChain)?;
    }
    Ok(())
}

fn expect_refused(session: &mut Session, request: &[u8], status: Status) -> Result<(), Stop> {
    let reply = session.link.ask(request)?;
    ensure_eq!(reply.len(), ProofRequest::LENGTH, "length of the refusal of {}", excerpt(request));
    match Reply::parse(&reply) {
        Ok(Reply::ProofRefused(_, found)) => ensure_eq!(found, status, "refusal of {}", excerpt(request)),
        other => return Err(Stop::Failed(format!("{} was answered with {other:?}", excerpt(request)))),
    }
    Ok(())
}
