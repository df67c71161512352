//! `turnpike cluster`: replicas on this machine, each a process of its own.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::{Client, Options};
use node::Config;
use node::config::Cluster;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use storage::{DataDirectory, key_file};

use crate::cli::{ClusterArgs, ClusterCommand, ClusterInitArgs};
use crate::error::Error;
use crate::hex;
use crate::output::Output;

/// How long replicas may take to start, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a replica may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Between two looks at whether it has.
const NAP: Duration = Duration::from_millis(50);

/// Runs `turnpike cluster`.
pub fn run(command: &ClusterCommand, output: Output) -> Result<(), Error> {
    match command {
        ClusterCommand::Init(args) => init(args, output),
        ClusterCommand::Start(args) => start(args, output),
        ClusterCommand::Status(args) => status(args, output),
        ClusterCommand::Stop(args) => stop(args, output),
    }
}

/// A replica's folder.
struct Home {
    number: usize,
    folder: PathBuf,
}

/// What is told of a replica.
#[derive(Serialize)]
struct Report {
    replica: usize,
    listen: String,
    http: Option<String>,
    process: Option<i32>,
    network: Option<String>,
    height: Option<u64>,
    accounts: Option<u64>,
}

impl Home {
    fn new(dir: &Path, number: usize) -> Self {
        Self { number, folder: dir.join(format!("replica-{number}")) }
    }

    /// Those that there are.
    fn all(dir: &Path) -> Result<Vec<Self>, Error> {
        let homes: Vec<_> =
            (0..).map(|number| Self::new(dir, number)).take_while(|home| home.folder.is_dir()).collect();
        if homes.is_empty() {
            let text = format!("{} has no replicas: make them with `turnpike cluster init`", dir.display());
            return Err(Error::Input(text));
        }
        Ok(homes)
    }

    fn config_file(&self) -> PathBuf {
        self.folder.join("turnpike.toml")
    }

    fn config(&self) -> Result<Config, Error> {
        Config::load(&self.config_file()).map_err(Error::other)
    }

    /// The process that runs it: the one whose number was written down, if it is still what was started.
    fn process(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.folder.join("pid")).ok()?;
        let pid = Pid::from_raw(text.trim().parse().ok()?)?;
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        let file = self.config_file();
        let is_ours = line.split(|&byte| byte == 0).any(|word| word == file.as_os_str().as_encoded_bytes());
        is_ours.then_some(pid)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether a process holds its data: one that runs, or one that was killed and has not ended altogether.
    fn is_held(&self) -> Result<bool, Error> {
        DataDirectory::is_held(self.config()?.data).map_err(Error::other)
    }

    /// Starts a process, unless there is one, or one holds the data, or another command is starting one.
    fn start(&self) -> Result<Option<Started>, Error> {
        let path = self.folder.join("pid");
        let file = |error| Error::file("write", &path, error);
        let mut pid = File::options().create(true).truncate(false).write(true).open(&path).map_err(file)?;
        if pid.try_lock().is_err() || self.process().is_some() || self.is_held()? {
            return Ok(None);
        }
        let child = self.spawn()?;
        pid.set_len(0).and_then(|()| writeln!(pid, "{}", child.id())).map_err(file)?;
        Ok(Some(Started { child, _lock: pid }))
    }

    fn spawn(&self) -> Result<Child, Error> {
        let path = self.log();
        let file = |error| Error::file("write", &path, error);
        let log = File::options().create(true).append(true).open(&path).map_err(file)?;
        let program = std::env::current_exe().map_err(|error| Error::file("find", Path::new("turnpike"), error))?;
        let child = Command::new(program)
            .arg("serve")
            .arg("--config")
            .arg(self.config_file())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(file)?)
            .stderr(log)
            // What is typed at the terminal is not for it.
            .process_group(0)
            .spawn();
        child.map_err(|error| Error::Failed(format!("replica {} does not start: {error}", self.number)))
    }

    /// It does not do in time what it was to do.
    fn overdue(&self, what: &str) -> Result<(), Error> {
        let why = match self.process() {
            Some(pid) => format!("process {} is at it: see {}", pid.as_raw_nonzero(), self.log().display()),
            None => {
                let lock = self.config()?.data.join("LOCK");
                format!("another process, or one that does not end, holds its data: see `fuser {}`", lock.display())
            }
        };
        Err(Error::Failed(format!("replica {} does not {what} within {PATIENCE:?}; {why}", self.number)))
    }

    fn report(&self) -> Result<Report, Error> {
        let config = self.config()?;
        let process = self.process();
        let options = Options { give_up_after: ANSWER, ..Options::default() };
        let ask = || Client::connect(config.listen, &options).ok()?.info().ok();
        let info = process.and_then(|_| ask());
        Ok(Report {
            replica: self.number,
            listen: config.listen.to_string(),
            http: config.http.map(|address| address.to_string()),
            process: process.map(|pid| pid.as_raw_nonzero().get()),
            network: info.map(|info| hex::encode(&info.network)),
            height: info.map(|info| info.tip_height.get()),
            accounts: info.map(|info| info.accounts.get()),
        })
    }
}

/// Addresses of a replica on loopback.
struct Place {
    listen: SocketAddr,
    http: SocketAddr,
    others: SocketAddr,
}

/// Addresses for so many replicas: from a port on, or any that are free.
fn places(replicas: u16, port: u16) -> Result<Vec<Place>, Error> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if port > 0 {
        let ports = port.checked_add(3 * replicas - 1).map(|_| (0..replicas).map(|number| port + number));
        let ports = ports.ok_or_else(|| Error::Input(format!("--port {port}: there are not as many above it")))?;
        let place = |port| Place { listen: at(port), http: at(port + replicas), others: at(port + 2 * replicas) };
        return Ok(ports.map(place).collect());
    }
    let taken = |error| Error::Failed(format!("no free port on loopback: {error}"));
    // All are open at once, so that no two are the same.
    let mut open = Vec::new();
    let mut places = Vec::new();
    for _ in 0..replicas {
        // The protocol is on both.
        let (udp, both, listen) = loop {
            let udp = UdpSocket::bind(at(0)).map_err(taken)?;
            let listen = udp.local_addr().map_err(taken)?;
            if let Ok(tcp) = TcpListener::bind(listen) {
                break (udp, tcp, listen);
            }
        };
        let [http, others] = [TcpListener::bind(at(0)).map_err(taken)?, TcpListener::bind(at(0)).map_err(taken)?];
        let [http_at, others_at] = [http.local_addr().map_err(taken)?, others.local_addr().map_err(taken)?];
        places.push(Place { listen, http: http_at, others: others_at });
        open.push((udp, [both, http, others]));
    }
    Ok(places)
}

fn init(args: &ClusterInitArgs, output: Output) -> Result<(), Error> {
    let make = |path: &Path| fs::create_dir_all(path).map_err(|error| Error::file("make", path, error));
    make(&args.dir)?;
    // Processes are known by the full path of their configuration.
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    if fs::read_dir(&dir).map_err(|error| Error::file("read", &dir, error))?.next().is_some() {
        return Err(Error::Input(format!("{} is not empty: name another directory", dir.display())));
    }
    let places = places(args.replicas.into(), args.port)?;
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let addresses = Vec::from_iter(places.iter().map(|place| place.others));
    let sections = Cluster::generate(&addresses, began).map_err(Error::other)?;
    let input = |option: &'static str| move |error: &dyn std::fmt::Display| Error::Input(format!("{option}: {error}"));
    let trusted = args.trusted.iter().map(|text| text.parse().map_err(|error| input("--trusted")(&error)));
    let issuers = args.issuer.iter().map(|text| text.parse().map_err(|error| input("--issuer")(&error)));
    let mut common = Config {
        network: args.network.clone(),
        trusted: trusted.collect::<Result<_, _>>()?,
        issuers: issuers.collect::<Result<_, _>>()?,
        ..Config::default()
    };
    if let Some(accounts) = args.accounts {
        common.ledger.accounts = accounts;
    }
    let home = |number| Home::new(&dir, number);
    let configs = places.iter().zip(&sections).enumerate().map(|(number, (place, (_, section)))| {
        let folder = home(number).folder;
        let cluster = Cluster { key: folder.join("replica.key"), patience: args.patience, ..section.clone() };
        Config { data: folder.join("data"), listen: place.listen, http: Some(place.http), cluster, ..common.clone() }
    });
    let configs = Vec::from_iter(configs);
    configs.iter().try_for_each(|config| config.check().map_err(|error| Error::Input(error.to_string())))?;
    for ((number, config), (secret, _)) in configs.iter().enumerate().zip(&sections) {
        let home = home(number);
        make(&home.folder)?;
        key_file::create(&config.cluster.key, secret).map_err(Error::other)?;
        let (text, path) = (toml::to_string(config).map_err(Error::other)?, home.config_file());
        fs::write(&path, text).map_err(|error| Error::file("write", &path, error))?;
    }
    let report = Vec::from_iter(places.iter().map(|place| place.listen.to_string()));
    output.result(&serde_json::json!({ "dir": dir, "replicas": report }), |_| {
        format!("{} replicas in {}, for clients at {}", report.len(), dir.display(), report.join(", "))
    });
    Ok(())
}

fn dir(args: &ClusterArgs) -> Result<PathBuf, Error> {
    args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))
}

/// A process that this command started.
struct Started {
    child: Child,
    /// Of the file with its number: no other command starts one meanwhile. Its command line, by which it is known to them, is
    /// not there from the first moment on.
    _lock: File,
}

/// A replica that is to serve.
struct Launch {
    home: Home,
    started: Option<Started>,
}

impl Launch {
    /// Starts it as soon as no process is left of it: one that ends is waited for.
    fn go_on(&mut self) -> Result<(), Error> {
        let Self { home, started } = self;
        match started {
            Some(Started { child, .. }) => {
                if let Ok(Some(status)) = child.try_wait() {
                    let log = home.log();
                    let text =
                        format!("replica {} ended before it served, {status}: see {}", home.number, log.display());
                    return Err(Error::Failed(text));
                }
            }
            None if home.process().is_none() => *started = home.start()?,
            None => {}
        }
        Ok(())
    }
}

fn start(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    let launches = Home::all(&dir(args)?)?.into_iter().map(|home| Launch { home, started: None });
    let mut launches = VecDeque::from_iter(launches);
    let since = Instant::now();
    loop {
        launches.iter_mut().try_for_each(Launch::go_on)?;
        let Some(Launch { home, .. }) = launches.front() else { return Ok(()) };
        let report = home.report()?;
        if report.height.is_some() {
            tell(&report, output);
            launches.pop_front();
        } else if since.elapsed() > PATIENCE {
            return home.overdue("serve");
        } else {
            sleep(NAP);
        }
    }
}

fn status(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    Home::all(&dir(args)?)?.iter().try_for_each(|home| {
        tell(&home.report()?, output);
        Ok(())
    })
}

fn tell(report: &Report, output: Output) {
    output.result(report, |report| {
        let Report { replica, listen, process, height, accounts, .. } = report;
        match (process, height, accounts) {
            (Some(process), Some(height), Some(accounts)) => {
                format!("replica {replica}  {listen}  process {process}  height {height}  accounts {accounts}")
            }
            (Some(process), ..) => format!("replica {replica}  {listen}  process {process}  does not answer"),
            (None, ..) => format!("replica {replica}  {listen}  does not run"),
        }
    });
}

fn stop(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    let homes = Home::all(&dir(args)?)?;
    for pid in homes.iter().filter_map(Home::process) {
        // It may have ended since.
        let _ = kill_process(pid, Signal::TERM);
    }
    let since = Instant::now();
    for home in &homes {
        while home.process().is_some() || home.is_held()? {
            if since.elapsed() > PATIENCE {
                return home.overdue("end");
            }
            sleep(NAP);
        }
        tell(&home.report()?, output);
    }
    Ok(())
}
