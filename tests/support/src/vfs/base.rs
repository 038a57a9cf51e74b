//! The platform's default VFS, to which everything is forwarded.

use super::FileKind;
use rusqlite::ffi;
use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// SQLite's default VFS.
pub(super) struct Base(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite calls a registered VFS from any thread; the default one is never unregistered here.
unsafe impl Send for Base {}
// SAFETY: As above.
unsafe impl Sync for Base {}

impl Base {
    /// The default VFS of this process.
    pub(super) fn find() -> Self {
        // SAFETY: A null name asks for the default; SQLite initialises itself first.
        let base = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        assert!(!base.is_null(), "SQLite has no default VFS");
        Self(base)
    }

    pub(super) fn as_ptr(&self) -> *mut ffi::sqlite3_vfs {
        self.0
    }

    /// Its description.
    pub(super) fn get(&self) -> &ffi::sqlite3_vfs {
        // SAFETY: Not null (see `find`), and it lives as long as the process.
        unsafe { &*self.0 }
    }

    /// Reads a whole file; `None` when there is none, or it cannot be read.
    ///
    /// Through SQLite's own VFS, because closing a descriptor that SQLite does not know about would
    /// drop the locks that this process holds on a database file.
    pub(super) fn read_file(&self, path: &Path, kind: FileKind) -> Option<Vec<u8>> {
        // Four terminators: SQLite may look for URI parameters behind the first one.
        let name = CString::new(path.as_os_str().as_bytes()).ok()?.into_bytes_with_nul();
        let name: Vec<u8> = name.into_iter().chain([0; 3]).collect();
        let role = match kind {
            FileKind::Database => ffi::SQLITE_OPEN_MAIN_DB,
            FileKind::Wal => ffi::SQLITE_OPEN_WAL,
            FileKind::Journal | FileKind::Other => ffi::SQLITE_OPEN_MAIN_JOURNAL,
        };
        // SQLite wants its file objects aligned to 8 bytes.
        let words = usize::try_from(self.get().szOsFile).ok()?.div_ceil(size_of::<u64>());
        let mut object = vec![0_u64; words];
        let file: *mut ffi::sqlite3_file = object.as_mut_ptr().cast();
        let mut flags: c_int = 0;
        let open = self.get().xOpen?;
        // SAFETY: `file` has the size that this VFS asks for, `name` is terminated and outlives the
        // open file, and `flags` is a place for an answer.
        let opened = unsafe {
            open(self.0, name.as_ptr().cast(), file, role | ffi::SQLITE_OPEN_READONLY, &raw mut flags)
        };
        // SAFETY: `xOpen` has set the methods, or left the zeros of an object that needs no close.
        let methods = unsafe { (*file).pMethods.as_ref() }?;
        let content = (opened == ffi::SQLITE_OK).then(|| {
            let mut size = 0;
            // SAFETY: An open file with its own methods, and a place for the answer.
            let code = unsafe { methods.xFileSize?(file, &raw mut size) };
            let mut content = vec![0; usize::try_from(size).ok().filter(|_| code == ffi::SQLITE_OK)?];
            for (block, bytes) in content.chunks_mut(BLOCK).enumerate() {
                // SAFETY: As above; the buffer has as many bytes as are asked for.
                let code = unsafe {
                    methods.xRead?(
                        file,
                        bytes.as_mut_ptr().cast(),
                        bytes.len() as c_int,
                        (block * BLOCK) as i64,
                    )
                };
                if code != ffi::SQLITE_OK {
                    return None;
                }
            }
            Some(content)
        });
        if let Some(close) = methods.xClose {
            // SAFETY: Open, and not used after this.
            unsafe { close(file) };
        }
        content.flatten()
    }
}

/// How much is read in one call.
const BLOCK: usize = 1 << 20;
