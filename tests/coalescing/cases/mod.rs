//! Programs made by hand, each for one way in which coalescing could show.
//!
//! All of them speak of a table `t` through the handle `h0`, unless they say otherwise. Where a case says what is
//! coalesced, nothing is proved by leaving everything alone.

mod guards;
mod keys;
mod neighbours;
mod rows;
mod schema;

use walwright::Value;
use walwright_test_support::FaultVfs;

use crate::command::{Command, Ending, Op, RowCall, Sent};
use crate::comparison::{Comparison, Verdict};
use crate::program::{Handle, Program, Revision, Schema};

/// A plain table.
const PLAIN: &str = "CREATE TABLE t(id TEXT PRIMARY KEY, x, y, rev INTEGER)";

/// A program made by hand.
pub struct Case {
    name: &'static str,
    program: Program,
    /// How many commands must be carried out by the statement of another, if that is told.
    coalesced: Option<u64>,
}

/// A case with a handle on `t`, and the log.
fn case(name: &'static str, schema: &[&str]) -> Case {
    let mut others = vec!["CREATE TABLE l(first, second, third)".to_owned()];
    others.extend(schema.iter().map(|sql| (*sql).to_owned()));
    let schema = Schema { others, ..Schema::default() };
    let program = Program {
        schema,
        handles: vec![Handle::new("t", &["id"])],
        is_warm: true,
        is_checked: true,
        is_run_one_by_one: true,
        ..Program::default()
    };
    Case { name, program, coalesced: None }
}

impl Case {
    /// Statements that fill the tables before.
    fn rows(mut self, rows: &[&str]) -> Self {
        self.program.schema.rows = rows.iter().map(|sql| (*sql).to_owned()).collect();
        self
    }

    fn handle(mut self, handle: Handle) -> Self {
        self.program.handles.push(handle);
        self
    }

    /// The revision of the handle on `t`.
    fn revision(mut self, revision: Option<Revision>) -> Self {
        self.program.handles[0].revision = revision;
        self
    }

    fn send(mut self, sent: impl Into<Sent>) -> Self {
        self.program.commands.push(sent.into());
        self
    }

    fn statement(self, sql: &str) -> Self {
        self.send(Command::Statement(sql.to_owned()))
    }

    /// What follows comes into another group.
    fn pause(mut self) -> Self {
        self = self.closure("SELECT 'pause'", Ending::Well);
        if let Some(last) = self.program.commands.last_mut() {
            last.after_pause = true;
        }
        self
    }

    fn closure(self, sql: &str, ending: Ending) -> Self {
        self.send(Command::Closure { statements: vec![sql.to_owned()], ending })
    }

    fn coalesces(mut self, commands: u64) -> Self {
        self.coalesced = Some(commands);
        self
    }
}

fn insert(key: impl Into<Value>) -> RowCall {
    RowCall::new(0, Op::Insert, vec![key.into()])
}

fn insert_or_ignore(key: impl Into<Value>) -> RowCall {
    RowCall::new(0, Op::InsertOrIgnore, vec![key.into()])
}

fn upsert(key: impl Into<Value>) -> RowCall {
    RowCall::new(0, Op::Upsert, vec![key.into()])
}

fn update(key: impl Into<Value>) -> RowCall {
    RowCall::new(0, Op::Update, vec![key.into()])
}

fn delete(key: impl Into<Value>) -> RowCall {
    RowCall::new(0, Op::Delete, vec![key.into()])
}

impl RowCall {
    /// Through another handle than the first.
    fn by(mut self, handle: usize) -> Self {
        self.handle = handle;
        self
    }

    fn without_key(mut self) -> Self {
        self.key = None;
        self
    }

    fn if_revision(mut self, revision: i64) -> Self {
        self.if_revision = Some(revision);
        self
    }

    fn only_if(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.only_if = Some((column.to_owned(), value.into()));
        self
    }
}

#[test]
fn cases_cannot_tell() {
    let vfs = FaultVfs::unique("cases");
    vfs.skip_real_syncs(true);
    let comparison = Comparison::new(vfs);
    let all = [guards::cases(), keys::cases(), neighbours::cases(), rows::cases(), schema::cases()];
    let only = std::env::var("WALWRIGHT_CASE").ok();
    let mut failures = Vec::new();
    for Case { name, program, coalesced } in all.into_iter().flatten() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        match (comparison.judge(&program), coalesced) {
            (Verdict::Unfit(error), _) => failures.push(format!("{name}: {error}\n{program}")),
            (Verdict::Different(difference), _) => failures.push(format!("{name}: {difference}")),
            (Verdict::Same { coalesced }, Some(expected)) if coalesced != expected => {
                failures.push(format!("{name}: {coalesced} commands were coalesced, not {expected}"));
            }
            (Verdict::Same { .. }, _) => {}
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
