//! What users' SQL may do on the store's connections, and what it was about to do.
//!
//! SQLite asks an authorizer while it prepares a statement, also when it prepares one anew during a step.
//! The authorizer is installed once per connection and switched by a flag: setting it again would expire
//! every prepared statement.

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};

use super::writes::Writes;
use crate::sqlite::is_engine_table;
use crate::sync::Arc;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Pragmas that only read, whatever their argument is.
const READING_PRAGMAS: &[&str] = &[
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that only read as long as they are given no argument.
const SETTING_PRAGMAS: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "busy_timeout",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "defer_foreign_keys",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "journal_mode",
    "max_page_count",
    "mmap_size",
    "module_list",
    "page_count",
    "page_size",
    "pragma_list",
    "query_only",
    "recursive_triggers",
    "schema_version",
    "secure_delete",
    "synchronous",
    "trusted_schema",
    "user_version",
    "wal_autocheckpoint",
];

/// The switch between the engine's SQL and users', and the notes that the authorizer takes. One per
/// connection; cheap to share.
#[derive(Default)]
pub struct Guard {
    users: AtomicBool,
    /// The engine runs SQL in a user's place, and may change its own tables.
    engines: AtomicBool,
    asked: AtomicU32,
    deletes: AtomicBool,
    changes_schema: AtomicBool,
    denied: Mutex<Option<String>>,
    /// Somebody watches what is committed.
    watched: AtomicBool,
    /// The statement drops something.
    drops: AtomicBool,
    /// Noted only while somebody watches.
    writes: Mutex<Writes>,
    /// Tables that the statement inserts into or updates, with the trigger that does.
    written: Mutex<Vec<(String, Option<String>)>>,
}

/// What the authorizer was asked since the notes were last cleared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AuthorizerNotes {
    /// Whether SQLite asked at all. It does not for a statement that was prepared before.
    pub asked: bool,
    /// Whether rows may be deleted or an object dropped; triggers and foreign-key actions included.
    pub deletes: bool,
    /// Whether the schema changes.
    pub changes_schema: bool,
    /// Tables inserted into or updated, each with the trigger or view that does it.
    pub written: Vec<(String, Option<String>)>,
    /// The tables that are written in any way; `None` if nobody watches.
    pub writes: Option<Writes>,
}

impl Guard {
    /// Puts the authorizer onto a connection, where it stays. Everything is allowed until
    /// [`set_users`](Self::set_users).
    pub fn install(connection: &mut Connection) -> rusqlite::Result<Arc<Self>> {
        let guard = Arc::new(Self::default());
        let asked = Arc::clone(&guard);
        connection.authorizer(Some(move |context: AuthContext<'_>| asked.authorize(&context)))?;
        Ok(guard)
    }

    /// Says whose SQL comes next: users' (true) or the engine's own (false).
    pub fn set_users(&self, users: bool) {
        // Set and read on the one thread that uses the connection.
        self.users.store(users, Ordering::Relaxed);
    }

    /// Whether users' SQL is being run.
    pub fn is_users(&self) -> bool {
        self.users.load(Ordering::Relaxed)
    }

    /// Says whether users' SQL that comes next is in truth the engine's, which may change its own tables.
    pub fn set_engines(&self, engines: bool) {
        self.engines.store(engines, Ordering::Relaxed);
    }

    /// Says whether somebody watches what is committed. Then the tables that a statement may write are noted, and a
    /// DELETE of a whole table is carried out row by row, or the update hook would not hear of it. Statements that
    /// were prepared before do not follow.
    pub fn set_watched(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
    }

    /// Whether there are notes to take.
    pub fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0
    }

    /// Takes the notes and clears them. Costs one load when SQLite asked nothing.
    pub fn take_notes(&self) -> AuthorizerNotes {
        if !self.has_asked() {
            return AuthorizerNotes::default();
        }
        self.asked.store(0, Ordering::Relaxed);
        self.drops.store(false, Ordering::Relaxed);
        let watched = self.watched.load(Ordering::Relaxed);
        AuthorizerNotes {
            asked: true,
            deletes: self.deletes.swap(false, Ordering::Relaxed),
            changes_schema: self.changes_schema.swap(false, Ordering::Relaxed),
            written: std::mem::take(&mut *self.written.lock()),
            writes: watched.then(|| std::mem::take(&mut *self.writes.lock())),
        }
    }

    /// Takes the description of what was denied last.
    pub fn take_denied(&self) -> Option<String> {
        self.denied.lock().take()
    }

    fn authorize(&self, context: &AuthContext<'_>) -> Authorization {
        if !self.is_users() {
            return Authorization::Allow;
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.note(context);
        let watched = self.watched.load(Ordering::Relaxed);
        if watched {
            self.note_writes(context);
        }
        match refusal(context, self.engines.load(Ordering::Relaxed)) {
            None if watched && self.deletes_rows(context) => Authorization::Ignore,
            None => Authorization::Allow,
            Some(what) => {
                *self.denied.lock() = Some(what);
                Authorization::Deny
            }
        }
    }

    fn note(&self, context: &AuthContext<'_>) {
        match context.action {
            AuthAction::Delete { table_name } => {
                self.deletes.store(true, Ordering::Relaxed);
                // Dropping an object deletes its line of the schema table.
                if is_schema_table(table_name) {
                    self.changes_schema.store(true, Ordering::Relaxed);
                }
            }
            AuthAction::DropIndex { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropTrigger { .. }
            | AuthAction::DropView { .. }
            | AuthAction::DropVtable { .. } => {
                self.deletes.store(true, Ordering::Relaxed);
                self.changes_schema.store(true, Ordering::Relaxed);
            }
            AuthAction::AlterTable { .. } => {
                // ALTER TABLE ... DROP COLUMN takes values away and is reported like any other.
                self.deletes.store(true, Ordering::Relaxed);
                self.changes_schema.store(true, Ordering::Relaxed);
            }
            AuthAction::CreateIndex { .. }
            | AuthAction::CreateTable { .. }
            | AuthAction::CreateTrigger { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::CreateVtable { .. } => self.changes_schema.store(true, Ordering::Relaxed),
            AuthAction::Insert { table_name } | AuthAction::Update { table_name, .. } => {
                let mut written = self.written.lock();
                let same = |(table, accessor): &(String, Option<String>)| {
                    table == table_name && accessor.as_deref() == context.accessor
                };
                if !written.iter().any(same) {
                    written.push((table_name.to_owned(), context.accessor.map(str::to_owned)));
                }
            }
            _ => {}
        }
    }

    fn note_writes(&self, context: &AuthContext<'_>) {
        let mut writes = self.writes.lock();
        if let Some(trigger) = context.accessor.filter(|trigger| !writes.triggers.contains(*trigger)) {
            writes.triggers.insert(trigger.to_owned());
        }
        match context.action {
            AuthAction::Delete { table_name } => {
                writes.table(table_name);
            }
            AuthAction::Insert { table_name } => {
                let table = writes.table(table_name);
                table.puts = true;
                table.puts_by_trigger |= context.accessor.is_some();
            }
            AuthAction::Update { table_name, column_name } => {
                let table = writes.table(table_name);
                table.puts = true;
                table.puts_by_trigger |= context.accessor.is_some();
                if !table.columns.contains(column_name) {
                    table.columns.insert(column_name.to_owned());
                }
            }
            AuthAction::CreateTable { table_name }
            | AuthAction::CreateVtable { table_name, .. }
            | AuthAction::AlterTable { table_name, .. } => writes.table(table_name).is_redefined = true,
            AuthAction::DropTable { table_name } | AuthAction::DropVtable { table_name, .. } => {
                self.drops.store(true, Ordering::Relaxed);
                writes.table(table_name).is_redefined = true;
            }
            // Of a view, too, SQLite asks whether its rows may be deleted.
            AuthAction::DropView { .. } => self.drops.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Whether it is asked about a DELETE statement, to which "ignore" means: row by row. Of a DROP, which asks the
    /// same, nothing would be left by that answer.
    fn deletes_rows(&self, context: &AuthContext<'_>) -> bool {
        let AuthAction::Delete { table_name } = context.action else { return false };
        !is_schema_table(table_name) && !self.drops.load(Ordering::Relaxed)
    }
}

fn is_schema_table(name: &str) -> bool {
    name.eq_ignore_ascii_case("sqlite_master") || name.eq_ignore_ascii_case("sqlite_schema")
}

fn is_temporary_schema_table(name: &str) -> bool {
    name.eq_ignore_ascii_case("sqlite_temp_master") || name.eq_ignore_ascii_case("sqlite_temp_schema")
}

/// Why users' SQL may not do this, or `None` if it may.
///
/// `is_engines`: it is the engine that runs it in the place of a user.
fn refusal(context: &AuthContext<'_>, is_engines: bool) -> Option<String> {
    let temporary = context.database_name.is_some_and(|name| name.eq_ignore_ascii_case("temp"));
    match context.action {
        AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => None,
        AuthAction::Function { function_name } => {
            function_name.eq_ignore_ascii_case("load_extension").then(|| "load_extension()".to_owned())
        }
        AuthAction::Pragma { pragma_name, pragma_value } => refused_pragma(pragma_name, pragma_value),
        AuthAction::Transaction { operation } => Some(
            match operation {
                TransactionOperation::Begin => "BEGIN",
                TransactionOperation::Rollback => "ROLLBACK",
                // SQLite says COMMIT here, for which rusqlite has no name.
                _ => "COMMIT",
            }
            .to_owned(),
        ),
        AuthAction::Savepoint { operation, .. } => Some(
            match operation {
                TransactionOperation::Release => "RELEASE",
                TransactionOperation::Rollback => "ROLLBACK TO",
                _ => "SAVEPOINT",
            }
            .to_owned(),
        ),
        AuthAction::Attach { .. } => Some("ATTACH".to_owned()),
        AuthAction::Detach { .. } => Some("DETACH".to_owned()),
        AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::DropTempView { .. } => Some("a temporary table, index, trigger or view".to_owned()),
        AuthAction::Unknown { code, .. } => Some(format!("an action that SQLite numbers {code}")),
        // ALTER TABLE ... RENAME looks for temporary objects to rename with the table. There are none, and
        // SQLite itself refuses users' own UPDATE of the table.
        AuthAction::Update { table_name, .. } if temporary && is_temporary_schema_table(table_name) => None,
        _ if temporary => Some("writing to the temporary database".to_owned()),
        AuthAction::CreateIndex { table_name, .. }
        | AuthAction::CreateTable { table_name }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::CreateVtable { table_name, .. }
        | AuthAction::CreateView { view_name: table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::DropTable { table_name }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::DropVtable { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::AlterTable { table_name, .. } => (!is_engines && is_engine_table(table_name))
            .then(|| format!("changing the engine's own table {}", table_name.to_ascii_lowercase())),
        AuthAction::DropView { .. } | AuthAction::Reindex { .. } | AuthAction::Analyze { .. } => None,
        _ => Some("an action that is unknown to this version".to_owned()),
    }
}

fn refused_pragma(name: &str, value: Option<&str>) -> Option<String> {
    let listed = |list: &[&str]| list.iter().any(|pragma| pragma.eq_ignore_ascii_case(name));
    let allowed = listed(READING_PRAGMAS) || (value.is_none() && listed(SETTING_PRAGMAS));
    (!allowed).then(|| format!("PRAGMA {}", name.to_ascii_lowercase()))
}
