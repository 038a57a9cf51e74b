//! Running the migrations that the database does not have yet.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{MigrationFailure, OpenError};
use crate::migration::{Migration, Step};
use crate::sqlite::is_engine_table;
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::settings;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};

const DOING: &str = "migrating";

/// Applies what is missing and returns how many migrations that were; writes nothing if none.
///
/// A database without a version counts as one with `recognised` migrations. That is stamped with the first one that
/// follows them, in its transaction, or by itself if none follows: a program that stops before has changed nothing.
///
/// The connection must not be used for anything else afterwards if there were some: a migration's
/// function may have left settings, temporary objects or attached databases on it.
pub(super) fn migrate(
    plan: &OpenPlan,
    path: &Path,
    connection: &mut Connection,
    recognised: Option<u32>,
    patience: &Patience,
) -> Result<u32, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    let version = settings::read(connection, "user_version").map_err(sqlite)?;
    let recognised = recognised.filter(|_| version == 0);
    let done = recognised.map_or_else(|| usize::try_from(version).unwrap_or(0), |applied| applied as usize);
    if done >= plan.migrations.len() {
        if let Some(applied) = recognised.filter(|applied| *applied > 0) {
            stamp(path, connection, applied, patience)?;
        }
        return Ok(0);
    }
    let guard = Guard::default();
    guard.install(connection).map_err(sqlite)?;
    // Outside the transaction, where alone it has an effect: a parent table that is rebuilt would cascade
    // its children away.
    let enforced = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false).map_err(sqlite)?;
    settings::expect(path, "foreign_keys", 0, i64::from(enforced))?;
    let mut applied = 0;
    for (index, migration) in plan.migrations.iter().enumerate().skip(done) {
        one(path, connection, index, migration, &guard, patience)?;
        tracing::info!(path = %path.display(), index, "applied a migration");
        applied += 1;
    }
    Ok(applied)
}

/// Gives a database the version that its schema was recognised to have.
fn stamp(path: &Path, connection: &Connection, version: u32, patience: &Patience) -> Result<(), OpenError> {
    patience.wait_for(path, "stamping the version that was recognised", || {
        connection.pragma_update(None, "user_version", version).map(Some)
    })?;
    tracing::info!(path = %path.display(), version, "gave the database the version of its schema");
    Ok(())
}

/// Applies one migration in a transaction of its own, which ends with it, whatever happens.
fn one(
    path: &Path,
    connection: &Connection,
    index: usize,
    migration: &Migration,
    guard: &Guard,
    patience: &Patience,
) -> Result<(), OpenError> {
    let begin = || Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map(Some);
    let transaction = patience.wait_for(path, DOING, begin)?;
    work(&transaction, index, migration, guard).map_err(|failure| OpenError::Migration {
        path: path.to_path_buf(),
        index,
        failure,
    })?;
    // In the degraded mode a reader can hold up the COMMIT, which then can be tried again.
    patience.wait_for(path, DOING, || transaction.execute_batch("COMMIT").map(Some))
}

fn work(
    transaction: &Transaction<'_>,
    index: usize,
    migration: &Migration,
    guard: &Guard,
) -> Result<(), MigrationFailure> {
    guard.raise();
    let result = match migration.step {
        Step::Sql(text) => transaction.execute_batch(text).map_err(|e| MigrationFailure::Sql(e.into())),
        Step::Run(function) => match panic::catch_unwind(AssertUnwindSafe(|| function(transaction))) {
            Ok(result) => result.map_err(|error| sort(error.into_inner())),
            Err(_) => Err(MigrationFailure::Panicked),
        },
    };
    // A refused COMMIT counts also if the function took no notice of it.
    if guard.lower() || (transaction.is_autocommit() && result.is_ok()) {
        return Err(MigrationFailure::EndedTransaction);
    }
    result?;
    let sql = |error: rusqlite::Error| MigrationFailure::Sql(error.into());
    check_foreign_keys(transaction)?;
    let version = i32::try_from(index + 1).unwrap_or(i32::MAX);
    transaction.pragma_update(None, "user_version", version).map_err(sql)
}

/// SQLite's own errors as such, so that their text can be shown; others as they are.
fn sort(error: Box<dyn std::error::Error + Send + Sync>) -> MigrationFailure {
    match error.downcast::<rusqlite::Error>() {
        Ok(error) => MigrationFailure::Sql((*error).into()),
        Err(error) => MigrationFailure::Failed(error),
    }
}

fn check_foreign_keys(transaction: &Transaction<'_>) -> Result<(), MigrationFailure> {
    let sql = |error: rusqlite::Error| MigrationFailure::Sql(error.into());
    let mut statement = transaction
        .prepare("SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 LIMIT 1")
        .map_err(sql)?;
    let mut rows = statement.query([]).map_err(sql)?;
    let Some(row) = rows.next().map_err(sql)? else { return Ok(()) };
    Err(MigrationFailure::ForeignKeys {
        table: row.get(0).map_err(sql)?,
        parent: row.get(1).map_err(sql)?,
        rows: row.get::<_, i64>(2).map_err(sql)?.unsigned_abs(),
    })
}

/// Keeps migrations from ending their transaction: with a COMMIT in its middle, half of one would stay.
#[derive(Clone, Default)]
struct Guard(Arc<GuardState>);

#[derive(Default)]
struct GuardState {
    /// Whether a migration is at work, and not this module.
    raised: AtomicBool,
    /// Whether it tried.
    tried: AtomicBool,
}

impl Guard {
    fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let state = Arc::clone(&self.0);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if !state.raised.load(Ordering::Relaxed) {
                return Authorization::Allow;
            }
            match context.action {
                AuthAction::Transaction { .. } => {
                    state.tried.store(true, Ordering::Relaxed);
                    Authorization::Deny
                }
                // Without them commit sequences would be used again, and half an index be taken for a whole one.
                AuthAction::Insert { table_name }
                | AuthAction::Update { table_name, .. }
                | AuthAction::Delete { table_name }
                | AuthAction::DropTable { table_name }
                | AuthAction::AlterTable { table_name, .. }
                    if is_engine_table(table_name) =>
                {
                    Authorization::Deny
                }
                _ => Authorization::Allow,
            }
        }))
    }

    fn raise(&self) {
        self.0.tried.store(false, Ordering::Relaxed);
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// Lets this module end the transaction again; whether the migration tried to.
    fn lower(&self) -> bool {
        self.0.raised.store(false, Ordering::Relaxed);
        self.0.tried.load(Ordering::Relaxed)
    }
}
