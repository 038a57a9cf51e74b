//! What programs declare: which rows are to go away.

use std::time::Duration;

/// Which rows of a table go away by themselves. Given to [`StoreBuilder::retention`](crate::StoreBuilder::retention).
///
/// The store removes them in small slices between what callers send, in groups that they share with others, so that
/// it is hardly felt. Each slice is all or none and durable like any delete; triggers and foreign-key actions of the
/// table are carried out. How many rows were removed, how far it is behind and whether it keeps up is in
/// [`Stats::chores`](crate::Stats::chores).
///
/// ```
/// use std::time::Duration;
/// use walwright::{Migration, Retention, Store, TimeUnit};
///
/// const MIGRATIONS: &[Migration] = &[Migration::sql(
///     "CREATE TABLE session (id TEXT PRIMARY KEY NOT NULL, expires_at_ms INTEGER);
///      CREATE INDEX session_expires ON session (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
///      CREATE TABLE message (id INTEGER PRIMARY KEY, buffer INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT);
///      CREATE INDEX message_place ON message (buffer, at);
///      CREATE INDEX message_at ON message (at);",
/// )];
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chat.db");
/// let store = Store::builder(path)
///     .migrations(MIGRATIONS)
///     .retention(Retention::of("session").expires("expires_at_ms", TimeUnit::Milliseconds))
///     .retention(Retention::of("message").newest(5_000, "buffer", "at"))
///     .retention(Retention::of("message").older_than("at", TimeUnit::Seconds, Duration::from_secs(365 * 86_400)))
///     .open()
///     .wait()?;
/// # store.close().wait()?;
/// # Ok(())
/// # }
/// ```
///
/// # What it needs
///
/// Each rule needs an index that begins with the columns that it names, or the primary key: without it a sweep would
/// read the whole table each time. A partial index will do if SQLite can tell that it holds all rows that the rule is
/// about. Table, columns and index are looked for after the migrations, and opening fails with
/// [`OpenError::Retention`](crate::OpenError::Retention) if one is missing.
///
/// # What it does not do
///
/// It does not look at what readers see: a row is there until it is removed, which may be seconds after its time. It
/// goes on where it stood after a crash. If a row cannot be deleted (a foreign key or a trigger refuses it), the
/// policy stops there and says so in the log and in `stats()`; it tries again, at longer and longer intervals up to a
/// minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    pub(crate) table: String,
    pub(crate) rule: Rule,
}

/// A table whose rule is still to be named. Made by [`Retention::of`].
#[derive(Clone, Debug)]
#[must_use = "without a rule nothing goes away"]
pub struct RetentionOf {
    table: String,
}

/// Which rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Expires { column: String, unit: TimeUnit },
    OlderThan { column: String, unit: TimeUnit, age: Duration },
    Newest { count: u32, group: String, order: String },
    FileAtMost { bytes: u64, order: String },
}

/// What the numbers of a time column count, since the beginning of 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Retention {
    /// Starts a policy for the rows of a table of the database, named in any case.
    pub fn of(table: impl Into<String>) -> RetentionOf {
        RetentionOf { table: table.into() }
    }

    /// What it is called in the log and in `stats()`.
    pub(crate) fn name(&self) -> String {
        let table = &self.table;
        match &self.rule {
            Rule::Expires { column, .. } => format!("expire {table}.{column}"),
            Rule::OlderThan { column, .. } => format!("age of {table}.{column}"),
            Rule::Newest { group, .. } => format!("newest of {table}.{group}"),
            Rule::FileAtMost { order, .. } => format!("size of the file by {table}.{order}"),
        }
    }
}

impl RetentionOf {
    /// Rows go when the time in this column has come.
    ///
    /// The column holds numbers. NULL never expires, and neither does a text or a BLOB; a column of type TEXT is
    /// refused. The time is that of the wall clock (see
    /// [`StoreBuilder::wall_clock`](crate::StoreBuilder::wall_clock)): a clock that steps back delays what expires, and
    /// one that steps forward does what it says. Nothing goes before the clock has reached its time, to the whole
    /// unit. With [`TableBuilder::hide_expired`](crate::TableBuilder::hide_expired) reads of a table leave out rows that
    /// have expired and are not removed yet.
    pub fn expires(self, column: impl Into<String>, unit: TimeUnit) -> Retention {
        self.with(Rule::Expires { column: column.into(), unit })
    }

    /// Rows go when the time in this column is so long ago. NULL, other values and the clock: as for
    /// [`expires`](Self::expires).
    pub fn older_than(self, column: impl Into<String>, unit: TimeUnit, age: Duration) -> Retention {
        self.with(Rule::OlderThan { column: column.into(), unit, age })
    }

    /// Of each group the newest `count` rows stay: those that come last by the column `order`. `count` is at least 1.
    ///
    /// A group is the rows with one value in the column `group`, as its collation compares; rows with NULL there are
    /// in no group and stay. Rows that are equal in `order` count by rowid, which mostly is the order in which they
    /// were inserted; in a table WITHOUT ROWID by the primary key. NULL in `order` is older than everything. The index
    /// begins with `group` and `order`.
    ///
    /// Only groups that grew are looked at. The store knows which did from row commands. All groups are looked at, a few
    /// in each slice, after opening and after all that does not tell: statements, closures,
    /// [`modify`](crate::Table::modify), fix-ups, other programs, row commands whose triggers or foreign-key actions
    /// may write to the table, and more than 1,024 groups that grew at once. What triggers add while a policy removes
    /// rows is found with the next such look. A look at a group reads `count` entries of the index: 5,000 take some
    /// tenths of a millisecond, so `count` should not be many thousands where groups are many.
    pub fn newest(self, count: u32, group: impl Into<String>, order: impl Into<String>) -> Retention {
        self.with(Rule::Newest { count: count.max(1), group: group.into(), order: order.into() })
    }

    /// While the data in the *database file* takes more than `bytes`, the rows go that come first by the column
    /// `order`. Rows with NULL there stay.
    ///
    /// It is the pages in use that count, of all tables and indexes: those that are free, and that the file may still
    /// hold, do not (see [`StoreBuilder::reclaim_space`](crate::StoreBuilder::reclaim_space)). So the table should be
    /// the one that makes the file large: if others do, this one is emptied, and the file stays as it is.
    pub fn file_at_most(self, bytes: u64, order: impl Into<String>) -> Retention {
        self.with(Rule::FileAtMost { bytes, order: order.into() })
    }

    fn with(self, rule: Rule) -> Retention {
        Retention { table: self.table, rule }
    }
}

impl Rule {
    /// The columns that its index has to begin with.
    pub(crate) fn columns(&self) -> Vec<&str> {
        match self {
            Self::Expires { column, .. } | Self::OlderThan { column, .. } => vec![column],
            Self::Newest { group, order, .. } => vec![group, order],
            Self::FileAtMost { order, .. } => vec![order],
        }
    }

    /// The column that holds a time.
    pub(crate) fn time_column(&self) -> Option<&str> {
        match self {
            Self::Expires { column, .. } | Self::OlderThan { column, .. } => Some(column),
            Self::Newest { .. } | Self::FileAtMost { .. } => None,
        }
    }
}

impl TimeUnit {
    fn nanoseconds(self) -> i128 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }

    /// So many nanoseconds in whole units, rounded down. What is beyond the range of a column is its end.
    pub(crate) fn floor(self, nanoseconds: i128) -> i64 {
        let units = nanoseconds.div_euclid(self.nanoseconds());
        i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
    }

    /// How long so many units are; nothing if they are negative.
    pub(crate) fn duration(self, units: i128) -> Duration {
        let nanoseconds = units.saturating_mul(self.nanoseconds()).max(0);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_range_of_a_column_is_its_end() {
        assert_eq!(TimeUnit::Nanoseconds.floor(i128::from(i64::MAX) + 1), i64::MAX);
        assert_eq!(TimeUnit::Nanoseconds.floor(i128::from(i64::MIN) - 1), i64::MIN);
        assert_eq!(TimeUnit::Seconds.duration(i128::MAX), Duration::from_nanos(u64::MAX));
        assert_eq!(TimeUnit::Seconds.duration(-1), Duration::ZERO);
    }
}
