//! The command line that all benchmarks of loads share.

use crate::Result;
use lexopt::prelude::{Long, Short, ValueExt};
use std::path::PathBuf;

/// How to run.
#[derive(Debug, Default)]
pub struct Options {
    /// Everything once and briefly: shows that it works, and rough figures.
    pub quick: bool,
    /// One JSON object a row and a bar on the standard output, and nothing else there.
    pub json: bool,
    /// Write the tables into `RESULTS.md` and the plots.
    pub save: bool,
    /// Where the databases go.
    pub dir: Option<PathBuf>,
    /// What is an option of one benchmark alone.
    pub more: Vec<(String, Option<String>)>,
    pub help: bool,
}

/// What `--help` says of the options that all have.
pub const HELP: &str = "\
  --quick      everything once and briefly, with rough figures
  --json       one JSON object a row and a bar on the standard output, and nothing else there
  --save       write the tables into benches/RESULTS.md and the plots into benches/plots/
  --dir DIR    put the databases below DIR (default: the system's folder for temporary files)
  --help       this text
";

impl Options {
    /// Reads the command line. `with_values` and `flags` are the options that only this benchmark has.
    pub fn from_command_line(with_values: &[&str], flags: &[&str]) -> Result<Self> {
        Self::parse(lexopt::Parser::from_env(), with_values, flags)
    }

    fn parse(mut parser: lexopt::Parser, with_values: &[&str], flags: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        while let Some(argument) = parser.next()? {
            match argument {
                // What cargo itself adds.
                Long("bench") => {}
                Long("quick") => options.quick = true,
                Long("json") => options.json = true,
                Long("save") => options.save = true,
                Long("dir") => options.dir = Some(parser.value()?.into()),
                Long("help") | Short('h') => options.help = true,
                Long(name) if flags.contains(&name) => options.more.push((name.to_owned(), None)),
                Long(name) if with_values.contains(&name) => {
                    let name = name.to_owned();
                    options.more.push((name, Some(parser.value()?.string()?)));
                }
                _ => return Err(argument.unexpected().into()),
            }
        }
        Ok(options)
    }

    /// Whether an option of one benchmark alone was given.
    pub fn has(&self, name: &str) -> bool {
        self.more.iter().any(|(given, _)| given == name)
    }

    /// The value of an option of one benchmark alone.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.more.iter().rev().find(|(given, _)| given == name).and_then(|(_, value)| value.as_deref())
    }

    /// The value of an option, a list separated by commas, or the default.
    pub fn list<T: std::str::FromStr + Clone>(&self, name: &str, default: &[T]) -> Result<Vec<T>> {
        let Some(text) = self.value(name) else { return Ok(default.to_vec()) };
        let item = |part: &str| part.trim().parse().map_err(|_| format!("--{name}: {part:?} does not fit"));
        Ok(text.split(',').map(item).collect::<std::result::Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options> {
        Options::parse(lexopt::Parser::from_args(arguments), &["clients"], &["soak"])
    }

    #[test]
    fn what_one_benchmark_has_is_kept_apart() {
        let options = parsed(&["--bench", "--quick", "--soak", "--clients", "1, 64"]).unwrap();
        assert!(options.quick && options.has("soak") && !options.has("clients2"));
        assert_eq!(options.list("clients", &[7_usize]).unwrap(), [1, 64]);
        assert_eq!(options.list("other", &[7_usize]).unwrap(), [7]);
    }

    #[test]
    fn nonsense_is_named() {
        let named = |arguments: &[&str]| parsed(arguments).unwrap_err().to_string();
        assert!(named(&["--colour"]).contains("--colour"));
        let options = parsed(&["--clients", "1,x"]).unwrap();
        assert!(options.list("clients", &[1_usize]).unwrap_err().to_string().contains("\"x\""));
    }
}
