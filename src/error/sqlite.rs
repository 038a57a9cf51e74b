//! An error that SQLite reported, without the values that were bound to the statement.

use std::fmt;

use rusqlite::ffi;

use crate::contained::Contained;

/// An error of SQLite, with its codes.
///
/// The text never holds a value of a row or a parameter. SQLite's own wording is shown only where it
/// is known to name parts of the schema or of the SQL text (a constraint, a statement that could not be
/// prepared); elsewhere the standard text of the code stands in for it. So it does for the message of a
/// trigger's RAISE, which can be computed from the row. The underlying [`rusqlite::Error`] is kept as
/// [`source`](std::error::Error::source), with SQLite's own wording.
pub struct SqliteError {
    extended: i32,
    text: String,
    /// Boxed, so that the enums that carry this stay small. It can hold an error of the caller's, with the
    /// caller's destructor.
    source: Contained<Box<rusqlite::Error>>,
}

impl SqliteError {
    /// The primary result code, such as 19 for `SQLITE_CONSTRAINT`.
    pub fn code(&self) -> i32 {
        self.extended & 0xff
    }

    /// The extended result code, such as 2067 for `SQLITE_CONSTRAINT_UNIQUE`.
    ///
    /// Equal to [`code`](Self::code) where SQLite has nothing more precise to say.
    pub fn extended_code(&self) -> i32 {
        self.extended
    }

    /// The error as rusqlite gave it. Its text may hold SQL and values: keep it out of logs.
    pub fn as_rusqlite(&self) -> &rusqlite::Error {
        self.source.get()
    }

    /// Whether a constraint of the schema refused the change.
    pub fn is_constraint(&self) -> bool {
        self.code() == ffi::SQLITE_CONSTRAINT
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(source: rusqlite::Error) -> Self {
        let extended = match &source {
            rusqlite::Error::SqliteFailure(error, _) => error.extended_code,
            rusqlite::Error::SqlInputError { error, .. } => error.extended_code,
            _ => ffi::SQLITE_ERROR,
        };
        let text = describe(&source, extended);
        Self { extended, text, source: Contained::new(Box::new(source)) }
    }
}

/// Wording that cannot carry a value: SQLite's message where it speaks of the schema, else the code's.
fn describe(source: &rusqlite::Error, extended: i32) -> String {
    match source {
        rusqlite::Error::SqliteFailure(_, Some(message)) if names_schema(message, extended) => {
            message.clone()
        }
        rusqlite::Error::SqliteFailure(error, _) => ffi::code_to_str(error.extended_code).to_owned(),
        rusqlite::Error::SqlInputError { msg, .. } => format!("the SQL could not be prepared: {msg}"),
        rusqlite::Error::QueryReturnedNoRows => "the query returned no row".to_owned(),
        rusqlite::Error::QueryReturnedMoreThanOneRow => "the query returned more than one row".to_owned(),
        rusqlite::Error::MultipleStatement => {
            "the text holds more than one statement; send each by itself, in a batch or in a closure"
                .to_owned()
        }
        rusqlite::Error::Empty => "the text holds no statement".to_owned(),
        rusqlite::Error::ExecuteReturnedResults => {
            "the statement returns rows; use a call that takes them".to_owned()
        }
        rusqlite::Error::InvalidParameterCount(given, expected) => {
            format!("the statement takes {expected} parameters, {given} were given")
        }
        rusqlite::Error::InvalidParameterName(name) => format!("the statement has no parameter named {name}"),
        rusqlite::Error::InvalidColumnIndex(index) => format!("the row has no column {index}"),
        rusqlite::Error::InvalidColumnName(name) => format!("the row has no column named {name}"),
        rusqlite::Error::InvalidColumnType(_, name, kind) => {
            format!("column {name} holds a value of type {kind}, which the wanted type cannot take")
        }
        rusqlite::Error::FromSqlConversionFailure(index, kind, _) => {
            format!("the value of type {kind} in column {index} does not convert to the wanted type")
        }
        rusqlite::Error::IntegralValueOutOfRange(index, _) => {
            format!("the integer in column {index} does not fit the wanted type")
        }
        rusqlite::Error::ToSqlConversionFailure(_) => "a parameter cannot be stored in SQLite".to_owned(),
        rusqlite::Error::Utf8Error(index, _) => format!("the text in column {index} is not UTF-8"),
        _ => "SQLite refused the call".to_owned(),
    }
}

/// Whether SQLite's message names parts of the schema and nothing else.
fn names_schema(message: &str, extended: i32) -> bool {
    match extended {
        ffi::SQLITE_CONSTRAINT_CHECK
        | ffi::SQLITE_CONSTRAINT_DATATYPE
        | ffi::SQLITE_CONSTRAINT_FOREIGNKEY
        | ffi::SQLITE_CONSTRAINT_NOTNULL
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID
        | ffi::SQLITE_CONSTRAINT_UNIQUE => true,
        // What cannot be prepared mostly comes with its place in the text, as an `SqlInputError`; these come
        // without. "no such column" must not be among them: FTS5 says it of a word that was searched for.
        ffi::SQLITE_ERROR => {
            let of_missing = [
                "no such table: ",
                "no such view: ",
                "no such index: ",
                "no such trigger: ",
                "no such vfs: ",
            ];
            let of_table = message.starts_with("table ")
                && (message.contains(" has no column named ") || message.ends_with(" values were supplied"));
            message == "incomplete input" || of_table || of_missing.iter().any(|of| message.starts_with(of))
        }
        _ => false,
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLite code {})", self.text, self.extended)
    }
}

impl fmt::Debug for SqliteError {
    // Hand-written: the derived form would print rusqlite's error, which may hold SQL and values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteError").field("extended", &self.extended).field("text", &self.text).finish()
    }
}

impl std::error::Error for SqliteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&**self.source.get())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn text(connection: &Connection, sql: &str) -> String {
        SqliteError::from(connection.execute_batch(sql).unwrap_err()).to_string()
    }

    #[test]
    fn what_is_wrong_with_the_sql_is_named() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)").unwrap();
        for (sql, named) in [
            ("SELECT * FROM absent", "no such table: absent"),
            ("DROP INDEX absent", "no such index: absent"),
            ("INSERT INTO t (absent) VALUES (1)", "table t has no column named absent"),
            ("INSERT INTO t VALUES (1, 2)", "table t has 1 columns but 2 values were supplied"),
            ("SELECT", "incomplete input"),
            ("SELECT absent", "no such column: absent"),
            ("INSERT INTO t VALUES (1)", "UNIQUE constraint failed: t.a"),
        ] {
            let text = text(&connection, sql);
            assert!(text.contains(named), "{text}");
        }
    }

    /// A message of RAISE can be an expression since SQLite 3.47.
    #[test]
    fn what_a_message_takes_from_rows_or_parameters_is_not_shown() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t (a);
                 CREATE TRIGGER refuse BEFORE INSERT ON t
                 BEGIN SELECT RAISE(ABORT, 'not ' || new.a) WHERE new.a <> 'x'; END;
                 CREATE VIRTUAL TABLE f USING fts5(a);",
            )
            .unwrap();
        for sql in [
            "INSERT INTO t VALUES ('secret')",
            "SELECT json_extract('{}', 'secret')",
            "SELECT * FROM f WHERE f MATCH 'secret:word'",
        ] {
            let error = SqliteError::from(connection.execute_batch(sql).unwrap_err());
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
            assert!(error.as_rusqlite().to_string().contains("secret"), "{error}");
        }
    }
}
