//! How a store is to be opened, with the reason beside each default.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::open::{Open, Options, Place};
use crate::error::ClosureError;
use crate::fixup::Fixup;
use crate::migration::Migration;
use crate::protocol::feed::FeedLimits;
use crate::protocol::level::AckLevel;
use crate::protocol::limits::{GroupLimits, QueueLimits};
use crate::retention::{Retention, WallClock};
use crate::sqlite::files::schema_look::SchemaLook;
use crate::sqlite::plan::{OpenPlan, Reclaim};
use crate::sqlite::reader::ReadLimits;
use crate::sqlite::writer::{WalLimits, WriteLimits, WriterLimits};
use crate::sync::Arc;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// Reader threads, at most: more than any machine has cores.
const MOST_READERS: usize = 1024;
/// Commands of one group, at most. Each may take three commit sequences, when its group has to be carried
/// out again, and all of them must fit into one reserved range of a million.
const LARGEST_GROUP: usize = 256 * KIB;

/// Settings of a store that is about to be opened. Made by [`Store::builder`](crate::Store::builder) and
/// [`Store::temporary`](crate::Store::temporary).
///
/// ```
/// use std::time::Duration;
/// use walwright::{Migration, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.db");
/// let store = Store::builder(path)
///     .migrations(&[Migration::sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")])
///     .readers(2)
///     .write_queue(10_000, 16 << 20)
///     .read_age(Duration::from_secs(1), Duration::from_secs(10))
///     .open()
///     .wait()?;
/// assert_eq!(store.settings().journal_mode, "wal");
/// assert!(store.settings().created);
/// store.close().wait()?;
/// # Ok(())
/// # }
/// ```
///
/// Numbers of readers, commands and bytes of queues, and commands of a group, are at least 1: a queue that
/// holds nothing would never move.
#[derive(Clone)]
#[must_use = "a builder does nothing until the store is opened"]
pub struct StoreBuilder {
    place: Place,
    options: Options,
}

impl StoreBuilder {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self::new(Place::At, path)
    }

    pub(crate) fn temporary() -> Self {
        Self::new(Place::Temporary, PathBuf::new())
    }

    fn new(place: Place, path: PathBuf) -> Self {
        let plan = OpenPlan {
            path,
            create: true,
            create_parents: false,
            vfs: None,
            busy_budget: Duration::from_secs(5),
            open_timeout: Duration::from_secs(30),
            page_cache_bytes: 8 * MIB as u64,
            require_wal: true,
            application_id: None,
            hook: None,
            migrations: Vec::new(),
            retention: Vec::new(),
            reclaim: Reclaim::Off,
            recogniser: None,
            fixups: Vec::new(),
        };
        let writer = WriterLimits {
            group: GroupLimits { commands: 256, bytes: MIB, time: Duration::from_millis(100) },
            write: WriteLimits { run_limit: Duration::from_secs(30), result_bytes: 64 * MIB },
            wal: WalLimits { soft_bytes: 4 * MIB as u64, hard_bytes: 64 * MIB as u64 },
            coalescing: true,
            least_read_age: Duration::from_secs(5),
            greatest_read_age: Duration::from_secs(60),
        };
        let options = Options {
            plan,
            writer,
            read: ReadLimits { greatest_age: Duration::from_secs(60), result_bytes: 64 * MIB },
            readers: 4,
            write_queue: QueueLimits { commands: 64 * KIB, bytes: 64 * MIB },
            read_queue: QueueLimits { commands: 64 * KIB, bytes: 64 * MIB },
            changes: FeedLimits { records: 64 * KIB, bytes: 16 * MIB },
            level: AckLevel::Durable,
            largest_value: 16 * MIB,
            clock: WallClock::system(),
        };
        Self { place, options }
    }

    /// Whether a missing file is created. Default: yes, with mode 0600. If not, opening fails with
    /// [`OpenError::NotFound`](crate::OpenError::NotFound).
    pub fn create(mut self, create: bool) -> Self {
        self.options.plan.create = create;
        self
    }

    /// Whether missing parent folders are created. Default: no; a mistyped path should not become a new
    /// store, so opening fails with [`OpenError::ParentMissing`](crate::OpenError::ParentMissing).
    pub fn create_parents(mut self, create: bool) -> Self {
        self.options.plan.create_parents = create;
        self
    }

    /// Reader threads, each with its own connection and page cache: so many reads run at a time. Default: 4,
    /// at least 1, at most 1,024.
    pub fn readers(mut self, readers: usize) -> Self {
        self.options.readers = readers.clamp(1, MOST_READERS);
        self
    }

    /// The acknowledgement level of writes that do not ask for one. Default: [`AckLevel::Durable`].
    pub fn ack(mut self, level: AckLevel) -> Self {
        self.options.level = level;
        self
    }

    /// How many writes, of how many bytes together, may be admitted and not yet taken by the writer.
    /// Further ones wait for room in fair order, and [`Write::try_submit`](crate::Write::try_submit) fails with
    /// [`WriteError::Overloaded`](crate::WriteError::Overloaded). A command larger than `bytes` is refused with
    /// [`WriteError::TooLarge`](crate::WriteError::TooLarge). Default: 65,536 commands and 64 MiB. A command's
    /// bytes are those of its values and of an SQL text that is not `'static`, what
    /// [`Write::bytes`](crate::Write::bytes) declares, and half a KiB for itself.
    pub fn write_queue(mut self, commands: usize, bytes: usize) -> Self {
        self.options.write_queue = QueueLimits { commands: commands.max(1), bytes: bytes.max(1) };
        self
    }

    /// The same for reads that wait for a reader: further ones wait for room in fair order, and
    /// [`Read::try_submit`](crate::Read::try_submit) fails with
    /// [`ReadError::Overloaded`](crate::ReadError::Overloaded). Default: 65,536 reads and 64 MiB.
    pub fn read_queue(mut self, commands: usize, bytes: usize) -> Self {
        self.options.read_queue = QueueLimits { commands: commands.max(1), bytes: bytes.max(1) };
        self
    }

    /// How many commands, of how many bytes together, one transaction takes at most, and for how long it
    /// takes further ones. A command larger than the limit gets a transaction of its own. Default: 256
    /// commands, 1 MiB, 100 ms: beyond that a sync is shared by so many that sharing it with more gains
    /// little, while everybody waits longer. More than 262,144 commands count as 262,144.
    ///
    /// The time is looked at between two commands: none is ended by it. Row commands on tables where nothing else
    /// happens (no triggers, cascades or functions of the program) go up to 1,024 at a time.
    pub fn group(mut self, commands: usize, bytes: usize, time: Duration) -> Self {
        self.options.writer.group = GroupLimits { commands: commands.clamp(1, LARGEST_GROUP), bytes, time };
        self
    }

    /// How many changes, of how many bytes together, are kept for a subscriber of
    /// [`Store::changes`](crate::Store::changes) or a [`LiveView`](crate::LiveView) that has not taken them. One that
    /// falls behind by more misses some, and is told: [`Change::Lagged`](crate::Change::Lagged). Default: 65,536 changes
    /// and 16 MiB, which a writer at full speed fills in about a second. A change takes some 100 bytes and its key.
    pub fn change_buffer(mut self, changes: usize, bytes: usize) -> Self {
        self.options.changes = FeedLimits { records: changes.max(1), bytes: bytes.max(1) };
        self
    }

    /// The largest text or BLOB that may be sent, in bytes: as a parameter of a statement, a batch or a
    /// [`query`](crate::Store::query), or as a value of a row command, a key or a filter. Larger ones are refused
    /// before they are queued, with [`WriteError::TooLarge`](crate::WriteError::TooLarge) or
    /// [`ReadError::TooLarge`](crate::ReadError::TooLarge). Default: 16 MiB. A command has to fit into its queue
    /// besides. What closures bind themselves, that of [`modify`](crate::Table::modify) among them, is not looked at.
    pub fn largest_value(mut self, bytes: usize) -> Self {
        self.options.largest_value = bytes;
        self
    }

    /// How much memory the rows of one [`query`](crate::Store::query), or of one RETURNING clause, may take, in
    /// bytes. Past it the call fails with `ResultTooLarge`, and a write is undone. Default: 64 MiB. What
    /// closures collect is not looked at.
    pub fn largest_result(mut self, bytes: usize) -> Self {
        self.options.read.result_bytes = bytes;
        self.options.writer.write.result_bytes = bytes;
        self
    }

    /// How long one write may run before it is ended and undone, with
    /// [`WriteError::RunLimit`](crate::WriteError::RunLimit): meanwhile everybody waits for it. Default: 30 s. SQL
    /// is ended at its next step or statement; one long call of a built-in function, and a closure that runs no
    /// SQL, cannot be ended.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.options.writer.write.run_limit = limit;
        self
    }

    /// How old the snapshot of a read may become. Past `greatest` the read is ended with
    /// [`ReadError::TooOld`](crate::ReadError::TooOld). While the write-ahead log is at its hard limit, reads older
    /// than `least` are ended too, with [`ReadError::WalPressure`](crate::ReadError::WalPressure), so that writes
    /// can go on. Default: at least 5 s and at most 60 s.
    pub fn read_age(mut self, least: Duration, greatest: Duration) -> Self {
        self.options.writer.least_read_age = least;
        self.options.writer.greatest_read_age = greatest;
        self.options.read.greatest_age = greatest;
        self
    }

    /// The size of the write-ahead log, in bytes, at which the writer copies it into the file, and the size
    /// at which writes wait until it could. Default: 4 MiB and 64 MiB. A short log is quick to copy and
    /// quick to read through; the hard limit is what readers with old snapshots can make it grow to. One group
    /// can go past it by its own size. At the hard limit writes wait as long as a snapshot pins the log: that of
    /// a read until [`read_age`](Self::read_age) ends it, that of another program until it is done.
    /// While work on many rows is under way the copying waits until the log is four times the soft limit, or half the
    /// hard one: small commands beside it would wait for it too often.
    pub fn wal_limits(mut self, soft_bytes: u64, hard_bytes: u64) -> Self {
        self.options.writer.wal = WalLimits { soft_bytes, hard_bytes: hard_bytes.max(soft_bytes) };
        self
    }

    /// How long the writer waits for the lock of another program before the commands of a group are answered
    /// [`WriteError::Busy`](crate::WriteError::Busy): none of them was started. Default: 5 s.
    pub fn busy_budget(mut self, budget: Duration) -> Self {
        self.options.plan.busy_budget = budget;
        self
    }

    /// How long opening may wait for the locks of other programs before it fails with
    /// [`OpenError::Busy`](crate::OpenError::Busy). Default: 30 s. Another *store* on the file is not waited for:
    /// that is [`OpenError::AlreadyOpen`](crate::OpenError::AlreadyOpen) at once. Recovery and migrations take the
    /// time they take.
    pub fn open_timeout(mut self, timeout: Duration) -> Self {
        self.options.plan.open_timeout = timeout;
        self
    }

    /// Page cache of each connection, in bytes. There are two more of them than readers: the writer's, and that which
    /// copies the log beside it. Default: 8 MiB.
    pub fn page_cache(mut self, bytes: u64) -> Self {
        self.options.plan.page_cache_bytes = bytes;
        self
    }

    /// The SQLite VFS to open the file with, by the name under which it is registered. Default: SQLite's own.
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.options.plan.vfs = Some(name.into());
        self
    }

    /// The application id of the database (`PRAGMA application_id`). It is written into a file that has none,
    /// and a file with another one is refused with
    /// [`OpenError::ForeignApplication`](crate::OpenError::ForeignApplication). Default: not looked at.
    pub fn application_id(mut self, id: i32) -> Self {
        self.options.plan.application_id = Some(id);
        self
    }

    /// The schema's migrations, in order; `PRAGMA user_version` counts those that were applied. A file
    /// with a greater version is refused with [`OpenError::SchemaTooNew`](crate::OpenError::SchemaTooNew).
    /// Default: none, and the version is not looked at. See [`Migration`].
    pub fn migrations(mut self, migrations: &[Migration]) -> Self {
        self.options.plan.migrations = migrations.to_vec();
        self
    }

    /// Adds a policy of which rows go away by themselves. Default: none. See [`Retention`].
    ///
    /// It holds from the first moment on: what was due while the store was closed goes first. Opening fails with
    /// [`OpenError::Retention`](crate::OpenError::Retention) if the table, a column or the index is missing after the
    /// migrations.
    pub fn retention(mut self, policy: Retention) -> Self {
        self.options.plan.retention.push(policy);
        self
    }

    /// Gives space that deleted rows leave back to the filesystem. Default: the file keeps it for later rows, and never
    /// gets smaller.
    ///
    /// While much of the file is free (more than an eighth of it), pages from its end are moved to free places, a few at
    /// a time between what callers send, until a sixteenth is left. The file itself gets shorter with the checkpoint
    /// that follows. This takes little room while it works: as much as the write-ahead log may grow to.
    ///
    /// A file has to be made for it (`PRAGMA auto_vacuum = INCREMENTAL`, which costs a page in some 800 and a little
    /// with each page that is taken or freed): new ones are. One that was not stays as it is, with a warning in the log;
    /// see [`rebuild_to_reclaim`](Self::rebuild_to_reclaim).
    /// [`Settings::reclaims_space`](crate::Settings::reclaims_space) tells.
    pub fn reclaim_space(mut self) -> Self {
        if self.options.plan.reclaim == Reclaim::Off {
            self.options.plan.reclaim = Reclaim::IfPossible;
        }
        self
    }

    /// Like [`reclaim_space`](Self::reclaim_space), and rebuilds a file that was not made for it, once, while it is
    /// opened: `VACUUM`. Later openings find nothing to do.
    ///
    /// Nothing does this by itself, since it takes as long as it takes (a minute for some GB), and up to three times the
    /// room of the database meanwhile: for a temporary file in the folder that SQLite takes for these, and for the
    /// write-ahead log. Until it is done the store is not open. If it fails or is killed, the file is as before. Rowids
    /// of tables without an `INTEGER PRIMARY KEY` change by it.
    /// [`Settings::rebuilt`](crate::Settings::rebuilt) tells whether it was done.
    pub fn rebuild_to_reclaim(mut self) -> Self {
        self.options.plan.reclaim = Reclaim::Rebuild;
        self
    }

    /// The clock that says what has expired. Default: [`SystemTime::now`]. For tests, and for programs that know the
    /// time better. Nothing but expiry and age goes by it. It is asked on threads of the store and on those that
    /// read, and should not block.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.options.clock = WallClock::new(now);
        self
    }

    /// Adds one-shot work on old rows that goes on behind the open store. Default: none. See [`Fixup`].
    ///
    /// They are done in the order in which they were added, once for each file. A second one of the same name takes the
    /// place of the first.
    pub fn fixup(mut self, fixup: Fixup) -> Self {
        self.options.plan.add_fixup(fixup);
        self
    }

    /// Says where the schema of a file stands that has tables but no version, because it was in use before the program
    /// counted migrations: how many of the [`migrations`](Self::migrations) it has already. Default: none of them, so
    /// that all are run.
    ///
    /// It is asked only when there are migrations, `PRAGMA user_version` is 0 and the file has tables, before anything
    /// is changed. On `None`, an error or a panic the file is refused with
    /// [`OpenError::Unrecognised`](crate::OpenError::Unrecognised), and with more than there are with
    /// [`OpenError::SchemaTooNew`](crate::OpenError::SchemaTooNew): it stays as it was found. What it says is written in
    /// the transaction of the first migration that follows, or durably by itself if none follows. The functions of
    /// [`on_connection`](Self::on_connection) are not there yet when it looks.
    ///
    /// ```
    /// use walwright::{Migration, Store};
    ///
    /// const MIGRATIONS: &[Migration] = &[
    ///     Migration::sql("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"),
    ///     Migration::sql("ALTER TABLE message ADD COLUMN edited_at INTEGER"),
    ///     Migration::sql("CREATE TABLE marker (user TEXT PRIMARY KEY, read_to INTEGER)"),
    /// ];
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("old.db");
    /// # walwright::rusqlite::Connection::open(&path)?
    /// #     .execute_batch("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL, edited_at INTEGER)")?;
    /// let store = Store::builder(path)
    ///     .migrations(MIGRATIONS)
    ///     .recognise(|schema| {
    ///         Ok(match (schema.has_table("message")?, schema.has_column("message", "edited_at")?) {
    ///             (true, true) => Some(2),
    ///             (true, false) => Some(1),
    ///             _ => None,
    ///         })
    ///     })
    ///     .open()
    ///     .wait()?;
    /// assert_eq!(store.settings().opening.recognised, Some(2));
    /// assert_eq!((store.settings().migrations_applied, store.settings().user_version), (1, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn recognise<F>(mut self, recogniser: F) -> Self
    where
        F: Fn(&SchemaLook<'_>) -> Result<Option<u32>, ClosureError> + Send + Sync + 'static,
    {
        self.options.plan.recogniser = Some(Arc::new(recogniser));
        self
    }

    /// Runs on every connection before the engine's own settings, which win: functions, collations,
    /// modules. Functions that the schema itself uses (in a CHECK, an index, a trigger, a view) need the flag
    /// `SQLITE_INNOCUOUS`, since `trusted_schema` is off. It must leave no transaction open, make no temporary
    /// objects and keep nothing of the connection. If it does, fails or panics, opening fails with
    /// [`OpenError::Hook`](crate::OpenError::Hook).
    pub fn on_connection<F>(mut self, hook: F) -> Self
    where
        F: Fn(&rusqlite::Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    {
        self.options.plan.hook = Some(Arc::new(hook));
        self
    }

    /// Whether the writer may carry out several row commands of a group on one key as one statement, where nobody
    /// can tell. Default: it may. Without it every command is a statement of its own; answers and rows are the
    /// same. It is there for comparison.
    pub fn coalescing(mut self, coalescing: bool) -> Self {
        self.options.writer.coalescing = coalescing;
        self
    }

    /// Accepts a file that cannot be switched to WAL mode, for instance on a filesystem without shared
    /// memory. The store then works in rollback-journal mode and says so: every commit is durable, and
    /// reads and writes wait for each other. Default: such a file is refused.
    pub fn allow_degraded(mut self) -> Self {
        self.options.plan.require_wal = false;
        self
    }

    /// Opens the store: await it, or [`wait`](Open::wait) for it. Nothing happens before.
    ///
    /// Opening works on a thread of its own and blocks nobody. What it settled is in
    /// [`Store::settings`](crate::Store::settings).
    ///
    /// # Errors
    /// See [`OpenError`](crate::OpenError), which says what becomes of the file.
    pub fn open(self) -> Open {
        Open::new(self.place, self.options)
    }
}
