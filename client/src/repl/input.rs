//! From typed lines to commands: where a statement ends, and what a backslash means. Pure.

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Statement(String),
    Tables,
    Columns(String),
    Report(bool),
    Help,
    Quit,
    Unknown(String),
}

impl Command {
    /// How it was typed, for the history.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Statement(sql) => format!("{sql};"),
            Self::Tables => "\\d".to_owned(),
            Self::Columns(name) => format!("\\d {name}"),
            Self::Report(true) => "\\report on".to_owned(),
            Self::Report(false) => "\\report off".to_owned(),
            Self::Help => "\\?".to_owned(),
            Self::Quit => "\\q".to_owned(),
            Self::Unknown(text) => text.clone(),
        }
    }
}

/// The lines of a statement that has not ended.
#[derive(Debug, Default)]
pub(super) struct Input {
    pending: String,
}

impl Input {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Adds a line and gives the commands that are complete with it.
    pub(super) fn push(&mut self, line: &str) -> Vec<Command> {
        if self.is_empty() && line.trim_start().starts_with('\\') {
            return vec![backslash(line.trim().trim_end_matches(';'))];
        }
        if self.is_empty() && matches!(line.trim().trim_end_matches(';'), "quit" | "exit") {
            return vec![Command::Quit];
        }
        if !self.is_empty() {
            self.pending.push('\n');
        }
        self.pending.push_str(line);
        let (statements, rest) = split(&self.pending);
        self.pending = rest;
        statements.into_iter().map(Command::Statement).collect()
    }
}

fn backslash(text: &str) -> Command {
    let words: Vec<&str> = text.split_whitespace().collect();
    // Quoted names may hold spaces.
    let after = |command| text.trim_start_matches(command).trim().to_owned();
    match words.as_slice() {
        ["\\q"] => Command::Quit,
        ["\\?" | "\\h" | "\\help"] => Command::Help,
        ["\\d" | "\\dt"] => Command::Tables,
        ["\\d", ..] => Command::Columns(after("\\d")),
        ["\\report", "on"] | ["\\report"] => Command::Report(true),
        ["\\report", "off"] => Command::Report(false),
        _ => Command::Unknown(text.to_owned()),
    }
}

/// Splits text at the semicolons that end statements: those outside of strings, quoted names and
/// comments. Gives the statements and what has not ended; statements of nothing are left out.
pub(crate) fn split(text: &str) -> (Vec<String>, String) {
    let mut statements = Vec::new();
    let mut start = 0;
    let mut within = Within::Statement;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let (then, two) = within.step(character, next);
        if two {
            characters.next();
        }
        if within == Within::Statement && character == ';' {
            statements.push(text.get(start..at).unwrap_or_default().trim().to_owned());
            start = at + 1;
        }
        within = then;
    }
    statements.retain(|statement| !statement.is_empty());
    let rest = text.get(start..).unwrap_or_default();
    let rest = if rest.trim().is_empty() {
        ""
    } else {
        rest.trim_start()
    };
    (statements, rest.to_owned())
}

/// Where a character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Statement,
    Quotes(char),
    LineComment,
    BlockComment,
}

impl Within {
    /// Where the next character stands, and whether it was looked at too.
    fn step(self, character: char, next: Option<char>) -> (Self, bool) {
        match (self, character, next) {
            (Self::Statement, '\'' | '"', _) => (Self::Quotes(character), false),
            (Self::Statement, '-', Some('-')) => (Self::LineComment, true),
            (Self::Statement, '/', Some('*')) => (Self::BlockComment, true),
            (Self::Quotes(quote), _, _) if character == quote => (Self::Statement, false),
            (Self::LineComment, '\n', _) => (Self::Statement, false),
            (Self::BlockComment, '*', Some('/')) => (Self::Statement, true),
            (within, _, _) => (within, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_at_a_semicolon_that_is_not_quoted_or_commented() {
        for (text, statements, rest) in [
            ("SELECT 1;", vec!["SELECT 1"], ""),
            ("SELECT 1; SELECT 2;", vec!["SELECT 1", "SELECT 2"], ""),
            ("SELECT 1", vec![], "SELECT 1"),
            ("SELECT ';'; x", vec!["SELECT ';'"], "x"),
            ("SELECT 'it''s;';", vec!["SELECT 'it''s;'"], ""),
            ("SELECT \"a;b\";", vec!["SELECT \"a;b\""], ""),
            ("SELECT 1 -- a; b\n;", vec!["SELECT 1 -- a; b"], ""),
            ("SELECT /* ; */ 1;", vec!["SELECT /* ; */ 1"], ""),
            (" ;; ", vec![], ""),
        ] {
            let (found, left) = split(text);
            assert_eq!(
                (found, left.as_str()),
                (statements.iter().map(ToString::to_string).collect(), rest),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_are_gathered_until_the_statement_ends() {
        let mut input = Input::default();
        assert_eq!(input.push("SELECT 1"), []);
        assert!(!input.is_empty());
        assert_eq!(
            input.push("+ 1;"),
            [Command::Statement("SELECT 1\n+ 1".to_owned())]
        );
        assert!(input.is_empty());
    }

    #[test]
    fn backslashes_are_commands() {
        for (line, command) in [
            ("\\q", Command::Quit),
            ("exit", Command::Quit),
            ("\\d", Command::Tables),
            (" \\d orders; ", Command::Columns("orders".to_owned())),
            (
                "\\d main.\"My Table\"",
                Command::Columns("main.\"My Table\"".to_owned()),
            ),
            ("\\report on", Command::Report(true)),
            ("\\report off", Command::Report(false)),
            ("\\?", Command::Help),
            ("\\nope", Command::Unknown("\\nope".to_owned())),
        ] {
            assert_eq!(Input::default().push(line), [command], "{line}");
        }
    }
}
