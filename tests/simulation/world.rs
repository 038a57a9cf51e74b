//! The lives of a store, one after the other, and what happens between them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use walwright::{Migration, OpenError, Store, StoreState};
use walwright_test_support::vfs::{DatabaseCreation, Image};
use walwright_test_support::{FaultVfs, Probe, Rng, Scratch};

use crate::client::{Client, Handles};
use crate::crowd;
use crate::item::{Failure, SENTINEL};
use crate::judge::{self, Found, Log, Logs};
use crate::model::Answer;
use crate::program::{CLIENTS, Event, Life, Limits, Program, Survivors};

const MIGRATIONS: &[Migration] = &[
    Migration::sql(
        "CREATE TABLE item (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, note INTEGER,
                            revision INTEGER NOT NULL DEFAULT 0);
         CREATE INDEX item_value ON item (value);
         CREATE TABLE journal (id INTEGER PRIMARY KEY, client INTEGER NOT NULL, entry INTEGER NOT NULL);
         INSERT INTO item (id, value) VALUES (0, 0);",
    ),
    Migration::sql(crowd::SCHEMA),
];

/// What the clients of one life share.
pub struct Shared {
    vfs: &'static FaultVfs,
    store: Mutex<Option<Store>>,
    logs: [Mutex<Log>; CLIENTS],
    pub event: Event,
    after: usize,
    answers: AtomicUsize,
    cut: Mutex<Option<Cut>>,
    tally: Mutex<Vec<String>>,
}

/// The moment at which the power went.
struct Cut {
    image: Image,
    /// What was answered by then.
    logs: Logs,
}

/// How a life has ended.
struct End {
    path: PathBuf,
    begin: Found,
    logs: Logs,
    cut: Option<Cut>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program. Gives what it has seen, to be counted.
pub fn run(vfs: &'static FaultVfs, program: &Program) -> Vec<String> {
    let (folder, mut tally) = (Scratch::new(), Vec::new());
    let mut path = folder.subdirectory("0").join("db");
    let mut end: Option<End> = None;
    let mut last_sequence = 0;
    for (number, life) in program.lives.iter().enumerate() {
        let (store, begin) = begin(vfs, &path, &life.limits, end.take(), &mut last_sequence);
        let ended = live(vfs, store, life, begin, path, &mut tally);
        judge::check_sequences(&ended.logs, last_sequence);
        path = match &ended.cut {
            None => ended.path.clone(),
            Some(cut) => {
                let next = folder.subdirectory((number + 1).to_string());
                cut.image.write_into(&next).unwrap();
                next.join("db")
            }
        };
        end = Some(ended);
    }
    let limits =
        Limits { queued_commands: 64, group_commands: 64, soft_wal_bytes: 4 << 20, coalescing: true };
    let (store, _) = begin(vfs, &path, &limits, end, &mut last_sequence);
    store.close().wait().unwrap();
    vfs.stop_recording();
    tally
}

/// Opens the store and judges what the life before has left.
fn begin(
    vfs: &'static FaultVfs,
    path: &Path,
    limits: &Limits,
    before: Option<End>,
    last_sequence: &mut u64,
) -> (Store, Found) {
    vfs.start_recording(DatabaseCreation::AtOnce);
    let store = open(vfs, path, limits);
    let found = Found::in_file(&Probe::open(path).unwrap()).unwrap();
    if let Some(End { begin, logs, cut, .. }) = before {
        let (verdict, last) = match &cut {
            None => (judge::after_close(&begin, &logs, &found), last_of(&logs)),
            Some(cut) => (judge::after_power_cut(&begin, &logs, &cut.logs, &found), last_of(&cut.logs)),
        };
        verdict.unwrap_or_else(|text| panic!("{text}\nbegun with {begin:?}\n{logs:#?}"));
        *last_sequence = last.max(*last_sequence);
    }
    let cleared = store.execute("DELETE FROM journal", ()).wait().unwrap();
    assert!(cleared.sequence > *last_sequence, "sequence {} after {last_sequence}", cleared.sequence);
    *last_sequence = cleared.sequence;
    (store, found)
}

fn last_of(logs: &Logs) -> u64 {
    judge::sequences(logs).max().unwrap_or(0)
}

fn open(vfs: &FaultVfs, path: &Path, limits: &Limits) -> Store {
    let began = Instant::now();
    loop {
        let builder = Store::builder(path)
            .vfs(vfs.name())
            .migrations(MIGRATIONS)
            .readers(2)
            .write_queue(limits.queued_commands, 1 << 20)
            .group(limits.group_commands, 1 << 20, Duration::from_secs(1))
            .wal_limits(limits.soft_wal_bytes, 64 << 20)
            .coalescing(limits.coalescing)
            .on_connection(crowd::register);
        match builder.open().wait() {
            Ok(store) => return store,
            // The last handle was dropped: the store ends by itself.
            Err(OpenError::AlreadyOpen { .. }) if began.elapsed() < Duration::from_secs(10) => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Lets the clients run, and the event happen.
fn live(
    vfs: &'static FaultVfs,
    store: Store,
    life: &Life,
    begin: Found,
    path: PathBuf,
    tally: &mut Vec<String>,
) -> End {
    let handles = Handles {
        store: store.clone(),
        items: store.table("item").revision("revision").open().wait().unwrap(),
        crowd: store.table("crowd").open().wait().unwrap(),
    };
    let shared = Shared {
        vfs,
        store: Mutex::new(Some(store.clone())),
        logs: std::array::from_fn(|_| Mutex::default()),
        event: life.event.clone(),
        after: life.after,
        answers: AtomicUsize::new(0),
        cut: Mutex::new(None),
        tally: Mutex::default(),
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = Client::new(number, handles.clone(), &shared, &begin);
                let steps = &life.clients[number];
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                // On a runtime, so that everything that is awaited is waited for as servers do.
                scope.spawn(move || runtime.block_on(client.run(steps)))
            })
            .collect();
        for client in clients {
            client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    if shared.answers.load(Ordering::SeqCst) <= shared.after {
        shared.happen();
    }
    if let Event::FaultAndPowerCut(_, survivors) = shared.event {
        shared.cut_power(survivors);
    }
    vfs.disarm();
    vfs.set_free_bytes(None);
    drop((lock(&shared.store).take(), handles));
    let coalesced = store.stats().coalesced;
    tally.extend((0..coalesced).map(|_| "coalesced".to_owned()));
    end_of_store(store, &life.event);
    shared.finish(path, begin, tally)
}

/// Ends the store, which must be well unless its I/O has failed. A checkpoint that failed beside everything else may be
/// heard of at any time.
fn end_of_store(store: Store, event: &Event) {
    let has_failed = || matches!(store.stats().state, StoreState::Failed(_));
    match event {
        Event::DropHandles => return assert!(!has_failed(), "failed under {event:?}"),
        Event::CloseMidway(_) => {}
        _ => {
            let had_failed = has_failed();
            let touch = store.execute("UPDATE item SET value = value WHERE id = ?1", (SENTINEL,)).wait();
            assert!(!had_failed || touch.is_err(), "failed, but a write gives {touch:?}");
            assert!(touch.is_ok() || has_failed(), "not failed, but a write gives {touch:?}");
            store.query("SELECT 1 FROM item", ()).wait().unwrap();
        }
    }
    let failed = has_failed();
    assert!(!failed || event.fails_io(), "failed under {event:?}");
    let closed = store.close().wait();
    assert!(!failed || closed.is_err(), "failed, but is closed without an error");
    assert!(closed.is_ok() || event.fails_io(), "{closed:?}");
}

impl Shared {
    /// Works on a client's log: takes down that a command is about to be sent.
    pub fn log_of<R>(&self, client: usize, work: impl FnOnce(&mut Log) -> R) -> R {
        work(&mut lock(&self.logs[client]))
    }

    /// Takes down an answer; it may be the one that the event waits for.
    pub fn answered(&self, client: usize, enter: impl FnOnce(&mut Log)) {
        self.log_of(client, enter);
        if self.answers.fetch_add(1, Ordering::SeqCst) == self.after {
            self.happen();
        }
    }

    pub fn log(&self, client: usize) -> Log {
        lock(&self.logs[client]).clone()
    }

    pub fn saw(&self, what: &str) {
        lock(&self.tally).push(what.to_owned());
    }

    fn happen(&self) {
        match &self.event {
            Event::Close | Event::DropHandles => {}
            Event::CloseMidway(limit) => {
                let store = lock(&self.store).clone().unwrap();
                // It goes on although nobody waits for it.
                drop(match limit {
                    None => store.close(),
                    Some(limit) => store.close_within(*limit),
                });
            }
            Event::PowerCut(survivors) => self.cut_power(*survivors),
            Event::Fault(plan) | Event::FaultAndPowerCut(plan, _) => self.vfs.arm(plan.clone()),
            Event::FullDisk(bytes) => self.vfs.set_free_bytes(Some(*bytes)),
        }
    }

    /// What was acknowledged before, and then the image: what is acknowledged in between may be in it.
    fn cut_power(&self, survivors: Survivors) {
        let logs: Logs = std::array::from_fn(|client| self.log(client));
        let image = self.vfs.image_with(&|pending| match survivors {
            Survivors::Nothing => false,
            Survivors::Everything => true,
            Survivors::Some(number) => Rng::new(number ^ pending.event as u64).once_in(2),
        });
        *lock(&self.cut) = Some(Cut { image, logs });
    }

    fn finish(self, path: PathBuf, begin: Found, tally: &mut Vec<String>) -> End {
        let logs = self.logs.map(|log| log.into_inner().unwrap_or_else(PoisonError::into_inner));
        let cut = self.cut.into_inner().unwrap_or_else(PoisonError::into_inner);
        if cut.is_some() {
            // Where the power stayed on, everything is as after any close.
            let found = Found::in_file(&Probe::open(&path).unwrap()).unwrap();
            let verdict = judge::after_close(&begin, &logs, &found);
            verdict
                .unwrap_or_else(|text| panic!("with the power on: {text}\nbegun with {begin:?}\n{logs:#?}"));
        }
        tally.extend(self.tally.into_inner().unwrap_or_else(PoisonError::into_inner));
        for log in &logs {
            tally.extend(log.entries.iter().map(|entry| kind(entry.answer).to_owned()));
            tally.extend(log.crowd.iter().map(|entry| format!("in pieces: {}", kind_of_work(entry.answer))));
        }
        let event = match &self.event {
            Event::CloseMidway(_) => "Close midway",
            Event::FaultAndPowerCut(..) => "Fault and power cut",
            Event::Fault(_) => "Fault",
            Event::FullDisk(_) => "Full disk",
            Event::PowerCut(_) => "Power cut",
            Event::DropHandles => "Handles dropped",
            Event::Close => "Close",
        };
        tally.push(event.to_owned());
        End { path, begin, logs, cut }
    }
}

fn kind(answer: Answer) -> &'static str {
    match answer {
        Answer::None => "never heard of",
        Answer::Done { .. } => "done",
        Answer::FailedByItself(Failure::Conflict { .. }) => "conflict",
        Answer::FailedByItself(Failure::Other) => "failed by itself",
        Answer::Failed(walwright::Outcome::NotStarted) => "not started",
        Answer::Failed(walwright::Outcome::NotApplied) => "not applied",
        Answer::Failed(_) => "unknown",
    }
}

fn kind_of_work(answer: crowd::Answer) -> &'static str {
    match answer {
        crowd::Answer::None => "never heard of",
        crowd::Answer::Done { .. } => "done",
        crowd::Answer::Constraint { rows: 0 } => "failed by itself",
        crowd::Answer::Constraint { .. } => "failed by itself in part",
        crowd::Answer::Failed(walwright::Outcome::Partial { .. }) => "in part",
        crowd::Answer::Failed(walwright::Outcome::Unknown) => "unknown",
        crowd::Answer::Failed(_) => "not started or applied",
    }
}
