//! Brings the catalog in line with the files: new tables are made, known ones refreshed, those whose
//! files are gone dropped. One table that cannot be read does not stop the others. Tables that were
//! not made here are never touched.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use model::TableName;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};
use wire::proto;
use wire::proto::catalog_client::CatalogClient;

use crate::config::Event;
use crate::discover::Place;
use crate::error::LocalError;
use crate::names;
use crate::source::Source;
use crate::state::State;

/// Tables whose footers are read at the same time.
const PARALLEL: usize = 4;

/// Whoever wants to know what happens.
pub type Listener<'a> = &'a (dyn Fn(Event) + Sync);

/// Registers the tables of `source`.
///
/// # Errors
/// When the catalog cannot be reached, the state cannot be written, or every table is refused.
pub async fn register(
    mut catalog: CatalogClient<Channel>,
    source: &Source,
    state: &mut State,
    listener: Listener<'_>,
) -> Result<(), LocalError> {
    let request = proto::ListTablesRequest { schema: None };
    let answer = catalog.list_tables(request).await.map_err(catalog_error)?;
    let existing = existing(answer.into_inner().tables);
    let plan = Plan::new(source, state.tables(), &existing);
    // Written first: what is not remembered would never be dropped again.
    let mut remembered = state.tables().clone();
    remembered.extend(plan.names());
    state.set_tables(remembered)?;

    let jobs = plan
        .register
        .iter()
        .map(|job| run(catalog.clone(), job, listener));
    let refused: Vec<String> = futures::stream::iter(jobs)
        .buffer_unordered(PARALLEL)
        .filter_map(async |refused| refused)
        .collect()
        .await;
    for gone in &plan.gone {
        drop_table(catalog.clone(), gone, listener).await?;
    }
    state.set_tables(plan.names().collect())?;
    match refused.first() {
        Some(first) if refused.len() == plan.register.len() => Err(LocalError::AllRefused {
            tables: refused.len(),
            first: first.clone(),
        }),
        _ => Ok(()),
    }
}

/// What is to be done with each table.
#[derive(Debug)]
struct Plan {
    register: Vec<Job>,
    gone: Vec<Gone>,
}

/// One table.
#[derive(Debug)]
struct Job {
    name: String,
    place: Place,
    location: String,
    work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Create,
    Refresh,
    /// A table that became a managed one is no longer what its folder holds.
    Keep,
}

/// A table whose files are gone.
#[derive(Debug)]
struct Gone {
    name: String,
    managed: bool,
}

type Existing = BTreeMap<String, proto::TableKind>;

impl Plan {
    fn new(source: &Source, made: &BTreeMap<String, String>, existing: &Existing) -> Self {
        let ours: BTreeSet<&String> = made.values().collect();
        let taken = existing.keys().filter(|name| !ours.contains(name));
        let taken = taken.cloned().collect();
        let named = names::assign(source.places(), source.name(), made, &taken);
        let used: BTreeSet<String> = named.iter().map(|(_, name)| name.clone()).collect();
        let register = named.into_iter().map(|(place, name)| Job {
            location: source.location(&place),
            work: work(&name, made.get(&place.relative()), existing),
            place,
            name,
        });
        let gone = made.values().filter(|name| !used.contains(*name));
        let gone = gone.filter_map(|name| {
            existing.get(name).map(|kind| Gone {
                name: name.clone(),
                managed: *kind == proto::TableKind::Managed,
            })
        });
        Self {
            register: register.collect(),
            gone: gone.collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = (String, String)> {
        let jobs = self.register.iter();
        jobs.map(|job| (job.place.relative(), job.name.clone()))
    }
}

fn work(name: &str, known: Option<&String>, existing: &Existing) -> Work {
    match existing.get(name) {
        Some(proto::TableKind::Managed) => Work::Keep,
        Some(_) if known.is_some_and(|known| known == name) => Work::Refresh,
        _ => Work::Create,
    }
}

fn existing(tables: Vec<proto::Table>) -> Existing {
    let tables = tables.into_iter().filter_map(|table| {
        let kind = table.kind();
        let name = TableName::from(table.name?);
        (name == TableName::main(name.table.as_str())).then_some((name.table, kind))
    });
    tables.collect()
}

/// Does one job; why the table is not there, if it is not.
async fn run(
    mut catalog: CatalogClient<Channel>,
    job: &Job,
    listener: Listener<'_>,
) -> Option<String> {
    let name = Some((&TableName::main(job.name.as_str())).into());
    let progress = match job.work {
        Work::Create => {
            let request = proto::CreateTableRequest {
                name,
                location: job.location.clone(),
                or_replace: true,
                ..proto::CreateTableRequest::default()
            };
            catalog.create_table(request).await
        }
        Work::Refresh => {
            catalog
                .refresh_table(proto::RefreshTableRequest { name })
                .await
        }
        Work::Keep => return None,
    };
    match follow(progress, job, listener).await {
        Ok(()) => None,
        Err(status) => {
            let (name, reason) = (&job.name, status.message());
            let left_out = job.work == Work::Create;
            let what = if left_out {
                "is left out"
            } else {
                "stays as it was"
            };
            listener(Event::Warning(format!("table {name} {what}: {reason}")));
            left_out.then(|| reason.to_owned())
        }
    }
}

async fn follow(
    progress: Result<Response<Streaming<proto::TableProgress>>, Status>,
    job: &Job,
    listener: Listener<'_>,
) -> Result<(), Status> {
    let mut progress = progress?.into_inner();
    while let Some(message) = progress.message().await? {
        let Some(table) = message.table else {
            listener(Event::Reading {
                table: job.name.clone(),
                files_done: message.files_done,
                files_total: message.files_total,
            });
            continue;
        };
        listener(Event::Ready {
            table: job.name.clone(),
            place: job.place.relative(),
            files: table.files,
            rows: table.rows,
            bytes: table.bytes,
            footers_read: message.footers_read,
        });
    }
    Ok(())
}

async fn drop_table(
    mut catalog: CatalogClient<Channel>,
    gone: &Gone,
    listener: Listener<'_>,
) -> Result<(), LocalError> {
    if gone.managed {
        let name = &gone.name;
        let text = format!("table {name} was adopted and stays, but its folder is gone");
        listener(Event::Warning(text));
        return Ok(());
    }
    let request = proto::DropTableRequest {
        name: Some((&TableName::main(gone.name.as_str())).into()),
        if_exists: true,
    };
    catalog.drop_table(request).await.map_err(catalog_error)?;
    listener(Event::Dropped {
        table: gone.name.clone(),
    });
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn catalog_error(status: Status) -> LocalError {
    LocalError::Catalog(status.message().to_owned())
}
