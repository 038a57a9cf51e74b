//! The model: what the commands of one client do to its rows.

use std::collections::BTreeSet;

use walwright::{AckLevel, ClosureError, Outcome, Tx};

/// Rows of one client.
pub const ROWS: usize = 6;
/// A row that is always there and that nobody changes.
pub const SENTINEL: i64 = 0;

/// The values of a client's rows.
pub type State = [Option<u32>; ROWS];

/// A change of one row.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Fails if the row is there.
    Insert(usize, u32),
    Put(usize, u32),
    /// A delete and an insert: SQLite's authorizer does not see the delete.
    Replace(usize, u32),
    Update(usize, u32),
    Delete(usize),
}

/// How a closure ends after its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Well,
    Error,
    Panic,
    /// By a statement that makes SQLite roll back the whole transaction.
    RollbackReturned,
    /// The same, and the closure says that all went well.
    RollbackIgnored,
    /// A statement fails by itself, and the closure goes on.
    ConstraintIgnored,
}

/// One command.
#[derive(Clone, Debug)]
pub enum Action {
    Statement(Op),
    InsertOrRollback(usize, u32),
    Batch(Vec<Op>),
    Closure(Vec<Op>, Ending),
    Flush,
}

impl Op {
    pub fn sql(self) -> &'static str {
        match self {
            Self::Insert(..) => "INSERT INTO item (id, value) VALUES (?1, ?2)",
            Self::Put(..) => {
                "INSERT INTO item (id, value) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET value = ?2"
            }
            Self::Replace(..) => "INSERT OR REPLACE INTO item (id, value) VALUES (?1, ?2)",
            Self::Update(..) => "UPDATE item SET value = ?2 WHERE id = ?1",
            Self::Delete(_) => "DELETE FROM item WHERE id = ?1 AND ?2 IS NULL",
        }
    }

    pub fn params(self, client: usize) -> (i64, Option<u32>) {
        match self {
            Self::Insert(row, value)
            | Self::Put(row, value)
            | Self::Replace(row, value)
            | Self::Update(row, value) => (id(client, row), Some(value)),
            Self::Delete(row) => (id(client, row), None),
        }
    }

    fn apply(self, state: &mut State) -> Option<()> {
        match self {
            Self::Insert(row, _) if state[row].is_some() => return None,
            Self::Insert(row, value) | Self::Put(row, value) | Self::Replace(row, value) => {
                state[row] = Some(value)
            }
            Self::Update(row, value) => state[row] = state[row].map(|_| value),
            Self::Delete(row) => state[row] = None,
        }
        Some(())
    }

    fn deletes(self) -> bool {
        matches!(self, Self::Delete(_) | Self::Replace(..))
    }
}

/// The id of a client's row.
pub fn id(client: usize, row: usize) -> i64 {
    (1 + client as i64) * 100 + row as i64
}

impl Action {
    /// The state after the command, or none if it fails by itself.
    fn apply(&self, mut state: State) -> Option<State> {
        match self {
            Self::Statement(op) => op.apply(&mut state)?,
            Self::InsertOrRollback(row, value) => Op::Insert(*row, *value).apply(&mut state)?,
            Self::Batch(ops) => ops.iter().try_for_each(|op| op.apply(&mut state))?,
            Self::Closure(ops, ending) => {
                ops.iter().try_for_each(|op| op.apply(&mut state))?;
                if !matches!(ending, Ending::Well | Ending::ConstraintIgnored) {
                    return None;
                }
            }
            Self::Flush => {}
        }
        Some(state)
    }

    /// Whether it is acknowledged only when it is durable.
    pub fn is_durable_at(&self, level: AckLevel) -> bool {
        let deletes = match self {
            Self::Statement(op) => op.deletes(),
            Self::Batch(ops) | Self::Closure(ops, _) => ops.iter().any(|op| op.deletes()),
            Self::InsertOrRollback(..) => false,
            Self::Flush => true,
        };
        level == AckLevel::Durable || deletes
    }

    /// Whether it is a closure whose success leaves a line in the table `journal`.
    pub fn is_in_journal(&self) -> bool {
        matches!(self, Self::Closure(..))
    }
}

/// What the closure of that action does.
pub fn carry_out(
    tx: &Tx<'_>,
    client: usize,
    entry: usize,
    ops: &[Op],
    ending: Ending,
) -> Result<(), ClosureError> {
    for op in ops {
        tx.execute(op.sql(), op.params(client))?;
    }
    tx.execute("INSERT INTO journal (client, entry) VALUES (?1, ?2)", (client as i64, entry as i64))?;
    match ending {
        Ending::Well => Ok(()),
        Ending::Error => Err(ClosureError::message("changed its mind")),
        // Without the panic hook, which would print.
        Ending::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        Ending::RollbackReturned => {
            tx.execute("INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, 1)", (SENTINEL,)).map(drop)
        }
        Ending::RollbackIgnored => {
            let _ = tx.execute("INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, 1)", (SENTINEL,));
            Ok(())
        }
        Ending::ConstraintIgnored => {
            let _ = tx.execute("INSERT INTO item (id, value) VALUES (?1, 1)", (SENTINEL,));
            Ok(())
        }
    }
}

/// One command of a client, with its answer.
#[derive(Clone, Debug)]
pub struct Entry {
    pub action: Action,
    pub level: AckLevel,
    pub answer: Answer,
}

/// What a client has heard of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet, or nothing ever: the future was dropped.
    None,
    Done {
        sequence: u64,
    },
    /// It failed as its action must, by a constraint or by its closure.
    FailedByItself,
    /// It failed by something else: I/O, a full queue, a deadline, a close.
    Failed(Outcome),
}

/// The states that a client's rows can be in after each of its entries. The first is that of the beginning.
pub fn possible_states(begin: &State, entries: &[Entry]) -> Result<Vec<BTreeSet<State>>, String> {
    let mut all = vec![BTreeSet::from([*begin])];
    for (at, entry) in entries.iter().enumerate() {
        let before = &all[at];
        let applied = before.iter().filter_map(|state| entry.action.apply(*state));
        let after: BTreeSet<State> = match entry.answer {
            Answer::Done { .. } => applied.collect(),
            Answer::FailedByItself => {
                before.iter().filter(|state| entry.action.apply(**state).is_none()).copied().collect()
            }
            Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => before.clone(),
            Answer::Failed(_) | Answer::None => before.iter().copied().chain(applied).collect(),
        };
        if after.is_empty() {
            return Err(format!("entry {at} cannot have been answered so: {entry:?}, before it {before:?}"));
        }
        all.push(after);
    }
    Ok(all)
}
