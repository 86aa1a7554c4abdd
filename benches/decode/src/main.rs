//! How fast a scan decodes and filters what is in memory, beside DataFusion's own Parquet scan of the same
//! bytes: on one thread, with footers known, so that only decoding and filtering are compared.

mod engines;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use criterion::{Criterion, SamplingMode, Throughput};

use engines::{DataFusion, Engine, Fulmar, Query, Way};

/// Compares scans of a file of orders in random order.
#[derive(Debug, Parser)]
struct Flags {
    /// The file, read into memory
    #[arg(long)]
    file: PathBuf,
    /// Where estimates are written: a folder for each query, and in it one for each engine
    #[arg(long)]
    home: PathBuf,
    /// Seconds for one query on one engine
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Only what has this in `query/engine`
    #[arg(long)]
    only: Option<String>,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    let bytes = std::fs::read(&flags.file);
    let bytes = bytes.with_context(|| format!("cannot read {}", flags.file.display()))?;
    // One thread: what is left is the work.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let file = engines::File::new(bytes.into())?;
    let rows = file.rows;
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Fulmar::new(&file)?)];
    for way in [Way::Default, Way::Pushdown, Way::PlainStrings] {
        engines.push(Box::new(runtime.block_on(DataFusion::new(&file, way))?));
    }
    let mut criterion = Criterion::default()
        .output_directory(&flags.home)
        .without_plots()
        .sample_size(20)
        .measurement_time(Duration::from_secs(flags.seconds));
    if let Some(only) = &flags.only {
        criterion = criterion.with_filter(only);
    }
    for query in queries(rows) {
        let mut group = criterion.benchmark_group(query.name);
        group.sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Elements(rows));
        let mut expected = None;
        for engine in &engines {
            let scan = runtime.block_on(engine.prepare(&query))?;
            let found = runtime.block_on(scan())?;
            let expected = *expected.get_or_insert(found);
            ensure!(
                found == expected,
                "{}: {} has {found} rows, not {expected}",
                query.name,
                engine.name()
            );
            group.bench_function(engine.name(), |bench| {
                bench.iter(|| runtime.block_on(scan()));
            });
        }
        group.finish();
    }
    Ok(())
}

/// In random order no bound rules anything out, so the part of `order_id` is the part of rows that pass.
fn queries(rows: u64) -> Vec<Query> {
    let all = [
        "order_id",
        "customer_id",
        "order_date",
        "amount",
        "country",
        "status",
        "note",
    ];
    let some = ["order_date", "customer_id", "amount", "note"];
    let passing = |name, percent: u64| Query {
        name,
        columns: some.to_vec(),
        filter: Some(format!("order_id < {}", rows * percent / 100)),
    };
    vec![
        Query {
            name: "all columns",
            columns: all.to_vec(),
            filter: None,
        },
        Query {
            name: "four columns",
            columns: some.to_vec(),
            filter: None,
        },
        passing("1 percent", 1),
        passing("10 percent", 10),
        passing("50 percent", 50),
    ]
}
