//! What the Flight SQL service asks of the planner. Owns the public types; each call is one line that
//! names the module which does it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use model::QueryId;
use tonic::Status;
use tonic::transport::Channel;
use wire::Work;
use wire::proto::catalog_client::CatalogClient;

use crate::config::{EndpointMode, PlannerConfig};
use crate::context::Context;
use crate::error::PlannerError;
use crate::log::QueryLog;
use crate::servers::Servers;
use crate::session::Session;
use crate::statement::Parsed;
use crate::stream::ResultStream;
use crate::tickets::Signer;
use crate::{commands, coordinator, plan, proxy, statement};

/// The planner behind its service; clones share everything.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<Parts>,
}

/// What planning and running share; everything in it is made once.
pub(crate) struct Parts {
    pub(crate) servers: Servers,
    pub(crate) signer: Signer,
    pub(crate) context: Context,
    pub(crate) log: QueryLog,
    pub(crate) mode: EndpointMode,
    pub(crate) max_endpoints: usize,
    pub(crate) ticket_footers: usize,
    pub(crate) advertise: Option<String>,
    catalog: CatalogClient<Channel>,
    catalog_address: String,
}

impl Parts {
    /// A client of the catalog.
    pub(crate) fn catalog(&self) -> CatalogClient<Channel> {
        self.catalog.clone()
    }

    /// The error of what the catalog answered; it says where the catalog should be.
    pub(crate) fn catalog_failed(&self, status: &Status) -> PlannerError {
        PlannerError::answered(&format!("catalog {}", self.catalog_address), status)
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// A statement with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The statement.
    pub sql: String,
    /// One row, a column for each parameter in order.
    pub parameters: Option<RecordBatch>,
    /// How many statements are answered together; they share what an answer has room for.
    pub together: usize,
}

/// What is known of a statement before it has values.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// It gives rows.
    Query {
        /// The rows as clients get them.
        schema: SchemaRef,
        /// A field for each parameter, in order.
        parameters: SchemaRef,
    },
    /// It changes something, gives no rows and takes no parameters.
    Command,
}

/// A ticket and where it is served.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The signed ticket.
    pub ticket: Bytes,
    /// The locations in order of preference; empty means the connection that the client has.
    pub locations: Vec<String>,
}

/// A planned statement.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// The query.
    pub query_id: QueryId,
    /// The schema of every endpoint's stream.
    pub schema: SchemaRef,
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Whether the rows are ordered across endpoints.
    pub ordered: bool,
    /// JSON: the query id and a summary of the plan.
    pub app_metadata: Bytes,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Connects to the catalog (at its first use) and starts to watch the Flight servers.
    ///
    /// # Errors
    /// When an address in the configuration cannot be used.
    pub fn start(config: &PlannerConfig) -> Result<Self, PlannerError> {
        let channel = wire::channel::connect_lazy(&config.catalog)
            .map_err(|error| PlannerError::Invalid(error.to_string()))?;
        let limit = wire::channel::MAX_MESSAGE_BYTES;
        let catalog = CatalogClient::new(channel)
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        let parts = Parts {
            servers: Servers::watch(&config.flight_servers)?,
            signer: Signer::new(config.keys.clone(), config.ticket_ttl),
            context: Context::new(config.memory_limit, config.spill_dir.clone())?,
            log: QueryLog::start(catalog.clone()),
            mode: config.endpoints,
            max_endpoints: config.max_endpoints.max(1),
            ticket_footers: config.ticket_footers,
            advertise: config.advertise.clone(),
            catalog,
            catalog_address: config.catalog.clone(),
        };
        Ok(Self {
            parts: Arc::new(parts),
        })
    }

    /// What a statement gives and takes, without running anything.
    ///
    /// # Errors
    /// When the statement is wrong or names what does not exist.
    pub async fn prepare(&self, session: &Session, sql: &str) -> Result<Prepared, PlannerError> {
        plan::prepare(&self.parts, session, sql).await
    }

    /// Plans a statement into endpoints. A statement that changes something is not run here: its
    /// ticket runs it once, when it is fetched, and gives one row.
    ///
    /// # Errors
    /// When the statement is wrong, names what does not exist, or no Flight server is there.
    pub async fn plan(
        &self,
        session: &Session,
        statement: Statement,
    ) -> Result<QueryPlan, PlannerError> {
        plan::plan(&self.parts, session, statement).await
    }

    /// Runs a statement that changes something; gives the number of rows it changed, which is none:
    /// tables come and go, their rows stay.
    ///
    /// # Errors
    /// When the statement is a query, is wrong, or the catalog refuses it.
    pub async fn execute_update(
        &self,
        session: &Session,
        statement: Statement,
    ) -> Result<i64, PlannerError> {
        match statement::parse(&statement.sql)? {
            Parsed::Command(command) => {
                let done = commands::run(&self.parts, session, command).await?;
                tracing::info!(
                    principal = session.principal,
                    done = done.status,
                    "catalog changed"
                );
                Ok(0)
            }
            _ => Err(PlannerError::Invalid(
                "the statement gives rows and changes nothing; run it as a query".to_owned(),
            )),
        }
    }

    /// The rows of a ticket: a statement is run here, a scan is passed on from a Flight server and
    /// resumed on another one when it breaks.
    ///
    /// # Errors
    /// When the ticket does not hold or its work cannot be begun.
    pub async fn do_get(&self, ticket: &[u8]) -> Result<ResultStream, PlannerError> {
        let payload = self.parts.signer.verify(ticket)?;
        match payload.work.clone() {
            Work::Statement(work) => coordinator::run(&self.parts, payload, work).await,
            Work::Scan(work) => proxy::run(&self.parts, payload, &work),
        }
    }

    /// Waits until the query log has everything that was told to it; at most so long.
    pub async fn finish(&self, limit: Duration) {
        self.parts.log.finish(limit).await;
    }

    /// The catalog.
    pub fn catalog(&self) -> CatalogClient<Channel> {
        self.parts.catalog()
    }

    /// The error of what the catalog answered.
    pub(crate) fn catalog_failed(&self, status: &Status) -> PlannerError {
        self.parts.catalog_failed(status)
    }
}
