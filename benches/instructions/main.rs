//! Instructions per durable insert, counted by valgrind, beside the same rows written by hand.
//!
//! ```text
//! cargo bench --bench instructions                    # needs valgrind; a minute or two
//! cargo bench --bench instructions -- --json
//! cargo bench --bench instructions -- --keep DIR      # keeps the profiles, for callgrind_annotate
//! ```
//!
//! The one figure here that does not depend on how busy the machine is. Rows are written in groups of exactly 64:
//! all commands are admitted while the writer stands at a gate, with a waker in each, and then it takes them 64 at
//! a time. Counted is everything in the process: making the commands, the queue, SQLite, the answers and the
//! wake-ups. The kernel's part is not, nor that of an async runtime.
//!
//! Every program runs under `callgrind` with few groups and with more, and the difference is divided by the rows
//! that it holds: opening, preparing and closing cancel out. So does making the rows, which is
//! counted by itself.

mod callgrind;
mod program;

use callgrind::Profile;
use program::Program;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use walwright_bench_workload::Bar;
use walwright_benches::Result;
use walwright_test_support::Scratch;

/// Rows of a group.
const GROUP: u64 = 64;
/// What is above this is said to cost too much.
const LIMIT: f64 = 1.3;
/// Functions whose calls are told, by the beginnings of their names.
const COUNTED_CALLS: &[&str] =
    &["malloc", "realloc", "free", "clock_gettime", "memcpy", "sqlite3_bind", "sqlite3_step", "pthread_"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line asks for.
struct Options {
    json: bool,
    quick: bool,
    keep: Option<PathBuf>,
    /// To be the program that is counted, over so many groups.
    counted: Option<(Program, u64)>,
}

fn options() -> Result<Options> {
    use lexopt::prelude::*;
    let mut options = Options { json: false, quick: false, keep: None, counted: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            // What cargo itself adds.
            Long("bench") => {}
            Long("json") => options.json = true,
            Long("quick") => options.quick = true,
            Long("keep") => options.keep = Some(parser.value()?.into()),
            Long("counted") => {
                let program = parser.value()?.parse()?;
                options.counted = Some((program, parser.value()?.parse()?));
            }
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(options)
}

fn run() -> Result<()> {
    let options = options()?;
    if let Some((program, groups)) = options.counted {
        return program.run(groups);
    }
    let scratch = Scratch::new();
    let folder = options.keep.as_deref().unwrap_or(scratch.path());
    let groups = if options.quick { (10, 20) } else { (20, 100) };
    let mut costs = BTreeMap::new();
    for program in Program::ALL {
        costs.insert(program, Cost::of(program, folder, groups)?);
    }
    report(&costs, options.json)
}

/// What one row costs.
#[derive(Serialize)]
struct Cost {
    program: &'static str,
    instructions: f64,
    calls: BTreeMap<String, f64>,
}

impl Cost {
    fn of(program: Program, folder: &Path, (few, many): (u64, u64)) -> Result<Self> {
        let few_groups = Profile::of(program, few, folder)?;
        let many_groups = Profile::of(program, many, folder)?;
        let rows = ((many - few) * GROUP) as f64;
        let mut calls = BTreeMap::new();
        for (function, count) in &many_groups.calls {
            if COUNTED_CALLS.iter().any(|counted| function.starts_with(counted)) {
                let before = few_groups.calls.get(function).copied().unwrap_or(0);
                // A call that comes once in many rows says nothing about a row.
                let per_row = count.saturating_sub(before) as f64 / rows;
                if per_row >= 0.1 {
                    calls.insert(function.clone(), per_row);
                }
            }
        }
        let instructions = (many_groups.instructions - few_groups.instructions) as f64 / rows;
        Ok(Self { program: program.name(), instructions, calls })
    }
}

fn report(costs: &BTreeMap<Program, Cost>, json: bool) -> Result<()> {
    let rows_alone = costs[&Program::Rows].instructions;
    let per_row = |program: Program| costs[&program].instructions - rows_alone;
    let ratio = |program: Program| program.limit().map_or(1.0, |limit| per_row(program) / per_row(limit));
    let bars = [
        Bar::at_most("instructions of an insert, by row command", ratio(Program::InsertRow), LIMIT),
        Bar::at_most("instructions of an insert, by statement", ratio(Program::InsertStatement), LIMIT),
    ];
    if json {
        for cost in costs.values() {
            println!("{}", serde_json::to_string(cost)?);
        }
        for bar in &bars {
            println!("{}", serde_json::to_string(bar)?);
        }
        return Ok(());
    }
    println!("{:<36} {:>14} {:>16}", "groups of 64 rows", "instructions", "against by hand");
    for program in Program::ALL.into_iter().filter(|program| *program != Program::Rows) {
        println!("{:<36} {:>14.0} {:>16.2}", program.name(), per_row(program), ratio(program));
    }
    println!("\ncalls of a row");
    for cost in costs.values() {
        let calls: Vec<_> = cost.calls.iter().map(|(name, count)| format!("{name} {count:.1}")).collect();
        println!("  {}: {}", cost.program, calls.join(", "));
    }
    println!();
    for bar in &bars {
        println!("{bar}");
    }
    Ok(())
}
