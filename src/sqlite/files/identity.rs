//! Which files a database is made of, to notice that they were moved or replaced.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Device and inode: what makes a file the same file under every name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    pub(crate) fn of(metadata: &fs::Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// The inode behind `path`, `None` if nothing is there.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The files that a running store works on: database, `-wal` and `-shm`.
#[derive(Clone, Debug)]
pub(crate) struct FileIdentity {
    files: [(PathBuf, Option<Inode>); 3],
}

impl FileIdentity {
    /// Notes what is there now. Looks at the files' metadata only: opening and closing the database
    /// would drop the locks that SQLite holds on it.
    pub(crate) fn capture(path: &Path) -> io::Result<Self> {
        let note = |path: PathBuf| Inode::at(&path).map(|inode| (path, inode));
        Ok(Self {
            files: [note(path.to_path_buf())?, note(sidecar(path, "-wal"))?, note(sidecar(path, "-shm"))?],
        })
    }

    /// Whether one of the files is gone, or another one stands in its place.
    ///
    /// A file that cannot be looked at just now does not count as moved.
    pub(crate) fn moved(&self) -> bool {
        self.files.iter().any(|(path, noted)| match (noted, Inode::at(path)) {
            (Some(noted), Ok(found)) => found != Some(*noted),
            _ => false,
        })
    }
}

/// The file beside `path` whose name ends in `suffix`, such as `-wal`.
pub(crate) fn sidecar(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The length of the file at `path`; `None` if there is none.
pub(crate) fn length(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_or_replaced_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        for victim in ["", "-wal", "-shm"] {
            let path = dir.path().join(format!("a{victim}.db"));
            for suffix in ["", "-wal", "-shm"] {
                fs::write(sidecar(&path, suffix), "x").unwrap();
            }
            let identity = FileIdentity::capture(&path).unwrap();
            assert!(!identity.moved());
            let victim = sidecar(&path, victim);
            let aside = dir.path().join("aside");
            fs::rename(&victim, &aside).unwrap();
            assert!(identity.moved(), "{victim:?} is gone");
            fs::write(&victim, "x").unwrap();
            assert!(identity.moved(), "{victim:?} is another file");
            fs::rename(&aside, &victim).unwrap();
            assert!(!identity.moved());
        }
    }

    #[test]
    fn a_sidecar_that_appears_later_is_no_move() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        fs::write(&path, "x").unwrap();
        let identity = FileIdentity::capture(&path).unwrap();
        fs::write(sidecar(&path, "-wal"), "x").unwrap();
        assert!(!identity.moved());
        fs::remove_dir_all(dir.path()).unwrap();
        assert!(identity.moved(), "the whole folder is gone");
    }
}
