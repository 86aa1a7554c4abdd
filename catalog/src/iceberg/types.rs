//! Types of columns in Iceberg's terms, and which of them its readers promote. Pure.

use arrow_schema::{DataType, TimeUnit};
use iceberg::spec::PrimitiveType;

/// Whether readers of Iceberg read values of `table` from a column that a file holds as `file`: the
/// type is the same to them, or one that the spec promotes.
pub(super) fn reads_as(file: &DataType, table: &DataType) -> bool {
    use DataType::{LargeList, List, Map, Struct};
    match (file, table) {
        (List(file) | LargeList(file), List(table) | LargeList(table))
        | (Map(file, _), Map(table, _)) => reads_as(file.data_type(), table.data_type()),
        (Struct(file), Struct(table)) => table.iter().all(|field| {
            let same = file.iter().find(|other| other.name() == field.name());
            same.is_none_or(|same| reads_as(same.data_type(), field.data_type()))
        }),
        _ => match (primitive(file), primitive(table)) {
            (Some(file), Some(table)) => file == table || promotes(&file, &table),
            _ => false,
        },
    }
}

fn promotes(from: &PrimitiveType, to: &PrimitiveType) -> bool {
    use PrimitiveType::{Decimal, Double, Float, Int, Long};
    match (from, to) {
        (Int, Long) | (Float, Double) => true,
        (
            Decimal {
                precision: from_precision,
                scale: from_scale,
            },
            Decimal { precision, scale },
        ) => from_scale == scale && from_precision <= precision,
        _ => false,
    }
}

/// The primitive type that holds every value, where files of the given type are read alike by all.
pub(super) fn primitive(data_type: &DataType) -> Option<PrimitiveType> {
    Some(match data_type {
        DataType::Boolean => PrimitiveType::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => {
            PrimitiveType::Int
        }
        DataType::Int64 | DataType::UInt32 => PrimitiveType::Long,
        DataType::Float32 => PrimitiveType::Float,
        DataType::Float64 => PrimitiveType::Double,
        DataType::Date32 => PrimitiveType::Date,
        DataType::Time64(TimeUnit::Microsecond) => PrimitiveType::Time,
        DataType::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, zone) => {
            match zone.as_deref() {
                None => PrimitiveType::Timestamp,
                Some("UTC" | "+00:00") => PrimitiveType::Timestamptz,
                // PyIceberg opens no file whose Arrow schema names another zone.
                Some(_) => return None,
            }
        }
        // Nor one with decimals of 32 or 64 bits.
        DataType::Decimal128(precision, scale) => PrimitiveType::Decimal {
            precision: u32::from(*precision),
            scale: u32::try_from(*scale).ok()?,
        },
        DataType::Utf8 | DataType::LargeUtf8 => PrimitiveType::String,
        DataType::Binary | DataType::LargeBinary => PrimitiveType::Binary,
        DataType::FixedSizeBinary(length) => PrimitiveType::Fixed(u64::try_from(*length).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_hold_only_types_that_iceberg_promotes() {
        use DataType as T;
        let list = |item| T::new_list(item, true);
        for (file, table, reads) in [
            (T::Int32, T::Int64, true),
            (T::Int8, T::Int32, true),
            (T::Float32, T::Float64, true),
            (T::Decimal128(9, 2), T::Decimal128(12, 2), true),
            (T::Decimal128(9, 2), T::Decimal128(12, 3), false),
            (T::Decimal128(12, 2), T::Decimal128(9, 2), false),
            (T::Int32, T::Decimal128(12, 0), false),
            (T::Float16, T::Float32, false),
            (T::FixedSizeBinary(4), T::Binary, false),
            (T::Utf8, T::LargeUtf8, true),
            (list(T::Int32), list(T::Int64), true),
            (list(T::Float16), list(T::Float32), false),
        ] {
            assert_eq!(reads_as(&file, &table), reads, "{file} as {table}");
        }
    }
}
