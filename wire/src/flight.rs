//! Results as Flight carries them: record batches to `FlightData` and back. The one place that decides
//! how large messages are, that the promised schema is kept, and where the scan report travels. It
//! knows neither tickets nor scans.
//!
//! A stream is a schema message, record batches of about [`TARGET_BYTES`], and last a batch of no rows
//! whose `app_metadata` is the scan report as JSON: of no rows rather than no batch, because some
//! clients fail on a message without one. The schema message leaves only when the first batch or the
//! end is there, since clients try another location only until their first message.
//!
//! `arrow_flight`'s own encoder is not used: it declares `LargeList` as `List`, replaces dictionaries
//! whatever was promised, and slices by the bytes that a batch holds on to instead of those that it
//! sends.

mod conform;
mod decode;
mod encode;
mod report;
mod size;

#[cfg(test)]
mod tests;

pub use decode::{Batches, ReadError, decode};
pub use encode::{EncodeError, MAX_MESSAGE_BYTES, TARGET_BYTES, encode};
pub use report::{MAX_REPORT_BYTES, report_json};
