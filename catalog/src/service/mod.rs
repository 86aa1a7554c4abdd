//! The catalog's gRPC service: each method decodes, calls the catalog and encodes. The only place of the
//! catalog that knows statuses.

mod decode;
mod encode;
mod progress;

use std::pin::Pin;
use std::sync::Arc;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use tonic::{Request, Response, Status};
use wire::proto;
use wire::proto::catalog_server;

use crate::catalog::Catalog;
use crate::error::CatalogError;
use crate::log;

type Answer<T> = Result<Response<T>, Status>;
type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The service over a catalog.
#[derive(Clone, Debug)]
pub(crate) struct CatalogService {
    catalog: Arc<Catalog>,
}

impl CatalogService {
    /// A service over a catalog.
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog }
    }
}

/// The status of an error. Faults of the catalog itself are logged; the rest is the caller's to handle.
fn status(error: &CatalogError) -> Status {
    use wire::{Categorized, Category};
    if matches!(error.category(), Category::Internal | Category::Corrupt) {
        tracing::error!(error = wire::status::chain(error), "request failed");
    }
    wire::status::status(error, None)
}

fn failed(error: impl Into<CatalogError>) -> Status {
    status(&error.into())
}

#[tonic::async_trait]
impl catalog_server::Catalog for CatalogService {
    async fn list_tables(
        &self,
        request: Request<proto::ListTablesRequest>,
    ) -> Answer<proto::ListTablesResponse> {
        let schema = request.into_inner().schema;
        let tables = self
            .catalog
            .tables(schema.as_deref())
            .await
            .map_err(failed)?;
        let tables = tables.iter().map(encode::table).collect();
        Ok(Response::new(proto::ListTablesResponse { tables }))
    }

    async fn get_table(&self, request: Request<proto::GetTableRequest>) -> Answer<proto::Table> {
        let request = request.into_inner();
        let name = decode::name(request.name).map_err(failed)?;
        let snapshot = decode::snapshot(request.snapshot_id);
        let table = self.catalog.table(&name, snapshot).await.map_err(failed)?;
        Ok(Response::new(encode::table(&table)))
    }

    type PlanFilesStream = Answers<proto::PlanFilesResponse>;

    async fn plan_files(
        &self,
        request: Request<proto::PlanFilesRequest>,
    ) -> Answer<Self::PlanFilesStream> {
        let request = request.into_inner();
        let name = decode::name(request.name.clone()).map_err(failed)?;
        let snapshot = decode::snapshot(request.snapshot_id);
        let plan = decode::plan(request).map_err(failed)?;
        let parts = self
            .catalog
            .plan(&name, snapshot, plan)
            .await
            .map_err(failed)?;
        Ok(Response::new(
            parts.map(|part| Ok(encode::plan_part(part))).boxed(),
        ))
    }

    type CreateTableStream = Answers<proto::TableProgress>;

    async fn create_table(
        &self,
        request: Request<proto::CreateTableRequest>,
    ) -> Answer<Self::CreateTableStream> {
        let new = decode::new_table(request.into_inner()).map_err(failed)?;
        let catalog = Arc::clone(&self.catalog);
        Ok(progress::stream(move |report| async move {
            catalog.create(new, &report).await
        }))
    }

    type RefreshTableStream = Answers<proto::TableProgress>;

    async fn refresh_table(
        &self,
        request: Request<proto::RefreshTableRequest>,
    ) -> Answer<Self::RefreshTableStream> {
        let name = decode::name(request.into_inner().name).map_err(failed)?;
        let catalog = Arc::clone(&self.catalog);
        Ok(progress::stream(move |report| async move {
            catalog.refresh(&name, &report).await
        }))
    }

    type AdoptTableStream = Answers<proto::TableProgress>;

    async fn adopt_table(
        &self,
        request: Request<proto::AdoptTableRequest>,
    ) -> Answer<Self::AdoptTableStream> {
        let name = decode::name(request.into_inner().name).map_err(failed)?;
        let catalog = Arc::clone(&self.catalog);
        Ok(progress::stream(move |report| async move {
            catalog.adopt(&name, &report).await
        }))
    }

    async fn drop_table(
        &self,
        request: Request<proto::DropTableRequest>,
    ) -> Answer<proto::DropTableResponse> {
        let request = request.into_inner();
        let name = decode::name(request.name).map_err(failed)?;
        let dropped = self.catalog.drop_table(&name, request.if_exists).await;
        let dropped = dropped.map_err(failed)?;
        Ok(Response::new(proto::DropTableResponse { dropped }))
    }

    type ListFilesStream = Answers<proto::ListFilesResponse>;

    async fn list_files(
        &self,
        request: Request<proto::ListFilesRequest>,
    ) -> Answer<Self::ListFilesStream> {
        let request = request.into_inner();
        let name = decode::name(request.name).map_err(failed)?;
        let snapshot = decode::snapshot(request.snapshot_id);
        let index = self.catalog.index(&name, snapshot).await.map_err(failed)?;
        let count = index.files.len();
        let files = stream::iter(0..count).map(move |at| Ok(encode::listed_file(&index, at)));
        Ok(Response::new(files.boxed()))
    }

    async fn list_snapshots(
        &self,
        request: Request<proto::ListSnapshotsRequest>,
    ) -> Answer<proto::ListSnapshotsResponse> {
        let name = decode::name(request.into_inner().name).map_err(failed)?;
        let snapshots = self.catalog.snapshots(&name).await.map_err(failed)?;
        let snapshots = snapshots.iter().map(encode::snapshot).collect();
        Ok(Response::new(proto::ListSnapshotsResponse { snapshots }))
    }

    async fn record_query(
        &self,
        request: Request<proto::RecordQueryRequest>,
    ) -> Answer<proto::RecordQueryResponse> {
        let (query, skips) = decode::query(request.into_inner()).map_err(failed)?;
        let recorded = log::record_query(self.catalog.database(), &query, &skips).await;
        recorded.map_err(failed)?;
        Ok(Response::new(proto::RecordQueryResponse {}))
    }

    async fn record_report(
        &self,
        request: Request<proto::RecordReportRequest>,
    ) -> Answer<proto::RecordReportResponse> {
        let request = request.into_inner();
        let report = decode::report(&request.report_json).map_err(failed)?;
        let table = report.table.clone();
        let recorded = log::record_report(self.catalog.database(), report).await;
        recorded.map_err(failed)?;
        let footers = request.footers.into_iter().map(Into::into).collect();
        self.catalog.learn(&table, footers).await;
        Ok(Response::new(proto::RecordReportResponse {}))
    }

    type ReadLogStream = Answers<proto::ReadLogResponse>;

    async fn read_log(
        &self,
        request: Request<proto::ReadLogRequest>,
    ) -> Answer<Self::ReadLogStream> {
        let filter = decode::log_filter(request.into_inner()).map_err(failed)?;
        let rows = log::read(Arc::clone(&self.catalog), filter);
        Ok(Response::new(
            rows.map_ok(encode::log_row).map_err(failed).boxed(),
        ))
    }
}
