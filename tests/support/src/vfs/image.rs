//! The files as a power cut leaves them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is on the disk after a power cut: which files there are, and what is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Names that the recording knows and that are not there.
    pub(super) missing: BTreeSet<PathBuf>,
}

impl Image {
    /// The files, by the absolute path that SQLite gave them.
    pub fn files(&self) -> &BTreeMap<PathBuf, Vec<u8>> {
        &self.files
    }

    /// The content of one file, or `None` if it is not there.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<&[u8]> {
        self.files.get(path.as_ref()).map(Vec::as_slice)
    }

    /// Writes the files into `directory` under their own file names, ready to be opened there.
    ///
    /// What an earlier image left is cleared away: files that this image knows to be missing, and
    /// the `-shm` of every file. Nothing may have the files open: to lose what was not synced in
    /// the place itself, close everything first and write an image that was taken before.
    ///
    /// # Panics
    /// When two files of the image have the same file name.
    pub fn write_into(&self, directory: &Path) -> io::Result<()> {
        let mut written = BTreeSet::new();
        for path in self.missing.iter().chain(self.files.keys()) {
            let target = directory.join(file_name(path));
            remove_if_there(&target)?;
            let mut shared_memory = target.into_os_string();
            shared_memory.push("-shm");
            remove_if_there(Path::new(&shared_memory))?;
        }
        for (path, content) in &self.files {
            let target = directory.join(file_name(path));
            fs::write(&target, content)?;
            assert!(written.insert(target), "two files of the image are called {}", path.display());
        }
        Ok(())
    }
}

/// The last part of a path that SQLite has opened as a file.
fn file_name(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
