//! The command line.

use crate::load::Load;
use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
Measures a TCP forwarder that keeps a SQLite record of every connection, on three stores:
'baseline' (one mutexed connection, rollback journal, a commit a statement), 'walwright', and
'pipelined' (Walwright too; a record's update is sent right behind its insert).

Usage: cargo run --release --example forward_gateway -- [OPTIONS]

Options:
  --dir DIR             work in a fresh folder below DIR (default: below the system's temporary
                        directory, or below ./target if that is in memory)
  --sync-delay-ms LIST  milliseconds added to every sync, one run for each (default: 0,5)
  --connections LIST    how many connections to open at once (default: 1,6,16,32,64)
  --store NAME          baseline, walwright or pipelined; a list, or given again, for several
                        (default: all)
  --json                one JSON object a row on the standard output, and nothing else there
  --help                this text

A LIST is separated by commas. Everything that is written is removed in the end.
";

/// The most connections at once: with both their ends in this process, more of them would meet the
/// customary limit of 1,024 file descriptors.
const MOST_CONNECTIONS: usize = 400;
/// A delay beyond this is a slip of the unit, not a disk.
const LONGEST_DELAY_MS: u64 = 10_000;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    Run(Options),
    Help,
}

/// How to run.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub dir: Option<PathBuf>,
    pub sync_delays: Vec<Duration>,
    pub loads: Vec<Load>,
    pub stores: Vec<StoreName>,
    pub json: bool,
}

impl Options {
    /// How many rows there will be: every load and the delete, on every store at every delay.
    pub fn steps(&self) -> usize {
        self.sync_delays.len() * self.stores.len() * (self.loads.len() + 1)
    }
}

/// One of the stores that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreName {
    Baseline,
    Walwright,
    /// Walwright, with pairs that are sent without waiting in between.
    Pipelined,
}

impl StoreName {
    const ALL: [Self; 3] = [Self::Baseline, Self::Walwright, Self::Pipelined];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Walwright => "walwright",
            Self::Pipelined => "pipelined",
        }
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

pub fn from_command_line() -> Result<Command, lexopt::Error> {
    parse(lexopt::Parser::from_env())
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut dir = None;
    let mut sync_delays = vec![Duration::ZERO, Duration::from_millis(5)];
    let mut counts = vec![1, 6, 16, 32, 64];
    let mut stores = Vec::new();
    let mut json = false;

    while let Some(argument) = parser.next()? {
        match argument {
            Long("dir") => dir = Some(directory(parser.value()?)?),
            Long("sync-delay-ms") => sync_delays = list("--sync-delay-ms", parser.value()?, delay)?,
            Long("connections") => counts = list("--connections", parser.value()?, count)?,
            Long("store") => stores.extend(list("--store", parser.value()?, store)?),
            Long("json") => json = true,
            Long("help") | Short('h') => return Ok(Command::Help),
            Short(_) | Long(_) | Value(_) => return Err(argument.unexpected()),
        }
    }
    let asked = |name: &StoreName| stores.is_empty() || stores.contains(name);
    let loads = counts.into_iter().map(Load::Together).chain([Load::Sequential]).collect();
    let stores = StoreName::ALL.into_iter().filter(asked).collect();
    Ok(Command::Run(Options { dir, sync_delays, loads, stores, json }))
}

fn directory(value: OsString) -> Result<PathBuf, lexopt::Error> {
    let path = PathBuf::from(value);
    if path.is_dir() { Ok(path) } else { Err(format!("--dir: {} is not a directory", path.display()).into()) }
}

fn list<T>(
    option: &str,
    value: OsString,
    item: fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, lexopt::Error> {
    let text = value.string()?;
    let items: Result<_, String> = text.split(',').map(|part| item(part.trim())).collect();
    items.map_err(|problem| format!("{option} {text:?}: {problem}").into())
}

fn delay(text: &str) -> Result<Duration, String> {
    let wanted = || format!("{text:?} is not a whole number of milliseconds from 0 to {LONGEST_DELAY_MS}");
    let milliseconds = text.parse().ok().filter(|&number| number <= LONGEST_DELAY_MS);
    milliseconds.map(Duration::from_millis).ok_or_else(wanted)
}

fn count(text: &str) -> Result<usize, String> {
    let wanted = || format!("{text:?} is not a number of connections from 1 to {MOST_CONNECTIONS}");
    text.parse().ok().filter(|number| (1..=MOST_CONNECTIONS).contains(number)).ok_or_else(wanted)
}

fn store(text: &str) -> Result<StoreName, String> {
    let known = StoreName::ALL.into_iter().find(|name| name.as_str() == text);
    known.ok_or_else(|| format!("{text:?} is not one of baseline, walwright and pipelined"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(lexopt::Parser::from_args(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_the_whole_workload() {
        let Ok(Command::Run(options)) = parsed(&[]) else { panic!("no options are fine") };
        assert_eq!(options.steps(), 2 * 3 * 7);
    }

    #[test]
    fn stores_add_up_in_any_form() {
        for arguments in [
            ["--store", "pipelined", "--store=baseline"].as_slice(),
            &["--store", "pipelined,baseline"],
            &["--store=baseline,pipelined,baseline"],
        ] {
            let Ok(Command::Run(options)) = parsed(arguments) else { panic!("{arguments:?}") };
            assert_eq!(options.stores, [StoreName::Baseline, StoreName::Pipelined]);
        }
    }

    #[test]
    fn nonsense_is_named() {
        for (arguments, named) in [
            (["--connections", "1,,6"], "\"\""),
            (["--connections", "0"], "\"0\""),
            (["--sync-delay-ms", "5ms"], "\"5ms\""),
            (["--store", "sqlx"], "\"sqlx\""),
            (["--dir", "/no/such/place"], "/no/such/place"),
            (["--json", "--colour"], "--colour"),
            (["--json", "extra"], "extra"),
        ] {
            let problem = parsed(&arguments).expect_err("refused");
            assert!(problem.contains(named), "{problem}");
        }
    }
}
