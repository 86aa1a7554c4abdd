//! Endpoints: which files share a ticket, which server gets it, and what the client is told. The
//! decisions are in `packing` and `placement`.

use std::collections::HashMap;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use model::{FooterColumn, ScanTask};
use scan::encode_fragment;
use serde_json::json;
use wire::{ScanWork, StatementWork, TableSnapshot, TicketError, Work};

use crate::config::EndpointMode;
use crate::engine::{Endpoint, Parts, QueryPlan, Statement};
use crate::error::PlannerError;
use crate::ipc;
use crate::packing::{Packed, pack};
use crate::placement::{Placement, place, ranking};
use crate::query::{Query, sum_summaries};
use crate::servers::Server;
use crate::session::Session;
use crate::shape::Fragment;
use crate::tickets::scan_work;

/// Where a client that got no location asks: the connection that it has.
const REUSE_CONNECTION: &str = "arrow-flight-reuse-connection://?";

/// Clients keep at most 20 connections; one is for the planner.
const MAX_LOCATIONS: usize = 19;

/// What a statement was planned to.
#[derive(Debug)]
pub(crate) struct Planned {
    schema: SchemaRef,
    snapshots: Vec<TableSnapshot>,
}

impl Planned {
    pub(crate) fn new(schema: SchemaRef, snapshots: Vec<TableSnapshot>) -> Self {
        Self { schema, snapshots }
    }
}

/// One endpoint whose ticket the planner runs itself.
pub(crate) fn coordinator(
    parts: &Parts,
    session: &Session,
    query: &Query,
    statement: &Statement,
    planned: Planned,
) -> Result<QueryPlan, PlannerError> {
    let work = StatementWork {
        sql: statement.sql.clone(),
        parameters: match &statement.parameters {
            Some(row) => ipc::encode(row)?,
            None => Bytes::new(),
        },
        options: session.options.clone(),
        snapshots: planned.snapshots,
        output_schema: wire::schema::encode_schema(&planned.schema).into(),
    };
    let payload = parts.signer.payload(query, Work::Statement(work));
    let endpoint = Endpoint {
        ticket: parts.signer.sign(&payload)?,
        locations: Vec::new(),
    };
    Ok(query_plan(
        query,
        planned.schema,
        vec![endpoint],
        "coordinator",
    ))
}

/// An endpoint for each file, or for each group of files when there are too many.
pub(crate) async fn scans(
    parts: &Parts,
    session: &Session,
    query: &Query,
    statement: &Statement,
    planned: Planned,
    fragments: &[Fragment],
) -> Result<QueryPlan, PlannerError> {
    let servers = match parts.mode {
        EndpointMode::Direct => parts.servers.live().await?,
        EndpointMode::Proxy => parts.servers.now(),
    };
    let servers = chosen(&servers, &query.id.0);
    let shares = shares(fragments, parts.max_endpoints);
    if fragments.len() > parts.max_endpoints {
        return coordinator(parts, session, query, statement, planned);
    }
    let mut endpoints = Vec::new();
    let mut room = parts.ticket_footers / statement.together.max(1);
    for (fragment, share) in fragments.iter().zip(shares) {
        let tasks = with_footers(fragment, &mut room);
        match sign(parts, query, &planned, (fragment, tasks), &servers, share) {
            Ok(signed) => endpoints.extend(signed),
            // What cannot travel or is too large for a ticket is run by the planner.
            Err(Refused::Unfit) => {
                return coordinator(parts, session, query, statement, planned);
            }
            Err(Refused::Failed(error)) => return Err(error),
        }
    }
    Ok(query_plan(query, planned.schema, endpoints, "tickets"))
}

/// The servers that a query may use: all, or as many as clients can connect to. Each query has others,
/// so that all servers get work.
fn chosen(servers: &[Server], query: &str) -> Vec<Server> {
    if servers.len() <= MAX_LOCATIONS {
        return servers.to_vec();
    }
    let names: Vec<&str> = servers
        .iter()
        .map(|server| server.location.as_str())
        .collect();
    let mut chosen = ranking(query, &names);
    chosen.truncate(MAX_LOCATIONS);
    chosen.sort_unstable();
    let chosen = chosen.into_iter();
    chosen
        .filter_map(|position| servers.get(position).cloned())
        .collect()
}

/// How many endpoints each fragment may have: all of them together at most `max`.
fn shares(fragments: &[Fragment], max: usize) -> Vec<usize> {
    let files: Vec<usize> = fragments
        .iter()
        .map(|fragment| tasks(fragment).len())
        .collect();
    let mut shares = vec![1_usize; files.len()];
    for _ in files.len()..max {
        let neediest = (0..files.len())
            .filter(|position| shares[*position] < files[*position])
            .max_by_key(|position| files[*position] / shares[*position]);
        match neediest {
            Some(position) => shares[position] += 1,
            None => break,
        }
    }
    shares
}

enum Refused {
    Unfit,
    Failed(PlannerError),
}

impl From<PlannerError> for Refused {
    fn from(error: PlannerError) -> Self {
        Self::Failed(error)
    }
}

fn sign(
    parts: &Parts,
    query: &Query,
    planned: &Planned,
    (fragment, tasks): (&Fragment, Vec<ScanTask>),
    servers: &[Server],
    share: usize,
) -> Result<Vec<Endpoint>, Refused> {
    let encoded = encode_fragment(&fragment.plan).map_err(|error| {
        tracing::debug!(query_id = %query.id, %error, "fragment stays in the planner");
        Refused::Unfit
    })?;
    let paths: Vec<&str> = tasks.iter().map(|task| task.file.path.as_str()).collect();
    let names: Vec<&str> = servers
        .iter()
        .map(|server| server.location.as_str())
        .collect();
    let placed = place(&paths, &names);
    let groups = pack(&packed(&tasks, &placed), share);
    let endpoints = groups.into_iter().map(|group| {
        let members = group
            .iter()
            .filter_map(|position| tasks.get(*position).cloned());
        let mut work = scan_work(fragment, &encoded, members.collect(), &planned.snapshots)?;
        work.output_schema = wire::schema::encode_schema(&planned.schema).into();
        let ticket = sign_scan(parts, query, work)?;
        let placement = preferred(&group, &placed);
        Ok(Endpoint {
            ticket,
            locations: locations(parts, placement, &names),
        })
    });
    endpoints.collect()
}

/// A ticket for a scan: without footers when it is too large with them.
fn sign_scan(parts: &Parts, query: &Query, work: ScanWork) -> Result<Bytes, Refused> {
    let mut payload = parts.signer.payload(query, Work::Scan(work));
    let mut signed = parts.signer.sign(&payload);
    if let (Err(TicketError::TooLarge { .. }), Work::Scan(work)) = (&signed, &mut payload.work) {
        work.tasks.iter_mut().for_each(|task| task.footer.clear());
        signed = parts.signer.sign(&payload);
    }
    match signed {
        Err(TicketError::TooLarge { .. }) => Err(Refused::Unfit),
        signed => Ok(signed.map_err(PlannerError::from)?),
    }
}

/// The files of a fragment, with their footers as long as there is room in the answer.
fn with_footers(fragment: &Fragment, room: &mut usize) -> Vec<ScanTask> {
    let mut tasks = tasks(fragment);
    for task in &mut tasks {
        let bytes = task.footer.iter().map(FooterColumn::size).sum();
        match room.checked_sub(bytes) {
            Some(left) => *room = left,
            None => task.footer.clear(),
        }
    }
    tasks
}

fn tasks(fragment: &Fragment) -> Vec<ScanTask> {
    fragment
        .scan
        .partitions()
        .iter()
        .flatten()
        .cloned()
        .collect()
}

fn packed(tasks: &[ScanTask], placed: &[Placement]) -> Vec<Packed> {
    let packed = tasks.iter().enumerate().map(|(position, task)| Packed {
        bytes: task.file.size,
        server: placed
            .get(position)
            .map_or(0, |placement| placement.preferred),
    });
    packed.collect()
}

/// The placement that most files of a group have.
fn preferred(group: &[usize], placed: &[Placement]) -> Option<Placement> {
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for placement in group.iter().filter_map(|position| placed.get(*position)) {
        *votes.entry(placement.preferred).or_default() += 1;
    }
    let members = group.iter().filter_map(|position| placed.get(*position));
    members
        .copied()
        .max_by_key(|placement| votes.get(&placement.preferred).copied())
}

/// The preferred server, one alternative, and last the planner itself.
fn locations(parts: &Parts, placement: Option<Placement>, names: &[&str]) -> Vec<String> {
    let Some(placement) = placement.filter(|_| parts.mode == EndpointMode::Direct) else {
        return Vec::new();
    };
    let servers = [Some(placement.preferred), placement.alternative];
    let servers = servers
        .into_iter()
        .flatten()
        .filter_map(|server| names.get(server));
    let planner = parts.advertise.as_deref().unwrap_or(REUSE_CONNECTION);
    servers
        .copied()
        .chain([planner])
        .map(str::to_owned)
        .collect()
}

fn query_plan(query: &Query, schema: SchemaRef, endpoints: Vec<Endpoint>, kind: &str) -> QueryPlan {
    let (sum, names) = query.look(|found| {
        let names = found.tables.iter().map(|table| table.table.to_string());
        (sum_summaries(&found.tables), names.collect::<Vec<String>>())
    });
    let metadata = json!({
        "query_id": query.id.0,
        "plan": {
            "kind": kind,
            "endpoints": endpoints.len(),
            "tables": names,
            "files_total": sum.files_total,
            "files_skipped_by_partition": sum.skipped_by_partition,
            "files_skipped_by_manifest": sum.skipped_by_manifest,
            "files_skipped_by_bounds": sum.skipped_by_bounds,
            "bytes_total": sum.bytes_total,
            "bytes_left": sum.bytes_left,
            "plan_ms": query.planned_ms(),
        }
    });
    QueryPlan {
        query_id: query.id.clone(),
        schema,
        ordered: endpoints.len() == 1,
        endpoints,
        app_metadata: metadata.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // Channels belong to a runtime even while they are idle.
    #[tokio::test]
    async fn all_servers_get_work_though_a_query_uses_few() {
        let server = |number: usize| Server {
            location: format!("grpc+tcp://flight-{number:02}:1"),
            channel: wire::channel::connect_lazy("flight:1").unwrap(),
        };
        let servers: Vec<Server> = (0..40).map(server).collect();
        let mut used = BTreeSet::new();
        for query in 0..50 {
            let chosen = chosen(&servers, &format!("query {query}"));
            assert_eq!(chosen.len(), MAX_LOCATIONS);
            assert!(chosen.is_sorted_by_key(|server| &server.location));
            used.extend(chosen.into_iter().map(|server| server.location));
        }
        assert_eq!(used.len(), 40);
        assert_eq!(chosen(&servers[..19], "query").len(), 19);
    }
}
