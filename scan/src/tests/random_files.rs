//! Random files, filters and projections: row groups, pages, encodings, compression, nulls, NaN, nesting
//! and indexes as they come; whatever is pruned, the rows are those of plain reading. And files whose bytes
//! were changed: an error or rows, never a panic or a hang.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use model::{ColumnMapping, DataFile, ScanTask, TableName, TableSchema};
use object_store::PutOptions;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use store::footer::{Footer, FooterHint, read_footer_and_indexes};
use store::footer_columns::split;
use store::{Ledger, StoreProfile, Stores};
use tokio::runtime::Runtime;

use super::random_filters::{Shape, coerced, parsed, physical, shapes};
use super::table::Table;
use crate::scan::Scan;
use crate::{Limits, Recorder, ScanError, ScanSpec, Scanner, predicate};

/// Files, filters and projections of one run; the seed of each is shown when it fails.
const CASES: u64 = 2_000;

/// Changed files of one run.
const MUTATIONS: u64 = 20_000;

/// Runs `check` on all cores, each case with a generator of its own; `FULMAR_SEED` repeats a run.
fn run(cases: u64, check: impl Fn(&mut StdRng, &Runtime) + Sync) {
    let seed = std::env::var("FULMAR_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(rand::random);
    println!("FULMAR_SEED={seed} repeats these {cases} cases");
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let check = &check;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                for case in (thread..cases).step_by(usize::try_from(threads).unwrap()) {
                    let mut random = StdRng::seed_from_u64(seed.wrapping_add(case));
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        check(&mut random, &runtime);
                    }));
                    if let Err(panic) = outcome {
                        eprintln!(
                            "failed with FULMAR_SEED={}, case 0",
                            seed.wrapping_add(case)
                        );
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

#[test]
fn random_files_give_the_rows_of_plain_reading() {
    run(CASES, |random, runtime| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part-0.parquet");
        let rows = rows(random);
        std::fs::write(&path, written(&rows, properties(random))).unwrap();
        runtime.block_on(check(&path, &rows, random));
    });
}

/// A filter and a projection, three ways: pruned, unpruned and plainly filtered.
async fn check(path: &Path, rows: &RecordBatch, random: &mut StdRng) {
    let table = Table::of_files("random", [path].into_iter(), Limits::default()).await;
    let schema = table.visible();
    let flat: Vec<usize> = (0..schema.fields().len()).collect();
    let filter = coerced(shape(random).expr(rows, &flat), &schema, random.random());
    let width = random.random_range(0..4);
    let positions: Vec<usize> = (0..width)
        .map(|_| random.random_range(0..flat.len()))
        .collect();
    table.check(rows, &filter, &positions).await;
}

/// A filter made of the generator's own strategy.
fn shape(random: &mut StdRng) -> Shape {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &random.random::<[u8; 32]>());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    shapes().new_tree(&mut runner).unwrap().current()
}

fn rows(random: &mut StdRng) -> RecordBatch {
    let count = random.random_range(1..90);
    let spread = [2, 10, 1_000][random.random_range(0..3)];
    let sorted = random.random();
    let numbers = |random: &mut StdRng| {
        let mut numbers: Vec<i64> = (0..count)
            .map(|_| random.random_range(-spread..spread))
            .collect();
        if sorted {
            numbers.sort_unstable();
        }
        numbers
    };
    let nulls = |random: &mut StdRng| {
        let share = [0.0, 0.1, 1.0][random.random_range(0..3)];
        let valid: Vec<bool> = (0..count).map(|_| !random.random_bool(share)).collect();
        NullBuffer::from(valid)
    };
    let ints = Int64Array::new(numbers(random).into(), Some(nulls(random)));
    let small = numbers(random)
        .into_iter()
        .map(|number| i32::try_from(number).unwrap());
    let small = Int32Array::new(small.collect(), None);
    let floats = numbers(random)
        .into_iter()
        .map(|number| float(number, random));
    let floats = Float64Array::new(floats.collect::<Vec<_>>().into(), Some(nulls(random)));
    let texts = numbers(random)
        .into_iter()
        .map(|number| format!("text {number:+}"));
    let texts = StringArray::from(texts.collect::<Vec<_>>());
    let days = numbers(random)
        .into_iter()
        .map(|number| i32::try_from(number).unwrap());
    let days = Date32Array::new(days.collect(), Some(nulls(random)));
    let times = numbers(random)
        .into_iter()
        .map(|number| number * 43_200_000_000);
    let times = TimestampMicrosecondArray::new(times.collect(), Some(nulls(random)));
    let decimals = numbers(random).into_iter().map(i128::from);
    let decimals = Decimal128Array::new(decimals.collect(), Some(nulls(random)));
    let decimals = decimals.with_precision_and_scale(20, 2).unwrap();
    let flags = BooleanArray::new(
        (0..count).map(|_| random.random()).collect(),
        Some(nulls(random)),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ints)),
        ("small", Arc::new(small)),
        ("float", Arc::new(floats)),
        ("text", Arc::new(texts)),
        ("day", Arc::new(days)),
        ("at", Arc::new(times)),
        ("price", Arc::new(decimals)),
        ("flag", Arc::new(flags)),
        ("list", list(count, random)),
        ("nested", nested(count, random)),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[allow(clippy::cast_precision_loss)]
fn float(number: i64, random: &mut StdRng) -> f64 {
    match random.random_range(0..20) {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => -0.0,
        3 => f64::INFINITY,
        _ => number as f64 / 4.0,
    }
}

fn list(count: usize, random: &mut StdRng) -> ArrayRef {
    let lengths: Vec<usize> = (0..count).map(|_| random.random_range(0..4)).collect();
    let total = lengths.iter().sum::<usize>();
    let values: Vec<i64> = (0..total).map(|_| random.random_range(0..9)).collect();
    let field = Arc::new(Field::new_list_field(DataType::Int64, true));
    let valid: Vec<bool> = (0..count).map(|_| !random.random_bool(0.1)).collect();
    let lengths = lengths
        .iter()
        .zip(&valid)
        .map(|(length, valid)| if *valid { *length } else { 0 });
    let offsets = OffsetBuffer::from_lengths(lengths);
    let used = usize::try_from(*offsets.last().unwrap()).unwrap();
    let values = Arc::new(Int64Array::from(values)).slice(0, used);
    Arc::new(ListArray::new(
        field,
        offsets,
        Arc::new(values),
        Some(NullBuffer::from(valid)),
    ))
}

fn nested(count: usize, random: &mut StdRng) -> ArrayRef {
    let values: Vec<Option<i32>> = (0..count)
        .map(|_| random.random_bool(0.8).then(|| random.random_range(0..9)))
        .collect();
    let valid: Vec<bool> = (0..count).map(|_| !random.random_bool(0.1)).collect();
    let fields = Fields::from(vec![Field::new("inner", DataType::Int32, true)]);
    let values: Vec<Option<i32>> = values
        .into_iter()
        .zip(&valid)
        .map(|(value, valid)| value.filter(|_| *valid))
        .collect();
    let inner: ArrayRef = Arc::new(Int32Array::from(values));
    Arc::new(StructArray::new(
        fields,
        vec![inner],
        Some(NullBuffer::from(valid)),
    ))
}

fn properties(random: &mut StdRng) -> WriterProperties {
    let compression = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let statistics = [
        EnabledStatistics::None,
        EnabledStatistics::Chunk,
        EnabledStatistics::Page,
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some([3, 7, 40, 1_000][random.random_range(0..4)]))
        .set_data_page_row_count_limit([1, 5, 20, 1_000][random.random_range(0..4)])
        .set_write_batch_size([1, 8, 64][random.random_range(0..3)])
        .set_compression(compression[random.random_range(0..compression.len())])
        .set_writer_version(versions[random.random_range(0..2)])
        .set_dictionary_enabled(random.random())
        .set_dictionary_page_size_limit([64, 1 << 20][random.random_range(0..2)])
        .set_bloom_filter_enabled(random.random_bool(0.3))
        .set_statistics_enabled(statistics[random.random_range(0..3)])
        .set_column_index_truncate_length([None, Some(6)][random.random_range(0..2)])
        .set_statistics_truncate_length([None, Some(6)][random.random_range(0..2)]);
    // One column may lack the index that the others have.
    if random.random_bool(0.3) {
        let column = ["id", "text", "day"][random.random_range(0..3)].into();
        properties = properties.set_column_statistics_enabled(column, EnabledStatistics::Chunk);
    }
    properties.build()
}

fn written(rows: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn changed_files_give_an_error_or_rows_and_never_a_panic_or_a_hang() {
    let mut random = StdRng::seed_from_u64(7);
    let rows = rows(&mut random);
    let rows = rows.slice(0, rows.num_rows().min(40));
    let originals: Vec<Vec<u8>> = (0..24)
        .map(|_| written(&rows, properties(&mut random)))
        .collect();
    let schema = TableSchema::numbered(&rows.schema());
    let filter = parsed("id > 3", &schema.without_ids());
    let spec = Arc::new(ScanSpec {
        table: TableName::main("changed"),
        mapping: ColumnMapping::ByName,
        projection: (0..rows.num_columns()).collect(),
        filter: Some(physical(&filter, &schema.without_ids())),
        predicate: predicate(&filter, &schema),
        limit: None,
        schema,
    });
    run(MUTATIONS, |random, runtime| {
        let original = &originals[random.random_range(0..originals.len())];
        let changed = mutated(original, random);
        // A footer that came with the ticket may be that of the file before it changed, or be changed itself.
        let known = match random.random_range(0..4) {
            0 => Some(original.clone()),
            1 => Some(mutated(original, random)),
            _ => None,
        };
        let profile = match random.random_range(0..2) {
            0 => StoreProfile::LOCAL,
            _ => StoreProfile::BYTES,
        };
        let stores = Stores::from_env().with_profile(profile);
        let mut limits = Limits::default();
        if random.random() {
            // Whatever has no page index is read as it is decoded.
            limits.memory_bytes = 1;
        }
        let scan = scan_changed((stores, limits), changed, known, Arc::clone(&spec));
        let ended =
            runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), scan).await });
        assert!(ended.is_ok(), "a scan hangs");
    });
}

/// Reads a file as a catalog and a Flight server do: each may find it broken. The footer is that of `known`
/// when there is one.
async fn scan_changed(
    (stores, limits): (Stores, Limits),
    file: Vec<u8>,
    known: Option<Vec<u8>>,
    spec: Arc<ScanSpec>,
) -> Result<(), ScanError> {
    let size = file.len() as u64;
    let footer = match known {
        Some(known) => {
            let footer = read_in_memory(&stores, known).await?;
            split(&footer).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let read = read_in_memory(&stores, file).await;
    if footer.is_empty() {
        store::arrow_schema("part-0.parquet", &read?.metadata)?;
    }
    let task = ScanTask {
        file: DataFile {
            path: "memory:///part-0.parquet".to_owned(),
            size,
            version: None,
            record_count: None,
            footer_length: None,
            page_index: None,
        },
        rows: None,
        partition_values: Vec::new(),
        footer,
        footer_wanted: false,
    };
    let scanner = Arc::new(Scanner::new(stores, limits));
    let scan = Scan::new(scanner, spec, Recorder::new())?;
    let mut task = Arc::new(scan).plan(task).await?;
    while task.next().await?.is_some() {}
    Ok(())
}

/// Puts a file into the store and reads its footer.
async fn read_in_memory(stores: &Stores, file: Vec<u8>) -> Result<Footer, ScanError> {
    let location = stores.resolve("memory:///part-0.parquet")?;
    let size = file.len() as u64;
    let options = PutOptions::default();
    location
        .store
        .put_opts(&location.path, file.into(), options)
        .await
        .unwrap();
    let (ledger, hint) = (Ledger::new(location), FooterHint::default());
    Ok(read_footer_and_indexes(&ledger, Some(size), hint, u64::MAX).await?)
}

/// The file with some bits flipped, bytes overwritten, cut out or repeated, or cut off.
fn mutated(original: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..random.random_range(1..5) {
        // Half of the changes hit the footer and the indexes before it.
        let from = if random.random() {
            0
        } else {
            bytes.len().saturating_sub(2_000)
        };
        let at = random.random_range(from..bytes.len());
        match random.random_range(0..6) {
            0..3 => bytes[at] ^= 1 << random.random_range(0..8),
            3 => bytes[at] = [0, 0x7f, 0x80, 0xff][random.random_range(0..4)],
            4 => {
                let end = (at + random.random_range(1..9)).min(bytes.len());
                bytes[at..end].fill(0xff);
            }
            _ => {
                let end = (at + random.random_range(1..20)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
        if bytes.len() < 20 {
            break;
        }
    }
    if random.random_bool(0.1) {
        bytes.truncate(random.random_range(0..bytes.len()));
    }
    bytes
}
