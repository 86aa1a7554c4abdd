//! The connection to a planner, and the channels to the locations that it names.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, FlightInfo};
use prost::Message;
use tonic::Request;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use wire::channel::{MAX_MESSAGE_BYTES, connect_lazy};

use crate::error::ClientError;
use crate::results::Results;

/// Endpoints that are fetched at once when nobody asks for another number.
const DEFAULT_PARALLEL: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

/// How a statement is run.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// Ask for one endpoint that the planner streams, instead of many.
    pub single_endpoint: bool,
    /// How many endpoints are fetched at once.
    pub parallel: NonZeroUsize,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            single_endpoint: false,
            parallel: DEFAULT_PARALLEL,
        }
    }
}

/// A connection to a planner. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    location: Arc<str>,
    planner: Channel,
    channels: Arc<Mutex<HashMap<String, Channel>>>,
}

impl Client {
    /// A client of the planner at `grpc://host:port` or `host:port`. It connects at the first
    /// statement and again after a break.
    ///
    /// # Errors
    /// When the location is not an address.
    pub fn connect(location: &str) -> Result<Self, ClientError> {
        Ok(Self {
            location: location.into(),
            planner: connect_lazy(location)?,
            channels: Arc::default(),
        })
    }

    /// Where the planner is.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Plans a statement and starts to fetch its endpoints.
    ///
    /// # Errors
    /// When the planner cannot be reached or refuses the statement.
    pub async fn execute(&self, sql: &str, options: &QueryOptions) -> Result<Results, ClientError> {
        let plan = self.plan(sql, options).await?;
        Results::start(self, plan, options)
    }

    async fn plan(&self, sql: &str, options: &QueryOptions) -> Result<FlightInfo, ClientError> {
        let command = CommandStatementQuery {
            query: sql.to_owned(),
            transaction_id: None,
        };
        let descriptor = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
        let mut request = Request::new(descriptor);
        if options.single_endpoint {
            let single = MetadataValue::from_static("single");
            request.metadata_mut().insert("endpoints", single);
        }
        let answer = self.planner_service().get_flight_info(request).await;
        answer
            .map(tonic::Response::into_inner)
            .map_err(|status| ClientError::from_status(&self.location, &status))
    }

    pub(crate) fn planner_service(&self) -> FlightServiceClient<Channel> {
        service(self.planner.clone())
    }

    /// The Flight service at a location that the planner named; one channel for each.
    pub(crate) fn service_at(
        &self,
        location: &str,
    ) -> Result<FlightServiceClient<Channel>, ClientError> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(location) {
            return Ok(service(channel.clone()));
        }
        let channel = connect_lazy(location)?;
        channels.insert(location.to_owned(), channel.clone());
        Ok(service(channel))
    }
}

fn service(channel: Channel) -> FlightServiceClient<Channel> {
    FlightServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES)
}
