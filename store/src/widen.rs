//! Which types hold every value of which other types, unchanged and in the same order. Pure.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

/// The type of the two that holds every value of the other, at any depth; `None` when neither does.
pub fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b || widens(b, a) {
        return Some(a.clone());
    }
    if widens(a, b) {
        return Some(b.clone());
    }
    nested(a, b)
}

fn nested(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::List(a), DataType::List(b)) => common_field(a, b).map(DataType::List),
        (DataType::LargeList(a), DataType::LargeList(b)) => {
            common_field(a, b).map(DataType::LargeList)
        }
        (DataType::FixedSizeList(a, n), DataType::FixedSizeList(b, m)) if n == m => {
            Some(DataType::FixedSizeList(common_field(a, b)?, *n))
        }
        (DataType::Map(a, sorted_a), DataType::Map(b, sorted_b)) => {
            Some(DataType::Map(common_field(a, b)?, *sorted_a && *sorted_b))
        }
        (DataType::Struct(a), DataType::Struct(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b.iter());
            let fields = pairs.map(|(a, b)| (a.name() == b.name()).then(|| common_field(a, b))?);
            fields
                .collect::<Option<Vec<_>>>()
                .map(|fields| DataType::Struct(fields.into()))
        }
        _ => None,
    }
}

fn common_field(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let data_type = common_type(a.data_type(), b.data_type())?;
    let nullable = a.is_nullable() || b.is_nullable();
    Some(Arc::new(Field::new(a.name(), data_type, nullable)))
}

/// Whether every value of `from` is the same value in `to`, in the same order. True of a type and
/// itself.
pub fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    if from == to {
        return true;
    }
    match (from, to) {
        (T::Null, _)
        | (T::Int8, T::Int16 | T::Int32 | T::Int64)
        | (T::Int16, T::Int32 | T::Int64)
        | (T::Int32, T::Int64)
        | (T::UInt8, T::UInt16 | T::UInt32 | T::UInt64 | T::Int16 | T::Int32 | T::Int64)
        | (T::UInt16, T::UInt32 | T::UInt64 | T::Int32 | T::Int64)
        | (T::UInt32, T::UInt64 | T::Int64)
        | (T::Float16, T::Float32 | T::Float64)
        | (T::Float32, T::Float64)
        | (T::Utf8, T::LargeUtf8)
        | (T::Binary, T::LargeBinary)
        | (T::FixedSizeBinary(_), T::Binary | T::LargeBinary) => true,
        // An instant is the same in each zone; only the way it is shown differs.
        (T::Timestamp(a, za), T::Timestamp(b, zb)) => {
            za.is_some() == zb.is_some() && (a == b && za != zb || coarser(*a, *b))
        }
        _ => decimals(from, to),
    }
}

/// Whether bounds of values of `from` are bounds of the same values once they are read as `to`: each is
/// then the same value, or none that can be read at all. Weaker than [`widens`], which decides the type of
/// a table and so must not leave values unreadable.
pub fn comparable(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    if widens(from, to) {
        return true;
    }
    match (from, to) {
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8 | T::Utf8View)
        | (
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_),
            T::Binary | T::LargeBinary | T::BinaryView,
        ) => true,
        // A finer unit has every instant, or no room for it; a coarser one cuts it to another.
        (T::Timestamp(a, za), T::Timestamp(b, zb)) => za.is_some() == zb.is_some() && a <= b,
        (T::Time32(a) | T::Time64(a), T::Time32(b) | T::Time64(b)) => a <= b,
        _ => false,
    }
}

/// Seconds to nanoseconds and the like may overflow, so only steps that cannot in practice count:
/// seconds and milliseconds to microseconds or milliseconds.
fn coarser(from: TimeUnit, to: TimeUnit) -> bool {
    matches!(
        (from, to),
        (
            TimeUnit::Second,
            TimeUnit::Millisecond | TimeUnit::Microsecond
        ) | (TimeUnit::Millisecond, TimeUnit::Microsecond)
    )
}

fn decimals(from: &DataType, to: &DataType) -> bool {
    let (Some((p1, s1)), Some((p2, s2))) = (decimal(from), decimal(to)) else {
        return false;
    };
    let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
    s2 >= s1 && whole(p2, s2) >= whole(p1, s1)
}

fn decimal(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lossless_changes_widen() {
        use DataType as T;
        let utc = || Some("UTC".into());
        let yes = [
            (T::Int8, T::Int64),
            (T::UInt32, T::Int64),
            (T::Float32, T::Float64),
            (T::Null, T::Utf8),
            (T::Decimal128(10, 2), T::Decimal128(12, 4)),
            (T::Decimal32(9, 2), T::Decimal256(50, 10)),
            (
                T::Timestamp(TimeUnit::Millisecond, None),
                T::Timestamp(TimeUnit::Microsecond, None),
            ),
            (
                T::Timestamp(TimeUnit::Second, utc()),
                T::Timestamp(TimeUnit::Second, Some("Europe/Paris".into())),
            ),
        ];
        for (from, to) in yes {
            assert!(widens(&from, &to), "{from} to {to}");
            assert!(
                !widens(&to, &from) || matches!(to, T::Timestamp(_, Some(_))),
                "{to} to {from}"
            );
        }
        let no = [
            (T::UInt64, T::Int64),
            (T::Int32, T::UInt64),
            (T::Int64, T::Float64),
            (T::Binary, T::Utf8),
            (T::Decimal128(10, 2), T::Decimal128(10, 4)),
            (T::Decimal128(12, 4), T::Decimal128(14, 2)),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Second, utc()),
            ),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Nanosecond, None),
            ),
            (T::Date32, T::Timestamp(TimeUnit::Second, None)),
            (T::Date32, T::Int32),
        ];
        for (from, to) in no {
            assert!(!widens(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn bounds_hold_where_values_stay_what_they_are() {
        use DataType as T;
        let ts = |unit, zone: Option<&str>| T::Timestamp(unit, zone.map(Into::into));
        let yes = [
            (T::Int32, T::Int64),
            (T::LargeUtf8, T::Utf8),
            (T::Utf8, T::Utf8View),
            (T::FixedSizeBinary(4), T::BinaryView),
            (
                ts(TimeUnit::Microsecond, None),
                ts(TimeUnit::Nanosecond, None),
            ),
            (
                ts(TimeUnit::Second, Some("UTC")),
                ts(TimeUnit::Nanosecond, Some("+01:00")),
            ),
            (
                T::Time32(TimeUnit::Millisecond),
                T::Time64(TimeUnit::Microsecond),
            ),
        ];
        for (from, to) in yes {
            assert!(comparable(&from, &to), "{from} to {to}");
        }
        let no = [
            (T::Int64, T::Int32),
            (T::Binary, T::Utf8),
            (
                ts(TimeUnit::Nanosecond, None),
                ts(TimeUnit::Microsecond, None),
            ),
            (
                ts(TimeUnit::Second, None),
                ts(TimeUnit::Second, Some("UTC")),
            ),
            (T::Date32, ts(TimeUnit::Second, None)),
            (T::Float64, T::Float32),
        ];
        for (from, to) in no {
            assert!(!comparable(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn nested_types_widen_by_their_parts() {
        let list = |inner: DataType| DataType::new_list(inner, false);
        let common = common_type(&list(DataType::Int32), &list(DataType::Int64));
        assert_eq!(common, Some(list(DataType::Int64)));
        assert_eq!(
            common_type(&list(DataType::Int32), &list(DataType::Utf8)),
            None
        );
    }
}
