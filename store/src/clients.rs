//! HTTP clients of object stores. One takes milliseconds to make, since it reads the certificates of the
//! system, and holds connections; so stores with the same options share one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};

/// Makes each client once. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients(Arc<Mutex<HashMap<String, HttpClient>>>);

impl HttpConnector for Clients {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let key = format!("{options:?}");
        // Held while a client is made: whoever needs the same one waits less than for its own.
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = ReqwestConnector::default().connect(options)?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_with_the_same_options_share_a_client() {
        let clients = Clients::default();
        for (options, made) in [
            (ClientOptions::new(), 1),
            (ClientOptions::new(), 1),
            (ClientOptions::new().with_allow_http(true), 2),
        ] {
            clients.clone().connect(&options).unwrap();
            assert_eq!(clients.0.lock().unwrap().len(), made);
        }
    }
}
