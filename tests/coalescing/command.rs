//! What a program sends to the store.

use std::fmt;

use walwright::{AckLevel, Value};

use crate::literal::Literal;

/// One command and how it is sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub command: Command,
    pub level: AckLevel,
    pub deadline: Deadline,
    /// Everything before it is answered before it is sent: it begins another group.
    pub after_pause: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    None,
    /// One that nobody lives to see.
    Far,
    /// It has passed when the command's turn comes.
    Passed,
}

#[derive(Clone, Debug)]
pub enum Command {
    Row(RowCall),
    Batch(Vec<Part>),
    Bulk(BulkCall),
    Modify(ModifyCall),
    Statement(String),
    Closure { statements: Vec<String>, ending: Ending },
}

/// A row command. Handles go by their number in the program.
#[derive(Clone, Debug)]
pub struct RowCall {
    pub handle: usize,
    pub op: Op,
    /// `None`: an insert or upsert that leaves the key to the database.
    pub key: Option<Vec<Value>>,
    pub set: Vec<(String, Value)>,
    /// Only of an update: columns that are changed by what they hold.
    pub adjust: Vec<(String, Adjust)>,
    /// Only of an update: the row is made if it is not there.
    pub or_insert: bool,
    pub if_revision: Option<i64>,
    pub only_if: Option<(String, Value)>,
}

#[derive(Clone, Debug)]
pub enum Adjust {
    Add(i64),
    Raise(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Insert,
    InsertOrIgnore,
    Upsert,
    Update,
    Delete,
}

#[derive(Clone, Debug)]
pub enum Part {
    Row(RowCall),
    Statement(String),
}

#[derive(Clone, Debug)]
pub struct BulkCall {
    pub handle: usize,
    pub work: Bulk,
    pub is_atomic: bool,
}

#[derive(Clone, Debug)]
pub enum Bulk {
    DeleteMany(Vec<Vec<Value>>),
    DeleteWhere(String, Value),
    UpdateMany(Vec<Vec<Value>>, (String, Value)),
    UpdateWhere(String, Value, (String, Value)),
    /// The rows of these calls.
    InsertMany(Op, Vec<RowCall>),
}

/// A read-modify-write.
#[derive(Clone, Debug)]
pub struct ModifyCall {
    pub handle: usize,
    pub key: Vec<Value>,
    pub column: String,
    pub change: Change,
}

/// What a read-modify-write does to its column.
#[derive(Clone, Debug)]
pub enum Change {
    Set(Value),
    /// One more, if it is a small integer; else 1.
    Count,
    Nothing,
    Fail,
    Panic,
}

/// How a closure ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Well,
    Error,
    Panic,
}

impl From<Command> for Sent {
    fn from(command: Command) -> Self {
        Self { command, level: AckLevel::Committed, deadline: Deadline::None, after_pause: false }
    }
}

impl From<RowCall> for Sent {
    fn from(call: RowCall) -> Self {
        Command::Row(call).into()
    }
}

impl RowCall {
    pub fn new(handle: usize, op: Op, key: Vec<Value>) -> Self {
        let (set, adjust) = (Vec::new(), Vec::new());
        Self { handle, op, key: Some(key), set, adjust, or_insert: false, if_revision: None, only_if: None }
    }

    pub fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.set.push((column.to_owned(), value.into()));
        self
    }
}

impl Command {
    /// The handles that it uses.
    pub fn handles(&self) -> Vec<usize> {
        match self {
            Self::Row(call) => vec![call.handle],
            Self::Batch(parts) => parts.iter().filter_map(Part::handle).collect(),
            Self::Bulk(call) => vec![call.handle],
            Self::Modify(call) => vec![call.handle],
            Self::Statement(_) | Self::Closure { .. } => Vec::new(),
        }
    }
}

impl Part {
    fn handle(&self) -> Option<usize> {
        match self {
            Self::Row(call) => Some(call.handle),
            Self::Statement(_) => None,
        }
    }
}

/// As a reader would write it, with the handles as `h0`, `h1`, and so on.
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.after_pause {
            f.write_str("(next group) ")?;
        }
        self.command.fmt(f)?;
        match self.deadline {
            Deadline::None => {}
            Deadline::Far => f.write_str(".deadline(far)")?,
            Deadline::Passed => f.write_str(".deadline(passed)")?,
        }
        if self.level == AckLevel::Committed { Ok(()) } else { write!(f, ".ack({:?})", self.level) }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(call) => call.fmt(f),
            Self::Batch(parts) => {
                f.write_str("batch[")?;
                for (at, part) in parts.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    match part {
                        Part::Row(call) => call.fmt(f)?,
                        Part::Statement(sql) => write!(f, "{sql:?}")?,
                    }
                }
                f.write_str("]")
            }
            Self::Bulk(call) => call.fmt(f),
            Self::Modify(ModifyCall { handle, key, column, change }) => {
                write!(f, "h{handle}.modify({}, {column}: {change:?})", Literal::list(key))
            }
            Self::Statement(sql) => write!(f, "execute({sql:?})"),
            Self::Closure { statements, ending } => write!(f, "write({statements:?}, {ending:?})"),
        }
    }
}

impl fmt::Display for RowCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.op {
            Op::Insert => "insert",
            Op::InsertOrIgnore => "insert_or_ignore",
            Op::Upsert => "upsert",
            Op::Update => "update",
            Op::Delete => "delete",
        };
        let key = self.key.as_ref().map_or_else(|| "no key".to_owned(), |key| Literal::list(key));
        write!(f, "h{}.{name}({key})", self.handle)?;
        for (column, value) in &self.set {
            write!(f, ".set({column}, {})", Literal(value))?;
        }
        for (column, adjust) in &self.adjust {
            match adjust {
                Adjust::Add(by) => write!(f, ".add({column}, {by})")?,
                Adjust::Raise(value) => write!(f, ".set_greatest({column}, {})", Literal(value))?,
            }
        }
        f.write_str(if self.or_insert { ".or_insert()" } else { "" })?;
        if let Some(revision) = self.if_revision {
            write!(f, ".if_revision({revision})")?;
        }
        if let Some((column, value)) = &self.only_if {
            write!(f, ".only_if({column}, {})", Literal(value))?;
        }
        Ok(())
    }
}

impl fmt::Display for BulkCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = |keys: &[Vec<Value>]| {
            let keys: Vec<String> = keys.iter().map(|key| Literal::list(key)).collect();
            keys.join("; ")
        };
        write!(f, "h{}.", self.handle)?;
        match &self.work {
            Bulk::DeleteMany(of) => write!(f, "delete_many({})", keys(of)),
            Bulk::DeleteWhere(column, value) => write!(f, "delete_where({column}, {})", Literal(value)),
            Bulk::UpdateMany(of, (column, value)) => {
                write!(f, "update_many({}).set({column}, {})", keys(of), Literal(value))
            }
            Bulk::UpdateWhere(column, value, (set, to)) => {
                write!(f, "update_where({column}, {}).set({set}, {})", Literal(value), Literal(to))
            }
            Bulk::InsertMany(op, rows) => {
                let rows: Vec<String> = rows.iter().map(RowCall::to_string).collect();
                write!(f, "many({op:?}: {})", rows.join(", "))
            }
        }?;
        f.write_str(if self.is_atomic { ".atomic()" } else { "" })
    }
}
