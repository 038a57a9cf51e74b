//! Running a program under callgrind, and reading what it counted.

use crate::COUNTED;
use crate::program::Program;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};
use walwright_benches::Result;

/// What callgrind counted in one run.
#[derive(Default)]
pub struct Profile {
    pub instructions: u64,
    /// What each function took by itself, with what the compiler put into it.
    pub own: HashMap<String, u64>,
    /// How often each function called each other one.
    pub calls: HashMap<(String, String), u64>,
}

impl Profile {
    /// Runs this benchmark anew, under callgrind, as `program`. The profile stays in `folder`.
    pub fn of(program: Program, groups: u64, folder: &Path) -> Result<Self> {
        let file = folder.join(format!("{}-{groups}.callgrind", program.name().replace([' ', ','], "-")));
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--quiet", "--compress-pos=no"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(env::current_exe()?)
            .args([COUNTED, program.name(), &groups.to_string()])
            .stdin(Stdio::null());
        let status = command.status().map_err(|error| format!("valgrind cannot be run: {error}"))?;
        if !status.success() {
            return Err(format!("{} under valgrind: {status}", program.name()).into());
        }
        Self::parse(&fs::read_to_string(&file)?)
    }

    /// Reads callgrind's format: a function has a number, and its name beside it where it comes first. Behind
    /// `fn=` stand its own costs by source line, and behind each `calls=` one line with the cost of the callee.
    fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        let mut names: HashMap<&str, &str> = HashMap::new();
        let (mut caller, mut callee, mut is_callees) = ("", "", false);
        for line in text.lines() {
            if let Some(function) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
                let (number, name) = function.split_once(' ').unwrap_or((function, ""));
                if !name.is_empty() {
                    names.insert(number, name);
                }
                let name = names.get(number).copied().unwrap_or(number);
                *if line.starts_with('c') { &mut callee } else { &mut caller } = name;
            } else if let Some(called) = line.strip_prefix("calls=") {
                let count: u64 = called.split(' ').next().unwrap_or_default().parse()?;
                *profile.calls.entry((plain(caller), plain(callee))).or_default() += count;
                is_callees = true;
            } else if let Some(total) = line.strip_prefix("totals: ") {
                profile.instructions = total.trim().parse()?;
            } else if line.starts_with(|first: char| first.is_ascii_digit())
                && let Some((_line, cost)) = line.split_once(' ')
                && !std::mem::take(&mut is_callees)
            {
                *profile.own.entry(plain(caller)).or_default() += cost.parse::<u64>()?;
            }
        }
        Ok(profile)
    }
}

/// A function's name without the marks of recursion and of the C library's versions.
fn plain(name: &str) -> String {
    let name = name.split("@@").next().unwrap_or(name);
    match name.rsplit_once('\'') {
        Some((plain, depth)) if depth.bytes().all(|byte| byte.is_ascii_digit()) => plain.to_owned(),
        _ => name.to_owned(),
    }
}
