//! What reading some files will take at least and at most, before any of them is opened. Pure.

use std::time::Duration;

use model::DataFile;
use store::StoreProfile;
use store::footer::{FooterHint, first_range};

/// What Flight servers that have not opened these files will take for them, by the model of the network of
/// their store's default profile. What of a file is needed only its footer tells, so there are two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forecast {
    /// A request for each file: its footer, or all of it.
    pub(crate) least_requests: u64,
    /// One round trip, for all of these.
    pub(crate) least_time: Duration,
    /// Every byte of every file.
    pub(crate) most_bytes: u64,
    /// For all bytes after the footers, with the connections of one scan.
    pub(crate) whole_time: Duration,
}

impl Forecast {
    /// The forecast for files of one table, which lie in one store.
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a DataFile> + Clone) -> Self {
        let Some(file) = files.clone().next() else {
            return Self::default();
        };
        let profile = StoreProfile::default_of(&file.path);
        let first = |file: &DataFile| {
            let hint = FooterHint {
                columns: true,
                ..FooterHint::of(file)
            };
            first_range(file.size, hint, &profile)
        };
        let rest = files
            .clone()
            .flat_map(|file| profile.parts(&(0..first(file).start)));
        let rest = profile.time(&rest.collect::<Vec<_>>());
        // Each of them is a scan of its own, so all are sent at once.
        let firsts = files.clone().map(|file| profile.time(&[first(file)]));
        let least_time = firsts.max().unwrap_or_default();
        Self {
            least_requests: files.clone().count() as u64,
            least_time,
            most_bytes: files.map(|file| file.size).sum(),
            whole_time: least_time + rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str, count: usize) -> Vec<DataFile> {
        let file = DataFile {
            path: path.to_owned(),
            size: 80_000_000,
            version: None,
            record_count: None,
            footer_length: Some(8_000),
            page_index: None,
        };
        vec![file; count]
    }

    #[test]
    fn a_footer_is_the_least_and_all_bytes_the_most() {
        let one = files("s3://lake/orders/1.parquet", 1);
        let forecast = Forecast::of(one.iter());
        assert_eq!(forecast.least_requests, 1);
        assert_eq!(forecast.most_bytes, 80_000_000);
        // 30 ms, then 8 kB at 80 MB/s.
        assert_eq!(forecast.least_time, Duration::from_micros(30_100));
        // 80 MB in parts of 4 MiB, which share 1 GB/s.
        assert_eq!(forecast.whole_time.as_millis(), 30 + 30 + 80);
        assert_eq!(Forecast::of([].iter()), Forecast::default());
    }

    #[test]
    fn footers_of_many_files_wait_once_and_small_files_come_with_theirs() {
        let mut many = files("s3://lake/orders/1.parquet", 64);
        let forecast = Forecast::of(many.iter());
        assert_eq!(forecast.least_requests, 64);
        assert_eq!(forecast.least_time, Duration::from_micros(30_100));
        for file in &mut many {
            file.size = 80_000;
        }
        let forecast = Forecast::of(many.iter());
        assert_eq!(forecast.least_time, Duration::from_millis(31));
        assert_eq!(forecast.whole_time, forecast.least_time);
        let near = files("file:///lake/orders/1.parquet", 1);
        assert!(Forecast::of(near.iter()).least_time < Duration::from_millis(1));
    }
}
