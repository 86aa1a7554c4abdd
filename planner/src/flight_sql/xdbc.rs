//! `GetXdbcTypeInfo`: the SQL types that columns and casts can have, as ODBC and JDBC describe types.

use std::sync::LazyLock;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{CommandGetXdbcTypeInfo, Nullable, Searchable, XdbcDataType};
use arrow_flight::sql::{XdbcDataType as T, XdbcDatetimeSubcode as Subcode};

use crate::error::PlannerError;

static TYPES: LazyLock<Result<XdbcTypeInfoData, String>> = LazyLock::new(|| {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    for row in rows() {
        builder.append(row);
    }
    builder.build().map_err(|error| error.to_string())
});

/// The schema of the answer.
pub(crate) fn schema() -> SchemaRef {
    XdbcTypeInfoDataBuilder::new().schema()
}

/// The answer: all types, or those with the code that was asked for.
pub(crate) fn batch(command: CommandGetXdbcTypeInfo) -> Result<RecordBatch, PlannerError> {
    let types = TYPES
        .as_ref()
        .map_err(|error| PlannerError::Internal(error.clone()))?;
    command
        .into_builder(types)
        .build()
        .map_err(|error| PlannerError::Internal(error.to_string()))
}

fn rows() -> Vec<XdbcTypeInfo> {
    let mut rows = vec![plain("BOOLEAN", T::XdbcBit, 1)];
    rows.extend(integers());
    rows.extend(numbers());
    rows.extend(texts());
    rows.extend(times());
    rows
}

fn integers() -> Vec<XdbcTypeInfo> {
    let integer = |name, code, digits, unsigned| XdbcTypeInfo {
        unsigned_attribute: Some(unsigned),
        auto_increment: Some(false),
        num_prec_radix: Some(10),
        minimum_scale: Some(0),
        maximum_scale: Some(0),
        ..plain(name, code, digits)
    };
    vec![
        integer("TINYINT", T::XdbcTinyint, 3, false),
        integer("TINYINT UNSIGNED", T::XdbcTinyint, 3, true),
        integer("SMALLINT", T::XdbcSmallint, 5, false),
        integer("SMALLINT UNSIGNED", T::XdbcSmallint, 5, true),
        integer("INTEGER", T::XdbcInteger, 10, false),
        integer("INTEGER UNSIGNED", T::XdbcInteger, 10, true),
        integer("BIGINT", T::XdbcBigint, 19, false),
        integer("BIGINT UNSIGNED", T::XdbcBigint, 20, true),
    ]
}

fn numbers() -> Vec<XdbcTypeInfo> {
    let float = |name, code, bits| XdbcTypeInfo {
        unsigned_attribute: Some(false),
        auto_increment: Some(false),
        num_prec_radix: Some(2),
        ..plain(name, code, bits)
    };
    vec![
        float("REAL", T::XdbcReal, 24),
        float("FLOAT", T::XdbcFloat, 24),
        float("DOUBLE", T::XdbcDouble, 53),
        XdbcTypeInfo {
            create_params: Some(vec!["precision".to_owned(), "scale".to_owned()]),
            unsigned_attribute: Some(false),
            auto_increment: Some(false),
            num_prec_radix: Some(10),
            minimum_scale: Some(0),
            maximum_scale: Some(76),
            ..plain("DECIMAL", T::XdbcDecimal, 76)
        },
    ]
}

fn texts() -> Vec<XdbcTypeInfo> {
    let quoted = |name, code, prefix: &str| XdbcTypeInfo {
        column_size: Some(i32::MAX),
        literal_prefix: Some(prefix.to_owned()),
        literal_suffix: Some("'".to_owned()),
        case_sensitive: true,
        ..plain(name, code, i32::MAX)
    };
    vec![
        quoted("CHAR", T::XdbcChar, "'"),
        quoted("VARCHAR", T::XdbcVarchar, "'"),
        quoted("VARBINARY", T::XdbcVarbinary, "X'"),
    ]
}

fn times() -> Vec<XdbcTypeInfo> {
    let time = |name, code, size, subcode, prefix: &str, digits| XdbcTypeInfo {
        literal_prefix: Some(format!("{prefix} '")),
        literal_suffix: Some("'".to_owned()),
        sql_data_type: T::XdbcDatetime,
        datetime_subcode: Some(subcode),
        minimum_scale: Some(0),
        maximum_scale: Some(digits),
        ..plain(name, code, size)
    };
    vec![
        // The codes of a date's subcode and of a year are the same number in ODBC.
        time("DATE", T::XdbcDate, 10, Subcode::XdbcSubcodeYear, "DATE", 0),
        time("TIME", T::XdbcTime, 18, Subcode::XdbcSubcodeTime, "TIME", 9),
        time(
            "TIMESTAMP",
            T::XdbcTimestamp,
            29,
            Subcode::XdbcSubcodeTimestamp,
            "TIMESTAMP",
            9,
        ),
        time(
            "TIMESTAMP WITH TIME ZONE",
            T::XdbcTimestamp,
            35,
            Subcode::XdbcSubcodeTimestampWithTimezone,
            "TIMESTAMP",
            9,
        ),
        XdbcTypeInfo {
            literal_prefix: Some("INTERVAL '".to_owned()),
            literal_suffix: Some("'".to_owned()),
            sql_data_type: T::XdbcInterval,
            datetime_subcode: Some(Subcode::XdbcSubcodeIntervalDayToSecond),
            interval_precision: Some(9),
            ..plain("INTERVAL", T::XdbcInterval, 64)
        },
    ]
}

fn plain(name: &str, code: XdbcDataType, size: i32) -> XdbcTypeInfo {
    XdbcTypeInfo {
        type_name: name.to_owned(),
        data_type: code,
        column_size: Some(size),
        nullable: Nullable::NullabilityNullable,
        searchable: Searchable::Full,
        local_type_name: Some(name.to_owned()),
        sql_data_type: code,
        ..XdbcTypeInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_filtered_by_their_code_and_unknown_codes_give_none() {
        for (code, names) in [
            (None, rows().len()),
            (Some(93), 2),
            (Some(-7), 1),
            (Some(12345), 0),
        ] {
            let batch = batch(CommandGetXdbcTypeInfo { data_type: code }).unwrap();
            assert_eq!(batch.num_rows(), names, "{code:?}");
            assert_eq!(batch.schema(), schema());
        }
    }
}
