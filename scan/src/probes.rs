//! Bloom filters and dictionaries of row groups that bounds could not rule out: which of them are worth
//! their bytes, and what they rule out. One wave for all of them.

use std::ops::Range;

use model::{ColumnPredicate, Condition, FieldId, Level, Predicate, Reason, StatsSource};
use parquet::file::metadata::ColumnChunkMetaData;
use store::bloom::{Bloom, bloom_span};
use store::columns::{FileColumn, FileColumns};
use store::dictionary::{dictionary_span, dictionary_values};
use store::{Fetched, Ledger, Objective, StoreProfile, coalesce};

use crate::error::ScanError;
use crate::expected::float;
use crate::fetch_order::shrunk;
use crate::opened::OpenedFile;
use crate::row_groups::Known;

/// How likely a Bloom filter rules a row group out, at least: who writes them expects many questions about
/// values that are not there.
const BLOOM_EXCLUDES: f64 = 0.5;

/// How likely a dictionary does for single values.
const DICTIONARY_EXCLUDES: f64 = 0.1;

/// A Bloom filter is not asked for more values than this: it would let one of them pass anyway.
const MOST_VALUES: usize = 256;

/// A row group that bounds could not rule out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubtful<'a> {
    pub(crate) row_group: usize,
    pub(crate) known: &'a Known,
    /// About how much would be read of it.
    pub(crate) bytes: u64,
    /// How many rows are expected to pass.
    pub(crate) passing: f64,
}

/// Something that may rule a row group out.
#[derive(Debug)]
struct Probe<'a> {
    row_group: usize,
    test: &'a ColumnPredicate,
    column: &'a FileColumn,
    range: Range<u64>,
    kind: Kind,
    /// How likely it rules the row group out.
    excludes: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bloom,
    Dictionary,
}

/// A row group in which no row can match.
#[derive(Debug)]
pub(crate) struct RuledOut {
    pub(crate) row_group: usize,
    pub(crate) reason: Reason,
}

/// What probing came to.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    pub(crate) ruled_out: Vec<RuledOut>,
    /// Bytes of the filters and dictionaries.
    pub(crate) bytes: u64,
}

/// Asks Bloom filters and dictionaries of doubtful row groups, when that is worth their bytes.
///
/// # Errors
/// When the file cannot be read.
pub(crate) async fn probe(
    file: &OpenedFile,
    columns: &FileColumns,
    predicate: &Predicate,
    doubtful: &[Doubtful<'_>],
    (ledger, tail): (&Ledger, &Fetched),
) -> Result<Probed, ScanError> {
    let profile = ledger.location().profile();
    let probes = worthwhile(file, columns, predicate, doubtful, (&profile, tail));
    if probes.is_empty() {
        return Ok(Probed::default());
    }
    let fetched = fetch(ledger, file, tail, &probes).await?;
    let mut outcome = Probed::default();
    for probe in &probes {
        outcome.bytes += probe.range.end - probe.range.start;
        let known = |out: &RuledOut| out.row_group == probe.row_group;
        let Some(bytes) = fetched.get(&probe.range) else {
            continue;
        };
        if !outcome.ruled_out.iter().any(known) && probe.excludes(file, &bytes) {
            outcome.ruled_out.push(probe.ruled_out(doubtful));
        }
    }
    Ok(outcome)
}

/// The requests that probing would send. Pure.
pub(crate) fn requests(
    file: &OpenedFile,
    columns: &FileColumns,
    predicate: &Predicate,
    doubtful: &[Doubtful<'_>],
    profile: &StoreProfile,
) -> Vec<Range<u64>> {
    let nothing = Fetched::default();
    let probes = worthwhile(file, columns, predicate, doubtful, (profile, &nothing));
    coalesce(
        probes.into_iter().map(|probe| probe.range).collect(),
        profile,
    )
}

/// The probes that are worth their bytes, and those whose bytes are here.
fn worthwhile<'a>(
    file: &OpenedFile,
    columns: &'a FileColumns,
    predicate: &'a Predicate,
    doubtful: &[Doubtful<'_>],
    (profile, tail): (&StoreProfile, &Fetched),
) -> Vec<Probe<'a>> {
    let mut probes: Vec<Probe<'_>> = doubtful
        .iter()
        .flat_map(|doubtful| probes_of(file, columns, predicate, doubtful))
        .collect();
    let (here, missing): (Vec<_>, Vec<_>) = probes
        .iter()
        .map(|probe| probe.range.clone())
        .partition(|range| tail.get(range).is_some());
    let requests = coalesce(missing, profile);
    if !pays(&requests, &probes, doubtful, profile) {
        probes.retain(|probe| here.contains(&probe.range));
    }
    probes
}

async fn fetch(
    ledger: &Ledger,
    file: &OpenedFile,
    tail: &Fetched,
    probes: &[Probe<'_>],
) -> Result<Fetched, ScanError> {
    let mut fetched = tail.clone();
    let missing = probes.iter().map(|probe| probe.range.clone());
    let missing = missing.filter(|range| tail.get(range).is_none()).collect();
    let requests = coalesce(missing, &ledger.location().profile());
    let mut why: Vec<String> = Vec::new();
    for probe in probes {
        let name = file.column_name(probe.column.leaves.start);
        let what = match probe.kind {
            Kind::Bloom => format!("Bloom filter of {name}"),
            Kind::Dictionary => format!("dictionary of {name}"),
        };
        if !why.contains(&what) {
            why.push(what);
        }
    }
    let bytes = ledger.read(requests.clone(), &why.join(", ")).await?;
    for (range, bytes) in requests.into_iter().zip(bytes) {
        fetched.push(range.start, bytes);
    }
    Ok(fetched)
}

/// Whether to ask: the requests for it against those for the row groups that it may spare.
fn pays(
    requests: &[Range<u64>],
    probes: &[Probe<'_>],
    doubtful: &[Doubtful<'_>],
    profile: &StoreProfile,
) -> bool {
    if requests.is_empty() {
        return true;
    }
    let spared = doubtful.iter().map(|doubtful| {
        let probes = probes
            .iter()
            .filter(|probe| probe.row_group == doubtful.row_group);
        let stays: f64 = probes.map(|probe| 1.0 - probe.excludes).product();
        float(doubtful.bytes) * (1.0 - stays)
    });
    let spared: f64 = spared.sum();
    let mut end = 0;
    let reads = doubtful.iter().map(|doubtful| {
        let start = end;
        end += doubtful.bytes;
        start..end
    });
    let reads: Vec<Range<u64>> = reads.flat_map(|range| profile.parts(&range)).collect();
    match profile.objective {
        Objective::Bytes => {
            let asked: u64 = requests.iter().map(|range| range.end - range.start).sum();
            float(asked) < spared
        }
        Objective::Time => {
            let left = shrunk(reads.clone(), 1.0 - spared / float(end).max(1.0));
            profile.time(requests) + profile.time(&left) < profile.time(&reads)
        }
    }
}

fn probes_of<'a>(
    file: &OpenedFile,
    columns: &'a FileColumns,
    predicate: &'a Predicate,
    doubtful: &Doubtful<'_>,
) -> Vec<Probe<'a>> {
    let conjuncts = predicate.conjuncts();
    let probe = |conjunct: &'a Predicate| {
        let Predicate::Column(test) = conjunct else {
            return None;
        };
        let column = columns.find(test.field).filter(|column| column.flat)?;
        let chunk = file.chunk(doubtful.row_group, column.leaves.start)?;
        if test.nulls && !no_null(doubtful.known, test.field) {
            return None;
        }
        let points = points(test);
        let bloom = points.as_ref().and_then(|_| bloom_span(chunk, file.size()));
        let (range, kind, least) = match (bloom, points) {
            (Some(range), _) => (range, Kind::Bloom, BLOOM_EXCLUDES),
            (None, Some(_)) => (
                dictionary_span(chunk)?,
                Kind::Dictionary,
                DICTIONARY_EXCLUDES,
            ),
            (None, None) => (dictionary_span(chunk)?, Kind::Dictionary, 0.0),
        };
        Some(Probe {
            row_group: doubtful.row_group,
            test,
            column,
            range,
            kind,
            excludes: (-doubtful.passing).exp().max(least),
        })
    };
    conjuncts.iter().filter_map(probe).collect()
}

fn no_null(known: &Known, field: FieldId) -> bool {
    known
        .as_slice()
        .bounds(field)
        .is_some_and(|bounds| bounds.no_null())
}

/// The values that pass, when these are few.
fn points(test: &ColumnPredicate) -> Option<Vec<&model::Datum>> {
    let intervals = test.values.intervals();
    let few = intervals.len() <= MOST_VALUES;
    few.then(|| intervals.iter().map(model::Interval::as_point).collect())?
}

impl Probe<'_> {
    /// Whether no value of the chunk passes the test.
    fn excludes(&self, file: &OpenedFile, bytes: &bytes::Bytes) -> bool {
        let Some(chunk) = file.chunk(self.row_group, self.column.leaves.start) else {
            return false;
        };
        match self.kind {
            Kind::Bloom => self.bloom_excludes(chunk, bytes),
            Kind::Dictionary => self.dictionary_excludes(chunk, bytes),
        }
    }

    fn bloom_excludes(&self, chunk: &ColumnChunkMetaData, bytes: &bytes::Bytes) -> bool {
        let bloom = Bloom::decode(bytes, chunk, &self.column.file_type);
        let (Some(bloom), Some(points)) = (bloom, points(self.test)) else {
            return false;
        };
        points.into_iter().all(|value| bloom.excludes(value))
    }

    fn dictionary_excludes(&self, chunk: &ColumnChunkMetaData, bytes: &bytes::Bytes) -> bool {
        let values = dictionary_values(bytes, chunk, &self.column.file_type);
        values.is_some_and(|values| {
            let passes = |value| self.test.values.may_overlap(Some(value), Some(value));
            !values.iter().any(passes)
        })
    }

    fn ruled_out(&self, doubtful: &[Doubtful<'_>]) -> RuledOut {
        let level = match self.kind {
            Kind::Bloom => Level::Bloom,
            Kind::Dictionary => Level::Dictionary,
        };
        let of = doubtful
            .iter()
            .find(|doubtful| doubtful.row_group == self.row_group);
        let bounds = of.and_then(|doubtful| doubtful.known.as_slice().bounds(self.test.field));
        let bounds = bounds.map(std::borrow::Cow::into_owned).unwrap_or_default();
        RuledOut {
            row_group: self.row_group,
            reason: Reason {
                level,
                conditions: vec![Condition::new(self.test, &bounds)],
                more: 0,
            },
        }
    }
}
