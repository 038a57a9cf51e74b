//! Reads, alone and beside a full burst of writes.
//!
//! ```text
//! cargo bench --bench read                                # a few minutes
//! cargo bench --bench read -- --without-memory-statistics # as a program that switches them off first
//! ```
//!
//! Twice as many tasks as there are readers ask for single rows by key, for pages of 100 rows, or for a number that
//! takes a scan of the whole table. Each of that is measured alone and beside 64 clients that write pairs
//! as fast as they can, in turn and repeated.
//!
//! *Scaling*: one closure of 10,000 point reads on one reader, then two such at once on two; and the same by hand.

mod scaling;

use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use walwright::{Filter, Store};
use walwright_bench_workload::{Bar, ClosedLoop, Latencies, Pattern, Percentiles, Session, Spread};
use walwright_benches::engine::Engine;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::report::Report;
use walwright_benches::{AnyError, Result};

const WRITERS: usize = 64;
const PAGE: usize = 100;
/// A multiplier without a common factor with any number of rows here: it visits them all, out of order.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("read: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Row,
    Page,
    Scan,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Row, Self::Page, Self::Scan];

    /// Reads once. `rows`: those that were there from the start, so that a scan does not grow with what is written.
    async fn read(self, engine: &Engine, key: String, rows: u64) -> Result<()> {
        match self {
            Self::Row => {
                engine.table.get(key).await?.ok_or("a row is missing")?;
            }
            Self::Page => {
                let page = engine.table.page().filter(Filter::sql("id >= ?", (key,))).limit(PAGE).await?;
                assert!(!page.rows.is_empty(), "the row with the key is there");
            }
            Self::Scan => {
                const SQL: &str = "SELECT sum(length(token)) FROM session WHERE rowid <= ?1";
                let rows = i64::try_from(rows)?;
                let length: i64 =
                    engine.store.read(move |db| db.query_row(SQL, [rows], |row| row.get(0))).await?;
                assert!(length > 0, "there are rows");
            }
        }
        Ok(())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Row => "row by key",
            Self::Page => "page of 100",
            Self::Scan => "scan",
        })
    }
}

/// What readers made of one kind of read.
#[derive(Serialize)]
struct Row {
    kind: Kind,
    readers: usize,
    beside_writes: bool,
    per_second: Spread,
    #[serde(flatten)]
    latency: Option<Percentiles>,
    errors: u64,
    writes_per_second: f64,
}

/// How much is measured.
struct Plan {
    rows: u64,
    rounds: usize,
    time: Duration,
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&[], &["without-memory-statistics"])?;
    if options.help {
        print!("Measures reads, alone and beside writes.\n\n{}", options::HELP);
        println!("  --without-memory-statistics   switch SQLite's memory statistics off first");
        return Ok(());
    }
    if options.has("without-memory-statistics") {
        // SAFETY: nothing has called SQLite yet, and there is one thread.
        unsafe { walwright::disable_sqlite_memory_statistics()? };
    }
    let plan = if options.quick {
        Plan { rows: 5_000, rounds: 1, time: Duration::from_millis(200) }
    } else {
        Plan { rows: 100_000, rounds: 3, time: Duration::from_secs(3) }
    };
    let place = Place::create(options.dir.as_deref())?;
    let mut report = Report::new("read", &options);
    report.measured_on(&place);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut rows = Vec::new();
        for readers in [1, 2, 4] {
            for kind in Kind::ALL {
                rows.extend(measure(&place, &plan, readers, kind).await?);
            }
        }
        let scaling = scaling::measure(&place, options.quick).await?;
        rows.iter().try_for_each(|row| report.row(row))?;
        report.row(&scaling)?;
        print(&mut report, &rows, &scaling);
        report.bars(&bars(&rows, &scaling))
    })?;
    report.finish()
}

/// A store with some rows.
async fn filled(place: &Place, rows: u64, readers: usize) -> Result<Engine> {
    filled_in(&place.folder("read")?.join("db"), rows, readers).await
}

async fn filled_in(path: &Path, rows: u64, readers: usize) -> Result<Engine> {
    const AT_ONCE: u64 = 1_000;
    let engine = Engine::create_with(Store::builder(path).readers(readers)).await?;
    let mut first = 0;
    while first < rows {
        let end = (first + AT_ONCE).min(rows);
        engine.table.insert_many((first..end).map(Session::new)).await?;
        first = end;
    }
    Ok(engine)
}

/// Reads alone, and beside writes.
async fn measure(place: &Place, plan: &Plan, readers: usize, kind: Kind) -> Result<[Row; 2]> {
    let engine = filled(place, plan.rows, readers).await?;
    let numbers = Arc::new(AtomicU64::new(plan.rows));
    let mut measured = [(); 2].map(|()| (Latencies::new(), Vec::new(), 0, 0.0));
    for _ in 0..plan.rounds {
        for (beside_writes, of_rounds) in [false, true].into_iter().zip(&mut measured) {
            let over = Arc::new(AtomicBool::new(false));
            let tasks: Vec<_> = (0..2 * readers as u64)
                .map(|seed| {
                    tokio::spawn(read_until(engine.clone(), kind, plan.rows, seed, Arc::clone(&over)))
                })
                .collect();
            let began = Instant::now();
            if beside_writes {
                let load = ClosedLoop { pattern: Pattern::Pipelined, clients: WRITERS, time: plan.time };
                of_rounds.3 = 2.0 * load.run(&engine, &numbers).await?.per_second();
            } else {
                tokio::time::sleep(plan.time).await;
            }
            over.store(true, Ordering::Relaxed);
            let mut reads = 0;
            for task in tasks {
                let (latencies, count, errors) = task.await?;
                of_rounds.0.merge(&latencies);
                of_rounds.2 += errors;
                reads += count;
            }
            of_rounds.1.push(reads as f64 / began.elapsed().as_secs_f64());
        }
    }
    engine.close().await?;
    let mut beside_writes = false;
    Ok(measured.map(|(latencies, rates, errors, writes_per_second)| {
        let (per_second, latency) = (Spread::of(rates), latencies.percentiles());
        let row = Row { kind, readers, beside_writes, per_second, latency, errors, writes_per_second };
        beside_writes = true;
        row
    }))
}

/// Reads one after the other. Gives latencies, the number of reads, and that of errors.
async fn read_until(
    engine: Engine,
    kind: Kind,
    rows: u64,
    seed: u64,
    over: Arc<AtomicBool>,
) -> (Latencies, u64, u64) {
    let (mut latencies, mut reads, mut errors) = (Latencies::new(), 0, 0);
    let mut number = seed;
    while !over.load(Ordering::Relaxed) {
        number = number.wrapping_add(SCATTER);
        let key = Session::new(number % rows).id;
        let sent = Instant::now();
        let read: std::result::Result<(), AnyError> = kind.read(&engine, key, rows).await;
        errors += u64::from(read.is_err());
        latencies.record(sent.elapsed());
        reads += 1;
    }
    (latencies, reads, errors)
}

fn print(report: &mut Report, rows: &[Row], scaling: &scaling::Scaling) {
    report.heading("Reads, alone and beside a full burst of writes");
    let headers = [
        ["read", "readers", "beside", "a second"].as_slice(),
        &Percentiles::HEADERS,
        &["errors", "writes a second"],
    ]
    .concat();
    let cells = |row: &Row| {
        let load = [
            row.kind.to_string(),
            row.readers.to_string(),
            if row.beside_writes { "writes" } else { "nothing" }.to_owned(),
            row.per_second.to_string(),
        ];
        let rest = [row.errors.to_string(), format!("{:.0}", row.writes_per_second)];
        [load.as_slice(), &Percentiles::cells(row.latency.as_ref()), &rest].concat()
    };
    report.table(&headers, &rows.iter().map(cells).collect::<Vec<_>>());
    report.text(&format!(
        "10,000 point reads in one closure take {:.1} ms; two such closures at once on two readers, {:.1} ms: {:.2} \
         times the rate of one. By hand, on two connections and two threads that share nothing: {:.2} times.",
        scaling.one_ms.median, scaling.two_ms.median, scaling.gain.median, scaling.by_hand_gain.median
    ));
}

fn bars(rows: &[Row], scaling: &scaling::Scaling) -> Vec<Bar> {
    let mut bars = Vec::new();
    for pair in rows.chunks(2) {
        let [alone, beside] = pair else { continue };
        let (Some(before), Some(with)) = (alone.latency, beside.latency) else { continue };
        let name = format!("{}, {} readers, p99 beside writes against alone", alone.kind, alone.readers);
        bars.push(Bar::at_most(name, with.p99_ms / before.p99_ms, 2.0));
    }
    let errors: u64 = rows.iter().map(|row| row.errors).sum();
    bars.push(Bar::at_most("reads that failed", errors as f64, 0.0));
    let name = "two readers with 10,000 point reads each, rate against one";
    bars.push(Bar::at_least(name, scaling.gain.median, 1.6));
    bars
}
