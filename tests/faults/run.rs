//! One run of a store under a fault: opens it, sends commands, enters the answers, and compares at the end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use walwright::rusqlite::{Connection, OpenFlags};
use walwright::{
    AckLevel, Applied, BulkReceipt, CloseError, Migration, OpenError, Outcome, ReadError, Receipt, Row,
    RowReceipt, Store, StoreBuilder, StoreState, Table, Write, WriteError,
};
use walwright_test_support::vfs::DatabaseCreation;
use walwright_test_support::{FaultVfs, Gate, Probe};

use crate::ledger::{Answer, Change, Deed, Ledger, Origin, Rows};

pub const MIGRATIONS: &[Migration] =
    &[Migration::sql("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")];

/// How long a store waits for locks, so that a lock that never comes costs little.
const SHORT: Duration = Duration::from_millis(100);

/// A store on its way through a script, with everything that it has answered.
pub struct Run {
    pub vfs: &'static FaultVfs,
    pub path: PathBuf,
    pub ledger: Ledger,
    store: Option<Store>,
    table: Option<Table<Row>>,
    closed: bool,
    sent: Vec<Sent>,
    gates: Vec<Gate>,
    tweak: fn(StoreBuilder) -> StoreBuilder,
}

/// A command that was admitted, with the call that waits for its answer.
struct Sent {
    what: &'static str,
    changes: Vec<Change>,
    level: AckLevel,
    in_pieces: bool,
    wait: Box<dyn FnOnce() -> Result<u64, WriteError> + Send>,
}

/// What successful writes have in common: a place in the order.
pub trait HasSequence: Send + 'static {
    fn sequence(&self) -> u64;
}

impl HasSequence for Receipt {
    fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl<T: Send + 'static> HasSequence for Applied<T> {
    fn sequence(&self) -> u64 {
        self.receipt.sequence
    }
}

impl HasSequence for RowReceipt {
    fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl HasSequence for BulkReceipt {
    fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl Run {
    /// A run on the file at `path`, which holds `rows` in its table, if it is there.
    pub fn new(vfs: &'static FaultVfs, path: PathBuf, rows: Rows) -> Self {
        vfs.disarm();
        vfs.start_recording(DatabaseCreation::AtOnce);
        Self {
            vfs,
            path,
            ledger: Ledger::new(rows),
            store: None,
            table: None,
            closed: false,
            sent: Vec::new(),
            gates: Vec::new(),
            tweak: |builder| builder,
        }
    }

    /// Changes the builder of every store that this run opens.
    pub fn tweak(&mut self, tweak: fn(StoreBuilder) -> StoreBuilder) {
        self.tweak = tweak;
    }

    /// Opens the store. A refusal must be typed, and must name the file or one beside it.
    pub fn open(&mut self) {
        match (self.tweak)(builder(&self.path)).vfs(self.vfs.name()).open().wait() {
            Ok(store) => self.store = Some(store),
            Err(error) => {
                let named = error.path().as_os_str().as_encoded_bytes();
                let own = self.path.as_os_str().as_encoded_bytes();
                assert!(named.starts_with(own), "{error} names {:?}", error.path());
                assert!(!matches!(error, OpenError::Panicked { .. }), "{error}");
            }
        }
    }

    /// Opens the table, in a store that is open.
    pub fn open_table(&mut self) {
        self.table = self.store.as_ref().map(|store| store.table("item").open().wait().unwrap());
    }

    /// The table that was opened.
    pub fn table(&self) -> Table<Row> {
        self.table.clone().expect("the scene has opened the table")
    }

    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Whether the store is open and has stopped.
    pub fn has_failed(&self) -> bool {
        self.store.as_ref().is_some_and(|store| matches!(store.stats().state, StoreState::Failed(_)))
    }

    /// How many commands were answered by an error.
    pub fn refused(&self) -> usize {
        self.ledger.failures()
    }

    /// Whether the store that is open is the first one.
    pub fn has_never_closed(&self) -> bool {
        !self.closed
    }

    /// Keeps the writer busy, so that what is sent next gathers in one group.
    pub fn hold(&mut self) {
        let gate = Gate::new();
        let wait = gate.clone();
        self.send("hold", &[], |store| {
            store.write(move |_| {
                wait.wait();
                Ok(())
            })
        });
        self.gates.push(gate);
    }

    /// Sends a command that makes these changes, if a store is open.
    pub fn send<T: HasSequence>(
        &mut self,
        what: &'static str,
        changes: &[Change],
        write: impl FnOnce(&Store) -> Write<T>,
    ) {
        self.send_at(AckLevel::Durable, what, changes, write);
    }

    /// The same at a level.
    pub fn send_at<T: HasSequence>(
        &mut self,
        level: AckLevel,
        what: &'static str,
        changes: &[Change],
        write: impl FnOnce(&Store) -> Write<T>,
    ) {
        let Some(store) = &self.store else { return };
        let wait: Box<dyn FnOnce() -> Result<u64, WriteError> + Send> =
            match write(store).ack(level).try_submit() {
                Ok(pending) => Box::new(move || pending.wait().map(|value| value.sequence())),
                Err(error) => Box::new(move || Err(error)),
            };
        self.sent.push(Sent { what, changes: changes.to_vec(), level, in_pieces: false, wait });
    }

    /// Sends work on many rows, which may be carried out in part, and waits for it.
    pub fn bulk(
        &mut self,
        level: AckLevel,
        what: &'static str,
        changes: &[Change],
        write: impl FnOnce(&Store) -> Write<BulkReceipt>,
    ) {
        self.send_at(level, what, changes, write);
        self.sent.iter_mut().rev().take(1).for_each(|sent| sent.in_pieces = true);
        self.settle();
    }

    /// Lets the writer go on and waits for all answers.
    pub fn settle(&mut self) {
        self.gates.drain(..).for_each(|gate| gate.open());
        for Sent { what, changes, level, in_pieces, wait } in self.sent.drain(..) {
            let stopped_before = self.ledger.has_unknown();
            let answer = match wait() {
                Ok(sequence) => Answer::Done { sequence },
                Err(error) => {
                    says_what_it_is(&error);
                    Answer::Failed(error.outcome())
                }
            };
            let done = matches!(answer, Answer::Done { .. });
            assert!(!(stopped_before && done), "{what} was acknowledged after a commit had failed");
            self.ledger.enter(Deed { what, changes, level, in_pieces, answer }).unwrap();
        }
        if self.ledger.has_unknown() {
            assert!(self.has_failed(), "an unknown outcome, and the store goes on");
        }
    }

    /// Sends one command and waits for it.
    pub fn one<T: HasSequence>(
        &mut self,
        level: AckLevel,
        what: &'static str,
        changes: &[Change],
        write: impl FnOnce(&Store) -> Write<T>,
    ) {
        self.send_at(level, what, changes, write);
        self.settle();
    }

    /// Reads everything. What it finds must agree with all answers; a refusal must be one of I/O.
    pub fn read(&self) {
        let Some(store) = &self.store else { return };
        match store
            .read(|db| db.query("SELECT id, text FROM item", (), |row| Ok((row.get(0)?, row.get(1)?))))
            .wait()
        {
            Ok(rows) => self.ledger.compare(&rows.into_iter().collect(), Origin::Lived).unwrap(),
            Err(ReadError::Io(_) | ReadError::Sql(_)) => {}
            Err(error) => panic!("a read failed by {error:?}"),
        }
    }

    /// Closes the store, if it is open.
    pub fn close(&mut self) -> Result<(), CloseError> {
        self.closed = true;
        self.store.take().map_or(Ok(()), |store| store.close().wait())
    }

    /// After the fault is gone: what still runs either works, or has stopped and says so. Reads work. Then
    /// the file is opened again and compared, and so is what a power cut at this moment may leave.
    pub fn conclude(mut self, images: &Path) {
        // Of what was not synced a power cut takes anything: nothing survives, or everything does.
        let cuts = [self.vfs.image_at_power_cut(), self.vfs.image_with(&|_| true)];
        let before = self.ledger.clone();
        self.vfs.disarm();
        let was_open = self.store.is_some();
        if was_open {
            self.goes_on_or_has_stopped();
        }
        self.vfs.stop_recording();
        if let Some(store) = self.store.take() {
            let failed = matches!(store.stats().state, StoreState::Failed(_));
            let result = store.close().wait();
            assert_eq!(result.is_ok(), !failed, "{result:?}");
        }
        assert_eq!(self.vfs.open_files(), 0, "files are open after a close");
        compare_reopened(self.vfs, &self.path, &mut self.ledger, Origin::Lived);
        if was_open {
            for image in cuts {
                image.write_into(images).unwrap();
                let path = images.join(self.path.file_name().unwrap());
                compare_reopened(self.vfs, &path, &mut before.clone(), Origin::PowerCut);
            }
        }
    }

    fn goes_on_or_has_stopped(&mut self) {
        let failed = self.has_failed();
        let store = self.store.clone().unwrap();
        let result = store.execute("INSERT INTO item VALUES (900, 'after the fault')", ()).wait();
        match (&result, failed) {
            (Ok(_), false) | (Err(WriteError::Stopped(_)), true) => {}
            _ => panic!("the store has failed: {failed}, but a write gives {result:?}"),
        }
        self.ledger
            .enter(Deed {
                what: "after the fault",
                changes: vec![insert(900, "after the fault")],
                level: AckLevel::Durable,
                in_pieces: false,
                answer: match result {
                    Ok(receipt) => Answer::Done { sequence: receipt.sequence },
                    Err(error) => Answer::Failed(error.outcome()),
                },
            })
            .unwrap();
        let count = store.query("SELECT count(*) FROM item", ()).wait();
        assert!(count.is_ok(), "reads do not go on: {count:?}");
        if !failed {
            self.read();
        }
    }
}

/// The settings that all runs share: little patience, little memory, one reader.
pub fn builder(path: &Path) -> StoreBuilder {
    Store::builder(path)
        .migrations(MIGRATIONS)
        .readers(1)
        .page_cache(64 << 10)
        .busy_budget(SHORT)
        .open_timeout(SHORT)
}

/// Opens the file with Walwright, as a program would after a crash, and compares what it finds.
pub fn compare_reopened(vfs: &FaultVfs, path: &Path, ledger: &mut Ledger, origin: Origin) {
    let store =
        builder(path).vfs(vfs.name()).open().wait().unwrap_or_else(|error| panic!("{origin:?}: {error}"));
    let probe = Probe::open(path).unwrap();
    probe.integrity_check().unwrap_or_else(|error| panic!("{origin:?}: {error}"));
    let found = rows_of(probe.connection());
    ledger.compare(&found, origin).unwrap();
    ledger.settle(found);
    let receipt = store.execute("INSERT INTO item VALUES (901, 'reopened')", ()).wait().unwrap();
    let answer = Answer::Done { sequence: receipt.sequence };
    let changes = vec![insert(901, "reopened")];
    let deed = Deed { what: "reopened", changes, level: AckLevel::Durable, in_pieces: false, answer };
    ledger.enter(deed).unwrap();
    drop(probe);
    store.close().wait().unwrap();
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    ledger.compare(&rows_of(&connection), Origin::Lived).unwrap();
}

/// The table as a plain connection sees it.
pub fn rows_of(connection: &Connection) -> Rows {
    let mut statement = connection.prepare("SELECT id, text FROM item").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

pub fn insert(id: i64, text: &str) -> Change {
    Change { id, before: None, after: Some(text.to_owned()) }
}

pub fn update(id: i64, before: &str, after: &str) -> Change {
    Change { id, before: Some(before.to_owned()), after: Some(after.to_owned()) }
}

pub fn delete(id: i64, before: &str) -> Change {
    Change { id, before: Some(before.to_owned()), after: None }
}

/// The outcome follows from the kind of error, and so must the words.
fn says_what_it_is(error: &WriteError) {
    let text = error.to_string();
    let words: &[&str] = match error.outcome() {
        Outcome::NotStarted => &["not started", "not queued", "not be carried out"],
        Outcome::NotApplied => &["nothing was applied", "undone", "not allowed"],
        Outcome::Partial { .. } => &["were changed and stay so"],
        Outcome::Unknown => &["unknown"],
        other => panic!("{other:?}"),
    };
    assert!(words.iter().any(|word| text.contains(word)), "{:?}: {text}", error.outcome());
}
