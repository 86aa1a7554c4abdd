//! Channels to other parts: how a location is spelled and which transport settings are used.

use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

/// Bytes that may be under way on one stream before the receiver answers: DoGet is governed by the
/// receiver's window.
pub const STREAM_WINDOW: u32 = 8 * 1024 * 1024;

/// The same for all streams of a connection.
pub const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;

/// Largest message that our own parts accept from each other.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// How often a quiet connection is asked whether the other side still lives, and how long the answer
/// may take: a machine that vanished closes no connection.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// See [`KEEPALIVE_INTERVAL`].
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(30);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A location that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{location:?} is not an address such as grpc://host:port: {reason}")]
pub struct LocationError {
    /// What was given.
    pub location: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A channel that connects at its first use and again after a break. Accepts `host:port`,
/// `http://`, `grpc://` and `grpc+tcp://`.
///
/// # Errors
/// When the location is not an address.
pub fn connect_lazy(location: &str) -> Result<Channel, LocationError> {
    Ok(endpoint(location)?.connect_lazy())
}

/// Checks that a location is an address, without connecting.
///
/// # Errors
/// When it is not one.
pub fn check(location: &str) -> Result<(), LocationError> {
    endpoint(location).map(|_| ())
}

fn endpoint(location: &str) -> Result<Endpoint, LocationError> {
    let error = |reason: String| LocationError {
        location: location.to_owned(),
        reason,
    };
    let uri = http_uri(location).map_err(error)?;
    let endpoint = Endpoint::from_shared(uri).map_err(|e| error(crate::status::chain(&e)))?;
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW))
}

fn http_uri(location: &str) -> Result<String, String> {
    let Some((scheme, rest)) = location.split_once("://") else {
        return with_port(location).map(|rest| format!("http://{rest}"));
    };
    match scheme {
        "grpc" | "grpc+tcp" | "http" => with_port(rest).map(|rest| format!("http://{rest}")),
        "grpc+tls" | "https" => Err("TLS is not supported yet".to_owned()),
        _ => Err(format!("unknown scheme {scheme:?}")),
    }
}

fn with_port(authority: &str) -> Result<&str, String> {
    let authority = authority.trim_end_matches('/');
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(authority),
        _ => Err("host and port are needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_in_every_spelling_that_clients_use() {
        for location in ["a:1", "grpc://a:1", "grpc+tcp://a:1", "http://a:1/"] {
            assert_eq!(
                http_uri(location).as_deref(),
                Ok("http://a:1"),
                "{location}"
            );
        }
        for location in ["a", "ftp://a:1", "grpc://a", ":1", "grpc+tls://a:1"] {
            assert!(http_uri(location).is_err(), "{location}");
        }
    }
}
