//! A setting of the whole process that lets readers scale.

use std::error::Error;
use std::fmt;

use rusqlite::ffi;

/// SQLite was in use already, so that its memory statistics could not be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteInUse;

impl fmt::Display for SqliteInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "SQLite is in use already: switch its memory statistics off before anything opens a database",
        )
    }
}

impl Error for SqliteInUse {}

/// Switches SQLite's memory statistics off for the whole process, so that readers on several cores do not
/// queue for the lock of its allocator.
///
/// It is worth it where many point reads run at once. It takes away what the statistics are for, in the
/// whole process: `sqlite3_memory_used` and the heap limits (`sqlite3_soft_heap_limit64`). Walwright never
/// does it by itself.
///
/// # Errors
/// [`SqliteInUse`] if SQLite was initialised before, by this crate or by anybody else. Nothing was changed.
///
/// # Safety
/// No other thread may be calling SQLite at the same time: call this first in `main`.
pub unsafe fn disable_sqlite_memory_statistics() -> Result<(), SqliteInUse> {
    // SAFETY: the caller promises that no other thread is in SQLite, which is what `sqlite3_config` asks for;
    // this option takes one integer.
    match unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) } {
        ffi::SQLITE_OK => Ok(()),
        _ => Err(SqliteInUse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_refused_once_sqlite_is_in_use() {
        drop(rusqlite::Connection::open_in_memory());
        // SAFETY: SQLite is initialised, and then the call changes nothing.
        assert_eq!(unsafe { disable_sqlite_memory_statistics() }, Err(SqliteInUse));
    }
}
