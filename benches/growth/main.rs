//! How writes hold up as the data grows: more rows, more tables, larger rows. One factor at a time.
//!
//! ```text
//! cargo bench --bench growth                # some minutes, and 3 GiB of disk
//! cargo bench --bench growth -- --quick
//! ```
//!
//! 64 clients insert rows, each waiting for its answer, into a store that holds a number of rows already. Keys are
//! ordered by time, as those of UUIDv7 and ULID are, or random: then every insert touches another page, and
//! once the table has outgrown the page cache, it has to be read first.

mod subject;

use serde::Serialize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use subject::{Growing, Keys};
use walwright_bench_workload::{ClosedLoop, Pattern, Percentiles};
use walwright_benches::Result;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::report::Report;

const CLIENTS: usize = 64;
/// Bytes that make a row of about 200 together with its key.
const PAYLOAD: usize = 180;
const FEW_ROWS: u64 = 10_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("growth: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the store holds when the clients come.
#[derive(Clone, Copy, Serialize)]
struct Scene {
    rows: u64,
    keys: Keys,
    tables: usize,
    payload: usize,
}

/// What the clients got done.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    scene: Scene,
    per_second: f64,
    #[serde(flatten)]
    latency: Option<Percentiles>,
    statements_per_group: f64,
    file_mib: f64,
    fill_seconds: f64,
}

/// All scenes: each differs from the first in one thing, but for the keys, which matter with the rows.
fn scenes(quick: bool) -> Vec<Scene> {
    let first = Scene { rows: FEW_ROWS, keys: Keys::Ordered, tables: 1, payload: PAYLOAD };
    let (rows, tables): (&[u64], &[usize]) = if quick {
        (&[FEW_ROWS, 100_000], &[8])
    } else {
        (&[FEW_ROWS, 1_000_000, 10_000_000], &[8, 64, 256])
    };
    let by_rows = rows
        .iter()
        .flat_map(|rows| [Keys::Ordered, Keys::Random].map(|keys| Scene { rows: *rows, keys, ..first }));
    let by_tables = tables.iter().map(|tables| Scene { tables: *tables, ..first });
    let by_payload = [100, 1024, 64 * 1024].map(|payload| Scene { payload, rows: 0, ..first });
    by_rows.chain(by_tables).chain(by_payload).collect()
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&[], &[])?;
    if options.help {
        print!("Measures writes as the data grows.\n\n{}", options::HELP);
        return Ok(());
    }
    let time = Duration::from_millis(if options.quick { 300 } else { 10_000 });
    let place = Place::create(options.dir.as_deref())?;
    let mut report = Report::new("growth", &options);
    report.measured_on(&place);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for scene in scenes(options.quick) {
        let row = runtime.block_on(measure(&place, scene, time))?;
        report.row(&row)?;
        rows.push(row);
    }
    print(&mut report, &rows);
    report.finish()
}

async fn measure(place: &Place, scene: Scene, time: Duration) -> Result<Row> {
    let path = place.folder("growth")?.join("db");
    let began = Instant::now();
    let growing = Growing::create(&path, scene.keys, scene.tables, scene.payload).await?;
    growing.fill(scene.rows).await?;
    let fill_seconds = began.elapsed().as_secs_f64();
    let numbers = Arc::new(AtomicU64::new(scene.rows));
    let before = growing.store.stats();
    let load = ClosedLoop { pattern: Pattern::Insert, clients: CLIENTS, time };
    let done = load.run(&growing, &numbers).await?;
    let after = growing.store.stats();
    growing.store.close().await?;
    Ok(Row {
        scene,
        per_second: done.per_second(),
        latency: done.latencies.percentiles(),
        statements_per_group: (after.statements - before.statements) as f64
            / (after.groups - before.groups).max(1) as f64,
        file_mib: path.metadata()?.len() as f64 / f64::from(1 << 20),
        fill_seconds,
    })
}

fn print(report: &mut Report, rows: &[Row]) {
    report.heading("64 clients, durable inserts");
    let headers = [
        ["rows", "keys", "tables", "payload", "a second"].as_slice(),
        &Percentiles::HEADERS,
        &["group", "file MiB"],
    ]
    .concat();
    let cells = |row: &Row| {
        let Scene { rows, keys, tables, payload } = row.scene;
        let load = [
            rows.to_string(),
            keys.to_string(),
            tables.to_string(),
            payload.to_string(),
            format!("{:.0}", row.per_second),
        ];
        let rest = [format!("{:.1}", row.statements_per_group), format!("{:.0}", row.file_mib)];
        [load.as_slice(), &Percentiles::cells(row.latency.as_ref()), &rest].concat()
    };
    report.table(&headers, &rows.iter().map(cells).collect::<Vec<_>>());
    report
        .text("Rows: those that were there before, over all tables. Payload: bytes of a row beside its key.");
}
