//! `GetSqlInfo`: what this server is and can do. Owns the values; their types follow what the JDBC
//! driver casts them to, because a wrong type breaks its whole metadata. Ids that are not in the
//! protocol break it too, so there are none.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{CommandGetSqlInfo, SqlInfo as I};
use arrow_flight::sql::{
    SqlNullOrdering, SqlSupportedCaseSensitivity as Case, SqlSupportedTransaction,
};
use datafusion::functions;
use datafusion::logical_expr::ScalarUDF;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;

use crate::error::PlannerError;

const ARROW_FORMAT_VERSION: &str = "1.5.0";

static FACTS: LazyLock<Result<SqlInfoData, String>> = LazyLock::new(|| {
    let mut facts = SqlInfoDataBuilder::new();
    server(&mut facts);
    names(&mut facts);
    words(&mut facts);
    syntax(&mut facts);
    structure(&mut facts);
    limits(&mut facts);
    transactions(&mut facts);
    results(&mut facts);
    facts.build().map_err(|error| error.to_string())
});

/// The schema of the answer.
pub(crate) fn schema() -> SchemaRef {
    Arc::new(SqlInfoDataBuilder::schema().clone())
}

/// The facts that were asked for, all without ids; unknown ids give no row.
pub(crate) fn batch(command: CommandGetSqlInfo) -> Result<RecordBatch, PlannerError> {
    let facts = FACTS
        .as_ref()
        .map_err(|error| PlannerError::Internal(error.clone()))?;
    command
        .into_builder(facts)
        .build()
        .map_err(|error| PlannerError::Internal(error.to_string()))
}

fn server(facts: &mut SqlInfoDataBuilder) {
    facts.append(I::FlightSqlServerName, "Fulmar");
    facts.append(I::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    facts.append(I::FlightSqlServerArrowVersion, ARROW_FORMAT_VERSION);
    // Tables are created and dropped here, though rows are not written.
    facts.append(I::FlightSqlServerReadOnly, false);
    facts.append(I::FlightSqlServerSql, true);
    facts.append(I::FlightSqlServerSubstrait, false);
    facts.append(
        I::FlightSqlServerTransaction,
        SqlSupportedTransaction::None as i32,
    );
    facts.append(I::FlightSqlServerCancel, true);
    facts.append(I::FlightSqlServerBulkIngestion, false);
    facts.append(I::FlightSqlServerIngestTransactionsSupported, false);
    facts.append(I::FlightSqlServerStatementTimeout, 0_i32);
    facts.append(I::FlightSqlServerTransactionTimeout, 0_i32);
}

fn names(facts: &mut SqlInfoDataBuilder) {
    facts.append(I::SqlDdlCatalog, false);
    facts.append(I::SqlDdlSchema, false);
    facts.append(I::SqlDdlTable, true);
    facts.append(
        I::SqlIdentifierCase,
        Case::SqlCaseSensitivityLowercase as i32,
    );
    facts.append(I::SqlIdentifierQuoteChar, "\"");
    // Quoted names are taken as they are written; the protocol has no word for that.
    facts.append(
        I::SqlQuotedIdentifierCase,
        Case::SqlCaseSensitivityUnknown as i32,
    );
    facts.append(I::SqlAllTablesAreSelectable, true);
    facts.append(I::SqlSearchStringEscape, "\\");
    facts.append(I::SqlExtraNameCharacters, "");
    facts.append(I::SqlSchemaTerm, "schema");
    facts.append(I::SqlProcedureTerm, "procedure");
    facts.append(I::SqlCatalogTerm, "catalog");
    facts.append(I::SqlCatalogAtStart, true);
}

/// The functions are those that are registered, not a list that grows old.
fn words(facts: &mut SqlInfoDataBuilder) {
    let keywords: Vec<String> = ALL_KEYWORDS.iter().map(|&word| word.to_owned()).collect();
    facts.append(I::SqlKeywords, keywords);
    facts.append(
        I::SqlNumericFunctions,
        function_names(&functions::math::functions()),
    );
    let mut texts = functions::string::functions();
    texts.extend(functions::unicode::functions());
    texts.extend(functions::regex::functions());
    texts.extend(functions::encoding::functions());
    texts.extend(functions::crypto::functions());
    facts.append(I::SqlStringFunctions, function_names(&texts));
    facts.append(
        I::SqlSystemFunctions,
        function_names(&functions::core::functions()),
    );
    facts.append(
        I::SqlDatetimeFunctions,
        function_names(&functions::datetime::functions()),
    );
}

fn function_names(functions: &[Arc<ScalarUDF>]) -> Vec<String> {
    let mut names: Vec<String> = functions
        .iter()
        .map(|function| function.name().to_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn syntax(facts: &mut SqlInfoDataBuilder) {
    facts.append(
        I::SqlNullOrdering,
        SqlNullOrdering::SqlNullsSortedHigh as i32,
    );
    facts.append(I::SqlSupportsColumnAliasing, true);
    facts.append(I::SqlNullPlusNullIsNull, true);
    facts.append(I::SqlSupportsConvert, BTreeMap::<i32, Vec<i32>>::new());
    facts.append(I::SqlSupportsTableCorrelationNames, true);
    facts.append(I::SqlSupportsDifferentTableCorrelationNames, false);
    facts.append(I::SqlSupportsExpressionsInOrderBy, true);
    facts.append(I::SqlSupportsOrderByUnrelated, true);
    // Bits: columns unrelated to, and beyond, the select list.
    facts.append(I::SqlSupportedGroupBy, 0b11_i32);
    facts.append(I::SqlSupportsLikeEscapeClause, true);
    facts.append(I::SqlSupportsNonNullableColumns, true);
    // Bits: minimum and core grammar of ODBC; entry level of ANSI SQL-92.
    facts.append(I::SqlSupportedGrammar, 0b11_i32);
    facts.append(I::SqlAnsi92SupportedLevel, 0b1_i32);
    facts.append(I::SqlSupportsIntegrityEnhancementFacility, false);
    // Bits by ordinal: limited (1) and full (2) outer joins.
    facts.append(I::SqlOuterJoinsSupportLevel, 0b110_i32);
    facts.append(I::SqlSupportedSubqueries, 0b0111_i32);
    facts.append(I::SqlCorrelatedSubqueriesSupported, true);
    facts.append(I::SqlSupportedUnions, 0b11_i32);
}

fn structure(facts: &mut SqlInfoDataBuilder) {
    facts.append(I::SqlSchemasSupportedActions, 0_i32);
    facts.append(I::SqlCatalogsSupportedActions, 0_i32);
    facts.append(I::SqlSupportedPositionedCommands, 0_i32);
    facts.append(I::SqlSelectForUpdateSupported, false);
    facts.append(I::SqlStoredProceduresSupported, false);
    facts.append(I::SqlStoredFunctionsUsingCallSyntaxSupported, false);
    facts.append(I::SqlNamedParametersSupported, false);
    facts.append(I::SqlLocatorsUpdateCopy, false);
    facts.append(I::SqlBatchUpdatesSupported, true);
    facts.append(I::SqlMaxRowSizeIncludesBlobs, true);
}

/// Zero means without a limit, or unknown.
fn limits(facts: &mut SqlInfoDataBuilder) {
    for limit in [
        I::SqlMaxBinaryLiteralLength,
        I::SqlMaxCharLiteralLength,
        I::SqlMaxColumnNameLength,
        I::SqlMaxColumnsInGroupBy,
        I::SqlMaxColumnsInIndex,
        I::SqlMaxColumnsInOrderBy,
        I::SqlMaxColumnsInSelect,
        I::SqlMaxColumnsInTable,
        I::SqlMaxConnections,
        I::SqlMaxCursorNameLength,
        I::SqlMaxIndexLength,
        I::SqlDbSchemaNameLength,
        I::SqlMaxProcedureNameLength,
        I::SqlMaxCatalogNameLength,
        I::SqlMaxRowSize,
        I::SqlMaxStatementLength,
        I::SqlMaxStatements,
        I::SqlMaxTableNameLength,
        I::SqlMaxTablesInSelect,
        I::SqlMaxUsernameLength,
    ] {
        facts.append(limit, 0_i64);
    }
}

fn transactions(facts: &mut SqlInfoDataBuilder) {
    // The protocol says int32, but the JDBC driver and the reference servers use int64.
    facts.append(I::SqlDefaultTransactionIsolation, 0_i64);
    facts.append(I::SqlTransactionsSupported, false);
    // Bit of the level "none".
    facts.append(I::SqlSupportedTransactionsIsolationLevels, 0b1_i32);
    facts.append(I::SqlDataDefinitionCausesTransactionCommit, false);
    facts.append(I::SqlDataDefinitionsInTransactionsIgnored, false);
    facts.append(I::SqlSavepointsSupported, false);
}

/// Results are read once, forward, and cannot be changed.
fn results(facts: &mut SqlInfoDataBuilder) {
    facts.append(I::SqlSupportedResultSetTypes, 0b10_i32);
    facts.append(I::SqlSupportedConcurrenciesForResultSetUnspecified, 0_i32);
    facts.append(
        I::SqlSupportedConcurrenciesForResultSetForwardOnly,
        0b10_i32,
    );
    facts.append(
        I::SqlSupportedConcurrenciesForResultSetScrollSensitive,
        0_i32,
    );
    facts.append(
        I::SqlSupportedConcurrenciesForResultSetScrollInsensitive,
        0_i32,
    );
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringArray};
    use arrow::datatypes::UInt32Type;

    use super::*;

    fn ask(ids: &[u32]) -> RecordBatch {
        batch(CommandGetSqlInfo { info: ids.to_vec() }).unwrap()
    }

    #[test]
    fn without_ids_every_fact_of_the_protocol_is_given_and_no_other() {
        let all = ask(&[]);
        assert_eq!(all.schema(), schema());
        let ids = all.column(0).as_primitive::<UInt32Type>();
        for id in ids.values() {
            assert!(I::try_from(i32::try_from(*id).unwrap()).is_ok(), "{id}");
        }
        let expected = (0..=5).chain(8..=11).chain(100..=101).chain(500..=576);
        assert_eq!(ids.values().to_vec(), expected.collect::<Vec<u32>>());
    }

    #[test]
    fn asked_facts_have_the_type_that_drivers_cast_to() {
        // Children of the union: 0 text, 1 boolean, 2 int64, 3 int32, 4 list, 5 map.
        for (id, child) in [
            (0, 0),
            (3, 1),
            (8, 3),
            (504, 0),
            (508, 4),
            (517, 5),
            (541, 2),
            (562, 2),
        ] {
            let batch = ask(&[id]);
            assert_eq!(batch.num_rows(), 1, "{id}");
            let union = batch.column(1).as_union();
            assert_eq!(union.type_id(0), child, "{id}");
        }
    }

    #[test]
    fn unknown_ids_are_left_out() {
        assert_eq!(ask(&[12_345, 0]).num_rows(), 1);
        assert_eq!(ask(&[12_345]).num_rows(), 0);
    }

    #[test]
    fn functions_are_listed() {
        let batch = ask(&[509]);
        let value = batch.column(1).as_union().value(0);
        let names = value.as_list::<i32>().value(0);
        let names: &StringArray = names.as_string();
        assert!(names.iter().flatten().any(|name| name == "abs"));
    }
}
