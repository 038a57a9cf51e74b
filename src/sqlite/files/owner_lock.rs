//! The lock that makes a store the only one on its database.
//!
//! Between processes it is an fcntl record lock on a file of its own beside the database: it ends with
//! the process and is not inherited by a forked child (an `flock` would live on in the child). Such a lock
//! does not hold between the threads of one process, and closing ANY descriptor of the lock file drops
//! it; so a registry of this process is asked first, by `stat`, before the file is opened.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{FlockOperation, OFlags, fcntl_lock};
use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::identity::{Inode, sidecar};
use crate::error::OpenError;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};

const SUFFIX: &str = "-owner";
const DOING: &str = "taking the owner lock";

/// Attempts while other processes keep removing or releasing the lock file in between.
const MOST_ATTEMPTS: usize = 100;

/// The stores that are open in this process.
static REGISTRY: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

struct Entry {
    id: u64,
    /// A forked child inherits its parent's entries, but not the locks behind them.
    process: u32,
    lock_file: Inode,
    /// Known once the database exists.
    database: Option<Inode>,
}

/// The ownership of a database. Dropping it gives it up, except in a forked child, which owns nothing.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    id: u64,
    process: u32,
    path: PathBuf,
    /// Whether the lock file is new: then a failed opening may remove it.
    created: bool,
    file: Option<File>,
}

impl OwnerLock {
    /// Takes the lock of the database at `path` (canonical), or says at once who has it.
    pub(crate) fn acquire(path: &Path) -> Result<Self, OpenError> {
        let lock_path = sidecar(path, SUFFIX);
        // Held throughout: a descriptor that another thread closed would take our new lock with it.
        let mut registry = REGISTRY.lock();
        for _ in 0..MOST_ATTEMPTS {
            let database = inode(path)?;
            refuse_registered(&registry, path, database, inode(&lock_path)?)?;
            let Some((file, created)) = open(path, &lock_path)? else { continue };
            match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                    let path = path.to_path_buf();
                    match holder(&file) {
                        Holder::Nobody => continue,
                        Holder::Unknown => {
                            return Err(OpenError::AlreadyOpen { path, holder: None, this_process: false });
                        }
                        Holder::Process(pid) => {
                            let holder = Some(pid);
                            return Err(OpenError::AlreadyOpen { path, holder, this_process: false });
                        }
                    }
                }
                Err(error) => {
                    if created {
                        let _ = fs::remove_file(&lock_path);
                    }
                    return Err(OpenError::from_io(&lock_path, DOING, error.into()));
                }
            }
            let lock_file = file.metadata().map_err(|e| OpenError::from_io(&lock_path, DOING, e))?;
            let lock_file = Inode::of(&lock_file);
            // A failed opening may have removed the file between our open and our lock.
            if inode(&lock_path)? != Some(lock_file) {
                continue;
            }
            let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            let process = process::id();
            registry.push(Entry { id, process, lock_file, database });
            return Ok(Self { id, process, path: lock_path, created, file: Some(file) });
        }
        Err(OpenError::AlreadyOpen { path: path.to_path_buf(), holder: None, this_process: false })
    }

    /// Notes the database file, so that another name of it (a hard link) is known too.
    ///
    /// To be called when the database exists.
    pub(crate) fn covers(&self, path: &Path) -> Result<(), OpenError> {
        let mut registry = REGISTRY.lock();
        let database = inode(path)?;
        let process = self.process;
        let mine = |entry: &Entry| entry.id == self.id && entry.process == process;
        if database.is_some()
            && registry.iter().any(|e| e.process == process && !mine(e) && e.database == database)
        {
            return Err(in_this_process(path));
        }
        for entry in registry.iter_mut().filter(|e| mine(e)) {
            entry.database = database;
        }
        Ok(())
    }

    /// Forgets the database file, which is about to be removed or let go of: its inode may be another file's
    /// soon. The lock file still keeps other stores from its name.
    pub(crate) fn uncover(&self) {
        let mut registry = REGISTRY.lock();
        for entry in registry.iter_mut().filter(|e| e.id == self.id && e.process == self.process) {
            entry.database = None;
        }
    }

    /// Gives the lock up after a failed opening, and removes its file if this opening made it.
    pub(crate) fn discard(self) {
        if self.created && self.is_mine() {
            // Safe while the lock is held: whoever has the file open finds after locking it that the
            // name leads elsewhere.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn is_mine(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if !self.is_mine() {
            // A forked child: leave the parent's registry entry and descriptor as they are. The registry's
            // mutex may even be held by a thread that does not exist here.
            std::mem::forget(self.file.take());
            return;
        }
        let mut registry = REGISTRY.lock();
        registry.retain(|entry| entry.id != self.id || entry.process != self.process);
        // Before the registry is released: see `acquire`.
        drop(self.file.take());
    }
}

/// Opens the lock file and says whether it is new; `None` if it vanished in between.
fn open(path: &Path, lock_path: &Path) -> Result<Option<(File, bool)>, OpenError> {
    let mut options = OpenOptions::new();
    // Not through a symbolic link: it would lead to a lock that others do not see.
    options.read(true).write(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    match options.clone().create_new(true).open(lock_path) {
        Ok(file) => return Ok(Some((file, true))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = super::place::parent_of(path).to_path_buf();
            return Err(OpenError::ParentMissing { path: path.to_path_buf(), parent });
        }
        Err(error) => return Err(OpenError::from_io(lock_path, DOING, error)),
    }
    match options.open(lock_path) {
        Ok(file) => Ok(Some((file, false))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::from_io(lock_path, DOING, error)),
    }
}

/// Who holds a lock that was refused.
enum Holder {
    /// It was released in this moment.
    Nobody,
    /// The system does not tell, as for a process of another PID namespace.
    Unknown,
    Process(u32),
}

fn holder(file: &File) -> Holder {
    match fcntl_getlk(file, &Flock::from(FlockType::WriteLock)) {
        Ok(None) => Holder::Nobody,
        Ok(Some(lock)) => {
            lock.pid.map_or(Holder::Unknown, |pid| Holder::Process(pid.as_raw_nonzero().get().unsigned_abs()))
        }
        Err(_) => Holder::Unknown,
    }
}

fn refuse_registered(
    registry: &[Entry],
    path: &Path,
    database: Option<Inode>,
    lock_file: Option<Inode>,
) -> Result<(), OpenError> {
    let process = process::id();
    let taken = |entry: &&Entry| {
        entry.process == process
            && (Some(entry.lock_file) == lock_file || (database.is_some() && entry.database == database))
    };
    if registry.iter().any(|entry| taken(&entry)) { Err(in_this_process(path)) } else { Ok(()) }
}

fn in_this_process(path: &Path) -> OpenError {
    OpenError::AlreadyOpen { path: path.to_path_buf(), holder: Some(process::id()), this_process: true }
}

fn inode(path: &Path) -> Result<Option<Inode>, OpenError> {
    Inode::at(path).map_err(|error| OpenError::from_io(path, DOING, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
#[path = "owner_lock_tests.rs"]
mod tests;
