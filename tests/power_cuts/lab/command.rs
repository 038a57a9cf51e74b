//! What a client sends: the same for the store and for the reference.

use rusqlite::types::Value;
use walwright::{AckLevel, Applied, ClosureError, Pending, Receipt, Store, WriteError};

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
    pub fn submit(&self, store: &Store) -> Result<Admitted, WriteError> {
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
        }
    }
}

impl Admitted {
    pub fn wait(self) -> Result<Receipt, WriteError> {
        match self {
            Self::Plain(pending) => pending.wait(),
            Self::Closure(pending) => pending.wait().map(|applied| applied.receipt),
        }
    }
}
