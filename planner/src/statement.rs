//! What kind of statement a text is. Pure: parses (see `syntax`), numbers `?` placeholders, and refuses by name what
//! Fulmar does not do. Plans nothing.

use datafusion::common::TableReference;
use datafusion::sql::parser::{CreateExternalTable, Statement as DfStatement};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType, Statement as SqlStatement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use model::TableName;
use model::schema::CATALOG;

use crate::error::PlannerError;
use crate::syntax;

/// A statement by what has to be done with it.
#[derive(Clone, Debug)]
pub(crate) enum Parsed {
    /// It gives rows.
    Query(Box<DfStatement>),
    /// It asks how a query is run.
    Explain(Explain),
    /// It changes the catalog.
    Command(Command),
}

/// An EXPLAIN and the query it is about.
#[derive(Clone, Debug)]
pub(crate) struct Explain {
    /// The query.
    pub(crate) query: Box<DfStatement>,
    /// Whether it is run.
    pub(crate) analyze: bool,
    /// Whether every skipped unit is listed.
    pub(crate) verbose: bool,
}

/// A statement that changes the catalog.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// CREATE EXTERNAL TABLE.
    Create(Box<CreateExternalTable>),
    /// DROP TABLE.
    Drop {
        /// The table.
        table: TableReference,
        /// Whether a missing table is fine.
        if_exists: bool,
    },
    /// REFRESH TABLE: look for files that came and went.
    Refresh(TableReference),
    /// ADOPT TABLE: turn a listing table into a managed one.
    Adopt(TableReference),
}

/// Parses one statement.
///
/// # Errors
/// When the text is not one statement, or one that Fulmar does not run.
pub(crate) fn parse(sql: &str) -> Result<Parsed, PlannerError> {
    let tokens = tokens(sql)?;
    match own_command(&tokens)? {
        Some(command) => Ok(Parsed::Command(command)),
        None => classify(syntax::statement(tokens)?),
    }
}

/// The table that a name in a statement means.
///
/// # Errors
/// When it names another catalog.
pub(crate) fn table_name(
    reference: &TableReference,
    default_schema: &str,
) -> Result<TableName, PlannerError> {
    match reference.catalog() {
        Some(catalog) if catalog != CATALOG => Err(PlannerError::NotFound(format!(
            "table {reference} does not exist: the only catalog is {CATALOG}"
        ))),
        _ => Ok(TableName::new(
            reference.schema().unwrap_or(default_schema),
            reference.table(),
        )),
    }
}

/// The reference that a parsed name is, folded to lower case where it is not quoted.
///
/// # Errors
/// When it has too many parts.
pub(crate) fn reference(name: ObjectName) -> Result<TableReference, PlannerError> {
    Ok(object_name_to_table_reference(name, true)?)
}

/// The name that an identifier means: as it is within quotes, folded to lower case without them.
///
/// # Errors
/// When the text is no identifier.
pub(crate) fn identifier(text: &str) -> Result<String, PlannerError> {
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(text)
        .and_then(|mut parser| {
            let name = parser.parse_identifier()?;
            parser.expect_token(&Token::EOF).map(|_| name)
        })
        .map_err(|error| invalid(error.to_string()))?;
    Ok(match parsed.quote_style {
        Some(_) => parsed.value,
        None => parsed.value.to_lowercase(),
    })
}

fn classify(statement: DfStatement) -> Result<Parsed, PlannerError> {
    match statement {
        DfStatement::CreateExternalTable(create) => {
            Ok(Parsed::Command(Command::Create(Box::new(create))))
        }
        DfStatement::CopyTo(_) => Err(unsupported("COPY")),
        DfStatement::Reset(_) => Err(unsupported("RESET")),
        DfStatement::Explain(explain) => match classify(*explain.statement)? {
            Parsed::Query(query) => Ok(Parsed::Explain(Explain {
                query,
                analyze: explain.options.analyze,
                verbose: explain.options.verbose,
            })),
            _ => Err(unsupported("EXPLAIN of anything but a query")),
        },
        DfStatement::Statement(statement) => classify_sql(*statement),
    }
}

fn classify_sql(statement: SqlStatement) -> Result<Parsed, PlannerError> {
    match statement {
        SqlStatement::Drop {
            object_type: ObjectType::Table,
            if_exists,
            mut names,
            ..
        } => match (names.pop(), names.is_empty()) {
            (Some(name), true) => Ok(Parsed::Command(Command::Drop {
                table: reference(name)?,
                if_exists,
            })),
            _ => Err(unsupported("DROP TABLE of several tables at once")),
        },
        SqlStatement::Query(_)
        | SqlStatement::ShowTables { .. }
        | SqlStatement::ShowColumns { .. }
        | SqlStatement::ShowFunctions { .. }
        | SqlStatement::ShowVariable { .. }
        | SqlStatement::ShowCreate { .. }
        | SqlStatement::ExplainTable { .. } => Ok(Parsed::Query(Box::new(DfStatement::Statement(
            Box::new(statement),
        )))),
        SqlStatement::Set(_) => Err(PlannerError::Unsupported(
            "SET is not supported; set session options through the connection".to_owned(),
        )),
        other => Err(unsupported(&verb(&other.to_string()))),
    }
}

/// The leading keywords of a statement, such as `INSERT INTO` or `CREATE VIEW`.
fn verb(statement: &str) -> String {
    let upper =
        |word: &&str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_uppercase());
    let words: Vec<&str> = statement.split(' ').take_while(upper).take(2).collect();
    match words.as_slice() {
        [] => "this statement".to_owned(),
        words => words.join(" "),
    }
}

/// `REFRESH TABLE name` and `ADOPT TABLE name`, which are ours.
fn own_command(tokens: &[TokenWithSpan]) -> Result<Option<Command>, PlannerError> {
    let first = tokens.iter().find_map(|token| match &token.token {
        Token::Word(word) => Some(word.value.to_ascii_uppercase()),
        _ => None,
    });
    let make: fn(TableReference) -> Command = match first.as_deref() {
        Some("REFRESH") => Command::Refresh,
        Some("ADOPT") => Command::Adopt,
        _ => return Ok(None),
    };
    let mut parser = Parser::new(&GenericDialect {}).with_tokens_with_locations(tokens.to_vec());
    parser.next_token();
    let name = parser
        .expect_keyword(Keyword::TABLE)
        .and_then(|_| parser.parse_object_name(false))
        .and_then(|name| {
            let _ = parser.consume_token(&Token::SemiColon);
            parser.expect_token(&Token::EOF).map(|_| name)
        })
        .map_err(|error| invalid(error.to_string()))?;
    Ok(Some(make(reference(name)?)))
}

/// The tokens with `?` numbered as `$1`, `$2` … in the order of the text.
fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>, PlannerError> {
    let mut tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize_with_location()
        .map_err(|error| invalid(error.to_string()))?;
    let (mut marks, mut numbers) = (0_usize, false);
    for token in &mut tokens {
        if let Token::Placeholder(placeholder) = &mut token.token {
            if placeholder == "?" {
                marks += 1;
                *placeholder = format!("${marks}");
            } else {
                numbers = true;
            }
        }
    }
    if marks > 0 && numbers {
        return Err(invalid("parameters are either ? or $1, $2 …, not both"));
    }
    Ok(tokens)
}

fn invalid(message: impl Into<String>) -> PlannerError {
    PlannerError::Invalid(message.into())
}

fn unsupported(what: &str) -> PlannerError {
    PlannerError::Unsupported(format!("{what} is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(sql: &str) -> String {
        match parse(sql) {
            Ok(Parsed::Query(query)) => format!("query {query}"),
            Ok(Parsed::Explain(explain)) => {
                format!("explain {} {}", explain.analyze, explain.verbose)
            }
            Ok(Parsed::Command(Command::Create(create))) => {
                format!("create {} {:?}", create.name, create.table_partition_cols)
            }
            Ok(Parsed::Command(Command::Drop { table, if_exists })) => {
                format!("drop {table} {if_exists}")
            }
            Ok(Parsed::Command(Command::Refresh(table))) => format!("refresh {table}"),
            Ok(Parsed::Command(Command::Adopt(table))) => format!("adopt {table}"),
            Err(error) => format!("error {error}"),
        }
    }

    #[test]
    fn statements_are_told_apart() {
        for (sql, expected) in [
            ("SELECT 1;", "query SELECT 1"),
            ("VALUES (1)", "query VALUES (1)"),
            ("SELECT ? + ?, '?'", "query SELECT $1 + $2, '?'"),
            ("EXPLAIN SELECT 1", "explain false false"),
            ("EXPLAIN ANALYZE VERBOSE SELECT 1", "explain true true"),
            ("DROP TABLE IF EXISTS Orders", "drop orders true"),
            (
                "refresh table fulmar.main.orders;",
                "refresh fulmar.main.orders",
            ),
            ("ADOPT TABLE \"Orders\"", "adopt Orders"),
            (
                "CREATE EXTERNAL TABLE o STORED AS PARQUET PARTITIONED BY (month) LOCATION '/d/'",
                "create o [\"month\"]",
            ),
        ] {
            assert_eq!(kind(sql), expected, "{sql}");
        }
    }

    #[test]
    fn identifiers_are_folded_unless_they_are_quoted() {
        for (text, name) in [
            ("Month", "month"),
            ("\"Month\"", "Month"),
            ("\"a \"\"b\"\"\"", "a \"b\""),
        ] {
            assert_eq!(identifier(text).unwrap(), name, "{text}");
        }
        assert!(identifier("a b").is_err());
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        for (sql, expected) in [
            (
                "INSERT INTO t VALUES (1)",
                "error INSERT INTO is not supported",
            ),
            ("UPDATE t SET a = 1", "error UPDATE is not supported"),
            ("DELETE FROM t", "error DELETE FROM is not supported"),
            (
                "CREATE VIEW v AS SELECT 1",
                "error CREATE VIEW is not supported",
            ),
            (
                "CREATE TABLE t (a INT)",
                "error CREATE TABLE is not supported",
            ),
            ("COPY t TO 'x'", "error COPY is not supported"),
            ("SELECT 1; SELECT 2", "error one statement at a time, not 2"),
            ("", "error there is no statement"),
            (
                "SELECT ? + $1",
                "error parameters are either ? or $1, $2 …, not both",
            ),
        ] {
            assert_eq!(kind(sql), expected, "{sql}");
        }
        assert!(kind("SELEC 1").starts_with("error "));
        assert!(kind("REFRESH orders").starts_with("error "));
    }

    #[test]
    fn names_are_completed_and_other_catalogs_do_not_exist() {
        let name = |text: &str| table_name(&TableReference::from(text), "main");
        assert_eq!(name("orders").unwrap(), TableName::main("orders"));
        assert_eq!(
            name("system.queries").unwrap(),
            TableName::new("system", "queries")
        );
        assert_eq!(
            name("fulmar.main.orders").unwrap(),
            TableName::main("orders")
        );
        assert!(matches!(
            name("x.main.orders"),
            Err(PlannerError::NotFound(_))
        ));
    }
}
