//! Running a program under callgrind, and reading what it counted.

use crate::program::Program;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};
use walwright_benches::Result;

/// What callgrind counted in one run.
pub struct Profile {
    pub instructions: u64,
    /// How often each function was called.
    pub calls: HashMap<String, u64>,
}

impl Profile {
    /// Runs this benchmark anew, under callgrind, as `program`. The profile stays in `folder`.
    pub fn of(program: Program, groups: u64, folder: &Path) -> Result<Self> {
        let file = folder.join(format!("{}-{groups}.callgrind", program.name().replace([' ', ','], "-")));
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--quiet"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(env::current_exe()?)
            .args(["--counted", program.name(), &groups.to_string()])
            .stdin(Stdio::null());
        let status = command.status().map_err(|error| format!("valgrind cannot be run: {error}"))?;
        if !status.success() {
            return Err(format!("{} under valgrind: {status}", program.name()).into());
        }
        Self::parse(&fs::read_to_string(&file)?)
    }

    /// Reads callgrind's format: names stand where they come first, later their numbers do.
    fn parse(text: &str) -> Result<Self> {
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut calls: HashMap<String, u64> = HashMap::new();
        let mut callee = "";
        let mut instructions = None;
        for line in text.lines() {
            if let Some(function) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
                let (number, name) = function.split_once(' ').unwrap_or((function, ""));
                if !name.is_empty() {
                    names.insert(number, name);
                }
                if line.starts_with('c') {
                    callee = names.get(number).copied().unwrap_or(number);
                }
            } else if let Some(called) = line.strip_prefix("calls=") {
                let count: u64 = called.split(' ').next().unwrap_or_default().parse()?;
                *calls.entry(callee.to_owned()).or_default() += count;
            } else if let Some(total) = line.strip_prefix("totals: ") {
                instructions = Some(total.trim().parse()?);
            }
        }
        let instructions = instructions.ok_or("callgrind has told no total")?;
        Ok(Self { instructions, calls })
    }
}
