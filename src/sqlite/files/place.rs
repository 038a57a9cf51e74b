//! Where a database really lies: the path checked, its symbolic links resolved.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::error::OpenError;

/// Symbolic links followed before a chain of them is taken for a ring.
const MOST_LINKS: usize = 40;

/// Where a database lies, or would lie.
#[derive(Debug)]
pub(crate) struct Place {
    /// Absolute, without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) exists: bool,
}

impl Place {
    /// Finds the place that `path` names. Opens nothing and makes nothing.
    pub(crate) fn find(path: &Path) -> Result<Self, OpenError> {
        check(path)?;
        let mut wanted = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            match fs::canonicalize(&wanted) {
                Ok(path) => return Self::existing(path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(refused(&wanted, error)),
            }
            // Nothing there: a name that is free, or a link to one.
            match fs::read_link(&wanted) {
                Ok(target) => wanted = parent_of(&wanted).join(target),
                Err(_) => return Self::free(&wanted),
            }
        }
        Err(OpenError::InvalidPath { path: path.to_path_buf(), reason: "its symbolic links go in a ring" })
    }

    fn existing(path: PathBuf) -> Result<Self, OpenError> {
        let metadata = fs::metadata(&path).map_err(|e| refused(&path, e))?;
        if metadata.is_file() { Ok(Self { path, exists: true }) } else { Err(OpenError::NotAFile { path }) }
    }

    fn free(wanted: &Path) -> Result<Self, OpenError> {
        let parent = parent_of(wanted);
        let Some(name) = wanted.file_name() else {
            return Err(OpenError::InvalidPath {
                path: wanted.to_path_buf(),
                reason: "it ends in no file name",
            });
        };
        match fs::canonicalize(parent) {
            Ok(folder) if folder.is_dir() => Ok(Self { path: folder.join(name), exists: false }),
            Ok(folder) => Err(OpenError::ParentNotADirectory { path: wanted.to_path_buf(), parent: folder }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenError::ParentMissing { path: wanted.to_path_buf(), parent: parent.to_path_buf() })
            }
            Err(error) => Err(refused(wanted, error)),
        }
    }
}

/// Whether the process may read and write the file, without opening it.
///
/// SQLite would open a file that it may not write for reading, and fail at the first write.
pub(crate) fn check_access(path: &Path) -> Result<(), OpenError> {
    accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|error| OpenError::from_io(path, "checking the permissions of the database", error.into()))
}

/// Refuses what SQLite would take for something else than the name of a file.
fn check(path: &Path) -> Result<(), OpenError> {
    let bytes = path.as_os_str().as_bytes();
    let reason = if bytes.is_empty() {
        "it is empty; a store needs a file"
    } else if bytes == b":memory:" {
        "\":memory:\" is a database of one connection only; use a temporary store instead"
    } else if bytes.len() >= 5 && bytes[..5].eq_ignore_ascii_case(b"file:") {
        "it is a file: URI; give the plain path"
    } else if bytes.contains(&0) {
        "it holds a NUL byte"
    } else {
        return Ok(());
    };
    Err(OpenError::InvalidPath { path: path.to_path_buf(), reason })
}

/// The folder of `path`; `.` for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn refused(path: &Path, error: io::Error) -> OpenError {
    if error.kind() == io::ErrorKind::NotADirectory {
        // Name the first thing on the way that is no folder.
        let culprit = path
            .ancestors()
            .skip(1)
            .find(|a| fs::metadata(a).is_ok_and(|m| !m.is_dir()))
            .unwrap_or_else(|| parent_of(path));
        return OpenError::ParentNotADirectory { path: path.to_path_buf(), parent: culprit.to_path_buf() };
    }
    OpenError::from_io(path, "looking for the database", error)
}
