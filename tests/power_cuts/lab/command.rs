//! What a client sends: the same for the store and for the reference.

use super::rows::{self, Bulk, RowOp};
use rusqlite::types::Value;
use walwright::{
    AckLevel, Applied, BulkReceipt, ClosureError, Modified, Pending, Receipt, Row, RowReceipt, Store, Table,
    WriteError,
};

/// One command.
#[derive(Clone, Debug)]
pub struct Command {
    pub shape: Shape,
    pub calls: Vec<Call>,
    pub level: AckLevel,
    /// It deletes, or has SQL in it that could: never answered before it is durable.
    pub deletes: bool,
}

/// How its calls are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One statement.
    Statement,
    /// All or none, as they are.
    Batch,
    /// All or none, from inside a closure.
    Closure,
    /// A closure that carries out its calls and then fails: nothing of them may stay.
    FailingClosure,
    /// Nothing but the wish that everything before be durable.
    Flush,
    /// A row command, whose one call says the same in SQL.
    Row(RowOp),
    /// Row commands as one batch, with a call for each.
    RowBatch(&'static [RowOp]),
    /// Work on many rows, with a call for each of them. It is done in pieces.
    Pieces(Bulk),
}

/// Where commands are sent to.
#[derive(Clone)]
pub struct Handles {
    pub store: Store,
    pub sheet: Table<Row>,
    pub crowd: Table<Row>,
}

/// One statement with its parameters.
#[derive(Clone, Debug)]
pub struct Call {
    pub sql: &'static str,
    pub values: Vec<Value>,
}

/// A command that is admitted.
pub enum Admitted {
    Plain(Pending<Receipt>),
    Closure(Pending<Applied<()>>),
    Row(Pending<RowReceipt>),
    Modified(Pending<Option<Modified<()>>>),
    Pieces(Pending<BulkReceipt>),
}

pub fn call<const N: usize>(sql: &'static str, values: [Value; N]) -> Call {
    Call { sql, values: values.into() }
}

impl Command {
    pub fn new(shape: Shape, calls: Vec<Call>) -> Self {
        Self { shape, calls, level: AckLevel::Durable, deletes: false }
    }

    pub fn statement<const N: usize>(sql: &'static str, values: [Value; N]) -> Self {
        Self::new(Shape::Statement, vec![call(sql, values)])
    }

    pub fn flush() -> Self {
        Self::new(Shape::Flush, Vec::new())
    }

    pub fn deleting(self) -> Self {
        Self { deletes: true, ..self }
    }

    pub fn at(self, level: AckLevel) -> Self {
        Self { level, ..self }
    }

    pub fn committed(self) -> Self {
        self.at(AckLevel::Committed)
    }

    /// Whether an answer promises that the command survives a power cut.
    pub fn promises(&self) -> bool {
        self.deletes || self.level == AckLevel::Durable
    }

    /// Puts the command into the store's queue.
    pub fn submit(&self, handles: &Handles) -> Result<Admitted, WriteError> {
        let Handles { store, sheet, crowd } = handles;
        let plain =
            |write: walwright::Write<Receipt>| write.ack(self.level).try_submit().map(Admitted::Plain);
        match self.shape {
            Shape::Statement => {
                let Call { sql, values } = &self.calls[0];
                plain(store.execute(*sql, values.clone()))
            }
            Shape::Batch => {
                let batch =
                    |batch: walwright::Batch, call: &Call| batch.execute(call.sql, call.values.clone());
                plain(self.calls.iter().fold(store.batch(), batch).send())
            }
            Shape::Closure | Shape::FailingClosure => {
                let (calls, fails) = (self.calls.clone(), self.shape == Shape::FailingClosure);
                let write = store.write(move |tx| {
                    for Call { sql, values } in &calls {
                        tx.execute(sql, rusqlite::params_from_iter(values))?;
                    }
                    if fails { Err(ClosureError::message("as it was told to")) } else { Ok(()) }
                });
                write.ack(self.level).try_submit().map(Admitted::Closure)
            }
            Shape::Flush => plain(store.flush()),
            Shape::Row(op) => rows::submit(op, sheet, &self.calls[0], self.level),
            Shape::RowBatch(ops) => {
                let add = |batch: walwright::Batch, (op, call)| batch.add(rows::request(op, sheet, call));
                plain(ops.iter().copied().zip(&self.calls).fold(store.batch(), add).send())
            }
            Shape::Pieces(bulk) => {
                let write = rows::bulk(bulk, crowd, &self.calls);
                write.ack(self.level).try_submit().map(Admitted::Pieces)
            }
        }
    }

    /// The steps in which the disk may show it: its calls, if it is done in pieces, or all at once.
    pub fn steps(&self) -> Vec<Self> {
        match self.shape {
            Shape::Pieces(_) => {
                let one = |call: &Call| Self { calls: vec![call.clone()], ..self.clone() };
                self.calls.iter().map(one).collect()
            }
            _ => vec![self.clone()],
        }
    }
}

impl Admitted {
    /// Waits for its answer, and gives its sequence; none if it found no row to modify.
    pub fn wait(self) -> Result<Option<u64>, WriteError> {
        match self {
            Self::Plain(pending) => pending.wait().map(|receipt| Some(receipt.sequence)),
            Self::Closure(pending) => pending.wait().map(|applied| Some(applied.receipt.sequence)),
            Self::Row(pending) => pending.wait().map(|receipt| Some(receipt.sequence)),
            Self::Modified(pending) => {
                pending.wait().map(|modified| modified.map(|modified| modified.receipt.sequence))
            }
            Self::Pieces(pending) => pending.wait().map(|receipt| Some(receipt.sequence)),
        }
    }
}
