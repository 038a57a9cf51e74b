//! A SQLite VFS between SQLite and the platform's default VFS.
//!
//! ```
//! use rusqlite::{Connection, OpenFlags};
//! use walwright_test_support::vfs::{DatabaseCreation, FaultVfs, FileKind};
//! use walwright_test_support::Scratch;
//!
//! let scratch = Scratch::new();
//! let path = scratch.join("db");
//! let vfs = FaultVfs::unique("example");
//! vfs.start_recording(DatabaseCreation::WithDirectory);
//!
//! let connection = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs.name())?;
//! connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(x)")?;
//! assert!(vfs.counts(FileKind::Wal).syncs > 0);
//!
//! // What a power cut would leave now, in a place where it can be opened.
//! let after = scratch.subdirectory("after");
//! vfs.write_image(&after)?;
//! Connection::open(after.join("db"))?.execute_batch("SELECT x FROM t")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the model of the disk leaves out: files that are changed or replaced behind the VFS while it
//! records, and memory-mapped I/O, which the VFS does not offer to SQLite. The `-shm` file is never
//! part of an image: SQLite rebuilds it.

mod base;
mod counters;
mod file;
mod handle;
mod hold;
mod image;
mod kind;
mod plan;
mod recorder;
mod registration;
mod replay;
mod space;
#[cfg(test)]
mod tests;
mod trace;

pub use counters::Counts;
pub use hold::SyncHold;
pub use image::Image;
pub use kind::FileKind;
pub use plan::{FaultPlan, Operation};
pub use replay::{Change, Disk, Fate, Pending};
pub use trace::{DatabaseCreation, Event, FileId, SyncEffect};

use base::Base;
use counters::Counters;
use hold::SyncGate;
use plan::Faults;
use recorder::Recorder;
use space::Space;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// A registered VFS: what a test does to the I/O of the connections that are opened by its name.
///
/// All methods may be called at any time from any thread.
pub struct FaultVfs {
    name: CString,
    base: Base,
    counters: Counters,
    faults: Faults,
    sync_gate: SyncGate,
    sync_delay_nanos: AtomicU64,
    lying: AtomicBool,
    syncs_are_skipped: AtomicBool,
    space: Space,
    recorder: Recorder,
}

impl FaultVfs {
    /// Registers a VFS under `name`. It is never freed: SQLite may hold on to it until the process
    /// ends.
    ///
    /// # Panics
    /// When there is a VFS of that name already, or the name contains a NUL.
    pub fn register(name: &str) -> &'static Self {
        let vfs = Box::leak(Box::new(Self {
            name: CString::new(name).expect("a name without NUL"),
            base: Base::find(),
            counters: Counters::default(),
            faults: Faults::default(),
            sync_gate: SyncGate::default(),
            sync_delay_nanos: AtomicU64::new(0),
            lying: AtomicBool::new(false),
            syncs_are_skipped: AtomicBool::new(false),
            space: Space::default(),
            recorder: Recorder::default(),
        }));
        registration::register(vfs);
        vfs
    }

    /// Registers a VFS under a fresh name that starts with `prefix`.
    pub fn unique(prefix: &str) -> &'static Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::register(&format!("{prefix}-{}-{}", process::id(), NEXT.fetch_add(1, SeqCst)))
    }

    /// The name to open connections with.
    pub fn name(&self) -> &str {
        self.name.to_str().expect("made from a str")
    }

    fn c_name(&self) -> &CStr {
        &self.name
    }

    // Counting.

    /// The calls on files of `kind` so far. The kind of a deleted file is guessed from its name.
    pub fn counts(&self, kind: FileKind) -> Counts {
        self.counters.counts(kind)
    }

    /// The calls on all files so far.
    pub fn total_counts(&self) -> Counts {
        FileKind::ALL.iter().fold(Counts::default(), |sum, kind| sum + self.counts(*kind))
    }

    /// How many files are open now.
    pub fn open_files(&self) -> usize {
        self.counters.open_files()
    }

    // Slow, held and failing calls.

    /// Makes every sync sleep for `delay` before it takes effect.
    pub fn set_sync_delay(&self, delay: Duration) {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.sync_delay_nanos.store(nanos, SeqCst);
    }

    /// Leaves out the real sync of every file: the recording knows what would be on the disk all the same,
    /// and a test that runs thousands of syncs need not wait for the machine's own.
    pub fn skip_real_syncs(&self, skip: bool) {
        self.syncs_are_skipped.store(skip, SeqCst);
    }

    fn sleep_before_sync(&self) {
        let delay = Duration::from_nanos(self.sync_delay_nanos.load(SeqCst));
        if !delay.is_zero() {
            thread::sleep(delay);
        }
    }

    /// Makes syncs of files of one kind, or of all with `None`, wait until the hold is dropped. A
    /// plan that is armed while a sync waits applies to it.
    ///
    /// # Panics
    /// When syncs are held already. A sync that waits for a minute ends the process.
    #[track_caller]
    pub fn hold_syncs(&self, kind: impl Into<Option<FileKind>>) -> SyncHold<'_> {
        self.sync_gate.close(kind.into())
    }

    /// Makes calls fail as `plan` says, instead of any earlier plan.
    pub fn arm(&self, plan: FaultPlan) {
        self.faults.arm(plan);
    }

    /// Ends the plan.
    pub fn disarm(&self) {
        self.faults.disarm();
    }

    /// How many calls have failed by the plan that was armed last.
    pub fn fired(&self) -> u64 {
        self.faults.fired()
    }

    /// How many calls the plan that was armed last was asked about: those that it could have failed.
    pub fn matched(&self) -> u64 {
        self.faults.matched()
    }

    /// Leaves `bytes` by which all files together may still grow, or room without end.
    ///
    /// A write that needs more fails with `SQLITE_FULL`. Overwriting costs nothing; truncating and
    /// deleting give room back.
    pub fn set_free_bytes(&self, bytes: Option<u64>) {
        self.space.set_free(bytes);
    }

    /// How many bytes are left of [`FaultVfs::set_free_bytes`].
    pub fn free_bytes(&self) -> Option<u64> {
        self.space.free()
    }

    /// Makes syncs, of files and directories, report success and do nothing to the disk.
    pub fn lie_about_syncs(&self, lie: bool) {
        self.lying.store(lie, SeqCst);
    }

    fn lies(&self) -> bool {
        self.lying.load(SeqCst)
    }

    // Power cuts.

    /// Starts a new recording and forgets any other. What is in the files now counts as durable;
    /// a file that is opened later and was there before counts as durable as it is found.
    pub fn start_recording(&self, creation: DatabaseCreation) {
        self.recorder.start(creation, &self.base);
    }

    /// Ends the recording and returns it.
    pub fn stop_recording(&self) -> Vec<Event> {
        self.recorder.stop()
    }

    /// The recording so far.
    pub fn trace(&self) -> Vec<Event> {
        self.recorder.events()
    }

    /// Puts a mark into the recording.
    pub fn mark(&self, mark: u64) {
        self.recorder.record(|| Event::Mark(mark));
    }

    /// Tells the recording that somebody has synced `directory` behind the VFS.
    pub fn directory_synced(&self, directory: &Path) {
        let begun = self.recorder.begin_sync();
        let path = directory.to_owned();
        self.recorder.end_sync(begun, |covers| [Event::SyncDirectory { path, covers }]);
    }

    /// The disk as it is now.
    pub fn disk(&self) -> Disk {
        self.recorder.with_events(|events| Disk::after(events))
    }

    /// What a power cut would leave now if nothing survives that was not synced.
    pub fn image_at_power_cut(&self) -> Image {
        self.disk().image_at_power_cut()
    }

    /// What a power cut would leave now if, beside what was synced, exactly those changes survive
    /// that `keep` accepts.
    pub fn image_with(&self, keep: &dyn Fn(&Pending) -> bool) -> Image {
        self.disk().image_with(keep)
    }

    /// Writes [`FaultVfs::image_at_power_cut`] into `directory`, as [`Image::write_into`] does.
    pub fn write_image(&self, directory: &Path) -> io::Result<()> {
        self.image_at_power_cut().write_into(directory)
    }
}

impl fmt::Debug for FaultVfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultVfs").field("name", &self.name()).finish_non_exhaustive()
    }
}
