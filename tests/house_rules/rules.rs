//! The rules. Each gives what it finds wrong, as `file:line: what`.

use crate::source::{Source, names};

/// What is wrong, one sentence each.
pub type Findings = Vec<String>;

/// Files that talk to SQLite's C interface. Nothing else may be `unsafe`.
const UNSAFE_FILES: &[&str] = &[
    // Prepares and runs the engine's own statements outside of rusqlite's statement cache.
    "src/sqlite/engine_statement.rs",
    // A setting of the whole process, which SQLite offers in C only.
    "src/sqlite/memory_statistics.rs",
    // A connection moves to the reader's thread together with the statements on it.
    "src/sqlite/reader/reader.rs",
    // Ends the statements that a closure forgot.
    "src/sqlite/session/session.rs",
    // Switches `load_extension` off, for which rusqlite has a call only with one of its features.
    "src/sqlite/settings.rs",
    // Writes a left-behind WAL again through SQLite's own file object.
    "src/sqlite/writer/opening/wal_file.rs",
    // Syncs the WAL through SQLite's own file object; asks for open foreign keys and a moved file.
    "src/sqlite/writer/wal_log.rs",
];

/// Names of concurrency primitives, with the one file beside `src/sync.rs` that may use each.
const PRIMITIVES: &[(&str, Option<(&str, &str)>)] = &[
    ("parking_lot", None),
    ("loom", None),
    ("crossbeam", None),
    ("std::sync", None),
    ("core::sync", None),
    ("tokio::sync", None),
    // Whether a destructor runs while a thread unwinds is no primitive: it orders nothing.
    ("std::thread", Some(("src/protocol/answer.rs", "std::thread::panicking()"))),
];

/// The folder whose files may name the writable connection.
const WRITER: &str = "src/sqlite/writer/";

/// What names the writable connection, or could open one.
const WRITABLE: &[&str] = &[
    "opening::",
    "Opened",
    "SqliteStorage",
    "SQLITE_OPEN_READ_WRITE",
    "SQLITE_OPEN_CREATE",
    "Connection::open(",
    "OpenFlags::default",
];

/// The protocol's source is compiled a second time under the model checker: SQLite and primitives that the
/// checker does not see would break that, or worse, hide from it.
pub fn protocol_is_alone(source: &Source) -> Findings {
    if !source.path.starts_with("src/protocol/") {
        return Findings::new();
    }
    find(source, &source.shipped, |line| {
        ["rusqlite", "sqlite", "ffi"].into_iter().find(|name| names(line, name))
    })
}

/// Tables, what travels for them and the plan of coalescing could stand in front of another storage.
pub fn tables_know_nothing_of_sqlites_interface(source: &Source) -> Findings {
    if !["src/table/", "src/row/", "src/coalescing/"].iter().any(|folder| source.path.starts_with(folder)) {
        return Findings::new();
    }
    find(source, &source.shipped, |line| ["rusqlite", "ffi"].into_iter().find(|name| names(line, name)))
}

/// Everything that orders threads comes from `crate::sync`, which has a back end for the model checker.
pub fn primitives_come_from_sync(source: &Source) -> Findings {
    if source.path == "src/sync.rs" {
        return Findings::new();
    }
    find(source, &source.shipped, |line| {
        if line.contains("std::{") && ["sync", "thread"].iter().any(|name| names(line, name)) {
            return Some("std::{..} with a primitive");
        }
        let forbidden = |(name, exception): &&(&str, Option<(&str, &str)>)| {
            let allowed = exception.is_some_and(|(file, use_)| file == source.path && line.contains(use_));
            names(line, name) && !allowed
        };
        PRIMITIVES.iter().find(forbidden).map(|(name, _)| *name)
    })
}

/// Only the handle starts threads, so that close can end them all.
pub fn threads_start_in_one_place(source: &Source) -> Findings {
    if source.path == "src/handle/threads.rs" {
        return Findings::new();
    }
    find(source, &source.shipped, |line| {
        ["thread::spawn", "thread::Builder", "spawn_blocking"].into_iter().find(|name| names(line, name))
    })
}

/// One folder has the connection that can change rows.
pub fn only_the_writer_can_write(source: &Source) -> Findings {
    if source.path.starts_with(WRITER) {
        return Findings::new();
    }
    find(source, &source.shipped, |line| {
        WRITABLE.iter().copied().find(|name| match name.strip_suffix(['(', ':']) {
            Some(_) => line.contains(name),
            None => names(line, name),
        })
    })
}

/// `unsafe` stands in few files, and each time a comment above it says why it is sound.
pub fn unsafe_is_rare_and_explained(source: &Source) -> Findings {
    let mut findings = Findings::new();
    if !UNSAFE_FILES.contains(&source.path.as_str()) {
        findings = find(source, &source.shipped, |line| names(line, "unsafe").then_some("unsafe"));
    }
    let text: Vec<&str> = source.text.lines().collect();
    for number in Source::lines(&source.code, |line| names(line, "unsafe")) {
        let comment = text[..number - 1].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
        // What callers of an unsafe function have to see to stands in its documentation.
        if !comment.into_iter().any(|line| line.contains("SAFETY: ") || line.contains("# Safety")) {
            findings.push(format!("{}:{number}: unsafe without a SAFETY comment above it", source.path));
        }
    }
    findings
}

/// Files that may name the wall clock.
const WALL_CLOCK_FILES: &[&str] = &[
    // Asks it what has expired.
    "src/retention/clock.rs",
    // Takes another one in its place.
    "src/handle/builder.rs",
];

/// Order, revisions and deadlines come from counters and the monotonic clock. Nothing asks what time of day it is, but
/// the rules by which rows expire.
pub fn nothing_asks_the_wall_clock(source: &Source) -> Findings {
    if WALL_CLOCK_FILES.contains(&source.path.as_str()) {
        return Findings::new();
    }
    find(source, &source.shipped, |line| {
        ["SystemTime", "UNIX_EPOCH", "clock_gettime", "chrono"].into_iter().find(|name| names(line, name))
    })
}

/// What ships has typed errors instead of panics, and writes to no terminal.
pub fn nothing_shipped_panics_or_prints(source: &Source) -> Findings {
    const FORBIDDEN: &[&str] =
        &[".unwrap()", ".unwrap_err()", ".expect(", ".expect_err(", "panic!", "todo!", "unimplemented!"];
    const PRINTS: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    find(source, &source.shipped, |line| {
        FORBIDDEN.iter().chain(PRINTS).copied().find(|name| line.contains(name))
    })
}

/// The commands that the README promises, as `(what the README shows, the example that it names)`.
const COMMANDS: &[(&str, Option<&str>)] = &[
    ("cargo run --release --example forward_gateway", Some("forward_gateway")),
    ("cargo run --release --example power_loss", Some("power_loss")),
    ("cargo test --workspace", None),
];

/// The README shows the commands that the check of the repository runs, and what they name is there.
pub fn readme_tells_the_truth(readme: &str, check: &str, exists: impl Fn(&str) -> bool) -> Findings {
    let mut findings = Findings::new();
    for (command, example) in COMMANDS {
        if !readme.lines().any(|line| line.trim() == *command) {
            findings.push(format!("README.md does not show `{command}`"));
        }
        if !check.lines().any(|line| has_words_in_order(line, command)) {
            findings.push(format!(".ci/run does not run `{command}`"));
        }
        if let Some(example) = example
            && !exists(&format!("examples/{example}.rs"))
            && !exists(&format!("examples/{example}/main.rs"))
        {
            findings.push(format!("there is no example {example}"));
        }
    }
    findings
}

/// Whether the words of `command` stand in the line in their order, with any options between them.
fn has_words_in_order(line: &str, command: &str) -> bool {
    let mut words = line.split_whitespace();
    command.split_whitespace().all(|wanted| words.any(|word| word == wanted))
}

fn find<'a>(source: &Source, code: &str, offence: impl Fn(&str) -> Option<&'a str>) -> Findings {
    let described = |(at, line)| {
        offence(line).map(|what| format!("{}:{}: {}", source.path, at + 1, what.trim_end_matches(':')))
    };
    code.lines().enumerate().filter_map(described).collect()
}
