//! Writing the WAL's bytes once more, through SQLite's own file object.

use std::ffi::c_int;
use std::ptr;

use rusqlite::{Connection, Error, ffi};

/// Bytes read and written at a time. SQLite's own VFS takes no more than 128 KiB in one write.
const PIECE: usize = 1 << 16;

/// Writes every byte of the WAL again as it is, and syncs the file.
///
/// To be called in a write transaction that has written nothing, so that nobody else appends meanwhile.
pub(super) fn write_again(connection: &Connection) -> rusqlite::Result<()> {
    let file = WalFile::of(connection)?;
    let length = file.length()?;
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    while offset < length {
        let part = usize::try_from(length - offset).unwrap_or(PIECE).min(PIECE);
        file.copy_onto_itself(&mut piece[..part], offset)?;
        offset += part as i64;
    }
    file.sync()
}

/// SQLite's file object of the WAL. It lives as long as the connection, in whose thread it is used.
struct WalFile<'connection> {
    file: *mut ffi::sqlite3_file,
    methods: &'connection ffi::sqlite3_io_methods,
}

impl<'connection> WalFile<'connection> {
    fn of(connection: &'connection Connection) -> rusqlite::Result<Self> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open and borrowed; SQLite stores a pointer to its own object in `file`,
        // which is of the type that this operation asks for.
        check(unsafe {
            ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_JOURNAL_POINTER,
                (&raw mut file).cast(),
            )
        })?;
        // SAFETY: the object belongs to the pager of the open connection and lives as long as it does, and
        // so does the table of its methods, which is null if the file is not open.
        let methods = unsafe { file.as_ref().and_then(|file| file.pMethods.as_ref()) };
        methods.map(|methods| Self { file, methods }).ok_or_else(|| failure(ffi::SQLITE_NOTFOUND))
    }

    fn length(&self) -> rusqlite::Result<i64> {
        let mut length = 0;
        let method = self.methods.xFileSize.ok_or_else(|| failure(ffi::SQLITE_NOTFOUND))?;
        // SAFETY: the object is open (see `of`), the method is its own, `length` outlives the call.
        check(unsafe { method(self.file, &mut length) })?;
        Ok(length)
    }

    /// Reads as many bytes as `piece` has at `offset` and writes them to the same place.
    fn copy_onto_itself(&self, piece: &mut [u8], offset: i64) -> rusqlite::Result<()> {
        let (Some(read), Some(write)) = (self.methods.xRead, self.methods.xWrite) else {
            return Err(failure(ffi::SQLITE_NOTFOUND));
        };
        let amount = piece.len() as c_int;
        // SAFETY: the object is open (see `of`), the methods are its own, and `piece` has `amount` bytes.
        check(unsafe { read(self.file, piece.as_mut_ptr().cast(), amount, offset) })?;
        // SAFETY: as above.
        check(unsafe { write(self.file, piece.as_ptr().cast(), amount, offset) })
    }

    fn sync(&self) -> rusqlite::Result<()> {
        let method = self.methods.xSync.ok_or_else(|| failure(ffi::SQLITE_NOTFOUND))?;
        // macOS needs the stronger call to get past the drive's cache.
        let flags = if cfg!(target_os = "macos") { ffi::SQLITE_SYNC_FULL } else { ffi::SQLITE_SYNC_NORMAL };
        // SAFETY: the object is open (see `of`) and the method is its own.
        check(unsafe { method(self.file, flags) })
    }
}

fn check(code: c_int) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(code)) }
}

fn failure(code: c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}
