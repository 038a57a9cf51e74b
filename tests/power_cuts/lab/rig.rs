//! A store on a recorded disk, with a client that notes what it sends and what it is told.

use super::command::{Command, Handles};
use super::content;
use super::recording::{Answer, Mark, Opening, Recording, Sent};
use super::reference::Seed;
use super::schema::Step;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use walwright::{Migration, Outcome, Stats, Store, StoreBuilder, WriteError};
use walwright_test_support::vfs::{DatabaseCreation, FaultPlan};
use walwright_test_support::{FaultVfs, Gate, Scratch};

/// So long every sync takes in the recorded run: an answer that did not wait for it comes before it.
pub const SYNC_TAKES: Duration = Duration::from_micros(400);

/// What the device does when it is told to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    Honest,
    /// It says that it did, and did nothing.
    Lying,
}

/// The database's name, in the recorded run and in every image.
pub const NAME: &str = "store.db";

/// A store that is recorded, and its client.
pub struct Rig {
    vfs: &'static FaultVfs,
    scratch: Scratch,
    handles: Option<Handles>,
    seed: Seed,
    notes: Mutex<Notes>,
}

/// What the client knows.
#[derive(Default)]
struct Notes {
    sent: Vec<Sent>,
    openings: Vec<Opening>,
    groups: usize,
}

/// A reader that keeps its snapshot, and with it the WAL from starting over, until it is dropped.
pub struct Pin {
    gate: Gate,
    reader: Option<JoinHandle<()>>,
}

impl Rig {
    /// An empty folder on a recorded disk.
    pub fn new(device: Device) -> Self {
        let vfs = FaultVfs::unique("power-cut");
        vfs.set_sync_delay(SYNC_TAKES);
        vfs.lie_about_syncs(device == Device::Lying);
        vfs.start_recording(DatabaseCreation::WithDirectory);
        let (scratch, notes) = (Scratch::new(), Mutex::default());
        Self { vfs, scratch, handles: None, seed: |_| Ok(()), notes }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.scratch.join(NAME)
    }

    /// Puts a database there that was made by another program in rollback-journal mode. What `leave` does
    /// to its files, afterwards, changes nothing of its content.
    pub fn found(&mut self, seed: Seed, leave: fn(&Path)) {
        let connection = Connection::open(self.path()).expect("a new database");
        seed(&connection).expect("its content");
        drop(connection);
        leave(&self.path());
        self.seed = seed;
    }

    /// Opens the store.
    pub fn open(&mut self, steps: &'static [Step], configure: impl FnOnce(StoreBuilder) -> StoreBuilder) {
        let migrations: Vec<Migration> = steps.iter().map(Step::migration).collect();
        let builder = Store::builder(self.path())
            .vfs(self.vfs.name())
            .migrations(&migrations)
            .readers(2)
            // A group ends with what is queued, however slow the machine is.
            .group(256, 1 << 20, Duration::from_secs(600));
        let store = configure(builder).open().wait().expect("the recorded run opens its store");
        let number = self.notes().openings.len();
        self.vfs.mark(Mark::Opened(number).encode());
        let digest = store.read(|db| content::digest(db)).wait().expect("the recorded run reads");
        self.notes().openings.push(Opening { steps, digest });
        let sheet = store.table("sheet").revision("revision").open().wait().expect("a table");
        let crowd = store.table("crowd").open().wait().expect("a table");
        self.handles = Some(Handles { store, sheet, crowd });
    }

    /// Sends one command and waits for its answer.
    pub fn send(&self, command: Command) -> Answer {
        self.send_as(command, true)
    }

    /// The same beside other clients: nobody knows which commands share a group.
    pub fn send_among_others(&self, command: Command) -> Answer {
        self.send_as(command, false)
    }

    /// Sends commands so that they are carried out as one group, and waits for their answers.
    pub fn group(&self, commands: Vec<Command>) {
        let gate = Gate::new();
        let waiting = gate.clone();
        let hold = self.handles().store.write(move |_| {
            waiting.wait();
            Ok(())
        });
        // It writes nothing and asks for nothing: a group of its own that leaves no trace.
        let hold = hold.ack(walwright::AckLevel::Committed).try_submit();
        if hold.is_ok() {
            gate.wait_until_entered();
        }
        let group = self.next_group();
        let sent: Vec<_> = commands
            .into_iter()
            .map(|command| {
                let admitted = command.submit(self.handles());
                (self.note(command, Some(group)), admitted)
            })
            .collect();
        gate.open();
        for (number, admitted) in sent {
            self.answer(number, admitted.and_then(super::command::Admitted::wait));
        }
    }

    /// Makes a reader hold the present snapshot.
    pub fn pin(&self) -> Pin {
        let gate = Gate::new();
        let (store, waiting) = (self.handles().store.clone(), gate.clone());
        let reader = thread::spawn(move || {
            let read = store.read(move |db| {
                db.query_row("SELECT count(*) FROM note", (), |row| row.get::<_, i64>(0))?;
                waiting.wait();
                Ok(())
            });
            // It may be ended for its age; then the pin has done its work.
            let _ = read.wait();
        });
        gate.wait_until_entered();
        Pin { gate, reader: Some(reader) }
    }

    /// Makes the I/O fail as `plan` says.
    pub fn arm(&self, plan: FaultPlan) {
        self.vfs.arm(plan);
    }

    /// Whether the plan has made anything fail.
    pub fn has_failed(&self) -> bool {
        self.vfs.fired() > 0
    }

    /// What the store has counted since it was opened.
    pub fn stats(&self) -> Stats {
        self.handles().store.stats()
    }

    /// Closes the store. Whether that went well, the store knows best.
    pub fn close(&mut self) {
        let Handles { store, .. } = self.handles.take().expect("an open store");
        // After a fail-stop it ends with an error; the next opening settles what is on disk.
        let _ = store.close().wait();
        self.vfs.disarm();
    }

    /// Ends the recording. The power may go at any moment of it, also while the store is still open.
    pub fn finish(mut self) -> Recording {
        let trace = self.vfs.stop_recording();
        if self.handles.is_some() {
            self.close();
        }
        let Notes { sent, openings, .. } =
            std::mem::take(self.notes.get_mut().unwrap_or_else(PoisonError::into_inner));
        Recording { trace, seed: self.seed, sent, openings }
    }

    fn send_as(&self, command: Command, alone: bool) -> Answer {
        let group = alone.then(|| self.next_group());
        // A mark before the command is on its way; it has to be noted before that, too.
        let number = self.note(command.clone(), group);
        let result = command.submit(self.handles()).and_then(super::command::Admitted::wait);
        self.answer(number, result)
    }

    fn note(&self, command: Command, group: Option<usize>) -> usize {
        let mut notes = self.notes();
        let (number, opening) = (notes.sent.len(), notes.openings.len() - 1);
        notes.sent.push(Sent { command, group, opening, answer: Answer::None });
        self.vfs.mark(Mark::Sending(number).encode());
        number
    }

    fn answer(&self, number: usize, result: Result<Option<u64>, WriteError>) -> Answer {
        self.vfs.mark(Mark::Answered(number).encode());
        let answer = match result {
            Ok(Some(sequence)) => Answer::Done(sequence),
            Ok(None) => Answer::Nothing,
            Err(error) if error.outcome() == Outcome::Unknown => Answer::Unknown,
            Err(_) => Answer::Nothing,
        };
        self.notes().sent[number].answer = answer;
        answer
    }

    fn next_group(&self) -> usize {
        let mut notes = self.notes();
        notes.groups += 1;
        notes.groups
    }

    fn handles(&self) -> &Handles {
        self.handles.as_ref().expect("an open store")
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.gate.open();
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has been printed already.
            let _ = reader.join();
        }
    }
}
