//! The folder that a run works in.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use walwright_test_support::disk;

/// How many syncs the median is taken of.
const SYNC_SAMPLES: usize = 51;

/// A fresh folder, removed with everything in it.
pub struct Folder {
    dir: TempDir,
    databases: AtomicUsize,
}

impl Folder {
    /// Makes a folder for this example below `parent`, or on a real filesystem if there is a choice.
    pub fn create(parent: Option<&Path>, example: &str) -> Result<Self> {
        let parent = match parent {
            Some(parent) => parent.to_owned(),
            None => default_parent()?,
        };
        let dir = tempfile::Builder::new()
            .prefix(&format!("{example}-"))
            .tempdir_in(&parent)
            .map_err(|error| format!("cannot make a folder in {}: {error}", parent.display()))?;
        Ok(Self { dir, databases: AtomicUsize::new(0) })
    }

    /// The path of a database that is not there yet.
    pub fn new_database(&self) -> PathBuf {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        self.dir.path().join(format!("{number}.db"))
    }

    /// What the folder is on. It takes some fifty syncs.
    pub fn disk(&self) -> Result<Disk> {
        let path = self.dir.path();
        Ok(Disk {
            filesystem: disk::filesystem_of(path)?,
            in_memory: disk::is_tmpfs(path)?,
            median_fsync: disk::median_fsync(path, SYNC_SAMPLES)?,
        })
    }

    /// Removes the folder, which its drop does, too, but without a word if that fails.
    pub fn remove(self) -> Result<()> {
        let path = self.dir.path().to_owned();
        self.dir.close().map_err(|error| format!("cannot remove {}: {error}", path.display()).into())
    }
}

/// The disk below the databases.
pub struct Disk {
    pub filesystem: String,
    pub in_memory: bool,
    pub median_fsync: Duration,
}

fn default_parent() -> Result<PathBuf> {
    let temporary = std::env::temp_dir();
    if !disk::is_tmpfs(&temporary)? {
        return Ok(temporary);
    }
    let target = PathBuf::from("target");
    fs::create_dir_all(&target).map_err(|error| format!("cannot make {}: {error}", target.display()))?;
    Ok(target)
}
