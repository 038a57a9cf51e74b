//! A soak: mixed load with readers for as long as it is told, a line each second. Not part of any check.
//!
//! ```text
//! cargo bench --bench soak                          # ten minutes
//! cargo bench --bench soak -- --minutes 60 --clients 256
//! ```
//!
//! Clients insert rows, update them, and delete old ones, so that the table stays about as large as it gets in the
//! first minutes. Readers ask for rows by key and for pages. The columns that must not grow with time: memory,
//! the log, the latencies. Reads or writes that fail are counted, and at the end the rows are counted too: every
//! acknowledged one must be there.

mod load;

use load::Counters;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use walwright_benches::engine::Engine;
use walwright_benches::options::{self, Options};
use walwright_benches::place::Place;
use walwright_benches::{Result, machine};
use walwright_test_support::FaultVfs;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One second.
#[derive(Serialize)]
struct Line {
    second: u64,
    writes: u64,
    write_p50_ms: f64,
    write_p99_ms: f64,
    write_max_ms: f64,
    reads: u64,
    read_p99_ms: f64,
    failed: u64,
    queued: usize,
    wal_mib: f64,
    checkpoints: u64,
    memory_mib: f64,
}

fn run() -> Result<()> {
    let options = Options::from_command_line(&["minutes", "clients", "sync-delay-ms"], &[])?;
    if options.help {
        print!("Loads a store for long, and writes a line each second.\n\n{}", options::HELP);
        println!("  --minutes N   --clients N   --sync-delay-ms N   (default: 10, 64, 0)");
        return Ok(());
    }
    let number = |name, default| options.list(name, &[default]).map(|list| list[0]);
    let time =
        if options.quick { Duration::from_secs(3) } else { Duration::from_secs(60 * number("minutes", 10)?) };
    let (clients, delay) = (number("clients", 64)?, Duration::from_millis(number("sync-delay-ms", 0)?));
    let place = Place::create(options.dir.as_deref())?;
    let vfs = FaultVfs::register("soak");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = Engine::create(&place.folder("soak")?.join("db"), vfs.name()).await?;
        vfs.set_sync_delay(delay);
        let counters = Arc::new(Counters::default());
        let tasks = load::start(&engine, &counters, clients);
        let start = Instant::now();
        let mut second = 0;
        while start.elapsed() < time {
            second += 1;
            tokio::time::sleep(
                (start + Duration::from_secs(second)).saturating_duration_since(Instant::now()),
            )
            .await;
            print(&line(second, &engine, &counters), options.json)?;
        }
        counters.end();
        for task in tasks {
            task.await?;
        }
        vfs.set_sync_delay(Duration::ZERO);
        let expected = counters.rows();
        let found = engine.table.count().await?;
        engine.close().await?;
        if found != expected {
            return Err(format!("{found} rows are there, and {expected} were acknowledged").into());
        }
        eprintln!("{found} rows are there, as acknowledged");
        Ok(())
    })
}

fn line(second: u64, engine: &Engine, counters: &Counters) -> Line {
    let (writes, reads) = counters.take();
    let stats = engine.stats();
    let write = writes.percentiles().unwrap_or_default();
    Line {
        second,
        writes: writes.count(),
        write_p50_ms: write.p50_ms,
        write_p99_ms: write.p99_ms,
        write_max_ms: write.max_ms,
        reads: reads.count(),
        read_p99_ms: reads.percentiles().unwrap_or_default().p99_ms,
        failed: counters.failed(),
        queued: stats.queued_commands,
        wal_mib: stats.wal_bytes as f64 / f64::from(1 << 20),
        checkpoints: stats.checkpoints,
        memory_mib: machine::resident_bytes() as f64 / f64::from(1 << 20),
    }
}

fn print(line: &Line, json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string(line)?);
        return Ok(());
    }
    if line.second % 30 == 1 {
        println!(
            "second  writes  p50 ms  p99 ms  max ms   reads  p99 ms failed queued WAL MiB ckpts memory MiB"
        );
    }
    println!(
        "{:>6} {:>7} {:>7.2} {:>7.2} {:>7.2} {:>7} {:>7.2} {:>6} {:>6} {:>7.1} {:>5} {:>10.1}",
        line.second,
        line.writes,
        line.write_p50_ms,
        line.write_p99_ms,
        line.write_max_ms,
        line.reads,
        line.read_p99_ms,
        line.failed,
        line.queued,
        line.wal_mib,
        line.checkpoints,
        line.memory_mib
    );
    Ok(())
}
