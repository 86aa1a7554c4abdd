//! Runs the catalog: opens its database, serves until shutdown, closes it.

use std::sync::Arc;

use store::Stores;
use tokio_util::sync::CancellationToken;
use wire::channel::MAX_MESSAGE_BYTES;
use wire::proto::catalog_server::CatalogServer;

use crate::catalog::Catalog;
use crate::config::CatalogConfig;
use crate::database::{Database, keep_expiring};
use crate::error::CatalogError;
use crate::log;
use crate::service::CatalogService;

/// The name under which the health service answers for the catalog.
const SERVICE_NAME: &str = "fulmar.v1.Catalog";

/// Serves the catalog until `shutdown`, lets streams finish and closes the database.
///
/// # Errors
/// When the database cannot be opened or the transport fails.
pub async fn serve(config: CatalogConfig, shutdown: CancellationToken) -> Result<(), CatalogError> {
    let database = Database::open(&config.database).await?;
    let address = config.listener.address();
    tracing::info!(%address, database = %config.database, "catalog is serving");
    let catalog = Arc::new(Catalog::new(
        database.clone(),
        Stores::from_env(),
        config.warehouse,
    ));
    let retention = log::keep_bounded(database.clone(), config.log, shutdown.clone());
    let retention = tokio::spawn(retention);
    let expiry = tokio::spawn(keep_expiring(database.clone(), shutdown.clone()));
    let service = CatalogServer::new(CatalogService::new(catalog))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let routes = |routes: &mut tonic::service::RoutesBuilder| {
        routes.add_service(service);
    };
    let served = wire::serve::serve(config.listener, &[SERVICE_NAME], routes, shutdown).await;
    retention.abort();
    expiry.abort();
    database.close().await;
    tracing::info!(%address, "catalog has stopped");
    served.map_err(CatalogError::from)
}
