//! The engine's own statements, prepared once, out of reach of users' SQL.
//!
//! They stay out of the connection's statement cache: a COMMIT that the engine once cached there would be
//! handed to users without the authorizer being asked.

use std::ffi::{CStr, c_int};
use std::ptr;

use rusqlite::{Connection, ffi};

use crate::error::SqliteError;

/// One prepared statement without parameters. It must be dropped before its connection.
pub(crate) struct EngineStatement {
    raw: *mut ffi::sqlite3_stmt,
    database: *mut ffi::sqlite3,
}

impl EngineStatement {
    /// Prepares `sql` on `connection`, which must outlive the statement.
    pub(crate) fn prepare(connection: &Connection, sql: &CStr) -> Result<Self, SqliteError> {
        let mut raw = ptr::null_mut();
        // SAFETY: the handle is that of a live connection and is used on its own thread; `sql` is
        // terminated by NUL, which a negative length asks for; `raw` outlives the call.
        let (database, code) = unsafe {
            let database = connection.handle();
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            (database, ffi::sqlite3_prepare_v3(database, sql.as_ptr(), -1, flags, &mut raw, ptr::null_mut()))
        };
        match code {
            ffi::SQLITE_OK => Ok(Self { raw, database }),
            code => Err(error_of(database, code)),
        }
    }

    /// Runs the statement to its end. Gives the first column of its first row, or 0 if it has none.
    pub(crate) fn run(&self) -> Result<i64, SqliteError> {
        // SAFETY: `raw` was prepared on `database`, and both are alive while `self` is; all calls come
        // from the connection's own thread, since neither pointer is `Send`.
        unsafe {
            let mut value = 0;
            let mut code = ffi::sqlite3_step(self.raw);
            if code == ffi::SQLITE_ROW {
                value = ffi::sqlite3_column_int64(self.raw, 0);
                while code == ffi::SQLITE_ROW {
                    code = ffi::sqlite3_step(self.raw);
                }
            }
            let result =
                if code == ffi::SQLITE_DONE { Ok(value) } else { Err(error_of(self.database, code)) };
            ffi::sqlite3_reset(self.raw);
            result
        }
    }
}

impl Drop for EngineStatement {
    fn drop(&mut self) {
        // SAFETY: `raw` was prepared by this value and is finalized nowhere else.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// The connection's last error, as rusqlite would give it.
fn error_of(database: *mut ffi::sqlite3, code: c_int) -> SqliteError {
    // SAFETY: `database` is a live connection used on its own thread; SQLite returns a text that is valid
    // until the next call on it, and it is copied at once.
    let (code, text) = unsafe {
        let extended = ffi::sqlite3_extended_errcode(database);
        let code = if extended & 0xff == code & 0xff { extended } else { code };
        let text = ffi::sqlite3_errmsg(database);
        (code, (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned()))
    };
    SqliteError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), text))
}
