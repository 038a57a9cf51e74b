//! The rules of the house that the compiler does not hold, held by reading the source.
//!
//! Each test also feeds its rule a text that breaks it: a rule that finds nothing anywhere proves nothing.

mod rules;
mod source;

use rules::Findings;
use source::{Source, read_all, root};

/// Holds a rule over the whole of `src`, and against texts of which each must be refused.
#[track_caller]
fn hold(rule: fn(&Source) -> Findings, refused: &[(&str, &str)], allowed: &[(&str, &str)]) {
    for (path, text) in refused {
        assert!(!rule(&Source::new(path, text)).is_empty(), "the rule lets this pass in {path}: {text}");
    }
    for (path, text) in allowed {
        let findings = rule(&Source::new(path, text));
        assert!(findings.is_empty(), "the rule refuses this in {path}: {text}\n{findings:#?}");
    }
    let sources = read_all("src");
    assert!(sources.len() > 50, "only {} files found", sources.len());
    let findings: Findings = sources.iter().flat_map(rule).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn the_protocol_knows_nothing_of_sqlite() {
    hold(
        rules::protocol_is_alone,
        &[
            ("src/protocol/group.rs", "use rusqlite::Connection;"),
            ("src/protocol/group.rs", "use crate::sqlite::reason::Reason;"),
        ],
        &[
            ("src/protocol/group.rs", "// SQLite, rusqlite\nuse crate::sync::Mutex;"),
            ("src/handle/store.rs", "use crate::sqlite::session::Db;"),
        ],
    );
}

#[test]
fn concurrency_primitives_come_from_one_module() {
    hold(
        rules::primitives_come_from_sync,
        &[
            ("src/protocol/queue.rs", "use std::sync::Mutex;"),
            ("src/handle/latch.rs", "let m = parking_lot::Mutex::new(());"),
            ("src/handle/latch.rs", "use std::{fmt, sync::Arc};"),
            ("src/handle/latch.rs", "use std::thread;"),
            ("src/protocol/line.rs", "if std::thread::panicking() {}"),
            ("src/protocol/answer.rs", "std::thread::park();"),
        ],
        &[
            ("src/sync.rs", "use parking_lot::Mutex;"),
            (
                "src/handle/latch.rs",
                "use crate::sync::{Arc, Mutex};\n#[cfg(test)]\nmod t { use std::thread; }",
            ),
            ("src/protocol/answer.rs", "if std::thread::panicking() {}"),
        ],
    );
}

#[test]
fn tables_know_nothing_of_rusqlite() {
    hold(
        rules::tables_know_nothing_of_sqlites_interface,
        &[
            ("src/table/read.rs", "use rusqlite::Row;"),
            ("src/row/value.rs", "fn f(value: rusqlite::types::Value) {}"),
            ("src/coalescing/plan.rs", "ffi::sqlite3_step(raw);"),
        ],
        &[
            ("src/sqlite/row_value.rs", "use rusqlite::ToSql;"),
            ("src/table/read.rs", "// rusqlite"),
            ("src/table/read.rs", "#[cfg(test)]\nmod tests { use rusqlite::Connection; }"),
        ],
    );
}

#[test]
fn threads_start_in_one_place() {
    hold(
        rules::threads_start_in_one_place,
        &[("src/handle/store.rs", "thread::spawn(|| {});"), ("src/board.rs", "thread::Builder::new()")],
        &[("src/handle/threads.rs", "thread::Builder::new()"), ("src/board.rs", "// thread::spawn")],
    );
}

#[test]
fn only_the_writers_folder_can_name_the_writable_connection() {
    hold(
        rules::only_the_writer_can_write,
        &[
            ("src/handle/threads.rs", "use crate::sqlite::writer::opening::open;"),
            ("src/sqlite/reader/connect.rs", "Connection::open(path)"),
            ("src/sqlite/files/look.rs", "OpenFlags::SQLITE_OPEN_READ_WRITE"),
            ("src/board.rs", "fn f(storage: &SqliteStorage) {}"),
        ],
        &[
            ("src/sqlite/writer/writer.rs", "opening::open(plan)?;"),
            ("src/sqlite/reader/connect.rs", "Connection::open_with_flags(path, flags)"),
        ],
    );
}

#[test]
fn nothing_asks_the_wall_clock() {
    hold(
        rules::nothing_asks_the_wall_clock,
        &[
            ("src/board.rs", "let now = SystemTime::now();"),
            ("src/protocol/queue.rs", "use std::time::{Instant, SystemTime};"),
            ("src/board.rs", "time.duration_since(UNIX_EPOCH)"),
        ],
        &[
            ("src/board.rs", "// SystemTime steps back\nlet now = Instant::now();"),
            ("src/retention/clock.rs", "let now = SystemTime::now();"),
        ],
    );
}

#[test]
fn unsafe_code_is_rare_and_explained() {
    hold(
        rules::unsafe_is_rare_and_explained,
        &[
            ("src/board.rs", "// SAFETY: none needed.\nunsafe { f() }"),
            ("src/sqlite/settings.rs", "unsafe { f() }"),
            ("src/sqlite/settings.rs", "// SAFETY: far away.\nlet a = 1;\nunsafe { f() }"),
        ],
        &[
            ("src/sqlite/settings.rs", "// SAFETY: the handle is open.\nunsafe { f() }"),
            ("src/board.rs", "// unsafe\nlet a = \"unsafe\";"),
        ],
    );
}

#[test]
fn nothing_that_ships_panics_or_prints() {
    hold(
        rules::nothing_shipped_panics_or_prints,
        &[
            ("src/board.rs", "a.unwrap();"),
            ("src/board.rs", "a\n    .expect(\"b\");"),
            ("src/board.rs", "panic!(\"b\");"),
            ("src/board.rs", "eprintln!(\"b\");"),
        ],
        &[
            (
                "src/board.rs",
                "a.unwrap_or(1); // .unwrap()\n#[cfg(test)]\nmod tests { fn f() { a.unwrap(); } }",
            ),
            ("src/board.rs", "#[expect(dead_code)]\nfn f() {}"),
        ],
    );
}

#[test]
fn the_readme_shows_the_commands_that_are_there() {
    let readme = "cargo run --release --example forward_gateway\n\
                  cargo run --release --example power_loss\n\
                  cargo test --workspace";
    let good = "cargo test --workspace --locked\n\
                cargo run --release --locked --example forward_gateway -- -x\n\
                cargo run --release --locked --example power_loss -- -x";
    let check = "";
    assert_eq!(rules::readme_tells_the_truth(readme, check, |_| true).len(), 3, "nothing is run");
    assert_eq!(rules::readme_tells_the_truth("", good, |_| true).len(), 3, "nothing is shown");
    assert_eq!(rules::readme_tells_the_truth(readme, good, |_| false).len(), 2, "the examples are missing");
    assert_eq!(rules::readme_tells_the_truth(readme, good, |_| true), Findings::new());

    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let findings = rules::readme_tells_the_truth(&read("README.md"), &read(".ci/run"), |path| {
        root().join(path).exists()
    });
    assert!(findings.is_empty(), "{findings:#?}");
}
