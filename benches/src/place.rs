//! Where files are measured.

use crate::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process};
use walwright_test_support::disk;

/// A fresh folder on a real disk, removed in the end.
pub struct Place {
    path: PathBuf,
    pub filesystem: String,
    /// The median time of a sync of 4 KiB.
    pub sync: Duration,
}

impl Place {
    /// Makes a folder below `parent`, or below the system's folder for temporary files.
    ///
    /// A filesystem in memory is refused: a sync costs nothing there, and so would the figures be worth.
    pub fn create(parent: Option<&Path>) -> Result<Self> {
        const SAMPLES: usize = 51;
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        if disk::is_tmpfs(&parent)? {
            let parent = parent.display();
            return Err(
                format!("{parent} is in memory, where a sync costs nothing; name a disk with --dir").into()
            );
        }
        let path = parent.join(format!("walwright-bench-{}", process::id()));
        fs::create_dir_all(&path)?;
        let mut place = Self { path, filesystem: disk::filesystem_of(&parent)?, sync: Duration::ZERO };
        place.sync = disk::median_fsync(&place.path, SAMPLES)?;
        Ok(place)
    }

    /// A fresh folder in it for one database.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.path.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left over harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
