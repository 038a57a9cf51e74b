//! Opening, on a real filesystem.

mod files;
mod migrations;
mod power_cuts;
mod refusals;
mod settled;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::migration::Migration;
use crate::sqlite::reader::connect::open_reader;

const FIRST: Migration = Migration::sql("CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT);");

fn folder() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(dir.path()).unwrap().join("a.db");
    (dir, path)
}

pub(in crate::sqlite::writer) fn plan(path: &Path) -> OpenPlan {
    OpenPlan {
        path: path.to_path_buf(),
        create: true,
        create_parents: false,
        vfs: None,
        busy_budget: Duration::from_secs(5),
        open_timeout: Duration::from_secs(10),
        page_cache_bytes: 4 << 20,
        require_wal: true,
        application_id: None,
        hook: None,
        retention: Vec::new(),
        reclaim: crate::sqlite::plan::Reclaim::Off,
        migrations: Vec::new(),
        recogniser: None,
        fixups: Vec::new(),
    }
}

fn with(path: &Path, migrations: &[Migration]) -> OpenPlan {
    OpenPlan { migrations: migrations.to_vec(), ..plan(path) }
}

/// A plain connection, as another program would have it, which leaves the WAL as it is.
fn probe(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    settings::begin(&connection).unwrap();
    connection
}

fn one<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The content of the main file and the WAL. Only for files that nobody has open.
fn content(path: &Path) -> (Vec<u8>, Option<Vec<u8>>) {
    (fs::read(path).unwrap(), fs::read(format!("{}-wal", path.display())).ok())
}

/// The names in the folder of `path`, in order.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The error of an opening that has to fail.
#[track_caller]
fn refused(plan: &OpenPlan) -> OpenError {
    match open(plan) {
        Ok(opened) => panic!("opened {:?}", opened.settings),
        Err(error) => {
            assert!(error.to_string().contains(&*error.path().to_string_lossy()) || error.path() == "");
            error
        }
    }
}

/// A copy of a database and its WAL in the middle of its life, as a crash leaves them.
fn crash_copy(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-journal"] {
        let source = format!("{}{suffix}", from.display());
        if Path::new(&source).exists() {
            fs::copy(source, format!("{}{suffix}", to.display())).unwrap();
        }
    }
}
