//! Brings the catalog in line with the files: new tables are made, known ones refreshed, those whose
//! files are gone dropped. One table that cannot be read does not stop the others. Tables that were
//! not made here are never touched: of a name that is remembered, only a table at the location of its
//! files is one of ours.

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
pub type Hearer<'a> = &'a (dyn Fn(Event) + Sync);

/// Registers the tables of `source`.
///
/// # Errors
/// When the catalog cannot be reached, the state cannot be written, or every table is refused.
pub async fn register(
    mut catalog: CatalogClient<Channel>,
    source: &Source,
    state: &mut State,
    hearer: Hearer<'_>,
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
        .map(|job| run(catalog.clone(), job, hearer));
    let refused: BTreeMap<String, String> = futures::stream::iter(jobs)
        .buffer_unordered(PARALLEL)
        .filter_map(async |refused| refused)
        .collect()
        .await;
    for gone in &plan.gone {
        drop_table(catalog.clone(), gone, hearer).await?;
    }
    let made = plan.names().filter(|(_, name)| !refused.contains_key(name));
    state.set_tables(made.collect())?;
    match refused.into_values().next() {
        Some(first) if state.tables().is_empty() => Err(LocalError::AllRefused {
            tables: plan.register.len(),
            first,
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

/// A table that the catalog has.
#[derive(Debug)]
struct Known {
    kind: proto::TableKind,
    location: String,
}

type Existing = BTreeMap<String, Known>;

impl Plan {
    fn new(source: &Source, remembered: &BTreeMap<String, String>, existing: &Existing) -> Self {
        // A table that somebody dropped and made again for other files is theirs.
        let ours = remembered.iter().filter(|(place, name)| {
            let table = existing.get(*name);
            table.is_none_or(|table| source.is_at(place, &table.location))
        });
        let ours = ours.map(|(place, name)| (place.clone(), name.clone()));
        let made: BTreeMap<String, String> = ours.collect();
        let ours: BTreeSet<&String> = made.values().collect();
        let taken = existing.keys().filter(|name| !ours.contains(name));
        let taken = taken.cloned().collect();
        let named = names::assign(source.places(), source.name(), &made, &taken);
        let used: BTreeSet<String> = named.iter().map(|(_, name)| name.clone()).collect();
        let register = named.into_iter().map(|(place, name)| Job {
            location: source.location(&place.relative()),
            work: work(existing.get(&name)),
            place,
            name,
        });
        let gone = made.values().filter(|name| !used.contains(*name));
        let gone = gone.filter_map(|name| {
            existing.get(name).map(|table| Gone {
                name: name.clone(),
                managed: table.kind == proto::TableKind::Managed,
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

/// What is to be done for files whose table the catalog has, or has not.
fn work(table: Option<&Known>) -> Work {
    match table.map(|table| table.kind) {
        Some(proto::TableKind::Managed) => Work::Keep,
        Some(_) => Work::Refresh,
        None => Work::Create,
    }
}

fn existing(tables: Vec<proto::Table>) -> Existing {
    let tables = tables.into_iter().filter_map(|table| {
        let kind = table.kind();
        let location = table.location;
        let name = TableName::from(table.name?);
        let in_main = name == TableName::main(name.table.as_str());
        in_main.then_some((name.table, Known { kind, location }))
    });
    tables.collect()
}

/// Does one job; the name of the table and why it is not there, if it is not.
async fn run(
    mut catalog: CatalogClient<Channel>,
    job: &Job,
    hearer: Hearer<'_>,
) -> Option<(String, String)> {
    let name = Some((&TableName::main(job.name.as_str())).into());
    let progress = match job.work {
        Work::Create => {
            let request = proto::CreateTableRequest {
                name,
                location: job.location.clone(),
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
    match follow(progress, job, hearer).await {
        Ok(()) => None,
        Err(status) => {
            let (name, reason) = (&job.name, status.message());
            let left_out = job.work == Work::Create;
            let what = if left_out {
                "is left out"
            } else {
                "stays as it was"
            };
            hearer(Event::Warning(format!("table {name} {what}: {reason}")));
            left_out.then(|| (name.clone(), reason.to_owned()))
        }
    }
}

async fn follow(
    progress: Result<Response<Streaming<proto::TableProgress>>, Status>,
    job: &Job,
    hearer: Hearer<'_>,
) -> Result<(), Status> {
    let mut progress = progress?.into_inner();
    while let Some(message) = progress.message().await? {
        let Some(table) = message.table else {
            hearer(Event::Reading {
                table: job.name.clone(),
                files_done: message.files_done,
                files_total: message.files_total,
            });
            continue;
        };
        hearer(Event::Ready {
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
    hearer: Hearer<'_>,
) -> Result<(), LocalError> {
    if gone.managed {
        let name = &gone.name;
        let text = format!("table {name} was adopted and stays, but its folder is gone");
        hearer(Event::Warning(text));
        return Ok(());
    }
    let request = proto::DropTableRequest {
        name: Some((&TableName::main(gone.name.as_str())).into()),
        if_exists: true,
    };
    catalog.drop_table(request).await.map_err(catalog_error)?;
    hearer(Event::Dropped {
        table: gone.name.clone(),
    });
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn catalog_error(status: Status) -> LocalError {
    LocalError::Catalog(status.message().to_owned())
}
