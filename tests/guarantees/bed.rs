//! A store on a recorded disk, and what the tests do with it.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use walwright::rusqlite::types::FromSql;
use walwright::{
    AckLevel, Applied, BulkReceipt, Migration, Receipt, RowReceipt, Store, StoreBuilder, Write, WriteError,
};
use walwright_test_support::vfs::{DatabaseCreation, FileKind, Image};
use walwright_test_support::{FaultVfs, Gate, Scratch, watchdog};

/// The table of most tests.
pub const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, v)";

/// Longer than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test's body under the watchdog.
#[track_caller]
pub fn run(body: impl FnOnce() + Send + 'static) {
    watchdog(LIMIT, body);
}

/// A folder, a VFS that records, and a schema.
pub struct Bed {
    pub scratch: Scratch,
    pub vfs: &'static FaultVfs,
    schema: &'static str,
    images: AtomicU32,
}

impl Bed {
    pub fn new() -> Self {
        Self::with(SCHEMA)
    }

    pub fn with(schema: &'static str) -> Self {
        let vfs = FaultVfs::unique("guarantee");
        vfs.start_recording(DatabaseCreation::AtOnce);
        Self { scratch: Scratch::new(), vfs, schema, images: AtomicU32::new(0) }
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.join("store.db")
    }

    /// How the store is opened, for tests that want other limits.
    pub fn builder(&self) -> StoreBuilder {
        self.builder_at(&self.path()).vfs(self.vfs.name())
    }

    fn builder_at(&self, path: &Path) -> StoreBuilder {
        Store::builder(path)
            .migrations(&[Migration::sql(self.schema)])
            .readers(2)
            // No test depends on what a group can do in its time, unless it says so.
            .group(256, 1 << 20, Duration::from_secs(60))
    }

    /// Opens the store with everything synced, so that what is missing later is this test's doing.
    pub fn open(&self) -> Store {
        synced(self.builder())
    }

    /// Opens what `image` holds, as the next start of the program would.
    pub fn reopen(&self, image: &Image) -> Store {
        let number = self.images.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.subdirectory(format!("image-{number}"));
        image.write_into(&folder).unwrap();
        self.builder_at(&folder.join("store.db")).open().wait().unwrap()
    }

    /// The single value of a query on what `image` holds.
    pub fn one_in<T: FromSql>(&self, image: &Image, sql: &'static str) -> T {
        let store = self.reopen(image);
        let check: String = one(&store, "PRAGMA integrity_check");
        assert_eq!(check, "ok");
        let value = one(&store, sql);
        store.close().wait().unwrap();
        value
    }

    /// The keys in `t` on what `image` holds.
    pub fn ids_in(&self, image: &Image) -> Vec<i64> {
        let store = self.reopen(image);
        let found = ids(&store);
        store.close().wait().unwrap();
        found
    }

    /// The keys in `t` after a power cut now.
    pub fn survivors(&self) -> Vec<i64> {
        self.ids_in(&self.vfs.image_at_power_cut())
    }

    /// The syncs of the write-ahead log so far.
    pub fn wal_syncs(&self) -> u64 {
        self.vfs.counts(FileKind::Wal).syncs
    }

    /// Waits until the store has let go of all its files.
    pub fn wait_until_released(&self) {
        while self.vfs.open_files() > 0 {
            thread::yield_now();
        }
    }

    /// Sends writes that find themselves in one group, and gives each answer with the disk as a power cut at
    /// that very moment would leave it.
    pub fn answers<W: Into<AnyWrite>>(
        &self,
        store: &Store,
        writes: impl IntoIterator<Item = W>,
    ) -> Vec<(Result<Told, WriteError>, Image)> {
        self.pictured(store, writes.into_iter().map(|write| (write.into().0)()))
    }

    /// The same for row commands, whose receipts tell more.
    pub fn row_answers(
        &self,
        store: &Store,
        writes: impl IntoIterator<Item = Write<RowReceipt>>,
    ) -> Vec<(Result<RowReceipt, WriteError>, Image)> {
        let send =
            |write: Write<RowReceipt>| Box::pin(write.try_submit().expect("there is room")) as Answering<_>;
        self.pictured(store, writes.into_iter().map(send))
    }

    fn pictured<R>(
        &self,
        store: &Store,
        sent: impl Iterator<Item = Answering<R>>,
    ) -> Vec<(Result<R, WriteError>, Image)> {
        let gate = hold_writer(store);
        let mut waiting: Vec<Waiting<R>> = sent.map(|answering| Waiting::new(answering, self.vfs)).collect();
        for one in &mut waiting {
            assert!(one.poll().is_none(), "answered before the writer could start it");
        }
        gate.open();
        waiting.into_iter().map(Waiting::wait).collect()
    }

    /// The same for one write.
    pub fn answer(&self, store: &Store, write: impl Into<AnyWrite>) -> (Result<Told, WriteError>, Image) {
        self.answers(store, [write]).remove(0)
    }

    /// The disk as a power cut at the moment of the answer would leave it, for a write that must succeed.
    #[track_caller]
    pub fn image_at_answer(&self, store: &Store, write: impl Into<AnyWrite>) -> Image {
        let (result, image) = self.answer(store, write);
        assert!(result.is_ok(), "{:?}", result.err());
        image
    }
}

/// What every successful write tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub sequence: u64,
    pub rows_changed: u64,
}

/// A success of some kind of write.
pub trait Success: 'static {
    fn told(&self) -> Told;
}

type Answering<R> = Pin<Box<dyn Future<Output = Result<R, WriteError>>>>;

/// A write of any kind, of whose result only what all have in common matters.
pub struct AnyWrite(Box<dyn FnOnce() -> Answering<Told>>);

impl Success for Receipt {
    fn told(&self) -> Told {
        Told { sequence: self.sequence, rows_changed: self.rows_changed }
    }
}

impl<T: 'static> Success for Applied<T> {
    fn told(&self) -> Told {
        self.receipt.told()
    }
}

impl Success for RowReceipt {
    fn told(&self) -> Told {
        Told { sequence: self.sequence, rows_changed: self.rows_changed }
    }
}

impl Success for BulkReceipt {
    fn told(&self) -> Told {
        Told { sequence: self.sequence, rows_changed: self.rows_changed }
    }
}

impl<S: Success> From<Write<S>> for AnyWrite {
    fn from(write: Write<S>) -> Self {
        Self(Box::new(|| {
            let pending = write.try_submit().expect("there is room");
            Box::pin(async { pending.await.map(|success| success.told()) })
        }))
    }
}

impl AnyWrite {
    /// Sends it and waits.
    pub fn wait(self) -> Result<Told, WriteError> {
        let mut answering = (self.0)();
        let unpark = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            if let Poll::Ready(answer) = answering.as_mut().poll(&mut Context::from_waker(&unpark)) {
                return answer;
            }
            thread::park();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A write whose answer takes a picture of the disk, on the writer's thread, before anything else can happen.
struct Waiting<R> {
    answering: Answering<R>,
    camera: Arc<Camera>,
    waker: Waker,
}

struct Camera {
    vfs: &'static FaultVfs,
    image: Mutex<Option<Image>>,
    waiter: Thread,
}

impl Wake for Camera {
    fn wake(self: Arc<Self>) {
        self.image.lock().unwrap().get_or_insert_with(|| self.vfs.image_at_power_cut());
        self.waiter.unpark();
    }
}

impl<R> Waiting<R> {
    fn new(answering: Answering<R>, vfs: &'static FaultVfs) -> Self {
        let camera = Arc::new(Camera { vfs, image: Mutex::new(None), waiter: thread::current() });
        Self { answering, waker: Waker::from(camera.clone()), camera }
    }

    fn poll(&mut self) -> Option<Result<R, WriteError>> {
        match self.answering.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    fn wait(mut self) -> (Result<R, WriteError>, Image) {
        loop {
            // The answer is there a moment before its picture: wait for the picture first.
            if self.camera.image.lock().unwrap().is_some()
                && let Some(answer) = self.poll()
            {
                let image = self.camera.image.lock().unwrap().take().unwrap();
                return (answer, image);
            }
            thread::park();
        }
    }
}

/// Opens a store and lets it sync once, so that nothing before counts as unsynced.
pub fn synced(builder: StoreBuilder) -> Store {
    let store = builder.open().wait().unwrap();
    store.flush().wait().unwrap();
    store
}

/// Keeps the writer busy until the gate is opened. What is sent meanwhile becomes one group.
pub fn hold_writer(store: &Store) -> Gate {
    let gate = Gate::new();
    let inside = gate.clone();
    let holding = store.write(move |_| {
        inside.wait();
        Ok(())
    });
    drop(holding.ack(AckLevel::Committed).try_submit().unwrap());
    gate.wait_until_entered();
    gate
}

pub fn insert(store: &Store, id: i64) -> Write<Receipt> {
    store.execute("INSERT INTO t (id) VALUES (?1)", (id,))
}

/// The keys in `t`.
pub fn ids(store: &Store) -> Vec<i64> {
    column(store, "SELECT id FROM t ORDER BY id")
}

/// The first column of a query.
pub fn column<T: FromSql>(store: &Store, sql: &'static str) -> Vec<T> {
    let rows = store.query(sql, ()).wait().unwrap();
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

/// The single value of a query.
pub fn one<T: FromSql>(store: &Store, sql: &'static str) -> T {
    store.query(sql, ()).wait().unwrap()[0].get(0).unwrap()
}

/// A connection of another program that opens the file through the same disk, at NORMAL.
pub fn foreign(bed: &Bed) -> walwright::rusqlite::Connection {
    use walwright::rusqlite::config::DbConfig;
    use walwright::rusqlite::{Connection, OpenFlags};
    let connection =
        Connection::open_with_flags_and_vfs(bed.path(), OpenFlags::default(), bed.vfs.name()).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection
        .execute_batch("PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=10000")
        .unwrap();
    connection
}
