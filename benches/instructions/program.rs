//! The programs that are counted.

use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use walwright::{Migration, Pending, Store, WriteError};
use walwright_bench_workload::{INSERT, SCHEMA, Session, TABLE};
use walwright_benches::Result;
use walwright_benches::by_hand::{ByHand, Work};
use walwright_test_support::Scratch;

use crate::GROUP;

const MIGRATIONS: &[Migration] = &[Migration::sql(SCHEMA)];
/// No group may end before it is full, however slow valgrind is.
const HOURS: Duration = Duration::from_secs(10 * 60 * 60);
const GROUP_BYTES: usize = 64 << 20;

/// What is done with the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// They are made.
    Rows,
    /// The limit of an insert.
    InsertByHand,
    InsertRow,
    InsertStatement,
    /// The limit of an insert and an update.
    PairByHand,
    PairRow,
}

impl Program {
    pub const ALL: [Self; 6] = [
        Self::Rows,
        Self::InsertByHand,
        Self::InsertRow,
        Self::InsertStatement,
        Self::PairByHand,
        Self::PairRow,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::InsertByHand => "insert by hand",
            Self::InsertRow => "insert by row command",
            Self::InsertStatement => "insert by statement",
            Self::PairByHand => "pair by hand",
            Self::PairRow => "pair by row commands, pipelined",
        }
    }

    /// What it is held against.
    pub fn limit(self) -> Self {
        match self {
            Self::Rows => Self::Rows,
            Self::InsertByHand | Self::InsertRow | Self::InsertStatement => Self::InsertByHand,
            Self::PairByHand | Self::PairRow => Self::PairByHand,
        }
    }

    /// Writes `groups` groups of rows into a new database.
    pub fn run(self, groups: u64) -> Result<()> {
        let rows: Vec<Session> = (0..groups * GROUP).map(Session::new).collect();
        let scratch = Scratch::new();
        let path = scratch.join("db");
        let work = if self.limit() == Self::PairByHand { Work::Pair } else { Work::Insert };
        if self == Self::Rows {
            return Ok(());
        }
        if self.limit() == self {
            let mut by_hand = ByHand::create(&path, None)?;
            return rows.chunks(GROUP as usize).try_for_each(|chunk| by_hand.write(work, chunk));
        }
        let commands = if work == Work::Pair { 2 * GROUP } else { GROUP };
        let builder = Store::builder(path).migrations(MIGRATIONS).readers(1);
        let store = builder.group(commands as usize, GROUP_BYTES, HOURS).open().wait()?;
        let before = if self == Self::InsertStatement {
            write_behind_gate(&store, &rows, |row| {
                let Session { id, sandbox_id, token, created_at_ms, expires_at_ms, revoked, .. } = row;
                let params = (id, sandbox_id, token, created_at_ms, expires_at_ms, revoked, 1);
                Ok([store.execute(INSERT, params).try_submit()?])
            })?
        } else {
            let table = store.table::<Session>(TABLE).revision("resource_version").open().wait()?;
            if work == Work::Insert {
                write_behind_gate(&store, &rows, |row| Ok([table.insert(row).try_submit()?]))?
            } else {
                write_behind_gate(&store, &rows, |row| {
                    let inserted = table.insert(row).try_submit()?;
                    Ok([inserted, table.update(row.id.as_str()).set("revoked", true).try_submit()?])
                })?
            }
        };
        store.close().wait()?;
        // The writer stood at the gate in a group of its own.
        assert_eq!(store.stats().groups - before, 1 + groups, "every group is full");
        Ok(())
    }
}

/// Sends all rows while the writer stands at a gate, opens it, and takes every answer. Gives the number of groups
/// before that.
fn write_behind_gate<T, const COMMANDS: usize>(
    store: &Store,
    rows: &[Session],
    send: impl Fn(&Session) -> std::result::Result<[Pending<T>; COMMANDS], WriteError>,
) -> Result<u64> {
    let (gate, opened) = mpsc::channel::<()>();
    let (arrived, at_gate) = mpsc::channel();
    let stand = store.write(move |_| {
        let _ = arrived.send(());
        // An error: the sender is gone, and so is the gate.
        let _ = opened.recv();
        Ok(())
    });
    let stand = stand.try_submit()?;
    at_gate.recv()?;
    let before = store.stats().groups;
    let countdown =
        Arc::new(Countdown { left: AtomicUsize::new(rows.len() * COMMANDS), waits: thread::current() });
    let waker = Waker::from(Arc::clone(&countdown));
    let mut context = Context::from_waker(&waker);
    let mut pending = Vec::with_capacity(rows.len() * COMMANDS);
    for row in rows {
        for mut one in send(row)? {
            assert!(Pin::new(&mut one).poll(&mut context).is_pending(), "the gate is closed");
            pending.push(one);
        }
    }
    drop(gate);
    stand.wait()?;
    while countdown.left.load(Ordering::Acquire) > 0 {
        thread::park();
    }
    for mut one in pending {
        match Pin::new(&mut one).poll(&mut context) {
            Poll::Ready(answer) => drop(answer?),
            Poll::Pending => return Err("a command was woken without an answer".into()),
        }
    }
    Ok(before)
}

/// Wakes a thread after the last of many.
struct Countdown {
    left: AtomicUsize,
    waits: Thread,
}

impl Wake for Countdown {
    fn wake(self: Arc<Self>) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.waits.unpark();
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|program| program.name() == name);
        known.ok_or_else(|| format!("there is no program {name:?}"))
    }
}
