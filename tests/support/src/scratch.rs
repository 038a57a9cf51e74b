//! Temporary directories on a real filesystem.

use crate::disk;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A fresh directory, removed with everything in it when this value is dropped.
///
/// It is never in memory (tmpfs) if there is a choice: a sync that costs nothing hides what a sync
/// is for. The places tried, in this order: the `CARGO_TARGET_TMPDIR` of the environment, the
/// system's temporary directory, `target/` below the current directory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a directory.
    ///
    /// # Panics
    /// When no place can be written to.
    #[expect(clippy::new_without_default, reason = "making one has an effect on the disk")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent().join(format!("walwright-{}-{number}-{now}", process::id()));
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        // SQLite reports absolute paths without symbolic links; so that they compare equal:
        let path = path.canonicalize().unwrap_or(path);
        Self { path }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below the directory; nothing is made there.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a directory below the directory.
    ///
    /// # Panics
    /// When that fails.
    pub fn subdirectory(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover directory is no reason to fail a test.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The first place that is not in memory.
fn parent() -> PathBuf {
    let target = PathBuf::from("target");
    let named = std::env::var_os("CARGO_TARGET_TMPDIR").map(PathBuf::from);
    let places = named.into_iter().chain([std::env::temp_dir()]);
    let real = |place: &PathBuf| disk::is_tmpfs(place).is_ok_and(|memory| !memory);
    places.into_iter().find(real).unwrap_or(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_gone_after_its_drop() {
        let scratch = Scratch::new();
        let path = scratch.path().to_owned();
        fs::write(scratch.join("file"), "x").unwrap();
        fs::write(scratch.subdirectory("below").join("file"), "x").unwrap();
        assert_ne!(path, Scratch::new().path());
        drop(scratch);
        assert!(!path.exists());
    }
}
