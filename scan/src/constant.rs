//! Values of the model as Arrow values of a column's type: partition values.

use std::sync::Arc;

use arrow::datatypes::{Field, TimeUnit};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use model::Datum;

use crate::error::ScanError;
use crate::layout::misfit;

/// The value as one of the column's type; `None` is null.
///
/// # Errors
/// When it is none.
pub(crate) fn scalar(
    value: Option<&Datum>,
    field: &Field,
    path: &str,
) -> Result<ScalarValue, ScanError> {
    let kind = field.data_type();
    let scalar = match value {
        None => ScalarValue::try_new_null(kind),
        Some(value) => plain(value).and_then(|value| value.cast_to(kind)),
    };
    scalar.map_err(|error| misfit(path, field.name(), kind, error.strip_backtrace()))
}

/// The value as the widest type of its kind.
fn plain(value: &Datum) -> Result<ScalarValue, DataFusionError> {
    Ok(match value {
        Datum::Boolean(value) => ScalarValue::Boolean(Some(*value)),
        Datum::Int(value) => ScalarValue::Int64(Some(*value)),
        Datum::UInt(value) => ScalarValue::UInt64(Some(*value)),
        Datum::Float(value) => ScalarValue::Float64(Some(*value)),
        Datum::Decimal { unscaled, scale } => {
            let precision = arrow::datatypes::DECIMAL256_MAX_PRECISION;
            ScalarValue::Decimal256(Some(*unscaled), precision, *scale)
        }
        Datum::Date(days) => ScalarValue::Date32(Some(*days)),
        Datum::Time { value, unit } => time(*value, *unit)?,
        Datum::Timestamp { value, unit, utc } => {
            let zone = utc.then(|| Arc::from("UTC"));
            timestamp(*value, *unit, zone)
        }
        Datum::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => ScalarValue::Utf8(Some(text.to_owned())),
            Err(_) => ScalarValue::Binary(Some(bytes.clone())),
        },
    })
}

fn time(value: i64, unit: TimeUnit) -> Result<ScalarValue, DataFusionError> {
    let narrow = || {
        i32::try_from(value).map_err(|_| {
            DataFusionError::Execution(format!("{value} {unit:?}s are no time of a day"))
        })
    };
    Ok(match unit {
        TimeUnit::Second => ScalarValue::Time32Second(Some(narrow()?)),
        TimeUnit::Millisecond => ScalarValue::Time32Millisecond(Some(narrow()?)),
        TimeUnit::Microsecond => ScalarValue::Time64Microsecond(Some(value)),
        TimeUnit::Nanosecond => ScalarValue::Time64Nanosecond(Some(value)),
    })
}

fn timestamp(value: i64, unit: TimeUnit, zone: Option<Arc<str>>) -> ScalarValue {
    match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(Some(value), zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(Some(value), zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(value), zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(Some(value), zone),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn partition_values_take_the_type_of_their_column() {
        let cases = [
            (
                Some(Datum::Int(7)),
                DataType::Int32,
                ScalarValue::Int32(Some(7)),
            ),
            (
                Some(Datum::text("UK")),
                DataType::Utf8,
                ScalarValue::from("UK"),
            ),
            (
                Some(Datum::Date(3)),
                DataType::Date32,
                ScalarValue::Date32(Some(3)),
            ),
            (None, DataType::Boolean, ScalarValue::Boolean(None)),
        ];
        for (value, kind, expected) in cases {
            let field = Field::new("p", kind, true);
            assert_eq!(scalar(value.as_ref(), &field, "file").unwrap(), expected);
        }
        let second = Datum::Time {
            value: i64::MAX,
            unit: TimeUnit::Second,
        };
        let misfits = [
            (Datum::Int(300), DataType::Int8),
            (second, DataType::Time32(TimeUnit::Second)),
        ];
        for (value, kind) in misfits {
            let field = Field::new("p", kind, true);
            let error = scalar(Some(&value), &field, "file:///x").unwrap_err();
            assert!(error.to_string().contains("file:///x"), "{error}");
        }
    }
}
