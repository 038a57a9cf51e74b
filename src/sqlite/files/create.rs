//! Creating a database file and the folders above it, so that they survive a power cut.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::identity::sidecar;
use super::place::parent_of;
use crate::error::OpenError;

/// What one opening has created. If the opening fails it is taken back.
#[derive(Debug, Default)]
pub(crate) struct Created {
    file: Option<PathBuf>,
    /// From the outermost to the innermost.
    folders: Vec<PathBuf>,
}

impl Created {
    /// Whether the database file is this opening's.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Makes the missing folders above `path` and syncs the folders that hold them.
    pub(crate) fn parents(&mut self, path: &Path) -> Result<(), OpenError> {
        let missing: Vec<&Path> = parent_of(path)
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => self.folders.push(folder.to_path_buf()),
                // Somebody else made it in this moment: then it is theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    return Err(OpenError::ParentNotADirectory {
                        path: path.to_path_buf(),
                        parent: parent_of(folder).to_path_buf(),
                    });
                }
                Err(error) => return Err(OpenError::from_io(folder, "making a folder", error)),
            }
            sync_folder(parent_of(folder))?;
        }
        Ok(())
    }

    /// Creates the database at `path`, readable and writable by its owner alone.
    ///
    /// Without effect if somebody else has created it meanwhile.
    pub(crate) fn file(&mut self, path: &Path) -> Result<(), OpenError> {
        // SQLite gives its sidecars the mode of the main file.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => self.file = Some(path.to_path_buf()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(OpenError::from_io(path, "creating the database", error)),
        }
        sync_folder(parent_of(path))
    }

    /// Leaves the file where it is, also if the opening fails.
    pub(crate) fn keep_file(&mut self) {
        self.file = None;
    }

    /// Takes back the file; only for a file that nobody has written to. The owner lock must be held and
    /// no connection open.
    pub(crate) fn take_back_file(&mut self) {
        if let Some(path) = self.file.take() {
            for suffix in ["-journal", "-wal", "-shm", ""] {
                // What cannot be removed stays: an empty database is a nuisance, no damage.
                let _ = fs::remove_file(sidecar(&path, suffix));
            }
        }
    }

    /// Takes back the folders that are empty.
    pub(crate) fn take_back_folders(&mut self) {
        for folder in self.folders.drain(..).rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn sync_folder(folder: &Path) -> Result<(), OpenError> {
    File::open(folder)
        .and_then(|f| f.sync_all())
        .map_err(|error| OpenError::from_io(folder, "syncing the folder", error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn creates_private_files_and_takes_back_only_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.db");
        let mut created = Created::default();
        created.parents(&path).unwrap();
        created.file(&path).unwrap();
        assert!(created.has_file());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let mut second = Created::default();
        second.parents(&path).unwrap();
        second.file(&path).unwrap();
        assert!(!second.has_file());
        second.take_back_file();
        second.take_back_folders();
        assert!(path.exists(), "the file of somebody else stays");

        fs::write(dir.path().join("a/keep"), "x").unwrap();
        created.take_back_file();
        created.take_back_folders();
        assert!(!dir.path().join("a/b").exists());
        assert!(dir.path().join("a/keep").exists(), "a folder in use stays");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        let error = Created::default().parents(&dir.path().join("file/b/c.db")).unwrap_err();
        match error {
            OpenError::ParentNotADirectory { parent, .. } => assert!(parent.ends_with("file")),
            other => panic!("{other}"),
        }
    }
}
