//! Opening the writer: the steps, in the order that makes them safe.

mod connect;
mod convert;
mod migrate;
mod recover;
mod reserve;
mod vacuum;
mod wal_file;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use self::convert::Conversion;
use self::reserve::has_sequences;
pub(in crate::sqlite::writer) use self::reserve::reserve;
use crate::error::OpenError;
use crate::fixup;
use crate::retention::{Retention, SweepPlan};
use crate::settings::{OpenReport, OpenStep, Settings};
use crate::sqlite::ENGINE_TABLE;
use crate::sqlite::files::create::Created;
use crate::sqlite::files::identity::{FileIdentity, length, sidecar};
use crate::sqlite::files::look::{self, Finding, Found};
use crate::sqlite::files::owner_lock::OwnerLock;
use crate::sqlite::files::place::{self, Place};
use crate::sqlite::patience::Patience;
use crate::sqlite::plan::OpenPlan;
use crate::sqlite::schema::plan_sweep;
use crate::sqlite::settings::{self, SYNCHRONOUS_EXTRA, SYNCHRONOUS_FULL};

const DOING: &str = "opening the database";

/// A database that was opened, and the only connection that can change it.
///
/// The fields are in the order in which they are to be dropped: the lock after the connection.
pub(crate) struct Opened {
    pub(in crate::sqlite::writer) connection: Connection,
    pub(crate) lock: OwnerLock,
    /// The database file, with symbolic links resolved.
    pub(crate) path: PathBuf,
    pub(crate) identity: FileIdentity,
    pub(crate) settings: Settings,
    /// The commit sequences that may be given out.
    pub(crate) sequences: Range<u64>,
    /// Whether the database is not in WAL mode.
    pub(crate) degraded: bool,
    /// The retention policies, with what the schema has for them.
    pub(crate) sweeps: Vec<SweepPlan>,
}

/// Opens the database that `plan` describes. Blocks; for the writer's own thread.
///
/// If it fails, what it created is taken back, unless something of the user's has been written to it.
pub(in crate::sqlite::writer) fn open(plan: &OpenPlan) -> Result<Opened, OpenError> {
    connect::check_version(&plan.path, rusqlite::version_number())?;
    let patience = Patience::new(plan.open_timeout);
    let mut created = Created::default();
    let opened = place_and_lock(plan, &mut created).and_then(|(path, lock)| {
        match own(plan, &path, &lock, &patience, &mut created) {
            Ok(Owned { connection, identity, settled }) => {
                let Settled { settings, sequences, degraded, sweeps } = settled;
                Ok(Opened { connection, lock, path, identity, settings, sequences, degraded, sweeps })
            }
            Err(error) => {
                lock.uncover();
                created.take_back_file();
                lock.discard();
                Err(error)
            }
        }
    });
    if opened.is_err() {
        created.take_back_folders();
    }
    opened
}

/// Finds where the database lies and takes its owner lock.
fn place_and_lock(plan: &OpenPlan, created: &mut Created) -> Result<(PathBuf, OwnerLock), OpenError> {
    let place = match Place::find(&plan.path) {
        Err(OpenError::ParentMissing { path, .. }) if plan.create && plan.create_parents => {
            created.parents(&path)?;
            Place::find(&plan.path)?
        }
        other => other?,
    };
    if place.exists {
        place::check_access(&place.path)?;
    } else if !plan.create {
        return Err(OpenError::NotFound { path: place.path });
    }
    let lock = OwnerLock::acquire(&place.path)?;
    Ok((place.path, lock))
}

/// The steps under the owner lock.
fn own(
    plan: &OpenPlan,
    path: &Path,
    lock: &OwnerLock,
    patience: &Patience,
    created: &mut Created,
) -> Result<Owned, OpenError> {
    let wal = sidecar(path, "-wal");
    let had_wal = wal.exists();
    let mut clock = StepClock::start();
    let finding = look::look(plan, path, patience).inspect_err(|_| {
        // To look at a database in WAL mode, SQLite makes sidecars.
        if !had_wal && length(&wal).is_ok_and(|length| length == Some(0)) {
            connect::remove_sidecars(plan, path);
        }
    })?;
    clock.did("look at the file");
    if let Finding::Nothing = finding {
        created.file(path)?;
    }
    lock.covers(path)?;
    let mut connection = connect::connect(plan, path, patience)?;
    let settled = settle(plan, path, &mut connection, finding, clock, patience).and_then(|settled| {
        let identity = FileIdentity::capture(path).map_err(|e| OpenError::from_io(path, DOING, e))?;
        Ok((settled, identity))
    });
    if settled.is_err() && created.has_file() && !is_untouched(&connection) {
        created.keep_file();
    }
    let (mut settled, identity) = settled?;
    settled.settings.created = created.has_file();
    tracing::info!(path = %path.display(), settings = ?settled.settings, "opened the database");
    Ok(Owned { connection, identity, settled })
}

/// What a successful opening hands over beside the lock.
struct Owned {
    connection: Connection,
    identity: FileIdentity,
    settled: Settled,
}

/// What the steps on the writable connection came to.
struct Settled {
    settings: Settings,
    sequences: Range<u64>,
    degraded: bool,
    sweeps: Vec<SweepPlan>,
}

/// The steps on the writable connection.
fn settle(
    plan: &OpenPlan,
    path: &Path,
    connection: &mut Connection,
    finding: Finding,
    mut clock: StepClock,
    patience: &Patience,
) -> Result<Settled, OpenError> {
    recover::read_through(plan, path, connection, patience)?;
    let (is_new, was_hot) = (matches!(finding, Finding::Nothing), matches!(finding, Finding::HotJournal));
    let found = match finding {
        Finding::Nothing => None,
        Finding::Database(found) => Some(found),
        // Nothing but the recovery has changed the file: what the look could not see can be seen now.
        Finding::HotJournal => match look::look(plan, path, patience)? {
            Finding::Database(found) => Some(found),
            Finding::Nothing | Finding::HotJournal => None,
        },
    };
    clock.did("recover");
    vacuum::choose(plan, path, connection, patience)?;
    let conversion = convert::convert(path, connection, plan.require_wal, patience)?;
    let degraded = conversion == Conversion::Degraded;
    let converted = conversion == Conversion::Converted && !is_new;
    if converted {
        tracing::info!(path = %path.display(), "switched the database to WAL mode");
    }
    clock.did("switch to WAL mode");
    let wal_bytes_recovered = recover::empty_wal(path, connection, patience)?;
    clock.did("empty the WAL");

    let synchronous = if degraded { SYNCHRONOUS_EXTRA } else { SYNCHRONOUS_FULL };
    prepare(plan, path, connection, synchronous, patience)?;
    let recognised = found.as_ref().and_then(|found| found.recognised);
    let migrations_applied = migrate::migrate(plan, path, connection, recognised, patience)?;
    if migrations_applied > 0 {
        // Whatever the migrations left on the connection goes with it.
        *connection = connect::connect(plan, path, patience)?;
        prepare(plan, path, connection, synchronous, patience)?;
    }
    clock.did("migrate");
    let rebuilt = vacuum::rebuild(plan, path, connection, patience)?;
    if rebuilt {
        clock.did("rebuild the file");
    }
    let sweeps = plan_sweeps(plan, path, connection)?;
    mark(plan, path, connection, patience)?;
    let sequences = patience.wait_for(path, "reserving commit sequences", || {
        // What has been in use is left alone: its first write reserves what it needs.
        if has_sequences(connection)? { Ok(Some(0..0)) } else { reserve(connection, 1).map(Some) }
    })?;
    clock.did("reserve commit sequences");

    // From here on the connection waits for others as long as its user wants.
    settings::apply(plan, path, connection, synchronous)?;
    let fixups_done = match plan.fixups.is_empty() {
        true => Vec::new(),
        false => fixup::done_before(connection).map_err(|e| OpenError::from_sqlite(path, DOING, e))?,
    };
    let settings = Settings {
        created: false,
        converted,
        recovered: wal_bytes_recovered > 0 || was_hot,
        wal_bytes_recovered,
        migrations_applied,
        opening: OpenReport { fixups_done, ..report(found, clock) },
        rebuilt,
        ..read_back(path, connection, degraded)?
    };
    Ok(Settled { settings, sequences, degraded, sweeps })
}

fn report(found: Option<Found>, clock: StepClock) -> OpenReport {
    let mut report = OpenReport { steps: clock.steps, ..OpenReport::default() };
    if let Some(Found { journal_mode, pages, user_version, recognised }) = found {
        report.journal_mode_before = Some(journal_mode);
        report.pages_before = pages;
        report.user_version_before = user_version;
        report.recognised = recognised;
    }
    report
}

/// How long the steps take, one after the other.
struct StepClock {
    since: Instant,
    steps: Vec<OpenStep>,
}

impl StepClock {
    fn start() -> Self {
        Self { since: Instant::now(), steps: Vec::new() }
    }

    /// The step of this name ends here.
    fn did(&mut self, name: &'static str) {
        let now = Instant::now();
        self.steps.push(OpenStep { name, took: now.saturating_duration_since(self.since) });
        self.since = now;
    }
}

/// The user's hook, then the settings of the store. Locks are waited for by `patience`, still.
fn prepare(
    plan: &OpenPlan,
    path: &Path,
    connection: &Connection,
    synchronous: i32,
    patience: &Patience,
) -> Result<(), OpenError> {
    settings::run_hook(plan, path, connection)?;
    settings::apply(plan, path, connection, synchronous)?;
    patience.lend(connection).map_err(|e| OpenError::from_sqlite(path, DOING, e))
}

/// Finds the table and the index of each retention policy, as the migrations left them.
fn plan_sweeps(plan: &OpenPlan, path: &Path, connection: &Connection) -> Result<Vec<SweepPlan>, OpenError> {
    let find = |policy: &Retention| {
        plan_sweep(connection, policy).map_err(|failure| OpenError::Retention {
            path: path.to_path_buf(),
            table: policy.table.clone(),
            failure,
        })
    };
    plan.retention.iter().map(find).collect()
}

/// Gives a database that has no application id the program's.
fn mark(plan: &OpenPlan, path: &Path, connection: &Connection, patience: &Patience) -> Result<(), OpenError> {
    let Some(id) = plan.application_id else { return Ok(()) };
    patience.wait_for(path, "marking the database with the application id", || {
        if settings::read(connection, "application_id")? == 0 && id != 0 {
            connection.pragma_update(None, "application_id", id)?;
        }
        Ok(Some(()))
    })
}

/// What SQLite says about the connection now.
fn read_back(path: &Path, connection: &Connection, degraded: bool) -> Result<Settings, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, DOING, error);
    let number = |name| settings::read(connection, name).map_err(sqlite);
    let journal_mode = settings::journal_mode(connection).map_err(sqlite)?;
    if (journal_mode == "wal") == degraded {
        // The hook or a migration has switched it.
        return Err(OpenError::WalRefused { path: path.to_path_buf(), mode: journal_mode });
    }
    let synchronous = match number("synchronous")? {
        2 => "full".to_owned(),
        3 => "extra".to_owned(),
        other => other.to_string(),
    };
    Ok(Settings {
        path: path.to_path_buf(),
        journal_mode,
        synchronous,
        page_size: u32::try_from(number("page_size")?).unwrap_or(0),
        page_cache_bytes: number("cache_size")?.unsigned_abs().saturating_mul(1024),
        foreign_keys: number("foreign_keys")? == 1,
        busy_timeout: Duration::from_millis(number("busy_timeout")?.unsigned_abs()),
        sqlite_version: rusqlite::version().to_owned(),
        // Both are 32 bits in the file.
        user_version: number("user_version")? as u32,
        application_id: number("application_id")? as i32,
        created: false,
        converted: false,
        recovered: false,
        wal_bytes_recovered: 0,
        migrations_applied: 0,
        opening: OpenReport::default(),
        reclaims_space: vacuum::can_reclaim(path, connection)?,
        rebuilt: false,
    })
}

/// Whether nothing but the engine has written to a new database. In doubt somebody has.
fn is_untouched(connection: &Connection) -> bool {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE tbl_name <> ?1)
               AND (SELECT user_version FROM pragma_user_version) = 0";
    connection.query_row(sql, [ENGINE_TABLE], |row| row.get(0)).unwrap_or(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
pub(in crate::sqlite::writer) mod tests;
