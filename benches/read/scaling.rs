//! Whether two readers do twice the work of one.

use crate::filled;
use serde::Serialize;
use std::future::IntoFuture;
use std::time::Instant;
use walwright::{ClosureError, Db};
use walwright_bench_workload::{Session, Spread};
use walwright_benches::Result;
use walwright_benches::engine::Engine;
use walwright_benches::place::Place;

const READS: u64 = 10_000;
const SQL: &str = "SELECT token FROM session WHERE id = ?1";

/// The wall time of one closure, and of two at once.
#[derive(Serialize)]
pub struct Scaling {
    pub one_ms: Spread,
    pub two_ms: Spread,
}

pub async fn measure(place: &Place, quick: bool) -> Result<Scaling> {
    let rounds = if quick { 5 } else { 21 };
    let engine = filled(place, READS, 2).await?;
    // Both readers have their caches full before it counts.
    for _ in 0..4 {
        together(&engine, 2).await?;
    }
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(together(&engine, 1).await?);
        two.push(together(&engine, 2).await?);
    }
    engine.close().await?;
    Ok(Scaling { one_ms: Spread::of(one), two_ms: Spread::of(two) })
}

/// Milliseconds until so many closures are done.
async fn together(engine: &Engine, closures: usize) -> Result<f64> {
    let keys: Vec<String> = (0..READS).map(|number| Session::new(number).id).collect();
    let began = Instant::now();
    let mut reads = Vec::new();
    for _ in 0..closures {
        let keys = keys.clone();
        reads.push(tokio::spawn(engine.store.read(move |db| read_all(db, &keys)).into_future()));
    }
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
