//! Reasons for what was skipped.

use model::{Condition, Level, Reason};

use super::DecodeError;
use crate::proto;

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
            more: reason.more,
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
            more: reason.more,
        })
    }
}
