//! A fixture as a table that can be scanned, as a catalog would describe it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{Array, BooleanArray};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::prelude::SessionConfig;
use fixtures::Written;
use futures::TryStreamExt;
use model::{
    ColumnMapping, Counts, DataFile, FooterColumn, Predicate, ScanTask, Skip, SkippedUnit,
    TableName, TableSchema, TaskReport,
};
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt, PutOptions};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::PageIndexPolicy;
use store::footer::{FooterHint, read_footer_and_indexes};
use store::footer_columns::split;
use store::infer::arrow_schema;
use store::network::{Network, NetworkStore};
use store::{Ledger, StoreProfile, Stores, version_of};

use super::random_filters::{parsed, physical};
use crate::{
    Forecast, Limits, LocalRunner, Recorder, Runner, ScanExec, ScanSpec, Scanner, forecast,
    predicate,
};

pub(crate) struct Table {
    pub(crate) name: TableName,
    pub(crate) schema: TableSchema,
    pub(crate) tasks: Vec<ScanTask>,
    /// The footer of each file, column by column.
    footers: HashMap<String, Vec<FooterColumn>>,
    pub(crate) scanner: Arc<Scanner>,
    /// Reads fewer bytes in more waves; its rows must be the same.
    sparing: Arc<Scanner>,
    /// Has so little memory that what has no page index is read as it is decoded.
    cramped: Arc<Scanner>,
    /// Whether forecasts are about the scanner's stores and limits.
    foreseen: bool,
    /// Row groups as plain Parquet reading gives them.
    plain: Mutex<HashMap<(String, usize), RecordBatch>>,
}

/// What a scan gave.
pub(crate) struct Scanned {
    pub(crate) rows: RecordBatch,
    pub(crate) reports: Vec<TaskReport>,
}

impl Table {
    pub(crate) async fn of(name: &str, written: &Written) -> Self {
        Self::limited(name, written, Limits::default()).await
    }

    pub(crate) async fn limited(name: &str, written: &Written, limits: Limits) -> Self {
        Self::of_files(name, written.paths(), limits).await
    }

    pub(crate) async fn of_files(
        name: &str,
        paths: impl Iterator<Item = &Path>,
        limits: Limits,
    ) -> Self {
        let stores = Stores::from_env();
        let (mut tasks, mut footers) = (Vec::new(), HashMap::new());
        let mut schema = None;
        for path in paths {
            let (task, footer, found) = planned(&stores, path.to_str().unwrap()).await;
            footers.insert(task.file.path.clone(), footer);
            tasks.push(task);
            schema.get_or_insert(found);
        }
        Self {
            name: TableName::main(name),
            schema: TableSchema::numbered(&schema.unwrap()),
            tasks,
            footers,
            cramped: cramped(&stores, limits),
            scanner: Arc::new(Scanner::new(stores, limits)),
            foreseen: limits == Limits::default(),
            sparing: Arc::new(Scanner::new(
                Stores::from_env().with_profile(StoreProfile::BYTES),
                limits,
            )),
            plain: Mutex::default(),
        }
    }

    /// The same files in an object store behind a network.
    pub(crate) async fn remote(name: &str, written: &Written, profile: StoreProfile) -> Self {
        let network = Network {
            first_byte: Duration::from_millis(30),
            bandwidth: 80_000_000,
            connections: 64,
        };
        let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let network = Arc::new(NetworkStore::new(Arc::clone(&memory), network));
        let stores = Stores::from_env().with_profile(profile);
        let stores = stores.with_store("memory://", network).unwrap();
        let (mut tasks, mut footers) = (Vec::new(), HashMap::new());
        let mut schema = None;
        for (number, path) in written.paths().enumerate() {
            let url = format!("memory:///{name}/part-{number}.parquet");
            let location = stores.resolve(&url).unwrap();
            let bytes = std::fs::read(path).unwrap();
            let options = PutOptions::default();
            memory
                .put_opts(&location.path, bytes.into(), options)
                .await
                .unwrap();
            let (task, footer, found) = planned(&stores, &url).await;
            footers.insert(task.file.path.clone(), footer);
            tasks.push(task);
            schema.get_or_insert(found);
        }
        let cramped = cramped(&stores, Limits::default());
        let scanner = Arc::new(Scanner::new(stores, Limits::default()));
        Self {
            cramped,
            name: TableName::main(name),
            schema: TableSchema::numbered(&schema.unwrap()),
            tasks,
            footers,
            sparing: Arc::clone(&scanner),
            foreseen: false,
            scanner,
            plain: Mutex::default(),
        }
    }

    pub(crate) fn visible(&self) -> SchemaRef {
        self.schema.without_ids()
    }

    /// A scan of some columns with a filter.
    pub(crate) fn spec(&self, columns: &[&str], filter: Option<&Expr>) -> ScanSpec {
        let position = |name: &&str| self.visible().index_of(name).unwrap();
        ScanSpec {
            table: self.name.clone(),
            schema: self.schema.clone(),
            mapping: ColumnMapping::ByName,
            projection: columns.iter().map(position).collect(),
            filter: filter.map(|filter| physical(filter, &self.visible())),
            predicate: filter.map_or(Predicate::Always, |filter| predicate(filter, &self.schema)),
            limit: None,
        }
    }

    pub(crate) fn filter(&self, sql: &str) -> Expr {
        parsed(sql, &self.visible())
    }

    /// The rows of all tasks in one partition. Another order of reading must give the same, and so must
    /// tickets that say only what is read, footers included.
    pub(crate) async fn scan(&self, spec: ScanSpec) -> Scanned {
        let scanned = self.try_scan(spec.clone(), &self.tasks).await.unwrap();
        let spared = self.scan_sparingly(spec.clone()).await;
        assert_eq!(spared.rows, scanned.rows, "bytes were spared");
        let tasks = self.given(&spec);
        let narrowed = spec.clone().narrowed().unwrap();
        let given = scan_with(&self.sparing, narrowed, &tasks).await.unwrap();
        assert_eq!(given.rows, scanned.rows, "footers were given");
        let cramped = scan_with(&self.cramped, spec.clone(), &tasks)
            .await
            .unwrap();
        assert_eq!(cramped.rows, scanned.rows, "there was no memory");
        for report in &cramped.reports {
            let counts = &report.counts;
            let is_whole = counts.footers_in_ticket == 0;
            assert!(
                is_whole || counts.bytes_needed <= counts.bytes_fetched,
                "{counts:?}"
            );
        }
        if self.foreseen {
            self.check_forecast(spec, tasks).await;
        }
        for given in &given.reports {
            let of_same = |report: &&TaskReport| report.path == given.path;
            let spared = spared.reports.iter().find(of_same).unwrap();
            let (told, read) = (&given.counts, &spared.counts);
            assert_eq!(given.skips, spared.skips);
            assert_eq!(told.rows_selected, read.rows_selected);
            assert_eq!(told.pages_read, read.pages_read);
            // What is streamed is asked for ahead, and not waited for when no row passes.
            assert!(
                !self.foreseen || told.bytes_fetched <= read.bytes_fetched,
                "{told:?} {read:?}"
            );
            assert!(told.bytes_needed <= told.bytes_fetched, "{told:?}");
            assert_eq!(told.footers_in_ticket, 1, "{told:?}");
        }
        scanned
    }

    /// Fails unless a scan takes what is said before.
    async fn check_forecast(&self, spec: ScanSpec, tasks: Vec<ScanTask>) {
        let scanned = scan_with(&self.scanner, spec.clone(), &tasks)
            .await
            .unwrap();
        let mut counts = Counts::default();
        scanned
            .reports
            .iter()
            .for_each(|report| counts += report.counts);
        let forecast = forecast(&Arc::new(spec), &[tasks]).await.unwrap();
        let Forecast { least, most, .. } = forecast;
        let most_requests = if forecast.knows_requests {
            most.requests
        } else {
            u64::MAX
        };
        assert!(
            (least.requests..=most_requests).contains(&counts.requests)
                && (least.bytes..=most.bytes).contains(&counts.bytes_fetched),
            "{forecast:?} {counts:?}"
        );
    }

    /// The tasks with the footers of their columns, and without a version, so that none is found in the
    /// cache.
    pub(crate) fn given(&self, spec: &ScanSpec) -> Vec<ScanTask> {
        let filtered = spec.filter.iter().flat_map(collect_columns);
        let filtered = filtered.map(|column| column.name().to_owned());
        let schema = self.visible();
        let read = spec.projection.iter();
        let read = read.map(|position| schema.field(*position).name().clone());
        let names: HashSet<String> = filtered.chain(read).collect();
        let given = self.tasks.iter().map(|task| {
            let footer = &self.footers[&task.file.path];
            let mut chosen = footer.clone();
            let id = |name: &String| self.schema.id_of(name).map(|id| id.0);
            chosen.retain(|column| {
                let of_id = |name| column.field_id.is_some() && column.field_id == id(name);
                names.contains(&column.name) || names.iter().any(of_id)
            });
            if chosen.is_empty() {
                chosen.extend(footer.first().cloned());
            }
            ScanTask {
                file: DataFile {
                    version: None,
                    ..task.file.clone()
                },
                footer: chosen,
                ..task.clone()
            }
        });
        given.collect()
    }

    /// The same with the profile that spares bytes.
    pub(crate) async fn scan_sparingly(&self, spec: ScanSpec) -> Scanned {
        scan_with(&self.sparing, spec, &self.tasks).await.unwrap()
    }

    pub(crate) async fn try_scan(
        &self,
        spec: ScanSpec,
        tasks: &[ScanTask],
    ) -> datafusion::error::Result<Scanned> {
        scan_with(&self.scanner, spec, tasks).await
    }

    /// The rows of all files that pass the filter, read without any of this crate.
    pub(crate) fn expected(&self, columns: &[&str], filter: Option<&Expr>) -> RecordBatch {
        let schema = self.visible();
        let batches = self.tasks.iter().flat_map(|task| {
            let path = &task.file.path;
            (0..row_groups(path)).map(|row_group| self.plain(path, row_group))
        });
        let all = concat_batches(&schema, &batches.collect::<Vec<_>>()).unwrap();
        let passed = match filter {
            Some(filter) => filter_record_batch(&all, &passes(filter, &all)).unwrap(),
            None => all,
        };
        let positions: Vec<usize> = columns
            .iter()
            .map(|name| schema.index_of(name).unwrap())
            .collect();
        passed.project(&positions).unwrap()
    }

    /// Fails unless pruned, unpruned and plainly filtered rows are the same, and what was skipped holds no
    /// match. `rows` are all rows of the table, `projection` are positions of their columns.
    pub(crate) async fn check(&self, rows: &RecordBatch, filter: &Expr, projection: &[usize]) {
        let schema = self.visible();
        let name = |position: &usize| schema.field(*position).name().as_str();
        let names: Vec<&str> = projection.iter().map(name).collect();
        let spec = self.spec(&names, Some(filter));
        let unpruned = ScanSpec {
            predicate: Predicate::Unknown,
            ..spec.clone()
        };
        let pruned = self.scan(spec).await;
        self.check_skips(filter, &pruned.reports);
        let expected = filter_record_batch(rows, &passes(filter, rows)).unwrap();
        let expected = expected.project(projection).unwrap();
        let unpruned = self.scan(unpruned).await.rows;
        for found in [&pruned.rows, &unpruned] {
            assert_eq!(found.num_rows(), expected.num_rows(), "{filter}");
            assert_eq!(found.columns(), expected.columns(), "{filter}");
        }
    }

    /// Fails unless no skipped row passes the filter.
    pub(crate) fn check_skips(&self, filter: &Expr, reports: &[TaskReport]) {
        for skip in reports.iter().flat_map(|report| &report.skips) {
            let rows = self.skipped_rows(skip);
            assert_eq!(Some(rows.num_rows() as u64), skip.rows, "{skip:?}");
            let passed = passes(filter, &rows).true_count();
            assert_eq!(passed, 0, "{filter} matches rows of {skip:?}");
        }
    }

    fn plain(&self, url: &str, row_group: usize) -> RecordBatch {
        let mut known = self.plain.lock().unwrap();
        let rows = known.entry((url.to_owned(), row_group)).or_insert_with(|| {
            let reader = ParquetRecordBatchReaderBuilder::try_new(local(url)).unwrap();
            let reader = reader.with_row_groups(vec![row_group]).build().unwrap();
            let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let schema = self.visible();
            let plain = batches.iter().map(|batch| {
                let columns = schema.fields().iter().map(|field| {
                    let column = batch.column_by_name(field.name()).unwrap();
                    arrow::compute::cast(column, field.data_type()).unwrap()
                });
                RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap()
            });
            concat_batches(&schema, &plain.collect::<Vec<_>>()).unwrap()
        });
        rows.clone()
    }

    fn skipped_rows(&self, skip: &Skip) -> RecordBatch {
        match &skip.unit {
            SkippedUnit::RowGroup { row_group } => {
                self.plain(&skip.path, usize::try_from(*row_group).unwrap())
            }
            SkippedUnit::Pages {
                row_group,
                column,
                first_page,
                pages,
            } => {
                let row_group = usize::try_from(*row_group).unwrap();
                let rows = self.plain(&skip.path, row_group);
                let starts = page_starts(&skip.path, row_group, column);
                let first = usize::try_from(*first_page).unwrap();
                let last = first + usize::try_from(*pages).unwrap();
                let start = starts[first];
                let end = starts.get(last).copied().unwrap_or(rows.num_rows());
                rows.slice(start, end - start)
            }
            SkippedUnit::File => unreachable!("a scan skips no file"),
        }
    }
}

fn cramped(stores: &Stores, limits: Limits) -> Arc<Scanner> {
    let limits = Limits {
        memory_bytes: 1,
        // Later stages begin again and again.
        kept_bytes: 0,
        ..limits
    };
    Arc::new(Scanner::new(stores.clone(), limits))
}

async fn scan_with(
    scanner: &Arc<Scanner>,
    spec: ScanSpec,
    tasks: &[ScanTask],
) -> datafusion::error::Result<Scanned> {
    let recorder = Recorder::new();
    let runner = LocalRunner::new(Arc::clone(scanner), recorder.clone());
    let config = SessionConfig::new().with_extension(Arc::new(Runner(Arc::new(runner))));
    let context = Arc::new(TaskContext::default().with_session_config(config));
    let schema = spec.output_schema();
    let exec = ScanExec::new(Arc::new(spec), vec![tasks.to_vec()]);
    let stream = datafusion::physical_plan::ExecutionPlan::execute(&exec, 0, context)?;
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    assert!(batches.iter().all(|batch| batch.num_rows() > 0));
    Ok(Scanned {
        rows: concat_batches(&schema, &batches)?,
        reports: recorder.reports(),
    })
}

/// The rows that pass, as the engine decides.
pub(crate) fn passes(filter: &Expr, rows: &RecordBatch) -> BooleanArray {
    let passes = physical(filter, &rows.schema()).evaluate(rows).unwrap();
    let passes = passes.into_array(rows.num_rows()).unwrap();
    let passes = passes.as_any().downcast_ref::<BooleanArray>().unwrap();
    passes
        .iter()
        .map(|passes| Some(passes == Some(true)))
        .collect()
}

async fn planned(stores: &Stores, path: &str) -> (ScanTask, Vec<FooterColumn>, SchemaRef) {
    let location = stores.resolve(path).unwrap();
    let meta = location.store.head(&location.path).await.unwrap();
    let ledger = Ledger::new(location.clone());
    let hint = FooterHint::default();
    let footer = read_footer_and_indexes(&ledger, Some(meta.size), hint, u64::MAX).await;
    let footer = footer.unwrap();
    let file = DataFile {
        path: location.url.clone(),
        size: meta.size,
        version: Some(version_of(&meta)),
        record_count: u64::try_from(footer.metadata.file_metadata().num_rows()).ok(),
        footer_length: Some(footer.footer_length),
        page_index: footer.page_index,
    };
    let task = ScanTask {
        file,
        rows: None,
        partition_values: Vec::new(),
        footer: Vec::new(),
        footer_wanted: false,
    };
    let schema = arrow_schema(path, &footer.metadata).unwrap();
    (task, split(&footer).unwrap(), schema)
}

fn local(url: &str) -> File {
    File::open(url.strip_prefix("file://").unwrap()).unwrap()
}

fn row_groups(url: &str) -> usize {
    let reader = ParquetRecordBatchReaderBuilder::try_new(local(url)).unwrap();
    reader.metadata().num_row_groups()
}

fn page_starts(url: &str, row_group: usize, column: &str) -> Vec<usize> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new_with_options(local(url), options).unwrap();
    let metadata = reader.metadata();
    let leaves = metadata.file_metadata().schema_descr().columns();
    let leaf = leaves
        .iter()
        .position(|leaf| leaf.path().parts() == [column])
        .unwrap();
    let pages = metadata.offset_index().unwrap()[row_group][leaf].page_locations();
    pages
        .iter()
        .map(|page| usize::try_from(page.first_row_index).unwrap())
        .collect()
}

/// The counts that are not times, without zeros.
pub(crate) fn shown(counts: &Counts) -> Vec<String> {
    let counts = counts
        .named()
        .into_iter()
        .filter(|(name, value)| *value > 0 && !name.ends_with("_ms"));
    counts
        .map(|(name, value)| format!("{name} {value}"))
        .collect()
}
