//! One client: sends its commands, enters the answers, and holds its reads against the model.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use walwright::{
    AckLevel, Applied, BulkReceipt, ClosureError, Modified, Outcome, Pending, ReadError, Receipt, RowReceipt,
    Store, Table, Write, WriteError,
};

use crate::crowd::{self, Crowd, CrowdRow, Possible, Work};
use crate::item::{Failure, Item, ItemRow, ROWS, State, Told, id, item};
use crate::judge::{Found, crowd_of, state_of};
use crate::model::{Action, Answer, Entry, Part, carry_out, possible_states};
use crate::program::{Event, Manner, Step};
use crate::world::Shared;

type Heard = Result<(Option<u64>, Told), WriteError>;
type Waiting = Pin<Box<dyn Future<Output = Heard> + Send>>;

pub struct Client<'w> {
    number: usize,
    handles: Handles,
    shared: &'w Shared,
    begin: &'w Found,
    /// Commands that are admitted and not answered, with their entries.
    waiting: VecDeque<(Place, Waiting)>,
    /// What becomes of its last work in pieces is never heard of: more of it would be carried out between the pieces.
    crowd_is_lost: bool,
}

/// What a client needs of a store.
#[derive(Clone)]
pub struct Handles {
    pub store: Store,
    pub items: Table<ItemRow>,
    pub crowd: Table<CrowdRow>,
}

/// Where a command stands in the client's log.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Entry(usize),
    Crowd(usize),
}

/// What successful writes tell.
trait Tells: Send + 'static {
    /// Its sequence, and what it did.
    fn tells(self, client: usize) -> (Option<u64>, Told);
}

impl Tells for Receipt {
    fn tells(self, _client: usize) -> (Option<u64>, Told) {
        (Some(self.sequence), Told::Rows(self.rows_changed))
    }
}

impl Tells for Applied<()> {
    fn tells(self, client: usize) -> (Option<u64>, Told) {
        self.receipt.tells(client)
    }
}

impl Tells for BulkReceipt {
    fn tells(self, _client: usize) -> (Option<u64>, Told) {
        (Some(self.sequence), Told::Rows(self.rows_changed))
    }
}

impl Tells for RowReceipt {
    fn tells(self, client: usize) -> (Option<u64>, Told) {
        (Some(self.sequence), Told::by_receipt(client, &self))
    }
}

impl Tells for Option<Modified<ItemRow>> {
    fn tells(self, client: usize) -> (Option<u64>, Told) {
        let Some(Modified { value: before, receipt, .. }) = self else { return (None, Told::Modified(None)) };
        let before = item_of(client, &before);
        let told = Told::Modified(Some((before, receipt.rows_changed, receipt.revision)));
        (Some(receipt.sequence), told)
    }
}

fn item_of(client: usize, row: &ItemRow) -> Item {
    item(client, row.value, row.note, row.revision)
}

impl<'w> Client<'w> {
    pub fn new(number: usize, handles: Handles, shared: &'w Shared, begin: &'w Found) -> Self {
        Self { number, handles, shared, begin, waiting: VecDeque::new(), crowd_is_lost: false }
    }

    /// Goes through its steps.
    pub async fn run(mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Write { action, level, manner } => self.write(action, *level, *manner).await,
                Step::Crowd { work, is_atomic, level, manner } => {
                    self.crowd(work, *is_atomic, *level, *manner).await;
                }
                Step::Settle => self.settle().await,
                Step::Read => self.read(Duration::ZERO).await,
                Step::LongRead => self.read(Duration::from_millis(2)).await,
                Step::Get => self.get().await,
            }
        }
        self.settle().await;
    }

    async fn write(&mut self, action: &Action, level: AckLevel, manner: Manner) {
        let entry = Entry { action: action.clone(), level, answer: Answer::None };
        let entry = self.shared.log_of(self.number, |log| {
            log.entries.push(entry);
            log.entries.len() - 1
        });
        let place = Place::Entry(entry);
        let Handles { store, items, .. } = self.handles.clone();
        let number = self.number;
        match action {
            Action::Statement(op) => {
                let write = store.execute(op.text(), op.params(number));
                self.send(place, manner, write.ack(level)).await;
            }
            Action::InsertOrRollback(row, value) => {
                let sql = "INSERT OR ROLLBACK INTO item (id, value) VALUES (?1, ?2)";
                self.send(place, manner, store.execute(sql, (id(number, *row), *value)).ack(level)).await;
            }
            Action::Batch(parts) => {
                let add = |batch: walwright::Batch, part: &Part| match part {
                    Part::Statement(op) => batch.execute(op.text(), op.params(number)),
                    Part::Row(op) => batch.add(op.request(&items, number)),
                };
                self.send(place, manner, parts.iter().fold(store.batch(), add).send().ack(level)).await;
            }
            Action::Closure(ops, ending) => {
                let (ops, ending) = (ops.clone(), *ending);
                let write = store.write(move |tx| carry_out(tx, number, entry, &ops, ending));
                self.send(place, manner, write.ack(level)).await;
            }
            Action::Row(op) => self.send(place, manner, op.request(&items, number).ack(level)).await,
            Action::Modify(row, change) => {
                let change = *change;
                let write = items.modify(id(number, *row), move |row| change.carry_out(number, row));
                self.send(place, manner, write.ack(level)).await;
            }
            Action::Few(few, atomic) => {
                self.send(place, manner, few.request(&items, number, *atomic).ack(level)).await;
            }
            Action::Index(is_made) => {
                let sql = match is_made {
                    true => "CREATE INDEX IF NOT EXISTS item_note ON item (note)",
                    false => "DROP INDEX IF EXISTS item_note",
                };
                self.send(place, manner, store.execute(sql, ()).ack(level)).await;
            }
            Action::Flush => self.send(place, manner, store.flush()).await,
        }
    }

    /// Sends work that is done in pieces, once the last such work was answered.
    async fn crowd(&mut self, work: &Work, is_atomic: bool, level: AckLevel, manner: Manner) {
        self.settle().await;
        if self.crowd_is_lost {
            return;
        }
        self.crowd_is_lost = matches!(manner, Manner::SubmitAndDrop | Manner::PollAndDrop);
        let entry = crowd::Entry { work: work.clone(), is_atomic, level, answer: crowd::Answer::None };
        let entry = self.shared.log_of(self.number, |log| {
            log.crowd.push(entry);
            log.crowd.len() - 1
        });
        let write = work.request(&self.handles.crowd, self.number, is_atomic);
        self.send(Place::Crowd(entry), manner, write.ack(level)).await;
    }

    async fn send<T: Tells>(&mut self, place: Place, manner: Manner, write: Write<T>) {
        let number = self.number;
        match manner {
            Manner::Await => {
                let submitted = write.submit().await;
                self.submitted(place, submitted);
                self.settle().await;
            }
            Manner::Submit => {
                let submitted = write.submit().await;
                self.submitted(place, submitted);
            }
            Manner::TrySubmit => self.submitted(place, write.try_submit()),
            Manner::Deadline(deadline) => {
                let submitted = write.deadline(deadline).submit().await;
                self.submitted(place, submitted);
            }
            Manner::SubmitAndDrop => {
                if let Err(error) = write.submit().await {
                    self.enter(place, Err(error));
                }
            }
            Manner::PollAndDrop => {
                let mut future = pin!(write.into_future());
                let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if let Poll::Ready(result) = polled {
                    self.enter(place, result.map(|value| value.tells(number)));
                }
            }
        }
    }

    fn submitted<T: Tells>(&mut self, place: Place, submitted: Result<Pending<T>, WriteError>) {
        let number = self.number;
        match submitted {
            Ok(pending) => {
                let waiting = async move { pending.await.map(|value| value.tells(number)) };
                self.waiting.push_back((place, Box::pin(waiting)));
            }
            Err(error) => self.enter(place, Err(error)),
        }
    }

    async fn settle(&mut self) {
        while let Some((place, waiting)) = self.waiting.pop_front() {
            let heard = waiting.await;
            self.enter(place, heard);
        }
    }

    fn enter(&self, place: Place, heard: Heard) {
        self.shared.answered(self.number, |log| match place {
            Place::Entry(at) => {
                let entry = &mut log.entries[at];
                entry.answer = match heard {
                    Ok((sequence, told)) => Answer::Done { sequence, told },
                    Err(error) => self.failure(entry, &error),
                };
            }
            Place::Crowd(at) => {
                let entry = &mut log.crowd[at];
                entry.answer = match heard {
                    Ok((Some(sequence), told)) => crowd::Answer::Done { sequence, rows: told.rows_changed() },
                    Ok((None, _)) => unreachable!("work on many rows has a sequence"),
                    Err(error) => self.crowd_failure(entry, &error),
                };
            }
        });
    }

    fn failure(&self, entry: &Entry, error: &WriteError) -> Answer {
        match error {
            WriteError::Constraint(_) | WriteError::Panic { .. } => {
                return Answer::FailedByItself(Failure::Other);
            }
            WriteError::Conflict(conflict) => {
                return Answer::FailedByItself(Failure::by_conflict(conflict));
            }
            // Under a fault, a closure that takes no notice of an error fails by that.
            WriteError::Closure(_) if !self.shared.event.is_fault() => {
                return Answer::FailedByItself(Failure::Other);
            }
            _ => {}
        }
        let event = &self.shared.event;
        assert!(event.explains(error), "{:?} was answered {error:?} under {event:?}", entry.action);
        Answer::Failed(error.outcome())
    }

    fn crowd_failure(&self, entry: &crowd::Entry, error: &WriteError) -> crowd::Answer {
        let (rows, source) = match error {
            WriteError::Partial { rows, source } => (*rows, &**source),
            other => (0, other),
        };
        if let WriteError::Constraint(_) = source {
            return crowd::Answer::Constraint { rows };
        }
        let event = &self.shared.event;
        assert!(event.explains(source), "{entry:?} was answered {error:?} under {event:?}");
        let outcome = error.outcome();
        assert!(rows == 0 || matches!(outcome, Outcome::Partial { .. } | Outcome::Unknown), "{error:?}");
        crowd::Answer::Failed(outcome)
    }

    /// Reads its own rows, twice in one snapshot. They are as its commands have left them: all those that
    /// were answered, and any of those that are on their way.
    async fn read(&self, pause: Duration) {
        let number = self.number;
        let heard = self.heard();
        let read = self.handles.store.read(move |db| {
            let rows = || -> Result<(State, Crowd), ClosureError> {
                let between = (id(number, 0), id(number + 1, 0));
                let sql = "SELECT id, value, note, revision FROM item WHERE id >= ?1 AND id < ?2";
                let items =
                    db.query(sql, between, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?))))?;
                let sql = "SELECT id, value FROM crowd WHERE owner = ?1";
                let crowd = db.query(sql, (number as i64,), |row| Ok((row.get(0)?, row.get(1)?)))?;
                let (items, crowd): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    (items.into_iter().collect(), crowd.into_iter().collect());
                Ok((state_of(number, &items), crowd_of(number, &crowd)))
            };
            let first = rows()?;
            thread::sleep(pause);
            Ok((first, rows()?))
        });
        let Some((first, second)) = self.unless_explained(read.await) else { return };
        assert_eq!(first, second, "a snapshot has changed");
        self.check_state(first.0, heard);
        let log = self.shared.log(number);
        let crowd = Possible::of(&self.begin.crowds[number], &log.crowd).unwrap();
        let possible = crowd.allows(&first.1, heard.1, log.crowd.len());
        assert!(possible, "client {number} reads the crowd {:?} after {:#?}", first.1, log.crowd);
        self.shared.saw("read");
    }

    /// Reads its own rows through the table's handle.
    async fn get(&self) {
        let number = self.number;
        let heard = self.heard();
        let rows = self.handles.items.get_many((0..ROWS).map(|row| id(number, row)));
        let Some(rows) = self.unless_explained(rows.await) else { return };
        let mut state = [None; ROWS];
        for row in &rows {
            state[(row.id - id(number, 0)) as usize] = Some(item_of(number, row));
        }
        self.check_state(state, heard);
        self.shared.saw("read through the table");
    }

    /// How many of its entries, and of its works in pieces, a read has to see that starts now.
    fn heard(&self) -> (usize, usize) {
        let log = self.shared.log(self.number);
        let done = log.entries.iter().rposition(|entry| matches!(entry.answer, Answer::Done { .. }));
        let crowd = log.crowd.iter().rposition(|entry| entry.answer != crowd::Answer::None);
        (done.map_or(0, |at| at + 1), crowd.map_or(0, |at| at + 1))
    }

    fn check_state(&self, state: State, heard: (usize, usize)) {
        let log = self.shared.log(self.number);
        let states = possible_states(&self.begin.states[self.number], &log.entries).unwrap();
        let possible = states[heard.0..].iter().any(|states| states.contains(&state));
        assert!(possible, "client {} reads {state:?} after {:#?}", self.number, log.entries);
    }

    fn unless_explained<T>(&self, read: Result<T, ReadError>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(ReadError::Closed) => {
                assert!(matches!(self.shared.event, Event::CloseMidway(_)));
                None
            }
            Err(ReadError::Io(_) | ReadError::Sql(_)) if self.shared.event.fails_io() => None,
            Err(error) => panic!("a read failed by {error:?}"),
        }
    }
}
