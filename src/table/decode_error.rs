//! Why a stored row does not fit the program's type.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Write};

use serde::de::{self, Expected, Unexpected};

/// A stored row does not fit the type that it was to become.
///
/// It names the column, what was found in it and what was expected, and never the value: it can be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(
    // Every field of every row is a `Result` with this error: one word keeps it cheap.
    Box<Inner>,
);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    column: Option<String>,
    problem: Problem,
}

#[derive(Clone, PartialEq, Eq)]
enum Problem {
    Mismatch { found: &'static str, expected: String },
    Missing,
    Unknown,
    Duplicate,
    Refused { message: String },
}

impl DecodeError {
    fn new(problem: Problem) -> Self {
        Self(Box::new(Inner { column: None, problem }))
    }

    fn of_column(column: &str, problem: Problem) -> Self {
        Self(Box::new(Inner { column: Some(column.to_owned()), problem }))
    }

    pub(super) fn mismatch(found: &'static str, expected: &dyn Expected) -> Self {
        Self::new(Problem::Mismatch { found, expected: text_of(&expected) })
    }

    pub(super) fn missing(column: &str) -> Self {
        Self::of_column(column, Problem::Missing)
    }

    /// The error, in this column unless it is known to be in another.
    pub(super) fn in_column(mut self, column: &str) -> Self {
        self.0.column.get_or_insert_with(|| column.to_owned());
        self
    }

    /// The column; `None` if it is not known, in a part of the row that goes through `#[serde(flatten)]`, or if
    /// the row as a whole does not fit.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// What was found, in words and without the value: `NULL`, `an integer`, `text`...; `None` if the column is
    /// missing or not wanted, or the type refused the value for reasons of its own.
    pub fn found(&self) -> Option<&str> {
        match &self.0.problem {
            Problem::Mismatch { found, .. } => Some(found),
            _ => None,
        }
    }

    /// What was expected, in the words of the type; `None` as with [`found`](Self::found).
    pub fn expected(&self) -> Option<&str> {
        match &self.0.problem {
            Problem::Mismatch { expected, .. } => Some(expected),
            _ => None,
        }
    }

    /// What the `Deserialize` of the field's type said, if it refused the value for reasons of its own. It may
    /// repeat the value, so neither `Display` nor `Debug` shows it.
    pub fn message(&self) -> Option<&str> {
        match &self.0.problem {
            Problem::Refused { message } => Some(message),
            _ => None,
        }
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.0.column {
            Some(column) => Cow::Owned(format!("column {column}")),
            None => Cow::Borrowed("the row, or a flattened part of it,"),
        };
        match &self.0.problem {
            Problem::Mismatch { found, expected } => {
                write!(f, "{place} holds {found} where the type expects {expected}")?;
                match (*found, expected.as_str()) {
                    ("NULL", _) => write!(f, "; make the field an Option, or the column NOT NULL"),
                    ("an integer", "a boolean") if self.0.column.is_none() => {
                        write!(f, "; serde does not turn 0 and 1 into a bool there: use an integer type")
                    }
                    _ => Ok(()),
                }
            }
            Problem::Missing => write!(
                f,
                "{place} is not among those that were read; rename the field to a column of the table, or give \
                 it #[serde(default)]"
            ),
            Problem::Unknown => {
                write!(f, "{place} has no field in the type, and the type refuses unknown columns")
            }
            Problem::Duplicate => write!(f, "{place} fills a field that another column filled already"),
            Problem::Refused { .. } => {
                write!(f, "{place} holds a value that the type refuses for reasons of its own")
            }
        }
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodeError({self})")
    }
}

impl Error for DecodeError {}

// serde's own texts repeat the value; these do not.
impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Problem::Refused { message: text_of(&message) })
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Unit | Unexpected::Option => "NULL",
            Unexpected::Bool(_) => "a boolean",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
            Unexpected::Float(_) => "a real number",
            Unexpected::Char(_) | Unexpected::Str(_) => "text",
            Unexpected::Bytes(_) => "a BLOB",
            Unexpected::Seq => "a sequence",
            Unexpected::Map => "a row of columns",
            Unexpected::UnitVariant => "text that names a variant without data",
            _ => "something else",
        };
        Self::mismatch(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer that does not fit",
            Unexpected::Float(_) => "a real number that does not fit",
            Unexpected::Char(_) | Unexpected::Str(_) => "text that does not fit",
            Unexpected::Bytes(_) => "a BLOB that does not fit",
            _ => "a value that does not fit",
        };
        Self::mismatch(found, expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::mismatch("a BLOB of another length", expected)
    }

    fn unknown_variant(_: &str, variants: &'static [&'static str]) -> Self {
        let found = "text that names none of its variants";
        Self::new(Problem::Mismatch { found, expected: format!("one of {}", variants.join(", ")) })
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::of_column(field, Problem::Unknown)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of_column(field, Problem::Duplicate)
    }
}

/// Like `to_string`, which panics for a `Display` that fails.
fn text_of(shown: &dyn Display) -> String {
    let mut text = String::new();
    match write!(text, "{shown}") {
        Ok(()) => text,
        Err(_) => "something that does not say what it is".to_owned(),
    }
}
