//! The engine's own statements, prepared once, out of reach of users' SQL.
//!
//! They stay out of the connection's statement cache: a COMMIT that the engine once cached there would be
//! handed to users without the authorizer being asked.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::{ptr, slice};

use rusqlite::{Connection, ffi};

use crate::error::SqliteError;
use crate::row::{Value, ValueRef, Values};

/// One prepared statement. It must be dropped before its connection.
pub(crate) struct EngineStatement {
    raw: *mut ffi::sqlite3_stmt,
    database: *mut ffi::sqlite3,
    parameters: c_int,
}

impl EngineStatement {
    /// Prepares `sql` on `connection`, which must outlive the statement.
    pub(crate) fn prepare(connection: &Connection, sql: &CStr) -> Result<Self, SqliteError> {
        Self::prepare_text(connection, &sql.to_string_lossy())
    }

    /// The same for a text that is made at run time.
    pub(crate) fn prepare_text(connection: &Connection, sql: &str) -> Result<Self, SqliteError> {
        let Ok(length) = c_int::try_from(sql.len()) else {
            return Err(error_of_code(ffi::SQLITE_TOOBIG));
        };
        let (text, mut raw) = (sql.as_ptr().cast::<c_char>(), ptr::null_mut());
        // SAFETY: the handle is that of a live connection and is used on its own thread; `text` has
        // `length` bytes, which SQLite copies; `raw` outlives the call.
        let (database, code) = unsafe {
            let database = connection.handle();
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            (database, ffi::sqlite3_prepare_v3(database, text, length, flags, &mut raw, ptr::null_mut()))
        };
        match code {
            ffi::SQLITE_OK => {
                // SAFETY: `raw` was just prepared.
                let parameters = unsafe { ffi::sqlite3_bind_parameter_count(raw) };
                Ok(Self { raw, database, parameters })
            }
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

    /// Runs the statement to its end with these values for its parameters, in order. Each row goes through
    /// `on_row`.
    pub(crate) fn run_with<'v>(
        &self,
        values: impl IntoIterator<Item = ValueRef<'v>>,
        on_row: impl FnMut(&EngineRow<'_>),
    ) -> Result<(), SqliteError> {
        // From inside: much faster for chained iterators than one `next` after the other.
        self.run_bound(|binder| values.into_iter().for_each(|value| binder.value(value)), on_row)
    }

    /// The same with the values that `bind` binds. They outlive the run: `'v` does.
    pub(crate) fn run_bound<'v>(
        &self,
        bind: impl FnOnce(&mut Binder<'v>),
        on_row: impl FnMut(&EngineRow<'_>),
    ) -> Result<(), SqliteError> {
        let mut binder = Binder { raw: self.raw, bound: 0, code: ffi::SQLITE_OK, values: PhantomData };
        bind(&mut binder);
        let result = self.check(&binder).and_then(|()| self.step_all(on_row));
        // SAFETY: as in `run`. SQLite reads bound values while it steps, and nowhere else: from here on no step
        // comes before all parameters are bound anew, so what they point to may go.
        unsafe { ffi::sqlite3_reset(self.raw) };
        result
    }

    /// How many parameters it takes.
    pub(crate) fn parameters(&self) -> usize {
        usize::try_from(self.parameters).unwrap_or(0)
    }

    /// Whether it changes nothing.
    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw) != 0 }
    }

    /// Whether it has result columns.
    pub(crate) fn returns_rows(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { ffi::sqlite3_column_count(self.raw) > 0 }
    }

    fn check(&self, binder: &Binder<'_>) -> Result<(), SqliteError> {
        match binder.code {
            // One that was left out would still point to a value of an earlier run.
            ffi::SQLITE_OK if binder.bound == self.parameters => Ok(()),
            ffi::SQLITE_OK => Err(error_of_code(ffi::SQLITE_RANGE)),
            code => Err(error_of(self.database, code)),
        }
    }

    fn step_all(&self, mut on_row: impl FnMut(&EngineRow<'_>)) -> Result<(), SqliteError> {
        loop {
            // SAFETY: as in `run`.
            match unsafe { ffi::sqlite3_step(self.raw) } {
                ffi::SQLITE_ROW => on_row(&EngineRow(self)),
                ffi::SQLITE_DONE => return Ok(()),
                code => return Err(error_of(self.database, code)),
            }
        }
    }
}

/// Binds values to the parameters of a statement that is about to run, one after the other. They are read where they
/// lie, as long as it runs.
pub(crate) struct Binder<'v> {
    raw: *mut ffi::sqlite3_stmt,
    /// How many are bound.
    bound: c_int,
    /// What SQLite said of the last one; after an error nothing more is bound.
    code: c_int,
    values: PhantomData<&'v ()>,
}

impl<'v> Binder<'v> {
    /// Binds the value of the next parameter.
    #[inline(always)]
    pub(crate) fn value(&mut self, value: ValueRef<'v>) {
        if self.code != ffi::SQLITE_OK {
            return;
        }
        self.bound += 1;
        let at = self.bound;
        // SAFETY: as in `run`: a binder lives only while its statement binds. SQLITE_STATIC lets SQLite read text and
        // bytes in place: they outlive all steps of this run, behind which the statement is reset.
        self.code = unsafe {
            match value {
                ValueRef::Null => ffi::sqlite3_bind_null(self.raw, at),
                ValueRef::Integer(integer) => ffi::sqlite3_bind_int64(self.raw, at, integer),
                ValueRef::Real(real) => ffi::sqlite3_bind_double(self.raw, at, real),
                ValueRef::Text(text) => {
                    let (start, length) = (text.as_ptr().cast(), text.len() as u64);
                    let utf8 = ffi::SQLITE_UTF8 as u8;
                    ffi::sqlite3_bind_text64(self.raw, at, start, length, ffi::SQLITE_STATIC(), utf8)
                }
                // A null pointer would bind NULL; that of an empty slice is not null.
                ValueRef::Blob(bytes) => {
                    let (start, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
                    ffi::sqlite3_bind_blob64(self.raw, at, start, length, ffi::SQLITE_STATIC())
                }
            }
        };
    }

    /// Binds the value of the next parameter, if there is one.
    pub(crate) fn integer(&mut self, value: Option<i64>) {
        if let Some(integer) = value {
            self.value(ValueRef::Integer(integer));
        }
    }

    /// Binds the values of the next parameters.
    pub(crate) fn values(&mut self, values: Values<'v>) {
        values.for_each(|_, value| self.value(value));
    }
}

/// The row that a running statement stands on.
pub(crate) struct EngineRow<'s>(&'s EngineStatement);

impl EngineRow<'_> {
    /// A copy of the value of a column, from 0. Text that is not UTF-8 comes as its bytes.
    pub(crate) fn value(&self, column: usize) -> Value {
        let Ok(column) = c_int::try_from(column) else { return Value::Null };
        let raw = self.0.raw;
        // SAFETY: the statement stands on a row, since this value exists only while its `on_row` runs. A
        // column that it has not is NULL. Text and bytes are copied before the next call, and are `length`
        // bytes long, asked for after the pointer as SQLite wants it.
        unsafe {
            let bytes = |start: *const u8| {
                let length = usize::try_from(ffi::sqlite3_column_bytes(raw, column)).unwrap_or(0);
                if start.is_null() { &[][..] } else { slice::from_raw_parts(start, length) }
            };
            match ffi::sqlite3_column_type(raw, column) {
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(raw, column)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(raw, column)),
                ffi::SQLITE_TEXT => {
                    let text = bytes(ffi::sqlite3_column_text(raw, column));
                    match str::from_utf8(text) {
                        Ok(text) => Value::Text(text.to_owned()),
                        Err(_) => Value::Blob(text.to_owned()),
                    }
                }
                ffi::SQLITE_BLOB => {
                    Value::Blob(bytes(ffi::sqlite3_column_blob(raw, column).cast()).to_owned())
                }
                _ => Value::Null,
            }
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
#[cold]
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

fn error_of_code(code: c_int) -> SqliteError {
    SqliteError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}
