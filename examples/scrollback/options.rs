//! The command line.

use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
Measures a chat daemon's scrollback on two stores: 'seed' (one mutexed connection, rollback journal, a commit a
message, search with LIKE) and 'walwright', which adopts the same old file.

Usage: cargo run --release --example scrollback -- [OPTIONS]

Options:
  --rows N           messages in the old file (default: 200000)
  --seconds N        length of each part of the load, in seconds (default: 10); there are two on each
                     store, without backfills and with them
  --sync-delay-ms N  milliseconds added to every sync (default: 5); 0 is the disk as it is
  --dir DIR          work in a fresh folder below DIR (default: below the system's temporary directory,
                     or below ./target if that is in memory)
  --json             one JSON object a row on the standard output, and nothing else there
  --help             this text

Everything that is written is removed in the end.
";

/// A delay beyond this is a slip of the unit, not a disk.
const LONGEST_DELAY_MS: u64 = 10_000;
/// Fewer would not fill the pages that are read.
const FEWEST_ROWS: u64 = 1_000;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    Run(Options),
    Help,
}

/// How to run.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub rows: u64,
    pub time: Duration,
    pub sync_delay: Duration,
    pub dir: Option<PathBuf>,
    pub json: bool,
}

impl Options {
    pub fn sync_delay_ms(&self) -> u64 {
        u64::try_from(self.sync_delay.as_millis()).unwrap_or(u64::MAX)
    }
}

pub fn from_command_line() -> Result<Command, lexopt::Error> {
    parse(lexopt::Parser::from_env())
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut options = Options {
        rows: 200_000,
        time: Duration::from_secs(10),
        sync_delay: Duration::from_millis(5),
        dir: None,
        json: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("rows") => options.rows = number("--rows", FEWEST_ROWS..=100_000_000, &mut parser)?,
            Long("seconds") => {
                options.time = Duration::from_secs(number("--seconds", 1..=3_600, &mut parser)?);
            }
            Long("sync-delay-ms") => {
                let delay = number("--sync-delay-ms", 0..=LONGEST_DELAY_MS, &mut parser)?;
                options.sync_delay = Duration::from_millis(delay);
            }
            Long("dir") => {
                let path = PathBuf::from(parser.value()?);
                if !path.is_dir() {
                    return Err(format!("--dir: {} is not a directory", path.display()).into());
                }
                options.dir = Some(path);
            }
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(Command::Help),
            Short(_) | Long(_) | Value(_) => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Run(options))
}

fn number(
    option: &str,
    range: std::ops::RangeInclusive<u64>,
    parser: &mut lexopt::Parser,
) -> Result<u64, lexopt::Error> {
    let text = parser.value()?.string()?;
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!("{option} {text:?} is not a whole number from {} to {}", range.start(), range.end()).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(lexopt::Parser::from_args(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_option_is_taken() {
        let arguments = ["--rows", "5000", "--seconds=3", "--sync-delay-ms", "0", "--json"];
        let Ok(Command::Run(options)) = parsed(&arguments) else { panic!("these are fine") };
        assert_eq!((options.rows, options.time.as_secs(), options.sync_delay_ms()), (5_000, 3, 0));
        assert!(options.json);
    }

    #[test]
    fn nonsense_is_named() {
        for (arguments, named) in [
            (["--rows", "none"].as_slice(), "\"none\""),
            (&["--rows", "10"], "--rows \"10\""),
            (&["--seconds", "0"], "--seconds"),
            (&["--sync-delay-ms", "5ms"], "\"5ms\""),
            (&["--dir", "/no/such/place"], "/no/such/place"),
            (&["extra"], "extra"),
        ] {
            let problem = parsed(arguments).expect_err("refused");
            assert!(problem.contains(named), "{problem}");
        }
    }
}
