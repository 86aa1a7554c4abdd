//! Starts the real binary on addresses of its own, waits until it serves, and ends it by its own id.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for anything a process must do.
const PATIENCE: Duration = Duration::from_mins(1);

/// The key of all services under test, in hexadecimal.
pub(crate) const TICKET_KEY: &str =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The same as `--ticket-keys` takes it.
pub(crate) const KEYS: &str =
    "test:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A running process; dropping it kills it.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// How it ended, as soon as it has.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait_for("the process to end", || self.0.try_wait().unwrap())
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running service.
pub(crate) struct Service {
    process: Running,
    address: String,
    log: PathBuf,
    printed: PathBuf,
}

impl Service {
    /// Starts `fulmar ARGS --listen LISTEN --address-file …` and waits until it serves.
    pub(crate) fn start(dir: &Path, name: &str, listen: &str, args: &[&str]) -> Self {
        let address_file = dir.join(format!("{name}.address"));
        let log = dir.join(format!("{name}.log"));
        let printed = dir.join(format!("{name}.printed"));
        let _ = std::fs::remove_file(&address_file);
        let child = fulmar()
            .args(args)
            .args(["--listen", listen, "--address-file"])
            .arg(&address_file)
            .env("FULMAR_TICKET_KEYS", KEYS)
            .stdout(File::create(&printed).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn();
        let mut process = Running(child.unwrap());
        let address = wait_for(&format!("{name} to listen"), || {
            if let Some(status) = process.0.try_wait().unwrap() {
                panic!(
                    "{name} ended with {status}: {}",
                    std::fs::read_to_string(&log).unwrap()
                );
            }
            std::fs::read_to_string(&address_file).ok()
        });
        Self {
            process,
            address: address.trim().to_owned(),
            log,
            printed,
        }
    }

    /// `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The address as a Flight location.
    pub(crate) fn location(&self) -> String {
        format!("grpc+tcp://{}", self.address)
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap_or_default()
    }

    /// The processor time that it has used so far, in ticks of the system.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.0.id())).unwrap();
        // The name of the program comes second, in brackets, and may hold spaces.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_whitespace().skip(11).take(2);
        times.map(|time| time.parse::<u64>().unwrap()).sum()
    }

    /// SIGKILL: no chance to put anything in order.
    pub(crate) fn kill(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
    }

    /// SIGTERM, and how it ended.
    pub(crate) fn terminate(self) -> ExitStatus {
        self.ask_to_end();
        self.ended()
    }

    /// SIGTERM.
    pub(crate) fn ask_to_end(&self) {
        self.process.signal("TERM");
    }

    /// How it ended, as soon as it has.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.process.ended()
    }
}

/// The binary under test, without the caller's own settings.
pub(crate) fn fulmar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulmar"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FULMAR_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Asks until there is an answer.
pub(crate) fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `fulmar local` over a folder, with its state beside it.
pub(crate) fn local(dir: &Path, data: &Path) -> Service {
    let state = dir.join("state");
    let (data, state) = (data.to_str().unwrap(), state.to_str().unwrap());
    Service::start(
        dir,
        "local",
        "127.0.0.1:0",
        &["local", "--data", data, "--state", state],
    )
}

/// Catalog, planner and Flight servers as processes of their own.
pub(crate) struct Cluster {
    dir: PathBuf,
    flight_addresses: Vec<String>,
    pub(crate) catalog: Option<Service>,
    pub(crate) planner: Option<Service>,
    pub(crate) flight_servers: Vec<Option<Service>>,
}

impl Cluster {
    /// `started` Flight servers run; the planner knows of `known`.
    pub(crate) fn start(dir: &Path, known: usize, started: usize) -> Self {
        let mut cluster = Self {
            dir: dir.to_owned(),
            flight_addresses: (0..known).map(|_| own_address()).collect(),
            catalog: None,
            planner: None,
            flight_servers: (0..known).map(|_| None).collect(),
        };
        cluster.start_catalog("127.0.0.1:0");
        for server in 0..started {
            cluster.start_flight_server(server);
        }
        cluster.start_planner("127.0.0.1:0");
        cluster
    }

    pub(crate) fn start_catalog(&mut self, listen: &str) {
        let database = self.dir.join("catalog.db");
        let warehouse = self.dir.join("warehouse");
        let args = [
            "catalog",
            "--database",
            database.to_str().unwrap(),
            "--warehouse",
            warehouse.to_str().unwrap(),
        ];
        self.catalog = Some(Service::start(&self.dir, "catalog", listen, &args));
    }

    pub(crate) fn start_planner(&mut self, listen: &str) {
        let catalog = self.catalog_url();
        let servers: Vec<String> = self
            .flight_addresses
            .iter()
            .map(|address| format!("http://{address}"))
            .collect();
        let servers = servers.join(",");
        let args = [
            "planner",
            "--catalog",
            &catalog,
            "--flight-servers",
            &servers,
        ];
        self.planner = Some(Service::start(&self.dir, "planner", listen, &args));
    }

    pub(crate) fn start_flight_server(&mut self, server: usize) {
        self.start_flight_server_with(server, &[]);
    }

    /// With further flags.
    pub(crate) fn start_flight_server_with(&mut self, server: usize, flags: &[&str]) {
        let catalog = self.catalog_url();
        let name = format!("flight-server-{server}");
        let listen = self.flight_addresses[server].clone();
        let args = ["flight-server", "--catalog", &catalog];
        let args = [&args, flags].concat();
        self.flight_servers[server] = Some(Service::start(&self.dir, &name, &listen, &args));
    }

    pub(crate) fn planner_location(&self) -> String {
        self.planner.as_ref().unwrap().location()
    }

    /// The location that a Flight server advertises.
    pub(crate) fn flight_location(&self, server: usize) -> String {
        format!("grpc+tcp://{}", self.flight_addresses[server])
    }

    fn catalog_url(&self) -> String {
        format!("http://{}", self.catalog.as_ref().unwrap().address())
    }
}

/// An address that no other process takes meanwhile: the port is fixed, and the host is one of the
/// loopback's sixteen million, told apart by the id of this process.
fn own_address() -> String {
    static TAKEN: AtomicU8 = AtomicU8::new(1);
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    assert!(number < 255, "too many addresses for one process");
    let [.., high, low] = std::process::id().to_be_bytes();
    format!("127.{number}.{high}.{low}:50052")
}
