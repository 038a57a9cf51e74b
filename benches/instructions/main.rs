//! Instructions per durable insert, counted by valgrind, beside the same rows written by hand.
//!
//! ```text
//! cargo bench --bench instructions                    # needs valgrind; a minute or two
//! cargo bench --bench instructions -- --json
//! cargo bench --bench instructions -- --profile       # which functions have what the limit does not have
//! cargo bench --bench instructions -- --keep DIR      # keeps callgrind's files, for callgrind_annotate
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
mod cost;
mod program;

use cost::Cost;
use program::Program;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use walwright_bench_workload::Bar;
use walwright_benches::options::{self, Options};
use walwright_benches::report::Report;
use walwright_benches::{Result, machine};
use walwright_test_support::Scratch;

/// Rows of a group.
const GROUP: u64 = 64;
/// What is above this is said to cost too much.
const LIMIT: f64 = 1.3;
/// Functions whose calls are told, by parts of their names.
const COUNTED_CALLS: &[&str] = &["clock_gettime", "hash_one", "memcpy", "sqlite3_bind_", "sqlite3_step"];
/// Says that this process is to be the program that is counted. Behind it stand its name and a number of groups.
const COUNTED: &str = "--counted";
/// Lines of a profile.
const PROFILE_LINES: usize = 60;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, counted, program, groups] = arguments.as_slice()
        && counted == COUNTED
    {
        return program.parse::<Program>()?.run(groups.parse()?);
    }
    let options = Options::from_command_line(&["keep"], &["profile"])?;
    if options.help {
        print!("Counts the instructions of a durable insert.\n\n{}", options::HELP);
        println!("  --profile    which functions have what the limit does not have");
        println!("  --keep DIR   keep callgrind's files");
        return Ok(());
    }
    let scratch = Scratch::new();
    let folder = options.value("keep").map_or(scratch.path(), Path::new);
    let groups = if options.quick { (10, 20) } else { (20, 100) };
    let mut costs = BTreeMap::new();
    for program in Program::ALL {
        costs.insert(program, Cost::of(program, folder, groups)?);
    }
    let rows = costs.remove(&Program::Rows).ok_or("the rows were counted")?;
    for cost in costs.values_mut() {
        cost.without(&rows);
    }
    report(&costs, &options)
}

fn report(costs: &BTreeMap<Program, Cost>, options: &Options) -> Result<()> {
    let ratio = |program: Program| costs[&program].instructions / costs[&program.limit()].instructions;
    let mut report = Report::new("instructions", options);
    report.text(&format!("SQLite {}; {}", walwright::rusqlite::version(), machine::date()));
    costs.values().try_for_each(|cost| report.row(cost))?;
    let cells = |(program, cost): (&Program, &Cost)| {
        let allocations: f64 = cost.allocations().iter().map(|(_, calls)| calls).sum();
        vec![
            program.name().to_owned(),
            format!("{:.0}", cost.instructions),
            format!("{:.2}", ratio(*program)),
            format!("{allocations:.1}"),
        ]
    };
    let headers = ["a row, in groups of 64", "instructions", "against by hand", "allocations"];
    report.table(&headers, &costs.iter().map(cells).collect::<Vec<_>>());
    report.bars(&[
        Bar::at_most("instructions of an insert, by row command", ratio(Program::InsertRow), LIMIT),
        Bar::at_most("instructions of an insert, by statement", ratio(Program::InsertStatement), LIMIT),
    ])?;
    if options.has("profile") && !options.json {
        for (program, cost) in costs.iter().filter(|(program, _)| program.limit() != **program) {
            print_profile(cost, &costs[&program.limit()]);
        }
    }
    report.finish()
}

/// Where the instructions are that the limit does not have.
fn print_profile(cost: &Cost, limit: &Cost) {
    let by_hand = |name: &str| limit.own.get(name).copied().unwrap_or(0.0);
    let mut functions: Vec<_> = cost.own.iter().map(|(name, own)| (name, *own, by_hand(name))).collect();
    functions.sort_by(|a, b| (b.1 - b.2).total_cmp(&(a.1 - a.2)));
    println!("\n{}, a row: a function's own instructions", cost.program);
    println!("{:>8} {:>8} {:>8}  function", "more", "here", "by hand");
    for (name, own, by_hand) in functions.into_iter().take(PROFILE_LINES) {
        println!("{:>8.0} {own:>8.0} {by_hand:>8.0}  {name}", own - by_hand);
    }
    println!("\n{}, a row: who allocates, and how often", cost.program);
    for (name, calls) in cost.allocations() {
        println!("{calls:>8.2}  {name}");
    }
    println!("\n{}, a row: calls of", cost.program);
    for name in COUNTED_CALLS {
        println!("{:>8.2}  {name} (by hand {:.2})", cost.calls_of(name), limit.calls_of(name));
    }
}
