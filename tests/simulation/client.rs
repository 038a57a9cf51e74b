//! One client: sends its commands, enters the answers, and holds its reads against the model.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use walwright::{AckLevel, Applied, ClosureError, Pending, ReadError, Receipt, Store, Write, WriteError};

use crate::judge::state_of;
use crate::model::{Action, Answer, Entry, State, carry_out, id, possible_states};
use crate::program::{Event, Manner, Step};
use crate::world::Shared;

type Waiting = Pin<Box<dyn Future<Output = Result<Receipt, WriteError>> + Send>>;

pub struct Client<'w> {
    pub number: usize,
    pub store: Store,
    pub shared: &'w Shared,
    pub begin: State,
    /// Commands that are admitted and not answered, with their entries.
    waiting: VecDeque<(usize, Waiting)>,
}

/// What successful writes have in common.
trait HasReceipt: Send + 'static {
    fn receipt(&self) -> Receipt;
}

impl HasReceipt for Receipt {
    fn receipt(&self) -> Receipt {
        *self
    }
}

impl HasReceipt for Applied<()> {
    fn receipt(&self) -> Receipt {
        self.receipt
    }
}

impl<'w> Client<'w> {
    pub fn new(number: usize, store: Store, shared: &'w Shared, begin: State) -> Self {
        Self { number, store, shared, begin, waiting: VecDeque::new() }
    }

    /// Goes through its steps.
    pub async fn run(mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Write { action, level, manner } => self.write(action, *level, *manner).await,
                Step::Settle => self.settle().await,
                Step::Read => self.read(Duration::ZERO).await,
                Step::LongRead => self.read(Duration::from_millis(2)).await,
            }
        }
        self.settle().await;
    }

    async fn write(&mut self, action: &Action, level: AckLevel, manner: Manner) {
        let entry =
            self.shared.enter(self.number, Entry { action: action.clone(), level, answer: Answer::None });
        let (store, number) = (self.store.clone(), self.number);
        match action {
            Action::Statement(op) => {
                self.send(entry, manner, store.execute(op.sql(), op.params(number)).ack(level)).await;
            }
            Action::InsertOrRollback(row, value) => {
                let sql = "INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, ?2)";
                self.send(entry, manner, store.execute(sql, (id(number, *row), *value)).ack(level)).await;
            }
            Action::Batch(ops) => {
                let add = |batch: walwright::Batch, op: &crate::model::Op| {
                    batch.execute(op.sql(), op.params(number))
                };
                self.send(entry, manner, ops.iter().fold(store.batch(), add).send().ack(level)).await;
            }
            Action::Closure(ops, ending) => {
                let (ops, ending) = (ops.clone(), *ending);
                let write = store.write(move |tx| carry_out(tx, number, entry, &ops, ending));
                self.send(entry, manner, write.ack(level)).await;
            }
            Action::Flush => self.send(entry, manner, store.flush()).await,
        }
    }

    async fn send<T: HasReceipt>(&mut self, entry: usize, manner: Manner, write: Write<T>) {
        match manner {
            Manner::Await => {
                let submitted = write.submit().await;
                self.submitted(entry, submitted);
                self.settle().await;
            }
            Manner::Submit => {
                let submitted = write.submit().await;
                self.submitted(entry, submitted);
            }
            Manner::TrySubmit => self.submitted(entry, write.try_submit()),
            Manner::Deadline(deadline) => {
                let submitted = write.deadline(deadline).submit().await;
                self.submitted(entry, submitted);
            }
            Manner::SubmitAndDrop => {
                if let Err(error) = write.submit().await {
                    self.enter(entry, Err(error));
                }
            }
            Manner::PollAndDrop => {
                let mut future = pin!(write.into_future());
                let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if let Poll::Ready(result) = polled {
                    self.enter(entry, result.map(|value| value.receipt()));
                }
            }
        }
    }

    fn submitted<T: HasReceipt>(&mut self, entry: usize, submitted: Result<Pending<T>, WriteError>) {
        match submitted {
            Ok(pending) => {
                let waiting = async { pending.await.map(|value| value.receipt()) };
                self.waiting.push_back((entry, Box::pin(waiting)));
            }
            Err(error) => self.enter(entry, Err(error)),
        }
    }

    async fn settle(&mut self) {
        while let Some((entry, waiting)) = self.waiting.pop_front() {
            let result = waiting.await;
            self.enter(entry, result);
        }
    }

    fn enter(&self, entry: usize, result: Result<Receipt, WriteError>) {
        self.shared.answered(self.number, entry, |entry| match result {
            Ok(receipt) => Answer::Done { sequence: receipt.sequence },
            Err(error) => self.failure(entry, &error),
        });
    }

    /// The answer behind an error. Each has its occasion, and none comes without it.
    fn failure(&self, entry: &Entry, error: &WriteError) -> Answer {
        let event = &self.shared.event;
        let fault = matches!(event, Event::Fault(_) | Event::FaultAndPowerCut(..) | Event::FullDisk(_));
        let expected = match error {
            WriteError::Constraint(_) | WriteError::Panic { .. } => return Answer::FailedByItself,
            // Under a fault, a closure that takes no notice of an error fails by that.
            WriteError::Closure(_) if !fault => return Answer::FailedByItself,
            WriteError::Closure(_) => true,
            WriteError::Expired | WriteError::Overloaded => true,
            WriteError::Closed | WriteError::CloseTimedOut => matches!(event, Event::CloseMidway(_)),
            WriteError::DiskFull(_) | WriteError::Io(_) | WriteError::Begin(_) => fault,
            WriteError::Stopped(_) | WriteError::Unknown(_) => fault && !matches!(event, Event::FullDisk(_)),
            _ => false,
        };
        assert!(expected, "{:?} was answered {error:?} under {event:?}", entry.action);
        Answer::Failed(error.outcome())
    }

    /// Reads its own rows, twice in one snapshot. They are as its commands have left them: all those that
    /// were answered, and any of those that are on their way.
    async fn read(&self, pause: Duration) {
        let number = self.number;
        let answered =
            self.shared.log(number).iter().rposition(|entry| matches!(entry.answer, Answer::Done { .. }));
        let read = self.store.read(move |db| {
            let rows = || -> Result<BTreeMap<i64, u32>, ClosureError> {
                let between = (id(number, 0), id(number + 1, 0));
                let sql = "SELECT id, value FROM item WHERE id >= ?1 AND id < ?2";
                Ok(db.query(sql, between, |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
            };
            let first = rows()?;
            thread::sleep(pause);
            Ok((state_of(number, &first), state_of(number, &rows()?)))
        });
        match read.await {
            Ok((first, second)) => {
                assert_eq!(first, second, "a snapshot has changed");
                let log = self.shared.log(number);
                let states = possible_states(&self.begin, &log).unwrap();
                let from = answered.map_or(0, |at| at + 1);
                let possible = states[from..].iter().any(|states| states.contains(&first));
                assert!(possible, "client {number} reads {first:?} after {log:#?}");
                self.shared.saw("read");
            }
            Err(ReadError::Closed) => assert!(matches!(self.shared.event, Event::CloseMidway(_))),
            Err(ReadError::Io(_) | ReadError::Sql(_)) => {
                assert!(matches!(self.shared.event, Event::Fault(_) | Event::FaultAndPowerCut(..)));
            }
            Err(error) => panic!("a read failed by {error:?}"),
        }
    }
}
