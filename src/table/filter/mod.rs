//! Which rows are wanted.

mod list;
mod params;
mod sql;
#[cfg(test)]
mod tests;

use std::fmt;

use super::text::{self, TextCondition};
use crate::error::{InvalidValue, ReadError};
use crate::row::{Condition, IntoValue, TableShape, Value, column_sql};

pub use params::IntoFilterParams;

/// So deep is nesting that SQLite takes, with the rest of the statement around it.
const GREATEST_DEPTH: usize = 200;
/// Longer chains are written in halves: SQLite takes `a OR b OR c` for `(a OR b) OR c`, and refuses what is nested more
/// than 1,000 deep.
const LONGEST_FLAT: usize = 16;

/// Which rows of a table are wanted: conditions on columns, or SQL, joined with [`and`](Self::and) and
/// [`or`](Self::or).
///
/// Making one never fails. What is wrong with it is said by the read that it is given to, before anything is
/// queued: [`ReadError::UnknownColumn`], [`ReadError::InvalidValue`], [`ReadError::InvalidFilter`]. `Debug` shows
/// no values.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use walwright::Filter;
///
/// #[derive(Serialize, Deserialize)]
/// struct Message { id: i64, room: String, at: i64, text: Option<String> }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, room TEXT, at INTEGER, text TEXT)", ()).wait()?;
/// # store.execute("INSERT INTO message VALUES (1, 'a', 10, 'up 50%'), (2, 'b', 20, '500'), (3, 'a', 30, NULL)", ()).wait()?;
/// let messages = store.table::<Message>("message").open().wait()?;
/// let in_a = Filter::eq("room", "a");
/// assert_eq!(messages.count_where(in_a.clone()).wait()?, 2);
/// assert_eq!(messages.count_where(in_a.clone().and(Filter::sql("at > ?", (10,)))).wait()?, 1);
/// assert_eq!(messages.count_where(Filter::contains("text", "50%").or(Filter::is_null("text"))).wait()?, 2);
/// assert_eq!(messages.count_where(Filter::any_of("id", [1, 2, 7])).wait()?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Filter {
    node: Node,
    depth: usize,
}

#[derive(Clone)]
enum Node {
    Sql(Condition),
    Column { name: String, test: Test },
    All(Vec<Self>),
    Any(Vec<Self>),
    Refused(Refusal),
}

#[derive(Clone)]
enum Test {
    Is(Value),
    AnyOf(Vec<Value>),
    Text { text: String, how: fn(&str, &str) -> TextCondition },
}

/// What is wrong with a filter whatever the table is.
#[derive(Clone)]
enum Refusal {
    Value(InvalidValue),
    Sql(&'static str),
}

impl Filter {
    /// A condition in SQL, as it could stand behind WHERE. Its parameters are `?`, by position.
    ///
    /// It stands between parentheses of its own, so `OR` in it does not reach further. A semicolon, a quote, comment
    /// or parenthesis that is not closed, one that is closed but was not opened, numbered and named parameters,
    /// and another number of `?` than of values are [`ReadError::InvalidFilter`]. Within its parentheses
    /// it is SQL like any other and may look at other tables: do not make it of texts that others wrote; that is
    /// what parameters are for.
    pub fn sql(sql: impl Into<String>, params: impl IntoFilterParams) -> Self {
        let sql = sql.into();
        Self::leaf(match (sql::parameters_of(&sql), params.into_filter_params()) {
            (Err(reason), _) => Node::Refused(Refusal::Sql(reason)),
            (_, Err(error)) => Node::Refused(Refusal::Value(error)),
            (Ok(wanted), Ok(params)) if wanted != params.len() => {
                Node::Refused(Refusal::Sql("it has another number of ? than there are values"))
            }
            (_, Ok(params)) => Node::Sql(Condition { sql, params }),
        })
    }

    /// The column holds this value; NULL (`None`) is what [`is_null`](Self::is_null) finds. Values compare as the
    /// column does: by its collation, and after the conversion that its declared type makes.
    pub fn eq(column: impl Into<String>, value: impl IntoValue) -> Self {
        match value.into_value() {
            Ok(value) => Self::column(column, Test::Is(value)),
            Err(error) => Self::leaf(Node::Refused(Refusal::Value(error.at(1, Some(&column.into()))))),
        }
    }

    /// The column holds NULL.
    pub fn is_null(column: impl Into<String>) -> Self {
        Self::column(column, Test::Is(Value::Null))
    }

    /// The column holds one of these values, of which there may be many; a NULL among them finds NULL. No
    /// value: no row. Of real numbers, and of texts with NUL in them, there can be 10,000; a long list
    /// travels as one value, for which [`StoreBuilder::largest_value`](crate::StoreBuilder::largest_value) holds.
    pub fn any_of<V: IntoValue>(column: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        match params::values_of(values) {
            Ok(values) => Self::column(column, Test::AnyOf(values)),
            Err(error) => {
                let error = InvalidValue { name: Some(column.into()), ..error };
                Self::leaf(Node::Refused(Refusal::Value(error)))
            }
        }
    }

    /// The column contains this text, in any case of the letters A to Z and of no others: `é` does not find `É`.
    /// Nothing in the text has another meaning: `%`, `_`, `\`, `*`, `?`, `[` and quotes find themselves. A
    /// text with NUL or of more than 50,000 bytes is compared [exactly](Self::contains_exactly).
    ///
    /// No index helps: every row is looked at that the other conditions leave. To search much text, make a
    /// [search index](crate::Table::search_index).
    pub fn contains(column: impl Into<String>, text: impl Into<String>) -> Self {
        Self::text(column, text, text::contains)
    }

    /// The column contains this text, byte for byte.
    pub fn contains_exactly(column: impl Into<String>, text: impl Into<String>) -> Self {
        Self::text(column, text, text::contains_exactly)
    }

    /// The column starts with this text; otherwise like [`contains`](Self::contains).
    pub fn starts_with(column: impl Into<String>, text: impl Into<String>) -> Self {
        Self::text(column, text, text::starts_with)
    }

    /// The column starts with this text, byte for byte.
    pub fn starts_with_exactly(column: impl Into<String>, text: impl Into<String>) -> Self {
        Self::text(column, text, text::starts_with_exactly)
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let depth = self.depth.max(other.depth) + 1;
        match self.node {
            // A long chain is no deep one.
            Node::All(mut all) => {
                all.push(other.node);
                Self { node: Node::All(all), depth: self.depth.max(other.depth + 1) }
            }
            node => Self { node: Node::All(vec![node, other.node]), depth },
        }
        .shallow()
    }

    /// At least one of them holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let depth = self.depth.max(other.depth) + 1;
        match self.node {
            Node::Any(mut any) => {
                any.push(other.node);
                Self { node: Node::Any(any), depth: self.depth.max(other.depth + 1) }
            }
            node => Self { node: Node::Any(vec![node, other.node]), depth },
        }
        .shallow()
    }

    fn leaf(node: Node) -> Self {
        Self { node, depth: 0 }
    }

    fn column(column: impl Into<String>, test: Test) -> Self {
        Self::leaf(Node::Column { name: column.into(), test })
    }

    fn text(
        column: impl Into<String>,
        text: impl Into<String>,
        how: fn(&str, &str) -> TextCondition,
    ) -> Self {
        Self::column(column, Test::Text { text: text.into(), how })
    }

    fn shallow(self) -> Self {
        if self.depth <= GREATEST_DEPTH {
            return self;
        }
        Self::leaf(Node::Refused(Refusal::Sql("its conditions are nested too deeply")))
    }

    /// The condition on the rows of this table.
    pub(super) fn condition(&self, table: &TableShape) -> Result<Condition, ReadError> {
        let mut condition = Condition::default();
        self.node.write(table, &mut condition)?;
        Ok(condition)
    }
}

impl Node {
    fn write(&self, table: &TableShape, to: &mut Condition) -> Result<(), ReadError> {
        match self {
            // The end of the line ends a comment.
            Self::Sql(condition) => to.add(&format!("({}\n)", condition.sql), &condition.params),
            Self::Column { name, test } => {
                let column = known_column(table, name)?;
                test.write(&column_sql(table, column), to)?;
            }
            Self::All(nodes) => join(nodes, " AND ", table, to)?,
            Self::Any(nodes) => join(nodes, " OR ", table, to)?,
            Self::Refused(Refusal::Value(error)) => return Err(error.clone().into()),
            Self::Refused(Refusal::Sql(reason)) => return Err(invalid(reason)),
        }
        Ok(())
    }
}

impl Test {
    fn write(&self, column: &str, to: &mut Condition) -> Result<(), ReadError> {
        match self {
            Self::Is(Value::Null) => to.add(&format!("{column} IS NULL"), &[]),
            Self::Is(value) => to.add(&format!("{column} = ?"), std::slice::from_ref(value)),
            Self::AnyOf(values) => {
                let condition = list::any_of(column, values).map_err(invalid)?;
                to.add(&format!("({})", condition.sql), &condition.params);
            }
            Self::Text { text, how } => {
                let (sql, value) = how(column, text);
                to.add(&sql, &[value]);
            }
        }
        Ok(())
    }
}

fn join(nodes: &[Node], word: &str, table: &TableShape, to: &mut Condition) -> Result<(), ReadError> {
    to.sql += "(";
    if nodes.len() > LONGEST_FLAT {
        let (one, other) = nodes.split_at(nodes.len() / 2);
        join(one, word, table, to)?;
        to.sql += word;
        join(other, word, table, to)?;
    } else {
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                to.sql += word;
            }
            node.write(table, to)?;
        }
    }
    to.sql += ")";
    Ok(())
}

/// The place of a column that a caller names.
pub(super) fn known_column(table: &TableShape, name: &str) -> Result<usize, ReadError> {
    let unknown = || ReadError::UnknownColumn { table: table.name.clone(), column: name.to_owned() };
    table.column(name).ok_or_else(unknown)
}

fn invalid(reason: &str) -> ReadError {
    ReadError::InvalidFilter { reason: reason.to_owned() }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl fmt::Debug for Node {
    // Hand-written: values stay out of logs, and SQL may hold some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(condition) => {
                f.debug_struct("Sql").field("params", &condition.params.len()).finish_non_exhaustive()
            }
            Self::Column { name, .. } => f.debug_tuple("Column").field(name).finish(),
            Self::All(nodes) => f.debug_tuple("All").field(nodes).finish(),
            Self::Any(nodes) => f.debug_tuple("Any").field(nodes).finish(),
            Self::Refused(_) => f.write_str("Refused"),
        }
    }
}
