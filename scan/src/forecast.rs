//! What scanning files will take, before any of them is opened. Where the footer of a file is known, that
//! is decided as the scan itself decides it, down to the requests; elsewhere there are only bounds.
//! Nothing is read.

use std::ops::{Add, AddAssign, Range};
use std::sync::Arc;
use std::time::Duration;

use model::ScanTask;
use store::footer::first_range;
use store::{Ledger, StoreProfile, Stores, coalesce};

use crate::error::ScanError;
use crate::footers::Opened;
use crate::read_plan::{RowGroupRead, units};
use crate::recorder::Recorder;
use crate::scan::Scan;
use crate::scanner::{Limits, Scanner};
use crate::spec::ScanSpec;
use crate::task_file::TaskFile;
use crate::task_log::TaskLog;

/// What some requests take, by the model of the network of their store's default profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The requests.
    pub requests: u64,
    /// Bytes that they return.
    pub bytes: u64,
    /// How long they take.
    pub time: Duration,
}

/// What a scan will take on Flight servers that have not opened its files yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// At least.
    pub least: Cost,
    /// At most, where values decide what is read. As many requests only if `knows_requests`.
    pub most: Cost,
    /// Whether the number of requests has a bound: not where only a file's footer tells, or its values.
    pub knows_requests: bool,
}

/// The forecast for a scan whose partitions are read at the same time.
///
/// # Errors
/// When the scan names a column that the table does not have, or a file by no URL.
pub async fn forecast(
    spec: &Arc<ScanSpec>,
    partitions: &[Vec<ScanTask>],
) -> Result<Forecast, ScanError> {
    forecast_in(Stores::without_files(), spec, partitions).await
}

/// The same with the profiles of these stores, of which no file is read.
pub(crate) async fn forecast_in(
    stores: Stores,
    spec: &Arc<ScanSpec>,
    partitions: &[Vec<ScanTask>],
) -> Result<Forecast, ScanError> {
    let scanner = Scanner::new(stores, Limits::default());
    let scan = Scan::new(Arc::new(scanner), Arc::clone(spec), Recorder::new())?;
    let mut sum = Forecast {
        knows_requests: true,
        ..Forecast::default()
    };
    let mut surely_opened = true;
    for partition in partitions {
        let mut time = (Duration::ZERO, Duration::ZERO);
        // Without a filter the files were chosen by their rows, and each partition gives some.
        surely_opened |= spec.filter.is_none();
        for task in partition {
            let task = of_task(&scan, task).await?;
            if surely_opened {
                sum.least += task.least;
                time.0 += task.least.time;
            }
            sum.most += task.most;
            time.1 += task.most.time;
            sum.knows_requests &= task.knows_requests;
            // The rows of one may be enough.
            surely_opened &= spec.limit.is_none();
        }
        sum.least.time = sum.least.time.max(time.0);
        sum.most.time = sum.most.time.max(time.1);
    }
    Ok(sum)
}

async fn of_task(scan: &Scan, task: &ScanTask) -> Result<Forecast, ScanError> {
    let profile = scan.scanner.stores.resolve(&task.file.path)?.profile();
    let first = first_range(task.file.size, scan.hint(task), &profile);
    if first.start == 0 {
        let whole = cost(&[first], &profile);
        return Ok(Forecast {
            least: whole,
            most: whole,
            knows_requests: true,
        });
    }
    let known = by_footer(scan, task, &profile).await;
    Ok(known.unwrap_or_else(|| without_footer(first, &profile)))
}

/// The footer at least, and the whole file at most.
fn without_footer(first: Range<u64>, profile: &StoreProfile) -> Forecast {
    let rest = 0..first.start;
    let least = cost(&[first], profile);
    Forecast {
        least,
        most: after(least, cost(&[rest], profile)),
        knows_requests: false,
    }
}

/// What the scan would do that is given the file's footer; `None` when it would have to read one, or the
/// page indexes.
async fn by_footer(scan: &Scan, task: &ScanTask, profile: &StoreProfile) -> Option<Forecast> {
    if task.footer.is_empty() {
        return None;
    }
    let location = scan.scanner.stores.resolve(&task.file.path).ok()?;
    let mut log = TaskLog::begin(&scan.recorder, Arc::new(Ledger::new(location)));
    let opened = Opened::given(log.ledger().url(), task).ok()??;
    let file = TaskFile::new(scan, task, opened).ok()?;
    let candidates = file.row_groups(scan.budget.left(), &mut log);
    let indexes = file.indexes(&candidates, &mut log).await.ok()?;
    let wanted = file.pages(candidates, &indexes, &mut log);
    let probes = cost(&file.probes(&wanted, profile), profile);
    let (plan, reads) = file.plan(wanted, indexes, &log).ok()?;

    let giant = scan.scanner.giant();
    if reads.iter().any(|read| plan.streams(read, giant)) {
        // How many requests that takes, only the pages tell.
        let all = 0..task.file.size;
        return Some(Forecast {
            least: Cost::default(),
            most: after(probes, cost(std::slice::from_ref(&all), profile)),
            knows_requests: false,
        });
    }
    let is_limited = scan.budget.left().is_some();
    let unit = if is_limited {
        0
    } else {
        scan.scanner.limits.wave_bytes
    };
    let units: Vec<Vec<RowGroupRead>> = units(reads, RowGroupRead::bytes, unit);
    let first = units.iter().map(|unit| {
        let chunks = unit.iter().flat_map(|read| &read.chunks);
        coalesce(
            chunks.flat_map(|chunk| chunk.ranges.clone()).collect(),
            profile,
        )
    });
    let first: Vec<Vec<Range<u64>>> = first.collect();
    let later = units.iter().flat_map(|unit| {
        let chunks = unit.iter().flat_map(|read| plan.later_chunks(read));
        coalesce(chunks.flat_map(|chunk| chunk.ranges).collect(), profile)
    });
    let later = cost(&later.collect::<Vec<_>>(), profile);
    let all = cost(&first.concat(), profile);
    // A limit may be reached with the first.
    let surely = if is_limited {
        first
            .first()
            .map_or(Cost::default(), |first| cost(first, profile))
    } else {
        all
    };
    Some(Forecast {
        // All row groups may be ruled out by what is asked first.
        least: if probes.requests > 0 { probes } else { surely },
        most: after(after(probes, all), later),
        // Where less is read, holes may be left that are not worth reading.
        knows_requests: probes.requests + later.requests == 0,
    })
}

fn cost(requests: &[Range<u64>], profile: &StoreProfile) -> Cost {
    let parts = requests.iter().flat_map(|request| profile.parts(request));
    let requests: Vec<Range<u64>> = parts.collect();
    Cost {
        requests: requests.len() as u64,
        bytes: requests.iter().map(|range| range.end - range.start).sum(),
        time: profile.time(&requests),
    }
}

/// Requests that wait for others.
fn after(before: Cost, next: Cost) -> Cost {
    Cost {
        time: before.time + next.time,
        ..before + next
    }
}

impl Add for Cost {
    type Output = Self;

    /// Requests that are sent at the same time.
    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            time: self.time.max(other.time),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
