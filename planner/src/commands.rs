//! Statements that change the catalog: asked of the catalog, which does them whole or not at all.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::common::TableReference;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::{CreateExternalTable, Statement as DfStatement};
use model::TableName;
use tonic::{Response, Status, Streaming};
use wire::proto;

use crate::engine::Parts;
use crate::error::PlannerError;
use crate::schema::client_schema;
use crate::session::Session;
use crate::statement::{Command, identifier, reference, table_name};

/// Schemas in which nothing can be changed.
const READ_ONLY: [&str; 2] = [crate::system::SCHEMA, "information_schema"];

/// The schema of the one row that a command gives when it is fetched as a result.
pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("status", DataType::Utf8, false),
        Field::new("files", DataType::UInt64, true),
        Field::new("rows", DataType::UInt64, true),
        Field::new("metadata_location", DataType::Utf8, true),
    ]))
}

/// Runs a command and gives its row.
pub(crate) async fn batch(
    parts: &Parts,
    session: &Session,
    command: Command,
) -> Result<RecordBatch, PlannerError> {
    let done = run(parts, session, command).await?;
    let table = done.table.as_ref();
    let count = |count: Option<u64>| Arc::new(UInt64Array::from(vec![count]));
    let metadata = table.and_then(|table| table.metadata_location.as_deref());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![done.status.as_str()])),
        count(table.map(|table| table.files)),
        count(table.map(|table| table.rows)),
        Arc::new(StringArray::from(vec![metadata])),
    ];
    RecordBatch::try_new(schema(), columns)
        .map_err(|error| PlannerError::Internal(error.to_string()))
}

/// What a command did.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// In words.
    pub(crate) status: String,
    /// The table as it is now; missing when it was dropped.
    pub(crate) table: Option<proto::Table>,
}

/// Runs a command.
pub(crate) async fn run(
    parts: &Parts,
    session: &Session,
    command: Command,
) -> Result<Done, PlannerError> {
    let mut catalog = parts.catalog();
    match command {
        Command::Create(create) => {
            let request = create_request(parts, session, *create).await?;
            let answer = catalog.create_table(request).await;
            done("created", last(parts, answer).await?)
        }
        Command::Refresh(table) => {
            let name = Some((&changeable(&table, session)?).into());
            let answer = catalog
                .refresh_table(proto::RefreshTableRequest { name })
                .await;
            done("refreshed", last(parts, answer).await?)
        }
        Command::Adopt(table) => {
            let name = Some((&changeable(&table, session)?).into());
            let answer = catalog.adopt_table(proto::AdoptTableRequest { name }).await;
            done("adopted", last(parts, answer).await?)
        }
        Command::Drop { table, if_exists } => {
            let table = changeable(&table, session)?;
            let name = Some((&table).into());
            let request = proto::DropTableRequest { name, if_exists };
            let answer = catalog
                .drop_table(request)
                .await
                .map_err(|status| parts.catalog_failed(&status))?;
            let status = if answer.into_inner().dropped {
                format!("dropped {table}")
            } else {
                format!("{table} did not exist")
            };
            let table = None;
            Ok(Done { status, table })
        }
    }
}

fn done(what: &str, table: proto::Table) -> Result<Done, PlannerError> {
    let name: TableName = wire::convert::required(table.name.clone(), "table name")?.into();
    let status = format!("{what} {name}: {} files, {} rows", table.files, table.rows);
    let table = Some(table);
    Ok(Done { status, table })
}

/// The table with which long work ends.
async fn last(
    parts: &Parts,
    answer: Result<Response<Streaming<proto::TableProgress>>, Status>,
) -> Result<proto::Table, PlannerError> {
    let mut progress = answer
        .map_err(|status| parts.catalog_failed(&status))?
        .into_inner();
    let mut table = None;
    while let Some(message) = progress
        .message()
        .await
        .map_err(|status| parts.catalog_failed(&status))?
    {
        table = message.table.or(table);
    }
    table.ok_or_else(|| PlannerError::Unavailable("catalog: the answer broke off".to_owned()))
}

fn changeable(table: &TableReference, session: &Session) -> Result<TableName, PlannerError> {
    let name = table_name(table, session.schema())?;
    if READ_ONLY.contains(&name.schema.as_str()) {
        return Err(PlannerError::Invalid(format!(
            "{name} cannot be changed: schema {} is read-only",
            name.schema
        )));
    }
    Ok(name)
}

async fn create_request(
    parts: &Parts,
    session: &Session,
    create: CreateExternalTable,
) -> Result<proto::CreateTableRequest, PlannerError> {
    let unsupported = |what: &str| {
        let message = format!(
            "CREATE EXTERNAL TABLE {} with {what} is not supported",
            create.name
        );
        Err(PlannerError::Unsupported(message))
    };
    if !create.file_type.eq_ignore_ascii_case("parquet") {
        return unsupported(&format!("STORED AS {}", create.file_type));
    }
    if !create.options.is_empty() || !create.constraints.is_empty() {
        return unsupported("options or constraints");
    }
    if !create.order_exprs.is_empty() || create.temporary || create.unbounded {
        return unsupported("an order, TEMPORARY or UNBOUNDED");
    }
    let [location] = create.locations.as_slice() else {
        return unsupported("several locations");
    };
    let name = changeable(&reference(create.name.clone())?, session)?;
    let declared_schema = if create.columns.is_empty() {
        Vec::new()
    } else {
        wire::schema::encode_schema(&*declared(parts, session, create.clone()).await?)
    };
    Ok(proto::CreateTableRequest {
        name: Some((&name).into()),
        location: location.clone(),
        partition_columns: partition_columns(&create)?,
        if_not_exists: create.if_not_exists,
        or_replace: create.or_replace,
        declared_schema,
    })
}

/// The names in PARTITIONED BY, which come as they were written.
fn partition_columns(create: &CreateExternalTable) -> Result<Vec<String>, PlannerError> {
    let names = create.table_partition_cols.iter();
    names.map(|name| identifier(name)).collect()
}

/// The declared columns with their types, as DataFusion understands SQL types.
async fn declared(
    parts: &Parts,
    session: &Session,
    create: CreateExternalTable,
) -> Result<SchemaRef, PlannerError> {
    let no_tables = Arc::new(MemoryCatalogProviderList::new());
    let state = parts.context.state(session, no_tables, None);
    let statement = DfStatement::CreateExternalTable(create);
    match state.statement_to_plan(statement).await? {
        LogicalPlan::Ddl(DdlStatement::CreateExternalTable(create)) => {
            Ok(client_schema(create.schema.as_arrow()))
        }
        other => Err(PlannerError::Internal(format!(
            "a table declaration became {}",
            other.display()
        ))),
    }
}
