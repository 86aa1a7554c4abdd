//! `fulmar fixtures`: one sample table, for tests and benchmarks that cannot call the generators.

use std::io::Write;
use std::path::{Path, PathBuf};

use ::fixtures as generate;
use clap::ValueEnum;
use generate::Written;

/// Flags of `fixtures`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which table, or `all` valid ones as sub-folders
    #[arg(long, value_name = "KIND")]
    kind: Kind,
    /// How many orders or customers
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    rows: u64,
    /// Files of `orders-many`
    #[arg(long, value_name = "N", default_value_t = 300)]
    files: u64,
    /// Most rows of a file of `orders-by-country`
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    rows_per_file: usize,
    /// The folder of the table
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Every valid table as a sub-folder
    All,
    /// Twelve monthly files with page indexes
    OrdersByMonth,
    /// One file, ten row groups in order, no page index
    OrdersSorted,
    /// The same rows in random order
    OrdersShuffled,
    /// Those in order with a Bloom filter of `customer_id`
    OrdersBloom,
    /// One row group with a page index
    OrdersPaged,
    /// The same with dictionaries for every column
    OrdersPagedDictionary,
    /// `country=UK/part-0.parquet` and so on
    OrdersByCountry,
    /// Many small files
    OrdersMany,
    /// A dimension to join
    Customers,
    /// Every type that Parquet can hold
    Awkward,
    /// A file that ends half-way
    Truncated,
    /// A whole footer over overwritten pages
    CorruptPages,
    /// Text under a Parquet name
    NotParquet,
    /// A file of no bytes
    EmptyFile,
    /// A valid file without rows
    ZeroRows,
    /// Two files whose columns contradict each other
    ClashingSchemas,
}

/// Writes the table and says how much it is.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let written = write(args, &args.dir)?;
    let (files, rows, bytes) = (written.files.len(), written.rows(), written.bytes());
    let mut stdout = std::io::stdout();
    Ok(writeln!(
        stdout,
        "{}: {files} files, {rows} rows, {bytes} bytes",
        args.dir.display()
    )?)
}

fn write(args: &Args, dir: &Path) -> generate::Result<Written> {
    let rows = args.rows;
    match args.kind {
        Kind::All => {
            let tables = generate::write_tables(dir, rows)?;
            let files = tables.into_iter().flat_map(|(_, written)| written.files);
            Ok(files.collect())
        }
        Kind::OrdersByMonth => generate::orders_by_month(dir, rows),
        Kind::OrdersSorted => generate::orders_sorted(dir, rows),
        Kind::OrdersShuffled => generate::orders_shuffled(dir, rows),
        Kind::OrdersBloom => generate::orders_bloom(dir, rows),
        Kind::OrdersPaged => generate::orders_paged(dir, rows),
        Kind::OrdersPagedDictionary => generate::orders_paged_dictionary(dir, rows),
        Kind::OrdersByCountry => generate::orders_by_country(dir, rows, args.rows_per_file),
        Kind::OrdersMany => generate::orders_many(dir, rows, args.files),
        Kind::Customers => generate::customers(dir, rows),
        Kind::Awkward => generate::awkward(dir),
        Kind::Truncated => generate::truncated(dir),
        Kind::CorruptPages => generate::corrupt_pages(dir),
        Kind::NotParquet => generate::not_parquet(dir),
        Kind::EmptyFile => generate::empty_file(dir),
        Kind::ZeroRows => generate::zero_rows(dir),
        Kind::ClashingSchemas => generate::clashing_schemas(dir),
    }
}
