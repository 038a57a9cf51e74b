//! C13. Many writes share one transaction; one of them breaks a constraint, and all are rolled back, or the
//! failed part slips into the next commit (google/capsem#125; also tekartik/sqflite#121,
//! imdinu/apple-mail-mcp#95).
//!
//! What must hold: of N commands in a group of which k fail, exactly N - k are committed and acknowledged, in
//! order. Each failure goes to its own caller with its own cause, and nothing of a failed command is left,
//! also if it consists of several statements or makes SQLite roll back everything.

use walwright::rusqlite::ffi;
use walwright::{ClosureError, Migration, Pending, Receipt, Store, WriteError};
use walwright_test_support::{Probe, Scratch, watchdog};

use crate::support_write::{LIMIT, hold, not_applied};

const SCHEMA: &[Migration] = &[Migration::sql(
    "CREATE TABLE parent (id INTEGER PRIMARY KEY);
     CREATE TABLE item (
         id INTEGER PRIMARY KEY,
         name TEXT NOT NULL UNIQUE,
         quantity INTEGER NOT NULL CHECK (quantity >= 0),
         parent INTEGER REFERENCES parent (id),
         later INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED
     );
     CREATE TRIGGER no_666 BEFORE INSERT ON item WHEN new.quantity = 666
     BEGIN SELECT RAISE(ROLLBACK, 'not this one'); END;
     CREATE TRIGGER no_667 AFTER INSERT ON item WHEN new.quantity = 667
     BEGIN SELECT RAISE(FAIL, 'not this one either'); END;
     INSERT INTO parent VALUES (1);
     INSERT INTO item (id, name, quantity) VALUES (0, 'taken', 0)",
)];

const INSERT: &str = "INSERT INTO item (id, name, quantity, parent, later) VALUES (?1, ?2, ?3, ?4, ?5)";

/// A row; what breaks a constraint in it is up to the caller.
fn row(id: i64, quantity: i64, parent: i64, later: i64) -> (i64, String, i64, i64, i64) {
    (id, format!("item {id}"), quantity, parent, later)
}

/// What is wrong with a command, and what its caller must hear.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Unique,
    PrimaryKey,
    Check,
    NotNull,
    ForeignKey,
    DeferredForeignKey,
    RollBack,
    OrRollBack,
    OrFail,
    RaiseFail,
    BadSql,
    SecondStatement,
    OwnError,
    Swallowed,
    Batch,
}

const FAULTS: [Fault; 15] = [
    Fault::Unique,
    Fault::PrimaryKey,
    Fault::Check,
    Fault::NotNull,
    Fault::ForeignKey,
    Fault::DeferredForeignKey,
    Fault::RollBack,
    Fault::OrRollBack,
    Fault::OrFail,
    Fault::RaiseFail,
    Fault::BadSql,
    Fault::SecondStatement,
    Fault::OwnError,
    Fault::Swallowed,
    Fault::Batch,
];

/// A command's answer to come, without its value.
enum Answer {
    Receipt(Pending<Receipt>),
    Closure(Pending<walwright::Applied<()>>),
}

impl Answer {
    fn wait(self) -> Result<Receipt, WriteError> {
        match self {
            Self::Receipt(pending) => pending.wait(),
            Self::Closure(pending) => pending.wait().map(|applied| applied.receipt),
        }
    }
}

fn send_good(store: &Store, id: i64) -> Answer {
    Answer::Receipt(store.execute(INSERT, row(id, 1, 1, 1)).try_submit().unwrap())
}

fn closure(
    store: &Store,
    body: impl Fn(&walwright::Tx<'_>) -> Result<(), ClosureError> + Send + 'static,
) -> Answer {
    Answer::Closure(store.write(body).try_submit().unwrap())
}

impl Fault {
    /// Sends a command that fails in this way. Before it fails it writes rows above 1,000, if it can.
    fn send(self, store: &Store, id: i64) -> Answer {
        let statement = |row: (i64, String, i64, i64, i64)| {
            Answer::Receipt(store.execute(INSERT, row).try_submit().unwrap())
        };
        let sql = |sql: String| Answer::Receipt(store.execute(sql, ()).try_submit().unwrap());
        let at = 1_000 + 10 * id;
        match self {
            Self::Unique => statement((at, "taken".to_owned(), 1, 1, 1)),
            Self::PrimaryKey => statement(row(0, 1, 1, 1)),
            Self::Check => statement(row(at, -1, 1, 1)),
            Self::NotNull => sql(format!("INSERT INTO item (id, quantity) VALUES ({at}, 1)")),
            Self::ForeignKey => statement(row(at, 1, 77, 1)),
            Self::DeferredForeignKey => statement(row(at, 1, 1, 77)),
            Self::RollBack => statement(row(at, 666, 1, 1)),
            Self::OrRollBack => sql(format!(
                "INSERT OR ROLLBACK INTO item (id, name, quantity) VALUES ({at}, 'new {at}', 1), (0, 'x', 1)"
            )),
            Self::OrFail => sql(format!(
                "INSERT OR FAIL INTO item (id, name, quantity) VALUES ({at}, 'new {at}', 1), (0, 'x', 1)"
            )),
            Self::RaiseFail => statement(row(at, 667, 1, 1)),
            Self::BadSql => sql("INSERT INTO nowhere VALUES (1)".to_owned()),
            Self::SecondStatement => closure(store, move |tx| {
                tx.execute(INSERT, row(at, 1, 1, 1))?;
                tx.execute(INSERT, row(0, 1, 1, 1))?;
                Ok(())
            }),
            Self::OwnError => closure(store, move |tx| {
                tx.execute(INSERT, row(at, 1, 1, 1))?;
                Err(ClosureError::message("changed my mind"))
            }),
            // It answers Ok, but what it did is gone with the transaction: it must not be told so.
            Self::Swallowed => closure(store, move |tx| {
                tx.execute(INSERT, row(at, 1, 1, 1))?;
                let _ = tx.execute(INSERT, row(at + 1, 666, 1, 1));
                Ok(())
            }),
            Self::Batch => Answer::Receipt(
                store
                    .batch()
                    .execute(INSERT, row(at, 1, 1, 1))
                    .execute(INSERT, row(at + 1, 1, 1, 1))
                    .execute(INSERT, row(at + 2, -1, 1, 1))
                    .send()
                    .try_submit()
                    .unwrap(),
            ),
        }
    }

    #[track_caller]
    fn check(self, error: &WriteError) {
        let code = match error {
            WriteError::Constraint(error) | WriteError::Sql(error) => error.extended_code(),
            _ => 0,
        };
        let expected = match self {
            Self::Unique => ffi::SQLITE_CONSTRAINT_UNIQUE,
            Self::PrimaryKey | Self::OrRollBack | Self::OrFail | Self::SecondStatement => {
                ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            }
            Self::Check | Self::Batch => ffi::SQLITE_CONSTRAINT_CHECK,
            Self::NotNull => ffi::SQLITE_CONSTRAINT_NOTNULL,
            Self::ForeignKey | Self::DeferredForeignKey => ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
            Self::RollBack | Self::RaiseFail => ffi::SQLITE_CONSTRAINT_TRIGGER,
            Self::BadSql => ffi::SQLITE_ERROR,
            Self::OwnError | Self::Swallowed => 0,
        };
        assert_eq!(code, expected, "{self:?}: {error}");
        match self {
            Self::OwnError => assert!(error.to_string().contains("changed my mind"), "{error}"),
            Self::Swallowed => assert!(matches!(error, WriteError::Closure(_)), "{error}"),
            _ => {}
        }
    }
}

fn open(scratch: &Scratch) -> Store {
    Store::builder(scratch.join("store.db")).migrations(SCHEMA).open().wait().unwrap()
}

/// Sends one group in which the commands of `faults` fail, and checks every answer and every row.
/// `faults` says what is wrong with the command of each number below `count`.
fn run_group(count: i64, faults: impl Fn(i64) -> Option<Fault>) {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let held = hold(&store);
    let answers: Vec<_> = (1..=count)
        .map(|id| match faults(id) {
            None => (id, None, send_good(&store, id)),
            Some(fault) => (id, Some(fault), fault.send(&store, id)),
        })
        .collect();
    held.open();
    let mut last = 0;
    let mut good = vec![0];
    let mut failed = 0;
    for (id, fault, answer) in answers {
        match fault {
            None => {
                let receipt = answer.wait().unwrap_or_else(|error| panic!("command {id}: {error}"));
                assert!(receipt.sequence > last, "answers are in the order of admission");
                last = receipt.sequence;
                good.push(id);
            }
            Some(fault) => {
                fault.check(&not_applied(answer.wait()));
                failed += 1;
            }
        }
    }
    // A later group must not find anything of the failed ones either.
    send_good(&store, 900).wait().unwrap();
    good.push(900);
    let probe = Probe::open(scratch.join("store.db")).unwrap();
    assert_eq!(crate::support_write::ids(&probe), good);
    assert_eq!(probe.count("SELECT count(*) FROM pragma_foreign_key_check").unwrap(), 0);
    assert_eq!(store.stats().failed_commands, failed);
}

/// 100 commands, of which seven break a constraint and three are closures that fail in their second statement.
#[test]
fn c13_ten_of_a_hundred_fail() {
    watchdog(LIMIT, || {
        run_group(100, |id| match id {
            3 | 44 | 45 => Some(Fault::Unique),
            10 | 100 => Some(Fault::Check),
            20 | 70 => Some(Fault::ForeignKey),
            30 | 50 | 99 => Some(Fault::SecondStatement),
            _ => None,
        });
    });
}

/// Every kind of failure, each alone among good commands, and first and last in its group.
#[test]
fn c13_every_kind_of_failure_stays_with_its_command() {
    watchdog(LIMIT, || {
        for fault in FAULTS {
            run_group(7, |id| [1, 4, 7].contains(&id).then_some(fault));
        }
    });
}

/// All kinds in one group, in two orders: those that lose the transaction make the others run again.
#[test]
fn c13_all_kinds_of_failures_in_one_group() {
    watchdog(LIMIT, || {
        let at = |index: i64| FAULTS[usize::try_from(index).unwrap() % FAULTS.len()];
        run_group(60, |id| (id % 2 == 0).then(|| at(id / 2)));
        run_group(60, |id| (id % 2 == 1).then(|| at((61 - id) / 2)));
    });
}

/// A failure that comes only from what another command of the group did: it must not depend on which
/// commands happen to run again.
#[test]
fn c13_a_command_sees_what_came_before_it() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let store = open(&scratch);
        let held = hold(&store);
        let first = send_good(&store, 5);
        let same = send_good(&store, 5);
        let parent = store.execute("INSERT INTO parent VALUES (2)", ()).try_submit().unwrap();
        let child = store.execute(INSERT, row(6, 1, 2, 2)).try_submit().unwrap();
        let lost = Fault::RollBack.send(&store, 7);
        let again = send_good(&store, 5);
        held.open();
        first.wait().unwrap();
        Fault::PrimaryKey.check(&not_applied(same.wait()));
        parent.wait().unwrap();
        child.wait().unwrap();
        Fault::RollBack.check(&not_applied(lost.wait()));
        Fault::PrimaryKey.check(&not_applied(again.wait()));
        let probe = Probe::open(scratch.join("store.db")).unwrap();
        assert_eq!(crate::support_write::ids(&probe), [0, 5, 6]);
    });
}
