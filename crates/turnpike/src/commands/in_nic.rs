//! `turnpike in-nic`: runs an in-NIC ledger until a signal stops it.

use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use node::{Config, InNic};

use crate::cli::InNicArgs;
use crate::error::Error;
use crate::hex;
use crate::output::Output;

/// Printed by `in-nic` when it is ready.
#[derive(Serialize)]
struct Ready {
    listen: String,
    http: Option<String>,
    network: String,
    promise: &'static str,
}

/// Runs `turnpike in-nic`.
pub fn run(args: &InNicArgs, output: Output) -> Result<(), Error> {
    let trusted = args.trusted.iter().map(|text| text.parse()).collect::<Result<_, _>>();
    let mut config = Config {
        data: args.data.clone(),
        listen: args.listen,
        trusted: trusted.map_err(|error| Error::Input(format!("--trusted: {error}")))?,
        ..Config::default()
    };
    config.ledger.accounts = args.accounts;
    config.ledger.retry_operations = args.retries.next_power_of_two();
    config.ledger.retry_seconds = args.retry_seconds;
    if let Some(http) = args.http {
        config.http = Some(http);
    }
    config.io.interface = args.interface.clone().unwrap_or_default();
    config.check().map_err(Error::other)?;
    // Taken before it starts, so that a signal during a long recovery is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Error::Failed(format!("the system refuses to report signals: {error}")))?;
    let service = InNic::start(&config).map_err(Error::other)?;
    let ready = Ready {
        listen: service.local_address().to_string(),
        http: service.http_address().map(|address| address.to_string()),
        network: hex::encode(service.network()),
        promise: "accepted",
    };
    output.result(&ready, |ready| {
        let http =
            ready.http.as_ref().map(|address| format!("\nmetrics  http://{address}/metrics")).unwrap_or_default();
        let promise = "accepted only: a crash loses what is not yet in the journal";
        format!("serving  {} in the NIC{http}\nnetwork  {}\npromise  {promise}", ready.listen, ready.network)
    });
    // SIGHUP is ignored: there is nothing to reload, and the end of a terminal does not end the program.
    if let Some(signal) = signals.forever().find(|signal| *signal != SIGHUP) {
        tracing::info!(signal, "stopping");
    }
    service.stop();
    Ok(())
}
