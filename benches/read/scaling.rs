//! Whether two readers do twice the work of one.
//!
//! How much two threads get done against one is a matter of the machine first: its cores may share what they compute
//! with, or be shared themselves. So the same reads by hand stand beside it, on two connections that share nothing.

use crate::filled_in;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use std::future::IntoFuture;
use std::path::Path;
use std::thread;
use std::time::Instant;
use walwright::{ClosureError, Db, rusqlite};
use walwright_bench_workload::{Session, Spread};
use walwright_benches::Result;
use walwright_benches::engine::Engine;
use walwright_benches::place::Place;

const READS: u64 = 10_000;
const SQL: &str = "SELECT token FROM session WHERE id = ?1";

/// The wall times of one and of two at once, and what the second one adds: 2 if it costs nothing.
#[derive(Serialize)]
pub struct Scaling {
    pub one_ms: Spread,
    pub two_ms: Spread,
    pub gain: Spread,
    pub by_hand_gain: Spread,
}

/// One round after the other, each with everything.
pub async fn measure(place: &Place, quick: bool) -> Result<Scaling> {
    let rounds = if quick { 5 } else { 41 };
    let path = place.folder("scaling")?.join("db");
    let engine = filled_in(&path, READS, 2).await?;
    let mut by_hand = [connect(&path)?, connect(&path)?];
    // All have their caches full before it counts.
    for _ in 0..4 {
        together(&engine, 2).await?;
        together_by_hand(&mut by_hand)?;
    }
    let (mut one, mut two, mut gain, mut by_hand_gain) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (of_one, of_two) = (together(&engine, 1).await?, together(&engine, 2).await?);
        gain.push(2.0 * of_one / of_two);
        by_hand_gain.push(2.0 * together_by_hand(&mut by_hand[..1])? / together_by_hand(&mut by_hand)?);
        one.push(of_one);
        two.push(of_two);
    }
    drop(by_hand);
    engine.close().await?;
    let [one_ms, two_ms, gain, by_hand_gain] = [one, two, gain, by_hand_gain].map(Spread::of);
    Ok(Scaling { one_ms, two_ms, gain, by_hand_gain })
}

/// Milliseconds until so many closures are done.
async fn together(engine: &Engine, closures: usize) -> Result<f64> {
    // Copied before it counts: that is one thread's work.
    let all_keys = vec![keys(); closures];
    let began = Instant::now();
    let reads: Vec<_> = all_keys
        .into_iter()
        .map(|keys| tokio::spawn(engine.store.read(move |db| read_all(db, &keys)).into_future()))
        .collect();
    for read in reads {
        read.await??;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

fn read_all(db: &Db<'_>, keys: &[String]) -> std::result::Result<usize, ClosureError> {
    let mut statement = db.prepare(SQL)?;
    let mut bytes = 0;
    for key in keys {
        bytes += statement.query_row([key], |row| row.get::<_, String>(0))?.len();
    }
    Ok(bytes)
}

/// Opened as a store opens its readers.
fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "cache_size", -8 * 1024)?;
    Ok(connection)
}

/// Milliseconds until each connection has read everything in one transaction, on a thread of its own.
fn together_by_hand(connections: &mut [Connection]) -> Result<f64> {
    let keys = keys();
    let began = Instant::now();
    thread::scope(|scope| {
        let reads: Vec<_> = connections
            .iter_mut()
            .map(|connection| scope.spawn(|| read_all_by_hand(connection, &keys)))
            .collect();
        reads.into_iter().try_for_each(|read| read.join().expect("a read does not panic").map(drop))
    })?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

fn read_all_by_hand(connection: &mut Connection, keys: &[String]) -> rusqlite::Result<usize> {
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare_cached(SQL)?;
    let mut bytes = 0;
    for key in keys {
        bytes += statement.query_row([key], |row| row.get::<_, String>(0))?.len();
    }
    drop(statement);
    transaction.commit()?;
    Ok(bytes)
}

fn keys() -> Vec<String> {
    (0..READS).map(|number| Session::new(number).id).collect()
}
