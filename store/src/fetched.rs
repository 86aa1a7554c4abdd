//! Bytes of a file that are already here, found by range.

use std::ops::Range;

use bytes::Bytes;

/// Pieces of one file, each with its offset.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    pieces: Vec<(u64, Bytes)>,
}

impl Fetched {
    /// The pieces that a read gave for its ranges.
    pub fn new(ranges: &[Range<u64>], bytes: Vec<Bytes>) -> Self {
        let starts = ranges.iter().map(|range| range.start);
        Self::of(starts.zip(bytes).collect())
    }

    /// These pieces, each with its offset.
    pub fn of(mut pieces: Vec<(u64, Bytes)>) -> Self {
        pieces.sort_by_key(|(start, _)| *start);
        Self { pieces }
    }

    /// Adds a piece.
    pub fn push(&mut self, offset: u64, bytes: Bytes) {
        let position = self.pieces.partition_point(|(start, _)| *start < offset);
        self.pieces.insert(position, (offset, bytes));
    }

    /// All pieces of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::of([self.pieces.as_slice(), &other.pieces].concat())
    }

    /// Whether there is something from before an offset.
    pub fn begins_before(&self, offset: u64) -> bool {
        self.pieces
            .first()
            .is_some_and(|(start, _)| *start < offset)
    }

    /// The bytes of a range without copying, when one piece holds all of it.
    pub fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let begun = self
            .pieces
            .partition_point(|(offset, _)| *offset <= range.start);
        self.pieces
            .get(..begun)?
            .iter()
            .rev()
            .find_map(|(offset, piece)| {
                let start = usize::try_from(range.start.checked_sub(*offset)?).ok()?;
                let end = usize::try_from(range.end.checked_sub(*offset)?).ok()?;
                (start <= end && end <= piece.len()).then(|| piece.slice(start..end))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_in_the_piece_that_holds_them_whole() {
        let bytes = vec![Bytes::from_static(b"world"), Bytes::from_static(b"hello")];
        let fetched = Fetched::new(&[20..25, 10..15], bytes);
        assert_eq!(fetched.get(&(11..14)).as_deref(), Some(&b"ell"[..]));
        assert_eq!(fetched.get(&(20..25)).as_deref(), Some(&b"world"[..]));
        assert_eq!(fetched.get(&(14..21)), None);
        assert_eq!(fetched.get(&(0..5)), None);
        let mut overlapping = fetched;
        overlapping.push(12, Bytes::from_static(b"l"));
        assert_eq!(overlapping.get(&(12..14)).as_deref(), Some(&b"ll"[..]));
    }
}
