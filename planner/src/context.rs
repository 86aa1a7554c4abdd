//! DataFusion's session as Fulmar uses it: settings, memory and spilling. One template for the
//! process; each statement gets a copy with its own tables.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::catalog::CatalogProviderList;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use model::schema::CATALOG;
use scan::{Runner, TaskRunner};

use crate::cooperate::YieldAtJoins;
use crate::error::PlannerError;
use crate::session::{OPTION_TIME_ZONE, Session};

/// What all statements share.
#[derive(Debug)]
pub(crate) struct Context {
    template: SessionState,
}

impl Context {
    /// Statements together use at most `memory_limit` bytes; beyond it they spill to `spill_dir`.
    pub(crate) fn new(
        memory_limit: usize,
        spill_dir: Option<PathBuf>,
    ) -> Result<Self, PlannerError> {
        let mode = match spill_dir {
            Some(folder) => DiskManagerMode::Directories(vec![folder]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory_limit)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode))
            .build_arc()?;
        let template = SessionStateBuilder::new()
            .with_config(config())
            .with_runtime_env(runtime)
            .with_default_features()
            .with_physical_optimizer_rule(Arc::new(YieldAtJoins))
            .build();
        Ok(Self { template })
    }

    /// The state for one statement over these tables; `runner` runs its scans.
    pub(crate) fn state(
        &self,
        session: &Session,
        tables: Arc<dyn CatalogProviderList>,
        runner: Option<Arc<dyn TaskRunner>>,
    ) -> SessionState {
        let mut config = self
            .template
            .config()
            .clone()
            .with_default_catalog_and_schema(CATALOG, session.schema());
        if let Some(zone) = session.options.get(OPTION_TIME_ZONE) {
            config.options_mut().execution.time_zone = Some(zone.clone());
        }
        if let Some(runner) = runner {
            config = config.with_extension(Arc::new(Runner(runner)));
        }
        let mut state = SessionStateBuilder::new_from_existing(self.template.clone())
            .with_config(config)
            .with_catalog_list(tables)
            .build();
        state.mark_start_execution();
        state
    }

    /// The state to look functions up in; it has no tables.
    pub(crate) fn functions(&self) -> &SessionState {
        &self.template
    }
}

fn config() -> SessionConfig {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false);
    let options = config.options_mut();
    options.sql_parser.map_string_types_to_utf8view = false;
    options.optimizer.expand_views_at_output = true;
    config
}
