//! Hive-style partition folders (`country=UK/month=2024-01/part-0.parquet`): values from paths, their
//! types and their parsing. Pure.

use arrow_schema::{DataType, TimeUnit};
use model::Datum;

/// The folder value that stands for NULL.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The keys and values in the folders of a path below its table, outermost first; `None` is NULL.
///
/// Folders are split first and decoded once, so that an encoded `/` or `=` is part of its value. The
/// last name is the file's and is not looked at.
pub fn partition_values(relative: &str) -> Vec<(String, Option<String>)> {
    let folders = relative.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter_map(key_value).collect()
}

fn key_value(folder: &str) -> Option<(String, Option<String>)> {
    let (key, value) = folder.split_once('=')?;
    if key.is_empty() {
        return None;
    }
    let value = (value != NULL_PARTITION).then(|| percent_decode(value));
    Some((percent_decode(key), value))
}

/// The type of a partition column from all of its values: `Int64` when each is an integer that prints
/// the same again (so `07` is not one), `Date32` when each is a day, else `Utf8`.
pub fn infer_type<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> DataType {
    let (mut any, mut integers, mut days) = (false, true, true);
    for value in values.into_iter().flatten() {
        any = true;
        integers &= value
            .parse::<i64>()
            .is_ok_and(|parsed| parsed.to_string() == value);
        days &= parse_day(value).is_some();
    }
    match (any, integers, days) {
        (true, true, _) => DataType::Int64,
        (true, false, true) => DataType::Date32,
        _ => DataType::Utf8,
    }
}

/// A partition value as a value of its column's type, or `None` when it is not one.
pub fn parse_value(text: &str, data_type: &DataType) -> Option<Datum> {
    match data_type {
        DataType::Int8 => text.parse::<i8>().ok().map(|v| Datum::Int(v.into())),
        DataType::Int16 => text.parse::<i16>().ok().map(|v| Datum::Int(v.into())),
        DataType::Int32 => text.parse::<i32>().ok().map(|v| Datum::Int(v.into())),
        DataType::Int64 => text.parse().ok().map(Datum::Int),
        DataType::UInt8 => text.parse::<u8>().ok().map(|v| Datum::UInt(v.into())),
        DataType::UInt16 => text.parse::<u16>().ok().map(|v| Datum::UInt(v.into())),
        DataType::UInt32 => text.parse::<u32>().ok().map(|v| Datum::UInt(v.into())),
        DataType::UInt64 => text.parse().ok().map(Datum::UInt),
        DataType::Float32 => text.parse::<f32>().ok().map(|v| Datum::Float(v.into())),
        DataType::Float64 => text.parse().ok().map(Datum::Float),
        DataType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Some(Datum::Boolean(true)),
            "false" => Some(Datum::Boolean(false)),
            _ => None,
        },
        DataType::Date32 => parse_day(text).map(Datum::Date),
        DataType::Timestamp(unit, zone) => Some(Datum::Timestamp {
            value: parse_instant(text, *unit)?,
            unit: *unit,
            utc: zone.is_some(),
        }),
        DataType::Utf8 | DataType::LargeUtf8 => Some(Datum::text(text)),
        _ => None,
    }
}

/// `YYYY-MM-DD` as days since 1970-01-01.
fn parse_day(text: &str) -> Option<i32> {
    let digits = |c: u8| c.is_ascii_digit();
    let shape = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => digits(byte),
    });
    if text.len() != 10 || !shape {
        return None;
    }
    let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let since_epoch = day.signed_duration_since(chrono::NaiveDate::default());
    i32::try_from(since_epoch.num_days()).ok()
}

fn parse_instant(text: &str, unit: TimeUnit) -> Option<i64> {
    let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
    let parse = |format: &&str| chrono::NaiveDateTime::parse_from_str(text, format).ok();
    let time = formats.iter().find_map(parse)?.and_utc();
    match unit {
        TimeUnit::Second => (time.timestamp_subsec_nanos() == 0).then(|| time.timestamp()),
        TimeUnit::Millisecond => {
            (time.timestamp_subsec_nanos() % 1_000_000 == 0).then(|| time.timestamp_millis())
        }
        TimeUnit::Microsecond => {
            (time.timestamp_subsec_nanos() % 1_000 == 0).then(|| time.timestamp_micros())
        }
        TimeUnit::Nanosecond => time.timestamp_nanos_opt(),
    }
}

/// Decodes `%41`; what is not such a code, or would not be UTF-8, stands for itself.
fn percent_decode(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = hex_pair(first, after).unwrap_or((first, after));
        decoded.push(byte);
        rest = after;
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

fn hex_pair(first: u8, after: &[u8]) -> Option<(u8, &[u8])> {
    let (pair, rest) = after.split_at_checked(2)?;
    if first != b'%' || !pair.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let text = std::str::from_utf8(pair).ok()?;
    Some((u8::from_str_radix(text, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(path: &str) -> Vec<(String, Option<String>)> {
        partition_values(path)
    }

    fn pair(key: &str, value: Option<&str>) -> (String, Option<String>) {
        (key.to_owned(), value.map(str::to_owned))
    }

    #[test]
    fn folders_are_split_first_and_decoded_once() {
        let cases = [
            ("part-0.parquet", vec![]),
            ("a=1.parquet", vec![]),
            (
                "month=2024-01/x.parquet",
                vec![pair("month", Some("2024-01"))],
            ),
            (
                "a=x%2Fy%3D1/b=2/x",
                vec![pair("a", Some("x/y=1")), pair("b", Some("2"))],
            ),
            ("a=%2541/x", vec![pair("a", Some("%41"))]),
            ("a=100%/x", vec![pair("a", Some("100%"))]),
            ("a=%ff/x", vec![pair("a", Some("%ff"))]),
            ("a=b=c/x", vec![pair("a", Some("b=c"))]),
            ("a=/x", vec![pair("a", Some(""))]),
            ("=1/x", vec![]),
            (
                "plain/a=__HIVE_DEFAULT_PARTITION__/x",
                vec![pair("a", None)],
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(values(path), expected, "{path}");
        }
    }

    #[test]
    fn a_column_is_typed_by_all_of_its_values() {
        let cases: [(&[Option<&str>], DataType); 8] = [
            (&[Some("1"), Some("-20"), None], DataType::Int64),
            (&[Some("1"), Some("07")], DataType::Utf8),
            (&[Some("2024-01-31"), None], DataType::Date32),
            (&[Some("2024-01"), Some("2024-02")], DataType::Utf8),
            (&[Some("2024-02-30")], DataType::Utf8),
            (&[Some("1"), Some("2024-01-31")], DataType::Utf8),
            (&[None], DataType::Utf8),
            (&[Some("")], DataType::Utf8),
        ];
        for (values, expected) in cases {
            assert_eq!(infer_type(values.iter().copied()), expected, "{values:?}");
        }
    }

    #[test]
    fn values_are_parsed_as_their_type() {
        let cases = [
            ("07", DataType::Int64, Some(Datum::Int(7))),
            ("300", DataType::Int8, None),
            ("1970-01-02", DataType::Date32, Some(Datum::Date(1))),
            ("1969-12-31", DataType::Date32, Some(Datum::Date(-1))),
            ("1970-1-2", DataType::Date32, None),
            ("TRUE", DataType::Boolean, Some(Datum::Boolean(true))),
            ("", DataType::Utf8, Some(Datum::text(""))),
            (
                "1970-01-01 00:00:01.5",
                DataType::Timestamp(TimeUnit::Millisecond, None),
                Some(Datum::Timestamp {
                    value: 1500,
                    unit: TimeUnit::Millisecond,
                    utc: false,
                }),
            ),
            (
                "1970-01-01 00:00:01.5",
                DataType::Timestamp(TimeUnit::Second, None),
                None,
            ),
        ];
        for (text, data_type, expected) in cases {
            assert_eq!(
                parse_value(text, &data_type),
                expected,
                "{text} as {data_type}"
            );
        }
    }
}
