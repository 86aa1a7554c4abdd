//! What a session can set, and what each option means. Owns the names and the checks; keeps no
//! sessions.

use std::collections::BTreeMap;

use model::schema::{CATALOG, DEFAULT_SCHEMA};

use crate::error::PlannerError;

/// `catalog`: the catalog of names that give none; there is one.
pub const OPTION_CATALOG: &str = "catalog";

/// `schema`: the schema of names that give none.
pub const OPTION_SCHEMA: &str = "schema";

/// `endpoints`: `many` (the default) or `single` for clients that read only the first endpoint.
pub const OPTION_ENDPOINTS: &str = "endpoints";

/// `time_zone`: the zone in which timestamps without one are understood, such as `+02:00`.
pub const OPTION_TIME_ZONE: &str = "time_zone";

/// Who asks, and with which options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The identity of the session; empty for calls outside of any.
    pub id: String,
    /// On whose behalf.
    pub principal: String,
    /// Options by name; see [`check_option`].
    pub options: BTreeMap<String, String>,
}

impl Session {
    /// The schema of names that give none.
    pub fn schema(&self) -> &str {
        self.options
            .get(OPTION_SCHEMA)
            .map_or(DEFAULT_SCHEMA, String::as_str)
    }

    /// Whether the client reads only one endpoint.
    pub fn single_endpoint(&self) -> bool {
        self.options
            .get(OPTION_ENDPOINTS)
            .is_some_and(|value| value == "single")
    }
}

/// Checks the name and the value of an option before it is kept.
///
/// # Errors
/// When there is no such option or it does not take the value.
pub fn check_option(name: &str, value: &str) -> Result<(), PlannerError> {
    let wrong = |expected: &str| {
        let message = format!("session option {name:?} must be {expected}, not {value:?}");
        Err(PlannerError::Invalid(message))
    };
    match name {
        OPTION_CATALOG if value == CATALOG => Ok(()),
        OPTION_CATALOG => wrong("\"fulmar\""),
        OPTION_SCHEMA if !value.is_empty() => Ok(()),
        OPTION_SCHEMA => wrong("the name of a schema"),
        OPTION_ENDPOINTS if ["single", "many"].contains(&value) => Ok(()),
        OPTION_ENDPOINTS => wrong("\"single\" or \"many\""),
        OPTION_TIME_ZONE if value.parse::<arrow::array::timezone::Tz>().is_ok() => Ok(()),
        OPTION_TIME_ZONE => wrong("a time zone such as +02:00 or Europe/Paris"),
        _ => Err(PlannerError::Invalid(format!(
            "there is no session option {name:?}; known: {OPTION_CATALOG}, {OPTION_ENDPOINTS}, \
             {OPTION_SCHEMA}, {OPTION_TIME_ZONE}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked_by_name_and_value() {
        for (name, value, good) in [
            ("catalog", "fulmar", true),
            ("catalog", "other", false),
            ("schema", "main", true),
            ("schema", "", false),
            ("endpoints", "single", true),
            ("endpoints", "two", false),
            ("time_zone", "Europe/Paris", true),
            ("time_zone", "Mars", false),
            ("colour", "blue", false),
        ] {
            assert_eq!(check_option(name, value).is_ok(), good, "{name}={value}");
        }
    }
}
