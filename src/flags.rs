//! Flags that several subcommands share, and the values that they check.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use store::StoreProfile;
use wire::TicketKeys;
use wire::serve::{Listener, Serving};

/// A flag whose value clap cannot judge by itself.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: {reason}")]
pub(crate) struct FlagError {
    flag: &'static str,
    reason: String,
}

impl FlagError {
    pub(crate) fn new(flag: &'static str, reason: impl Into<String>) -> Self {
        Self {
            flag,
            reason: reason.into(),
        }
    }
}

/// How a service is found.
#[derive(Debug, Args)]
pub(crate) struct ListenFlags {
    /// Write the bound address to this file once the service is ready
    #[arg(long, env = "FULMAR_ADDRESS_FILE", value_name = "PATH")]
    address_file: Option<PathBuf>,
    /// Allow addresses beyond loopback although there are no credentials yet
    #[arg(long, env = "FULMAR_INSECURE", value_parser = FalseyValueParser::new())]
    insecure: bool,
    /// How long streams may go on once the service was asked to end; then they are cut
    #[arg(
        long, env = "FULMAR_DRAIN_LIMIT", value_name = "TIME", default_value = "25s",
        value_parser = humantime::parse_duration
    )]
    drain_limit: Duration,
}

impl ListenFlags {
    /// Opens the socket.
    pub(crate) async fn bind(&self, address: &str) -> anyhow::Result<Listener> {
        let listener = Listener::bind(address, self.insecure).await?;
        Ok(listener.with_drain_limit(self.drain_limit))
    }

    /// Runs a service to its end, and says where it listens as soon as it serves.
    pub(crate) async fn run<E>(
        &self,
        (address, serving): (SocketAddr, Serving),
        service: impl Future<Output = Result<(), E>>,
    ) -> anyhow::Result<()>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut service = std::pin::pin!(service);
        tokio::select! {
            ended = &mut service => return Ok(ended?),
            () = serving.begun() => self.announce(address)?,
        }
        Ok(service.await?)
    }

    /// Says where the service listens: one line on stdout, and the address file.
    pub(crate) fn announce(&self, address: SocketAddr) -> anyhow::Result<()> {
        if let Some(path) = &self.address_file {
            wire::serve::write_address_file(address, path)?;
        }
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "listening on {address}")?;
        Ok(stdout.flush()?)
    }
}

/// The keys that sign and check tickets.
#[derive(Debug, Args)]
pub(crate) struct KeyFlags {
    /// Ticket keys: `id:hex[,id:hex]` of at least 16 bytes; the first signs, all are accepted
    #[arg(
        long,
        env = "FULMAR_TICKET_KEYS",
        value_name = "KEYS",
        hide_env_values = true,
        required_unless_present = "ticket_keys_file",
        conflicts_with = "ticket_keys_file"
    )]
    ticket_keys: Option<String>,
    /// A file that holds the ticket keys
    #[arg(long, env = "FULMAR_TICKET_KEYS_FILE", value_name = "PATH")]
    ticket_keys_file: Option<PathBuf>,
}

impl KeyFlags {
    /// The keys. An error never shows one.
    pub(crate) fn keys(&self) -> anyhow::Result<TicketKeys> {
        if let Some(path) = &self.ticket_keys_file {
            let failed = |reason: String| {
                FlagError::new(
                    "--ticket-keys-file",
                    format!("{}: {reason}", path.display()),
                )
            };
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            let keys = TicketKeys::parse(text.trim());
            return Ok(keys.map_err(|error| failed(error.to_string()))?);
        }
        let text = self.ticket_keys.as_deref().unwrap_or_default();
        let keys = TicketKeys::parse(text);
        Ok(keys.map_err(|error| FlagError::new("--ticket-keys", error.to_string()))?)
    }
}

/// How object stores are read.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    /// What reading an object store should save: `balanced` few requests and little waiting, `fast` the waiting
    /// with more requests, `bytes` the bytes
    #[arg(
        long, env = "FULMAR_STORE_PROFILE", value_name = "NAME", default_value = "balanced",
        value_parser = clap::builder::PossibleValuesParser::new(StoreProfile::NAMES)
    )]
    store_profile: String,
}

impl StoreFlags {
    /// The profile of this name.
    pub(crate) fn profile(&self) -> StoreProfile {
        // The parser let no other name through.
        StoreProfile::named(&self.store_profile).unwrap_or(StoreProfile::BALANCED)
    }
}

/// What goes along with tickets.
#[derive(Debug, Args)]
pub(crate) struct FooterFlags {
    /// Bytes of Parquet footers that go along with the tickets of an answer at most, which saves Flight servers a
    /// round trip to an object store; 0 for none
    #[arg(
        long, env = "FULMAR_TICKET_FOOTERS", value_name = "BYTES", default_value = "1MiB",
        value_parser = any_byte_size
    )]
    pub(crate) ticket_footers: usize,
}

/// From where clients fetch results.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Endpoints {
    /// From the Flight servers, with the planner as last resort
    Direct,
    /// From the planner, where clients cannot reach the Flight servers
    Proxy,
}

impl From<Endpoints> for ::planner::EndpointMode {
    fn from(endpoints: Endpoints) -> Self {
        match endpoints {
            Endpoints::Direct => Self::Direct,
            Endpoints::Proxy => Self::Proxy,
        }
    }
}

/// `HOST:PORT`, where a service may listen.
pub(crate) fn host_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("expected HOST:PORT, such as 127.0.0.1:50051".to_owned()),
    }
}

/// Where another part is: `http://host:port`, `grpc://host:port` or `host:port`.
pub(crate) fn location(text: &str) -> Result<String, String> {
    wire::channel::check(text).map_err(|error| error.reason)?;
    Ok(text.to_owned())
}

/// What clients are told to open: a location as Flight spells it, `grpc://host:port` or
/// `grpc+tcp://host:port`. Flight clients refuse anything else.
pub(crate) fn advertised(text: &str) -> Result<String, String> {
    if !text.starts_with("grpc://") && !text.starts_with("grpc+tcp://") {
        return Err("expected grpc+tcp://HOST:PORT or grpc://HOST:PORT".to_owned());
    }
    location(text)
}

/// The location of a Flight server, or a DNS name that stands for many.
pub(crate) fn flight_server(text: &str) -> Result<String, String> {
    location(text.strip_prefix("dns+").unwrap_or(text))?;
    Ok(text.to_owned())
}

/// A number of bytes: `512MiB`, `2GiB`, `1000000`.
pub(crate) fn byte_size(text: &str) -> Result<usize, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err("expected bytes, such as 512MiB or 2GiB".to_owned()),
    };
    let number: usize = number
        .parse()
        .map_err(|_| "expected bytes, such as 512MiB or 2GiB".to_owned())?;
    number
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "out of range".to_owned())
}

/// A number of bytes that may be none.
fn any_byte_size(text: &str) -> Result<usize, String> {
    if text == "0" {
        return Ok(0);
    }
    byte_size(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1000", Some(1000)),
            ("2GiB", Some(2 << 30)),
            ("3 m", Some(3 << 20)),
            ("0", None),
            ("GiB", None),
            ("2 apples", None),
            ("99999999999TiB", None),
        ] {
            assert_eq!(byte_size(text).ok(), bytes, "{text}");
        }
    }

    #[test]
    fn addresses_need_a_host_and_a_port() {
        for good in ["127.0.0.1:0", "[::1]:50051", "localhost:1"] {
            assert!(host_port(good).is_ok(), "{good}");
        }
        for bad in ["", "host", ":1", "host:port", "host:70000"] {
            assert!(host_port(bad).is_err(), "{bad}");
        }
        assert!(flight_server("dns+http://flight-server:50052").is_ok());
        assert!(flight_server("ftp://x:1").is_err());
    }

    #[test]
    fn only_what_flight_clients_open_is_advertised() {
        for good in ["grpc://host:1", "grpc+tcp://10.0.0.1:50052"] {
            assert_eq!(advertised(good).as_deref(), Ok(good));
        }
        for bad in [
            "host:1",
            "http://host:1",
            "grpc+tls://host:1",
            "grpc://",
            "",
        ] {
            assert!(advertised(bad).is_err(), "{bad}");
        }
    }

    #[derive(clap::Parser)]
    struct Listening {
        #[command(flatten)]
        flags: ListenFlags,
    }

    #[test]
    fn insecure_is_a_switch_and_the_drain_limit_a_time() {
        let parse = |args: &[&str]| {
            let args = ["fulmar"].iter().chain(args);
            <Listening as clap::Parser>::try_parse_from(args).map(|parsed| parsed.flags)
        };
        assert!(!parse(&[]).unwrap().insecure);
        assert!(parse(&["--insecure"]).unwrap().insecure);
        assert_eq!(
            parse(&["--drain-limit", "2m"])
                .unwrap()
                .drain_limit
                .as_secs(),
            120
        );
        assert!(parse(&["--drain-limit", "soon"]).is_err());
    }

    #[test]
    fn a_wrong_key_is_not_shown() {
        let flags = KeyFlags {
            ticket_keys: Some("k:c0ffee".to_owned()),
            ticket_keys_file: None,
        };
        let error = flags.keys().unwrap_err().to_string();
        assert!(error.starts_with("--ticket-keys: ticket key 1"), "{error}");
        assert!(!error.contains("c0ffee"), "{error}");
    }
}
