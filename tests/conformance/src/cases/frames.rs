//! What is no frame, and what gets no answer.

use wire::{
    AccountId, BatchFormat, BatchHeader, Chain, ChangeFrame, Command, CompactFrame, FeedFrame, FinalityFrame,
    FrameType, HeadersFrame, InfoFrame, Operation, Promise, ProofRequest, Query, Reply, Status,
};
use zerocopy::IntoBytes;

use super::cases;
use crate::link::{Link, excerpt};
use crate::session::{Session, batch};
use crate::{Stop, ensure};

cases! {
    "frames: too short for an answer" => short,
    "frames: MALFORMED where it is no frame" => no_frame,
    "frames: UNKNOWN_COMMAND for an unknown type" => unknown_type,
    "frames: UNKNOWN_COMMAND for a feed by datagram" => feed_by_datagram,
    "frames: UNSUPPORTED_VERSION" => unsupported_version,
    "frames: replies get no answer" => replies,
    "frames: nothing is taken from the node's own port" => own_port,
    "frames: no reply is longer than its request" => no_amplification,
}

fn short(session: &mut Session) -> Result<(), Stop> {
    let info = InfoFrame::new(session.fresh());
    for length in 0..16 {
        session.link.expect_silence(&vec![0; length])?;
        session.link.expect_silence(&vec![0xff; length])?;
        session.link.expect_silence(&info.as_bytes()[..length])?;
    }
    Ok(())
}

fn no_frame(session: &mut Session) -> Result<(), Stop> {
    let frame = CompactFrame::new(Command::Create, session.fresh(), session.fresh(), 0, 0);
    session.expect_error(&frame.as_bytes()[..21], Status::Malformed)?;
    session.expect_error(&frame.as_bytes()[..16], Status::Malformed)?;
    for length in [23, 24, 64, 1472, 65_507] {
        let mut long = frame.as_bytes().to_vec();
        long.resize(length, 0);
        session.expect_error(&long, Status::Malformed)?;
    }
    let info = InfoFrame::new(session.fresh());
    session.expect_error(&info.as_bytes()[..127], Status::Malformed)?;
    session.expect_error(&[info.as_bytes(), &[0]].concat(), Status::Malformed)?;
    Ok(())
}

fn unknown_type(session: &mut Session) -> Result<(), Stop> {
    for kind in [0, 12, 0x42, 0x7f] {
        let mut frame = InfoFrame::new(session.fresh());
        frame.header.kind = kind;
        session.expect_error(frame.as_bytes(), Status::UnknownCommand)?;
        session.expect_error(&frame.as_bytes()[..16], Status::UnknownCommand)?;
    }
    Ok(())
}

/// A node that serves feeds does so on connections only, and a node that serves none does not know the type.
fn feed_by_datagram(session: &mut Session) -> Result<(), Stop> {
    let feed = FeedFrame::new(session.fresh(), 1, None, Promise::Default);
    session.expect_error(feed.as_bytes(), Status::UnknownCommand)
}

fn unsupported_version(session: &mut Session) -> Result<(), Stop> {
    for version in [0, 2, 255] {
        let mut frame = InfoFrame::new(session.fresh());
        frame.header.version = version;
        session.expect_error(frame.as_bytes(), Status::UnsupportedVersion)?;
    }
    Ok(())
}

fn replies(session: &mut Session) -> Result<(), Stop> {
    for kind in [0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0xff] {
        let mut frame = InfoFrame::new(session.fresh());
        frame.header.kind = kind;
        session.link.expect_silence(frame.as_bytes())?;
        frame.header.version = 9;
        session.link.expect_silence(frame.as_bytes())?;
    }
    Ok(())
}

fn own_port(session: &mut Session) -> Result<(), Stop> {
    let local = session.target.stranger.unwrap_or(session.target.trusted);
    let Ok(mut link) = Link::open_at_its_port(local, session.target.node) else {
        return Err(Stop::Skipped("the node's port number is not free on a local address"));
    };
    link.set_patience(std::time::Duration::from_millis(300))?;
    link.send(InfoFrame::new(session.fresh()).as_bytes())?;
    // A later question from elsewhere is answered, so the first was taken in before.
    session.info()?;
    match link.receive()? {
        None => Ok(()),
        Some(reply) => Err(Stop::Failed(format!("answered with {}", excerpt(&reply)))),
    }
}

/// Requests of every kind, and all of them changed at random.
fn no_amplification(session: &mut Session) -> Result<(), Stop> {
    // Where no other case has accounts: some of those that come of changed bytes will be created.
    let account = AccountId::from(u128::from(session.fresh()) | 0xc4a7 << 96);
    let create = Operation::create(session.fresh_transaction(), account);
    let seeds = [
        CompactFrame::new(Command::Refer, session.fresh(), session.fresh(), 0, 0).as_bytes().to_vec(),
        batch(session.fresh(), BatchFormat::Operation, create.as_bytes(), 1, Promise::Accepted),
        BatchHeader::new(session.fresh(), BatchFormat::Signed, 1, Promise::Default).as_bytes().to_vec(),
        ProofRequest::new(session.fresh(), Chain::Own, Query::Index, account.into()).as_bytes().to_vec(),
        ProofRequest::new(session.fresh(), Chain::Bitcoin, Query::Transaction, [0; 32]).as_bytes().to_vec(),
        HeadersFrame::new(session.fresh(), Chain::Own, 0, 3).as_bytes().to_vec(),
        InfoFrame::new(session.fresh()).as_bytes().to_vec(),
        FinalityFrame::new(session.fresh(), 0).as_bytes().to_vec(),
        FeedFrame::new(session.fresh(), 1, Some(account), Promise::Durable).as_bytes().to_vec(),
        ChangeFrame::new(session.fresh(), [1; ChangeFrame::APPROVAL]).as_bytes().to_vec(),
    ];
    let mut state = u64::from(session.fresh());
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..2000 {
        let mut request = seeds[random(seeds.len())].clone();
        for _ in 0..random(4) {
            let at = random(request.len());
            request[at] = if random(2) == 0 { 0 } else { random(256) as u8 };
        }
        match random(4) {
            0 => request.resize(random(600), 0),
            1 => request.resize(random(request.len()) + 1, 0),
            _ => {}
        }
        if request.len() < 8 {
            // A late reply to another request could not be told from one to this.
            Link::open(session.target.trusted, session.target.node)?.expect_silence(&request)?;
            continue;
        }
        request[4..8].copy_from_slice(&session.fresh().to_be_bytes());
        // The question that shows that nothing more comes must not be taken for the request.
        if request[3] == FrameType::Info as u8 && request.len() == InfoFrame::LENGTH {
            continue;
        }
        if let Some(reply) = session.link.ask_or_silence(&request)? {
            ensure!(reply.len() <= request.len(), "{} was answered with {}", excerpt(&request), excerpt(&reply));
            ensure!(
                Reply::parse(&reply).is_ok(),
                "{} was answered with no reply: {}",
                excerpt(&request),
                excerpt(&reply)
            );
        }
    }
    Ok(())
}
