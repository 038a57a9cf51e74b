//! Small writes beside work on many rows.
//!
//! Clients insert one row after the other, durably, first alone and then while all rows of one owner are deleted as
//! one command. The delete is done in pieces, so the clients should hardly notice: their p99 may grow five times.
//!
//! `cargo bench --bench bulk -- [--rows N] [--rounds N] [--clients N] [--dir FOLDER] [--json]`

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use walwright::{Migration, Store, Table};
use walwright_bench_workload::Bar;
use walwright_benches::Result;
use walwright_benches::place::Place;
use walwright_benches::small_writes::SmallWrites;

/// How much longer a small write may take beside the delete, at p99.
const LIMIT: f64 = 5.0;
/// The clients run alone for as long.
const ALONE: Duration = Duration::from_secs(2);

const MIGRATIONS: &[Migration] = &[Migration::sql(
    "CREATE TABLE message (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, body TEXT NOT NULL);
     CREATE INDEX message_owner ON message (owner);",
)];

#[derive(Serialize, Deserialize)]
struct Message {
    id: i64,
    owner: String,
    body: String,
}

struct Options {
    rows: i64,
    rounds: usize,
    clients: usize,
    folder: Option<PathBuf>,
    json: bool,
}

fn main() -> Result<()> {
    let options = options()?;
    let place = Place::create(options.folder.as_deref())?;
    if !options.json {
        println!("{}, a sync takes {:.2?}; {} client(s)", place.filesystem, place.sync, options.clients);
    }
    let store = Store::builder(place.folder("bulk")?.join("bulk.db")).migrations(MIGRATIONS).open().wait()?;
    let messages = store.table::<Message>("message").open().wait()?;
    let next_id = AtomicI64::new(1);
    let mut ratios = Vec::new();
    for round in 1..=options.rounds {
        fill(&messages, &next_id, options.rows)?;
        let write = || -> Result<()> {
            messages.insert(&message(&next_id, "small")).wait()?;
            Ok(())
        };
        let alone = SmallWrites::alone(options.clients, write, ALONE)?;
        let groups = store.stats().groups;
        let mut took = Duration::ZERO;
        let beside = SmallWrites::beside(options.clients, write, || {
            let began = Instant::now();
            let deleted = messages.delete_where("owner", "bulk").wait()?.rows_changed;
            took = began.elapsed();
            assert_eq!(deleted, options.rows.unsigned_abs());
            Ok(())
        })?;
        let ratio = beside.p99.as_secs_f64() / alone.p99.as_secs_f64();
        ratios.push(ratio);
        if !options.json {
            println!(
                "round {round}: alone {alone}; beside a delete of {} rows ({took:.1?}, {} groups) {beside}; \
                 p99 ratio {ratio:.2}",
                options.rows,
                store.stats().groups - groups,
            );
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    let bar = Bar::at_most("p99 of small writes beside a bulk delete, against alone", median, LIMIT);
    if options.json {
        println!("{}", serde_json::to_string(&bar)?);
    } else {
        println!("{bar}");
    }
    store.close().wait()?;
    Ok(())
}

fn fill(messages: &Table<Message>, next_id: &AtomicI64, rows: i64) -> Result<()> {
    for _ in 0..rows / 10_000 {
        let rows: Vec<Message> = (0..10_000).map(|_| message(next_id, "bulk")).collect();
        messages.insert_many(rows).wait()?;
    }
    Ok(())
}

fn message(next_id: &AtomicI64, owner: &str) -> Message {
    let id = next_id.fetch_add(1, Ordering::Relaxed);
    Message { id, owner: owner.to_owned(), body: "x".repeat(200) }
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut options = Options { rows: 100_000, rounds: 5, clients: 1, folder: None, json: false };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("rows") => options.rows = arguments.value()?.parse()?,
            Long("rounds") => options.rounds = arguments.value()?.parse()?,
            Long("clients") => options.clients = arguments.value()?.parse()?,
            Long("dir") => options.folder = Some(arguments.value()?.into()),
            Long("json") => options.json = true,
            // Cargo's own.
            Long("bench") => {}
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}
