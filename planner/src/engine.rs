//! What the Flight SQL service asks of the planner. Owns the public types; each call is one line that
//! names the module which does it.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use model::{QueryId, TableName, TableSchema};
use tonic::transport::Channel;
use wire::proto;
use wire::proto::catalog_client::CatalogClient;

use crate::config::PlannerConfig;
use crate::error::PlannerError;
use crate::session::Session;
use crate::stream::ResultStream;

/// The planner behind its service; clones share everything.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: CatalogClient<Channel>,
}

/// A statement with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The statement.
    pub sql: String,
    /// One row, a column for each parameter in order.
    pub parameters: Option<RecordBatch>,
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
    /// It changes something and gives no rows.
    Command {
        /// A field for each parameter, in order.
        parameters: SchemaRef,
    },
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
    /// Rows of the result, when known exactly.
    pub rows: Option<u64>,
    /// Bytes of the result, when known.
    pub bytes: Option<u64>,
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
        Ok(Self {
            inner: Arc::new(Inner { catalog }),
        })
    }

    /// What a statement gives and takes, without running anything.
    ///
    /// # Errors
    /// When the statement is wrong or names what does not exist.
    #[expect(clippy::unused_async)]
    pub async fn prepare(&self, _session: &Session, _sql: &str) -> Result<Prepared, PlannerError> {
        Err(not_yet("preparing statements"))
    }

    /// Plans a statement into endpoints. A statement that changes something is not run here: its
    /// ticket runs it once, when it is fetched, and gives one row.
    ///
    /// # Errors
    /// When the statement is wrong, names what does not exist, or no Flight server is there.
    #[expect(clippy::unused_async)]
    pub async fn plan(
        &self,
        _session: &Session,
        _statement: Statement,
    ) -> Result<QueryPlan, PlannerError> {
        Err(not_yet("planning queries"))
    }

    /// Runs a statement that changes something; gives the number of rows it changed.
    ///
    /// # Errors
    /// When the statement is a query, is wrong, or the catalog refuses it.
    #[expect(clippy::unused_async)]
    pub async fn execute_update(
        &self,
        _session: &Session,
        _statement: Statement,
    ) -> Result<i64, PlannerError> {
        Err(not_yet("running updates"))
    }

    /// The rows of a ticket: a statement is run here, a scan is passed on from a Flight server and
    /// resumed on another one when it breaks.
    ///
    /// # Errors
    /// When the ticket does not hold or its work cannot be begun.
    #[expect(clippy::unused_async)]
    pub async fn do_get(&self, _ticket: &[u8]) -> Result<ResultStream, PlannerError> {
        Err(not_yet("fetching tickets"))
    }

    /// The catalog.
    pub fn catalog(&self) -> CatalogClient<Channel> {
        self.inner.catalog.clone()
    }

    /// The schema of a table as clients see it.
    ///
    /// # Errors
    /// When there is no such table or the catalog is out of reach.
    pub async fn table_schema(&self, name: &TableName) -> Result<SchemaRef, PlannerError> {
        let request = proto::GetTableRequest {
            name: Some(name.into()),
            snapshot_id: None,
        };
        let answer = self.catalog().get_table(request).await;
        let table = answer
            .map_err(|status| PlannerError::answered("catalog", &status))?
            .into_inner();
        let schema = wire::schema::decode_schema(&table.schema)?;
        let schema = TableSchema::try_new(schema)
            .map_err(|error| PlannerError::Internal(format!("table {name}: {error}")))?;
        Ok(schema.without_ids())
    }
}

fn not_yet(what: &str) -> PlannerError {
    PlannerError::Unsupported(format!("{what} is not built yet"))
}
