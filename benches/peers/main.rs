//! Walwright and its peers under one workload: builds and runs them all, and prints one table.
//!
//! ```text
//! benches/peers/run                # or cargo bench --bench peers; ten minutes, and the builds
//! benches/peers/run --quick
//! ```
//!
//! Each peer is a package of its own beside this file, outside the workspace, since they pin different SQLites. Each
//! is used at its best durable setting: WAL, `synchronous=FULL`, statements kept prepared, BEGIN IMMEDIATE, one
//! connection for writes. A pair that is not waited for in between is one transaction where the peer has no better
//! way. All SQLites are built with the same flags, and sync with `fdatasync`.
//!
//! A run of a peer is a process of its own, on fresh files. A delay of syncs is added in the C library, by a
//! library that is preloaded: it reaches all of them in the same way, redb too. They run in turn, several
//! times; figures are medians with the least and the greatest.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use walwright_bench_workload::peer::PeerRow;
use walwright_bench_workload::{Bar, Pattern, Percentiles, Spread};
use walwright_benches::Result;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::report::Report;

/// Packages beside this file; the first is not a peer.
const PEERS: [&str; 7] =
    ["walwright", "tokio-rusqlite", "async-sqlite", "deadpool-sqlite", "sqlx", "tinystore", "redb"];
/// SQLite calls `fsync` on Linux where it is not told that there is something cheaper.
const SQLITE_FLAGS: &str = "-DHAVE_FDATASYNC=1";
/// At one client nobody can share a sync, and the fastest is the one that does least beside it.
const ALONE: f64 = 1.25;

const HELP: &str = "\
Runs Walwright and its peers under one workload, and prints one table.

Usage: benches/peers/run [OPTIONS]

  --clients LIST         clients of the closed loop (default: 1,8,64,256)
  --sync-delay-ms LIST   milliseconds added to every sync (default: 0,5)
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One load, in the order of the tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Load {
    sync_delay_ms: u64,
    pattern: Pattern,
    clients: usize,
}

/// What one of them made of one load.
#[derive(Serialize)]
struct Row {
    peer: &'static str,
    #[serde(flatten)]
    load: Load,
    per_second: Spread,
    /// `None`: not one whole operation was done in any run.
    p50_ms: Option<Spread>,
    p99_ms: Option<Spread>,
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&["clients", "sync-delay-ms"], &[])?;
    if options.help {
        print!("{HELP}{}", options::HELP);
        return Ok(());
    }
    let (clients, rounds, time): (&[usize], _, _) = if options.quick {
        (&[1, 8, 64], 1, Duration::from_millis(150))
    } else {
        (&[1, 8, 64, 256], 3, Duration::from_secs(1))
    };
    let clients = options.list("clients", clients)?;
    let delays = options.list("sync-delay-ms", &[0, 5])?;
    let built = Built::build()?;
    let place = Place::create(options.dir.as_deref())?;
    let mut report = Report::new("peers", &options);
    report.measured_on(&place);
    report.text(&built.versions()?);

    let mut runs: BTreeMap<(Load, usize), Vec<PeerRow>> = BTreeMap::new();
    for sync_delay_ms in delays {
        for round in 0..rounds {
            for turn in 0..PEERS.len() {
                // Nobody is always first after the same other one.
                let peer = (turn + round) % PEERS.len();
                for row in built.run(PEERS[peer], &place, sync_delay_ms, time, &clients)? {
                    let load = Load { sync_delay_ms, pattern: row.pattern, clients: row.clients };
                    runs.entry((load, peer)).or_default().push(row);
                }
            }
        }
    }
    let rows: Vec<Row> = runs.iter().map(|((load, peer), runs)| row(PEERS[*peer], *load, runs)).collect();
    rows.iter().try_for_each(|row| report.row(row))?;
    print(&mut report, &rows);
    report.bars(&bars(&rows))?;
    report.finish()
}

/// The programs, built.
struct Built {
    target: PathBuf,
}

impl Built {
    fn build() -> Result<Self> {
        let this = std::env::current_exe()?;
        // This program is in target/PROFILE/deps.
        let target = this.ancestors().nth(3).ok_or("there is no target folder")?.join("peers");
        for package in PEERS.into_iter().chain(["slow-sync"]) {
            let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
                .args(["build", "--release", "--locked", "--quiet", "--target-dir"])
                .arg(&target)
                .arg("--manifest-path")
                .arg(folder().join(package).join("Cargo.toml"))
                .env("LIBSQLITE3_FLAGS", SQLITE_FLAGS)
                .status()?;
            if !status.success() {
                return Err(format!("{package} cannot be built").into());
            }
        }
        Ok(Self { target })
    }

    /// Runs one of them under all its loads.
    fn run(
        &self,
        peer: &str,
        place: &Place,
        delay_ms: u64,
        time: Duration,
        clients: &[usize],
    ) -> Result<Vec<PeerRow>> {
        let clients: Vec<_> = clients.iter().map(ToString::to_string).collect();
        let mut command = Command::new(self.target.join(format!("release/walwright-bench-peer-{peer}")));
        command
            .arg(place.folder("peer")?)
            .args([time.as_millis().to_string(), clients.join(",")])
            .stderr(Stdio::inherit());
        if delay_ms > 0 {
            command
                .env("LD_PRELOAD", self.target.join("release/libwalwright_bench_slow_sync.so"))
                .env("SLOW_SYNC_MICROS", (delay_ms * 1000).to_string());
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("{peer}: {}", output.status).into());
        }
        let lines = String::from_utf8(output.stdout)?;
        Ok(lines.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
    }

    /// The versions that the packages pin.
    fn versions(&self) -> Result<String> {
        let mut versions = Vec::new();
        for package in &PEERS[1..] {
            let lock = std::fs::read_to_string(folder().join(package).join("Cargo.lock"))?;
            let line = format!("name = \"{package}\"\nversion = \"");
            let version = lock.split_once(&line).and_then(|(_, rest)| rest.split('"').next());
            versions.push(format!("{package} {}", version.unwrap_or("?")));
        }
        Ok(versions.join(", "))
    }
}

/// The folder with the packages.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

fn row(peer: &'static str, load: Load, runs: &[PeerRow]) -> Row {
    let spread = |figure: fn(Percentiles) -> f64| {
        let figures: Vec<_> = runs.iter().filter_map(|run| run.latency).map(figure).collect();
        (!figures.is_empty()).then(|| Spread::of(figures))
    };
    Row {
        peer,
        load,
        per_second: Spread::of(runs.iter().map(|run| run.per_second)),
        p50_ms: spread(|latency| latency.p50_ms),
        p99_ms: spread(|latency| latency.p99_ms),
    }
}

/// A number of clients and a pattern a line, a peer a column: operations a second.
fn print(report: &mut Report, rows: &[Row]) {
    let headers = [["ms a sync", "operation", "clients"].as_slice(), &PEERS].concat();
    let of_load = || rows.chunk_by(|a, b| a.load == b.load);
    let table = |figure: &dyn Fn(&Row) -> String| -> Vec<Vec<String>> {
        let line = |alike: &[Row]| {
            let load = alike[0].load;
            let start = [load.sync_delay_ms.to_string(), load.pattern.to_string(), load.clients.to_string()];
            start.into_iter().chain(alike.iter().map(figure)).collect()
        };
        of_load().map(line).collect()
    };
    report.heading("Operations a second: median (least to greatest)");
    report.table(&headers, &table(&|row| row.per_second.to_string()));
    report.heading("Median latency and 99th percentile, in ms");
    let latency = |row: &Row| match (row.p50_ms, row.p99_ms) {
        (Some(p50), Some(p99)) => format!("{:.2} / {:.2}", p50.median, p99.median),
        _ => "-".to_owned(),
    };
    report.table(&headers, &table(&latency));
}

/// Ahead of every peer in pairs at 8 clients and more; not far behind the fastest at one.
fn bars(rows: &[Row]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for alike in rows.chunk_by(|a, b| a.load == b.load) {
        let load = alike[0].load;
        let rate = |row: &Row| row.per_second.median;
        let (ours, peers): (Vec<&Row>, Vec<&Row>) = alike.iter().partition(|row| row.peer == PEERS[0]);
        let fastest = peers.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let (Some(ours), Some(fastest)) = (ours.first(), fastest) else { continue };
        let name = Described(load, fastest.peer).to_string();
        if load.clients == 1 {
            bars.push(Bar::at_most(
                format!("{name}, its rate against ours"),
                rate(fastest) / rate(ours),
                ALONE,
            ));
        } else if load.clients >= 8 && load.pattern != Pattern::Insert {
            bars.push(Bar::at_least(
                format!("{name}, our rate against its"),
                rate(ours) / rate(fastest),
                1.0,
            ));
        }
    }
    bars
}

/// A load and the fastest peer in it.
struct Described(Load, &'static str);

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { sync_delay_ms, pattern, clients } = self.0;
        let many = if clients == 1 { "client" } else { "clients" };
        write!(f, "{pattern} at {sync_delay_ms} ms a sync, {clients} {many}, against {}", self.1)
    }
}
