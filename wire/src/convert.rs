//! Conversions between the domain and the protocol. Encoding cannot fail; decoding is total and names
//! the field that was missing or odd.

use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use model::interval::End;
use model::{
    Bound, ByteSpan, ColumnBounds, ColumnMapping, ColumnPredicate, Condition, DataFile, Datum,
    FieldId, Interval, Level, PartitionValue, Predicate, Reason, RowRange, ScanTask, TableName,
    ValueSet,
};

use crate::category::{Categorized, Category};
use crate::proto;

/// Bytes of another part that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct DecodeError {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl DecodeError {
    /// An error about a field.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self {
            field,
            reason: reason.into(),
        }
    }
}

impl Categorized for DecodeError {
    fn category(&self) -> Category {
        Category::Invalid
    }
}

/// The value of a field that must be there.
///
/// # Errors
/// When it is missing.
pub fn required<T>(value: Option<T>, field: &'static str) -> Result<T, DecodeError> {
    value.ok_or_else(|| DecodeError::new(field, "missing"))
}

fn all<P, T: TryFrom<P, Error = DecodeError>>(parts: Vec<P>) -> Result<Vec<T>, DecodeError> {
    parts.into_iter().map(T::try_from).collect()
}

fn encode_unit(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => proto::TimeUnit::Second,
        TimeUnit::Millisecond => proto::TimeUnit::Millisecond,
        TimeUnit::Microsecond => proto::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => proto::TimeUnit::Nanosecond,
    }
    .into()
}

fn decode_unit(unit: i32) -> Result<TimeUnit, DecodeError> {
    match proto::TimeUnit::try_from(unit) {
        Ok(proto::TimeUnit::Second) => Ok(TimeUnit::Second),
        Ok(proto::TimeUnit::Millisecond) => Ok(TimeUnit::Millisecond),
        Ok(proto::TimeUnit::Microsecond) => Ok(TimeUnit::Microsecond),
        Ok(proto::TimeUnit::Nanosecond) => Ok(TimeUnit::Nanosecond),
        _ => Err(DecodeError::new(
            "time unit",
            format!("unknown value {unit}"),
        )),
    }
}

impl From<&Datum> for proto::Datum {
    fn from(datum: &Datum) -> Self {
        use proto::datum::Kind;
        let kind = match datum {
            Datum::Boolean(value) => Kind::Boolean(*value),
            Datum::Int(value) => Kind::Int(*value),
            Datum::UInt(value) => Kind::Uint(*value),
            Datum::Float(value) => Kind::Float(*value),
            Datum::Decimal { unscaled, scale } => Kind::Decimal(proto::Decimal {
                unscaled: unscaled.to_le_bytes().to_vec(),
                scale: i32::from(*scale),
            }),
            Datum::Date(days) => Kind::Date(*days),
            Datum::Time { value, unit } => Kind::Time(proto::Time {
                value: *value,
                unit: encode_unit(*unit),
            }),
            Datum::Timestamp { value, unit, utc } => Kind::Timestamp(proto::Timestamp {
                value: *value,
                unit: encode_unit(*unit),
                utc: *utc,
            }),
            Datum::Bytes(bytes) => Kind::Bytes(bytes.clone()),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<proto::Datum> for Datum {
    type Error = DecodeError;

    fn try_from(datum: proto::Datum) -> Result<Self, DecodeError> {
        use proto::datum::Kind;
        Ok(match required(datum.kind, "value")? {
            Kind::Boolean(value) => Self::Boolean(value),
            Kind::Int(value) => Self::Int(value),
            Kind::Uint(value) => Self::UInt(value),
            Kind::Float(value) => Self::Float(value),
            Kind::Decimal(decimal) => decode_decimal(&decimal)?,
            Kind::Date(days) => Self::Date(days),
            Kind::Time(time) => Self::Time {
                value: time.value,
                unit: decode_unit(time.unit)?,
            },
            Kind::Timestamp(timestamp) => Self::Timestamp {
                value: timestamp.value,
                unit: decode_unit(timestamp.unit)?,
                utc: timestamp.utc,
            },
            Kind::Bytes(bytes) => Self::Bytes(bytes),
        })
    }
}

fn decode_decimal(decimal: &proto::Decimal) -> Result<Datum, DecodeError> {
    let bytes: [u8; 32] = decimal
        .unscaled
        .as_slice()
        .try_into()
        .map_err(|_| DecodeError::new("decimal", "must have 32 bytes"))?;
    let scale = i8::try_from(decimal.scale)
        .map_err(|_| DecodeError::new("decimal scale", decimal.scale.to_string()))?;
    Ok(Datum::Decimal {
        unscaled: i256::from_le_bytes(bytes),
        scale,
    })
}

impl From<&Bound> for proto::Bound {
    fn from(bound: &Bound) -> Self {
        Self {
            value: Some((&bound.value).into()),
            exact: bound.exact,
        }
    }
}

impl TryFrom<proto::Bound> for Bound {
    type Error = DecodeError;

    fn try_from(bound: proto::Bound) -> Result<Self, DecodeError> {
        Ok(Self {
            value: required(bound.value, "bound")?.try_into()?,
            exact: bound.exact,
        })
    }
}

/// Encodes the bounds of a column.
pub fn encode_bounds(field: FieldId, bounds: &ColumnBounds) -> proto::ColumnBounds {
    proto::ColumnBounds {
        field_id: field.0,
        lower: bounds.lower.as_ref().map(Into::into),
        upper: bounds.upper.as_ref().map(Into::into),
        null_count: bounds.null_count,
        nan_count: bounds.nan_count,
        row_count: bounds.row_count,
    }
}

/// Decodes the bounds of a column.
///
/// # Errors
/// When a value cannot be understood.
pub fn decode_bounds(bounds: proto::ColumnBounds) -> Result<(FieldId, ColumnBounds), DecodeError> {
    let decoded = ColumnBounds {
        lower: bounds.lower.map(TryInto::try_into).transpose()?,
        upper: bounds.upper.map(TryInto::try_into).transpose()?,
        null_count: bounds.null_count,
        nan_count: bounds.nan_count,
        row_count: bounds.row_count,
    };
    Ok((FieldId(bounds.field_id), decoded))
}

fn encode_end(end: &End) -> proto::End {
    match end {
        End::Unbounded => proto::End {
            value: None,
            exclusive: false,
        },
        End::Inclusive(value) => proto::End {
            value: Some(value.into()),
            exclusive: false,
        },
        End::Exclusive(value) => proto::End {
            value: Some(value.into()),
            exclusive: true,
        },
    }
}

fn decode_end(end: Option<proto::End>) -> Result<End, DecodeError> {
    let end = required(end, "end of interval")?;
    Ok(match end.value.map(Datum::try_from).transpose()? {
        None => End::Unbounded,
        Some(value) if end.exclusive => End::Exclusive(value),
        Some(value) => End::Inclusive(value),
    })
}

impl From<&Interval> for proto::Interval {
    fn from(interval: &Interval) -> Self {
        Self {
            lower: Some(encode_end(interval.lower())),
            upper: Some(encode_end(interval.upper())),
        }
    }
}

/// Decodes intervals; one that is empty adds nothing.
fn decode_intervals(intervals: Vec<proto::Interval>) -> Result<ValueSet, DecodeError> {
    let mut decoded = Vec::with_capacity(intervals.len());
    for interval in intervals {
        decoded.extend(Interval::new(
            decode_end(interval.lower)?,
            decode_end(interval.upper)?,
        ));
    }
    Ok(ValueSet::of(decoded))
}

impl From<&Predicate> for proto::Predicate {
    fn from(predicate: &Predicate) -> Self {
        use proto::predicate::Kind;
        let parts = |parts: &[Predicate]| proto::Predicates {
            parts: parts.iter().map(Into::into).collect(),
        };
        let kind = match predicate {
            Predicate::Always => Kind::Always(proto::Unit {}),
            Predicate::Never => Kind::Never(proto::Unit {}),
            Predicate::Unknown => Kind::Unknown(proto::Unit {}),
            Predicate::Column(column) => Kind::Column(proto::ColumnPredicate {
                field_id: column.field.0,
                name: column.name.clone(),
                values: column.values.intervals().iter().map(Into::into).collect(),
                nulls: column.nulls,
            }),
            Predicate::And(inner) => Kind::And(parts(inner)),
            Predicate::Or(inner) => Kind::Or(parts(inner)),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<proto::Predicate> for Predicate {
    type Error = DecodeError;

    /// Nesting is bounded by the protobuf decoder's own recursion limit.
    fn try_from(predicate: proto::Predicate) -> Result<Self, DecodeError> {
        use proto::predicate::Kind;
        Ok(match required(predicate.kind, "predicate")? {
            Kind::Always(_) => Self::Always,
            Kind::Never(_) => Self::Never,
            Kind::Unknown(_) => Self::Unknown,
            Kind::Column(column) => Self::Column(ColumnPredicate {
                field: FieldId(column.field_id),
                name: column.name,
                values: decode_intervals(column.values)?,
                nulls: column.nulls,
            }),
            Kind::And(inner) => Self::And(all(inner.parts)?),
            Kind::Or(inner) => Self::Or(all(inner.parts)?),
        })
    }
}

impl From<&Reason> for proto::Reason {
    fn from(reason: &Reason) -> Self {
        let level = match reason.level {
            Level::Partition => proto::Level::Partition,
            Level::Manifest => proto::Level::Manifest,
            Level::Bounds => proto::Level::Bounds,
            Level::RowGroup => proto::Level::RowGroup,
            Level::Page => proto::Level::Page,
            Level::Bloom => proto::Level::Bloom,
            Level::Dictionary => proto::Level::Dictionary,
        };
        let condition = |condition: &Condition| proto::Condition {
            column: condition.column.clone(),
            test: condition.test.clone(),
            lower: condition.lower.clone(),
            upper: condition.upper.clone(),
            null_count: condition.null_count,
            all_null: condition.all_null,
        };
        Self {
            level: level.into(),
            conditions: reason.conditions.iter().map(condition).collect(),
        }
    }
}

impl TryFrom<proto::Reason> for Reason {
    type Error = DecodeError;

    fn try_from(reason: proto::Reason) -> Result<Self, DecodeError> {
        let level = match proto::Level::try_from(reason.level) {
            Ok(proto::Level::Partition) => Level::Partition,
            Ok(proto::Level::Manifest) => Level::Manifest,
            Ok(proto::Level::Bounds) => Level::Bounds,
            Ok(proto::Level::RowGroup) => Level::RowGroup,
            Ok(proto::Level::Page) => Level::Page,
            Ok(proto::Level::Bloom) => Level::Bloom,
            Ok(proto::Level::Dictionary) => Level::Dictionary,
            _ => return Err(DecodeError::new("level", reason.level.to_string())),
        };
        let condition = |condition: proto::Condition| Condition {
            column: condition.column,
            test: condition.test,
            lower: condition.lower,
            upper: condition.upper,
            null_count: condition.null_count,
            all_null: condition.all_null,
        };
        Ok(Self {
            level,
            conditions: reason.conditions.into_iter().map(condition).collect(),
        })
    }
}

impl From<&TableName> for proto::TableName {
    fn from(name: &TableName) -> Self {
        Self {
            schema: name.schema.clone(),
            table: name.table.clone(),
        }
    }
}

impl From<proto::TableName> for TableName {
    fn from(name: proto::TableName) -> Self {
        Self {
            schema: name.schema,
            table: name.table,
        }
    }
}

impl From<&DataFile> for proto::DataFile {
    fn from(file: &DataFile) -> Self {
        Self {
            path: file.path.clone(),
            size: file.size,
            version: file.version.clone(),
            record_count: file.record_count,
            footer_length: file.footer_length,
            page_index: file.page_index.map(|span| proto::ByteSpan {
                start: span.start,
                length: span.length,
            }),
        }
    }
}

impl From<proto::DataFile> for DataFile {
    fn from(file: proto::DataFile) -> Self {
        Self {
            path: file.path,
            size: file.size,
            version: file.version,
            record_count: file.record_count,
            footer_length: file.footer_length,
            page_index: file.page_index.map(|span| ByteSpan {
                start: span.start,
                length: span.length,
            }),
        }
    }
}

impl From<&ScanTask> for proto::ScanTask {
    fn from(task: &ScanTask) -> Self {
        let value = |value: &PartitionValue| proto::PartitionValue {
            field_id: value.field.0,
            value: value.value.as_ref().map(Into::into),
        };
        Self {
            file: Some((&task.file).into()),
            rows: task.rows.map(|rows| proto::RowRange {
                start: rows.start,
                end: rows.end,
            }),
            partition_values: task.partition_values.iter().map(value).collect(),
        }
    }
}

impl TryFrom<proto::ScanTask> for ScanTask {
    type Error = DecodeError;

    fn try_from(task: proto::ScanTask) -> Result<Self, DecodeError> {
        let value = |value: proto::PartitionValue| {
            let datum = value.value.map(Datum::try_from).transpose()?;
            Ok(PartitionValue {
                field: FieldId(value.field_id),
                value: datum,
            })
        };
        let values = task.partition_values.into_iter().map(value);
        Ok(Self {
            file: required(task.file, "file")?.into(),
            rows: task.rows.map(|rows| RowRange {
                start: rows.start,
                end: rows.end,
            }),
            partition_values: values.collect::<Result<_, DecodeError>>()?,
        })
    }
}

/// Encodes how columns are found in files.
pub fn encode_mapping(mapping: ColumnMapping) -> i32 {
    match mapping {
        ColumnMapping::ByName => proto::ColumnMapping::ByName,
        ColumnMapping::ByFieldId => proto::ColumnMapping::ByFieldId,
    }
    .into()
}

/// Decodes how columns are found in files.
///
/// # Errors
/// When the value is unknown.
pub fn decode_mapping(mapping: i32) -> Result<ColumnMapping, DecodeError> {
    match proto::ColumnMapping::try_from(mapping) {
        Ok(proto::ColumnMapping::ByName) => Ok(ColumnMapping::ByName),
        Ok(proto::ColumnMapping::ByFieldId) => Ok(ColumnMapping::ByFieldId),
        _ => Err(DecodeError::new(
            "column mapping",
            format!("unknown value {mapping}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datum() -> impl Strategy<Value = Datum> {
        let unit = prop_oneof![
            Just(TimeUnit::Second),
            Just(TimeUnit::Millisecond),
            Just(TimeUnit::Microsecond),
            Just(TimeUnit::Nanosecond)
        ];
        prop_oneof![
            any::<bool>().prop_map(Datum::Boolean),
            any::<i64>().prop_map(Datum::Int),
            any::<u64>().prop_map(Datum::UInt),
            any::<f64>()
                .prop_filter("NaN is not equal to itself", |f| !f.is_nan())
                .prop_map(Datum::Float),
            (any::<i128>(), any::<i8>()).prop_map(|(value, scale)| Datum::Decimal {
                unscaled: i256::from_i128(value),
                scale
            }),
            any::<i32>().prop_map(Datum::Date),
            (any::<i64>(), unit.clone()).prop_map(|(value, unit)| Datum::Time { value, unit }),
            (any::<i64>(), unit, any::<bool>()).prop_map(|(value, unit, utc)| Datum::Timestamp {
                value,
                unit,
                utc
            }),
            any::<Vec<u8>>().prop_map(Datum::Bytes),
        ]
    }

    fn predicate() -> impl Strategy<Value = Predicate> {
        let leaf = prop_oneof![
            Just(Predicate::Always),
            Just(Predicate::Never),
            Just(Predicate::Unknown),
            (
                any::<i32>(),
                "[a-z]{1,4}",
                prop::collection::vec(datum(), 0..4),
                any::<bool>()
            )
                .prop_map(|(field, name, values, nulls)| {
                    Predicate::Column(ColumnPredicate {
                        field: FieldId(field),
                        name,
                        values: ValueSet::points(values),
                        nulls,
                    })
                }),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Predicate::And),
                prop::collection::vec(inner, 0..4).prop_map(Predicate::Or),
            ]
        })
    }

    proptest! {
        #[test]
        fn predicates_survive_the_way_there_and_back(predicate in predicate()) {
            let decoded = Predicate::try_from(proto::Predicate::from(&predicate));
            prop_assert_eq!(decoded, Ok(predicate));
        }

        #[test]
        fn bounds_survive_the_way_there_and_back(
            lower in prop::option::of(datum()),
            upper in prop::option::of(datum()),
            counts in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
        ) {
            let bounds = ColumnBounds {
                lower: lower.map(Bound::outer),
                upper: upper.map(Bound::exact),
                null_count: counts.0,
                nan_count: counts.1,
                row_count: counts.2,
            };
            let decoded = decode_bounds(encode_bounds(FieldId(3), &bounds));
            prop_assert_eq!(decoded, Ok((FieldId(3), bounds)));
        }
    }
}
