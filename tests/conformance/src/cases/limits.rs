//! What a node does when it has had enough.

use wire::{FullFrame, InfoFrame, Operation, Promise, Reply, Status};
use zerocopy::IntoBytes;

use super::cases;
use crate::session::{Session, full_result};
use crate::{Stop, ensure, ensure_eq};

cases! {
    "limits: the last accounts are for trusted senders" => reserved,
    "limits: RATE_LIMITED for strangers, and service for others" => rate_limited,
    "limits: TABLE_FULL" => table_full,
}

fn reserved(session: &mut Session) -> Result<(), Stop> {
    if !session.target.small_table {
        return Err(Stop::Skipped("the node's table is not small"));
    }
    let mut stranger = session.stranger()?;
    let mut issuer = session.issuer()?;
    let mut first = None;
    for _ in 0..1000 {
        let account = session.signer()?.account();
        let create = Operation::create(session.fresh_transaction(), account);
        let signed = issuer.sign(create, Promise::Default).map_err(|error| Stop::Failed(error.to_string()))?;
        let frame = FullFrame::new(session.fresh(), signed);
        let (status, ..) = full_result(&frame, &stranger.ask(frame.as_bytes())?)?;
        if status != Status::TableFull {
            ensure_eq!(status, Status::Ok, "CREATE by an issuer from a stranger's address");
            first = first.or(Some(frame));
            for _ in 0..100 {
                session.funded_account(0)?;
            }
            continue;
        }
        session.funded_account(0)?;
        // What exists is no new account, and what was refused left no trace.
        if let Some(first) = first {
            ensure_eq!(full_result(&first, &stranger.ask(first.as_bytes())?)?.0, Status::Ok, "a retry");
        }
        ensure_eq!(session.full(signed)?.0, Status::Ok, "the same from a trusted address");
        return Ok(());
    }
    Err(Stop::Failed("100,000 accounts were created".to_owned()))
}

fn rate_limited(session: &mut Session) -> Result<(), Stop> {
    if !session.target.rate_limited {
        return Err(Stop::Skipped("the node has no rate limit"));
    }
    let mut stranger = session.stranger()?;
    // Much faster than any limit, and yet no reply is left to overflow the socket's buffer.
    stranger.set_patience(std::time::Duration::from_millis(1))?;
    let mut refused = 0;
    let mut answered = 0;
    const REQUESTS: usize = 50_000;
    for chunk in 0..REQUESTS / 100 {
        for index in 0..100 {
            stranger.send(InfoFrame::new((chunk * 100 + index) as u32).as_bytes())?;
        }
        while let Some(reply) = stranger.receive()? {
            answered += 1;
            let limited = match Reply::parse(&reply) {
                Ok(Reply::Info(info)) => info.status() == Ok(Status::RateLimited),
                Ok(Reply::Error(_, status)) => status == Status::RateLimited,
                other => return Err(Stop::Failed(format!("answered with {other:?}"))),
            };
            refused += usize::from(limited);
        }
        if refused > 0 {
            break;
        }
    }
    ensure!(refused > 0, "{answered} of {REQUESTS} requests were answered and none was refused");
    session.info()?;
    Ok(())
}

fn table_full(session: &mut Session) -> Result<(), Stop> {
    if !session.target.small_table {
        return Err(Stop::Skipped("the node's table is not small"));
    }
    let witness = session.funded_account(3)?;
    for _ in 0..1000 {
        let operations: Vec<_> = (0..500)
            .map(|_| {
                let account = session.fresh_account();
                Operation::create(session.fresh_transaction(), account)
            })
            .collect();
        let (results, _) = session.operations(&operations, Promise::Default)?;
        let Some(full) = results.iter().position(|(status, _)| *status != Status::Ok) else { continue };
        ensure!(results[full..].iter().all(|result| *result == (Status::TableFull, 0)), "{:?}", &results[full..]);
        let (again, _) = session.operations(&operations, Promise::Default)?;
        ensure_eq!(again, results, "results of the retry");
        let issue = Operation::issue(session.fresh_transaction(), witness, 1);
        ensure_eq!(session.operation(issue)?, (Status::Ok, 4), "ISSUE while the table is full");
        return Ok(());
    }
    Err(Stop::Failed("500,000 accounts were created".to_owned()))
}
