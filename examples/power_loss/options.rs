//! The command line.

use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::time::Duration;

pub const HELP: &str = "\
Runs a store, cuts the power at every sync, and looks at what is left with the store itself.

Usage: cargo run --release --example power_loss -- [OPTIONS]

Options:
  --seconds N   go on with further seeds for N seconds (default: 10)
  --images N    or until about N different disks were looked at
  --seed S      the first seed (default: 1); the same seed sends the same commands and makes the
                same choices, as far as the threads let it
  --lie         pretend that the device lies about its flush: everything has to turn red
  --json        one JSON object on the standard output, and nothing else there
  --help        this text

It ends with 1 if anything acknowledged was lost, any acknowledged delete undone, or any disk of no use.
";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    Run(Options),
    Help,
}

/// How to run.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub bound: Bound,
    pub seed: u64,
    pub lie: bool,
    pub json: bool,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    Time(Duration),
    Images(u64),
}

pub fn from_command_line() -> Result<Command, lexopt::Error> {
    parse(lexopt::Parser::from_env())
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut bound, mut seed, mut lie, mut json) = (None, 1, false, false);
    while let Some(argument) = parser.next()? {
        let mut bound_by = |bound_by| match bound.replace(bound_by) {
            None => Ok(()),
            Some(_) => Err("give --seconds or --images, and once"),
        };
        match argument {
            Long("seconds") => {
                bound_by(Bound::Time(Duration::from_secs(positive("--seconds", &mut parser)?)))?
            }
            Long("images") => bound_by(Bound::Images(positive("--images", &mut parser)?))?,
            Long("seed") => seed = number("--seed", &mut parser)?,
            Long("lie") => lie = true,
            Long("json") => json = true,
            Long("help") | Short('h') => return Ok(Command::Help),
            Short(_) | Long(_) | Value(_) => return Err(argument.unexpected()),
        }
    }
    let bound = bound.unwrap_or(Bound::Time(Duration::from_secs(10)));
    Ok(Command::Run(Options { bound, seed, lie, json }))
}

fn number(option: &str, parser: &mut lexopt::Parser) -> Result<u64, lexopt::Error> {
    let text = parser.value()?.string()?;
    text.parse().map_err(|_| format!("{option} {text:?} is not a whole number").into())
}

fn positive(option: &str, parser: &mut lexopt::Parser) -> Result<u64, lexopt::Error> {
    match number(option, parser)? {
        0 => Err(format!("{option} 0 would try nothing").into()),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(lexopt::Parser::from_args(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn one_bound_and_a_seed() {
        let Ok(Command::Run(options)) = parsed(&["--images", "500", "--seed=7", "--json"]) else {
            panic!("these are fine")
        };
        assert_eq!(options, Options { bound: Bound::Images(500), seed: 7, lie: false, json: true });
    }

    #[test]
    fn nonsense_is_named() {
        for (arguments, named) in [
            (["--seconds", "soon"].as_slice(), "\"soon\""),
            (&["--seconds", "0"], "--seconds 0"),
            (&["--seed", "-1"], "\"-1\""),
            (&["--seconds", "1", "--images", "1"], "--seconds or --images"),
            (&["--colour"], "--colour"),
            (&["extra"], "extra"),
        ] {
            let problem = parsed(arguments).expect_err("refused");
            assert!(problem.contains(named), "{problem}");
        }
    }
}
