//! A program: a schema with rows in it, handles, and what is sent through them.

use std::fmt;

use crate::command::Sent;

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub schema: Schema,
    pub handles: Vec<Handle>,
    pub commands: Vec<Sent>,
    /// The writer has met its tables before the program begins. What it has not met it carries out by itself.
    pub is_warm: bool,
    /// SQLite checks the file at its end.
    pub is_checked: bool,
    /// It is carried out one command at a time as well.
    pub is_run_one_by_one: bool,
    /// What its schema was drawn for.
    pub hazards: Vec<&'static str>,
}

/// A schema in pieces, each of which can be left out.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Columns of the table `t`; without any there is no such table, unless `others` makes it.
    pub columns: Vec<Column>,
    /// Constraints of the table `t`.
    pub constraints: Vec<String>,
    /// STRICT, WITHOUT ROWID.
    pub options: Vec<&'static str>,
    /// Statements that make everything else.
    pub others: Vec<String>,
    /// Statements that fill it. One that fails is no loss.
    pub rows: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// Its type and its constraints.
    pub clauses: Vec<String>,
}

/// A handle of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    pub table: String,
    /// The columns of its key.
    pub key: Vec<String>,
    /// The key is not the primary key, and is named when the table is opened.
    pub names_key: bool,
    pub revision: Option<Revision>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    Counter(String),
    Sequence(String),
}

impl Schema {
    /// The statements that make it.
    pub fn statements(&self) -> Vec<String> {
        let table = (!self.columns.is_empty()).then(|| {
            let columns = self.columns.iter().map(Column::to_string);
            let parts: Vec<String> = columns.chain(self.constraints.iter().cloned()).collect();
            format!("CREATE TABLE t({}) {}", parts.join(", "), self.options.join(", "))
        });
        table.into_iter().chain(self.others.iter().cloned()).collect()
    }
}

impl Handle {
    pub fn new(table: &str, key: &[&str]) -> Self {
        let key = key.iter().map(|column| (*column).to_owned()).collect();
        let revision = Some(Revision::Counter("rev".to_owned()));
        Self { table: table.to_owned(), key, names_key: false, revision }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.clauses.iter().filter(|clause| !clause.is_empty()).try_for_each(|clause| write!(f, " {clause}"))
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table({:?})", self.table)?;
        if self.names_key {
            write!(f, ".key({:?})", self.key)?;
        }
        match &self.revision {
            None => Ok(()),
            Some(Revision::Counter(column)) => write!(f, ".revision({column:?})"),
            Some(Revision::Sequence(column)) => write!(f, ".revision_by_sequence({column:?})"),
        }
    }
}

/// Everything but the commands.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for statement in self.schema.statements().iter().chain(&self.schema.rows) {
            writeln!(f, "  {statement};")?;
        }
        let used: Vec<usize> = self.commands.iter().flat_map(|sent| sent.command.handles()).collect();
        for (at, handle) in self.handles.iter().enumerate().filter(|(at, _)| used.contains(at)) {
            writeln!(f, "  h{at} = {handle}")?;
        }
        if self.is_warm { Ok(()) } else { writeln!(f, "  the writer has not met its tables") }
    }
}
