//! What coalescing gains: pairs of an insert and an update of the same row, sent without waiting in between, with it
//! and without it.
//!
//! Tasks send pairs, each as soon as its last one is answered; the two stores take turns, so that both meet the same
//! machine.
//!
//! `cargo bench --bench coalescing -- [--tasks N] [--seconds N] [--rounds N] [--dir FOLDER] [--json]`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use walwright::Store;
use walwright_bench_workload::{Bar, Session, Subject};
use walwright_benches::Result;
use walwright_benches::engine::Engine;
use walwright_benches::place::Place;

struct Options {
    tasks: usize,
    time: Duration,
    rounds: usize,
    folder: Option<PathBuf>,
    json: bool,
}

fn main() -> Result<()> {
    let options = options()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&options))
}

async fn measure(options: &Options) -> Result<()> {
    let place = Place::create(options.folder.as_deref())?;
    let open = async |name, coalescing| -> Result<Engine> {
        let path = place.folder(name)?.join("pairs.db");
        Engine::create_with(Store::builder(path).coalescing(coalescing)).await
    };
    let (with, without) = (open("with", true).await?, open("without", false).await?);
    let next = Arc::new(AtomicU64::new(0));
    let mut gains = Vec::new();
    let mut statements = 0.0;
    for round in 1..=options.rounds {
        let one = pairs(&without, options, &next).await?;
        let two = pairs(&with, options, &next).await?;
        gains.push(two.a_second / one.a_second);
        statements = two.statements_a_command;
        if !options.json {
            println!(
                "round {round}: {:.0} pairs a second with coalescing ({:.2} statements a command), \
                 {:.0} without ({:.2}): {:.2} times",
                two.a_second,
                two.statements_a_command,
                one.a_second,
                one.statements_a_command,
                two.a_second / one.a_second,
            );
        }
    }
    gains.sort_by(f64::total_cmp);
    let bars = [
        Bar::at_least("pairs a second with coalescing, against without", gains[gains.len() / 2], 1.0),
        Bar::at_most("statements a command with coalescing", statements, 0.6),
    ];
    for bar in bars {
        if options.json { println!("{}", serde_json::to_string(&bar)?) } else { println!("{bar}") }
    }
    with.close().await?;
    without.close().await
}

struct Pairs {
    a_second: f64,
    statements_a_command: f64,
}

async fn pairs(engine: &Engine, options: &Options, next: &Arc<AtomicU64>) -> Result<Pairs> {
    let (before, began) = (engine.stats(), Instant::now());
    let until = began + options.time;
    let tasks: Vec<_> = (0..options.tasks)
        .map(|_| {
            let (engine, next) = (engine.clone(), Arc::clone(next));
            tokio::spawn(async move {
                let mut pairs = 0_u64;
                while Instant::now() < until {
                    engine.pair(Session::new(next.fetch_add(1, Ordering::Relaxed))).await?;
                    pairs += 1;
                }
                Ok::<u64, walwright_benches::AnyError>(pairs)
            })
        })
        .collect();
    let mut all = 0;
    for task in tasks {
        all += task.await??;
    }
    let (took, after) = (began.elapsed(), engine.stats());
    let commands = (after.commands - before.commands) as f64;
    Ok(Pairs {
        a_second: all as f64 / took.as_secs_f64(),
        statements_a_command: (after.statements - before.statements) as f64 / commands,
    })
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut options =
        Options { tasks: 64, time: Duration::from_secs(2), rounds: 5, folder: None, json: false };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("tasks") => options.tasks = arguments.value()?.parse()?,
            Long("seconds") => options.time = Duration::from_secs(arguments.value()?.parse()?),
            Long("rounds") => options.rounds = arguments.value()?.parse()?,
            Long("dir") => options.folder = Some(arguments.value()?.into()),
            Long("json") => options.json = true,
            // Cargo's own.
            Long("bench") => {}
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}
