//! What reading some files will take at least and at most, before any of them is opened. Pure.

use std::ops::Range;
use std::time::Duration;

use model::DataFile;
use store::StoreProfile;
use store::footer::{FooterHint, first_range};

/// What a Flight server will take for some files, by the model of the network of their store's default
/// profile. Which pages are needed only footers and page indexes can tell, so there are two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forecast {
    /// The footer of each file, and a request for its pages.
    pub(crate) least_requests: u64,
    /// One round trip for all footers and one for all pages.
    pub(crate) least_time: Duration,
    /// Every byte of every file.
    pub(crate) most_bytes: u64,
    /// The same after the footers.
    pub(crate) most_time: Duration,
}

impl Forecast {
    /// The forecast for files of one table, which lie in one store.
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a DataFile> + Clone) -> Self {
        let Some(first) = files.clone().next() else {
            return Self::default();
        };
        let profile = StoreProfile::default_of(&first.path);
        let footer = |file: &DataFile| first_range(file.size, FooterHint::of(file), &profile);
        let footers: Vec<Range<u64>> = files.clone().map(footer).collect();
        let rest = footers
            .iter()
            .flat_map(|footer| profile.parts(&(0..footer.start)));
        let after_footers = profile.time(&rest.collect::<Vec<_>>());
        let for_footers = profile.time(&footers);
        Self {
            least_requests: 2 * footers.len() as u64,
            least_time: for_footers + profile.first_byte,
            most_bytes: files.map(|file| file.size).sum(),
            most_time: for_footers + after_footers.max(profile.first_byte),
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
    fn two_round_trips_are_the_least_and_all_bytes_the_most() {
        let one = files("s3://lake/orders/1.parquet", 1);
        let forecast = Forecast::of(one.iter());
        assert_eq!(forecast.least_requests, 2);
        assert_eq!(forecast.most_bytes, 80_000_000);
        // 30 ms, then 8 kB at 80 MB/s; and 30 ms for pages.
        assert_eq!(forecast.least_time, Duration::from_micros(60_100));
        // 80 MB in parts of 4 MiB, which share 1 GB/s.
        assert_eq!(forecast.most_time.as_millis(), 30 + 30 + 80);
        assert_eq!(Forecast::of([].iter()), Forecast::default());
    }

    #[test]
    fn many_files_take_turns_and_near_ones_cost_no_round_trip() {
        let many = files("s3://lake/orders/1.parquet", 64);
        // More footers than connections take a second turn.
        assert_eq!(
            Forecast::of(many.iter()).least_time.as_millis(),
            2 * 30 + 30
        );
        let near = files("file:///lake/orders/1.parquet", 1);
        assert!(Forecast::of(near.iter()).least_time < Duration::from_millis(1));
    }
}
