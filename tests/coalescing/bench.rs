//! A store in which one program after the other is carried out, and a connection beside it that sets up and looks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use walwright::rusqlite::functions::FunctionFlags;
use walwright::rusqlite::{Connection, Result};
use walwright::{AckLevel, Applied, Change, ChangeStream, Pending, Row, Store, Table, TableError, Tx};
use walwright_test_support::{FaultVfs, Gate, Probe, Scratch};

use crate::answer::{Answer, Sequences};
use crate::command::{Command, Deadline, Ending, Op, RowCall, Sent};
use crate::program::{Handle, Program, Revision};
use crate::sending::{Handles, Waiting};
use crate::state::{self, Found};

/// Commands that are carried out before all programs: their sequences are then no numbers that programs use.
const WARM_UP: usize = 300;

/// A store with its file.
pub struct Bench {
    store: Store,
    beside: Probe,
    /// What the schema's functions count.
    calls: Arc<AtomicI64>,
    /// Somebody who watches what is committed.
    watching: RefCell<Option<ChangeStream>>,
    scene: RefCell<Option<Scene>>,
    _folder: Scratch,
}

/// A schema that was made, and the handles on it.
struct Scene {
    statements: Vec<String>,
    handles: Vec<Handle>,
    tables: BTreeMap<usize, Table<Row>>,
    /// SQLite's number of the schema: it changes with every change.
    version: i64,
}

/// How the commands of a program come to the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// All together, but for the pauses that the program asks for.
    InGroups,
    /// Each is answered before the next is sent.
    OneByOne,
}

/// What a program has done.
pub struct Outcome {
    /// One for each command, and one for a last look at the connection.
    pub answers: Vec<String>,
    pub state: Vec<Found>,
    /// What somebody who watches was told, if anybody did.
    pub changes: Vec<String>,
    /// Commands that were carried out by the statement of another.
    pub coalesced: u64,
}

impl Bench {
    pub fn open(vfs: &'static FaultVfs, coalescing: bool) -> Self {
        let folder = Scratch::new();
        let path = folder.join("db");
        let calls = Arc::new(AtomicI64::new(0));
        let (counted, also_counted) = (Arc::clone(&calls), Arc::clone(&calls));
        let store = Store::builder(&path)
            .vfs(vfs.name())
            .readers(1)
            .group(256, 1 << 20, Duration::from_secs(60))
            .coalescing(coalescing)
            .on_connection(move |connection| add_functions(connection, &counted))
            .open()
            .wait()
            .unwrap();
        let flushes: Vec<_> = (0..WARM_UP).map(|_| store.flush().try_submit().unwrap()).collect();
        for flush in flushes {
            flush.wait().unwrap();
        }
        let beside = Probe::open(&path).unwrap();
        beside.connection().busy_timeout(Duration::from_secs(10)).unwrap();
        beside.connection().pragma_update(None, "synchronous", "OFF").unwrap();
        add_functions(beside.connection(), &also_counted).unwrap();
        Self {
            store,
            beside,
            calls,
            watching: RefCell::default(),
            scene: RefCell::default(),
            _folder: folder,
        }
    }

    /// Lets somebody watch from now on, or nobody.
    pub fn watch(&self, watched: bool) {
        let is_watched = self.watching.borrow().is_some();
        if watched != is_watched {
            self.watching.replace(watched.then(|| self.store.changes()));
        }
    }

    /// What was told since this was last asked.
    fn told(&self, sequences: &Sequences) -> Vec<String> {
        let mut watching = self.watching.borrow_mut();
        let Some(changes) = &mut *watching else { return Vec::new() };
        let told = std::iter::from_fn(|| changes.try_next()).map(Result::unwrap);
        // Beside the store another connection prepares each program, if there is anything to prepare.
        let told = told.filter(|change| !matches!(change, Change::Anything { .. }));
        told.map(|change| state::change(&change, sequences)).collect()
    }

    /// Carries out a program in an empty database. An error says why its schema cannot be made.
    pub fn run(&self, program: &Program, manner: Manner) -> std::result::Result<Outcome, String> {
        self.calls.store(0, Ordering::SeqCst);
        let scene = self.scene.take().filter(|scene| self.fits(scene, program));
        let mut scene = match scene {
            Some(scene) => empty_tables(self.beside.connection()).map(|()| scene),
            None => self.make_scene(program),
        }
        .map_err(|error| error.to_string())?;
        self.fill(program).unwrap();
        let new = self.open_tables(program, &mut scene.tables);
        let handles = Handles { store: &self.store, handles: &program.handles, tables: &scene.tables };
        if program.is_warm {
            meet(&handles, &new);
        }
        let before = self.store.stats();
        if let Some(changes) = &mut *self.watching.borrow_mut() {
            while changes.try_next().is_some() {}
        }
        let last_look = last_look();
        let commands = program.commands.iter().chain([&last_look]);
        let answers = match manner {
            Manner::InGroups => self.in_groups(&handles, commands),
            Manner::OneByOne => self.one_by_one(&handles, commands),
        };
        let coalesced = self.store.stats().coalesced - before.coalesced;
        check_order(&answers);
        let sequences = Sequences::of(&answers, before.last_sequence);
        let state = state::everything(self.beside.connection(), &sequences, program.is_checked).unwrap();
        let answers = answers.iter().enumerate().map(|(at, answer)| answer.show(&sequences, at)).collect();
        let changes = self.told(&sequences);
        self.scene.replace(Some(scene));
        Ok(Outcome { answers, state, changes, coalesced })
    }

    /// Whether the program finds its schema as it needs it. Deleting rows would set off triggers.
    fn fits(&self, scene: &Scene, program: &Program) -> bool {
        let statements = program.schema.statements();
        program.is_warm
            && scene.version == schema_version(self.beside.connection())
            && scene.statements == statements
            && scene.handles == program.handles
            && !statements.iter().any(|sql| sql.starts_with("CREATE TRIGGER"))
    }

    /// Empties the database, and makes the program's schema.
    fn make_scene(&self, program: &Program) -> Result<Scene> {
        let connection = self.beside.connection();
        let statements = program.schema.statements();
        connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
        let made = drop_everything(connection)
            .and_then(|()| statements.iter().try_for_each(|sql| connection.execute_batch(sql)));
        connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        made?;
        let (handles, version) = (program.handles.clone(), schema_version(connection));
        Ok(Scene { statements, handles, tables: BTreeMap::new(), version })
    }

    /// Makes the program's rows.
    fn fill(&self, program: &Program) -> Result<()> {
        let connection = self.beside.connection();
        connection.execute_batch("PRAGMA foreign_keys = ON; BEGIN IMMEDIATE")?;
        for sql in &program.schema.rows {
            // A row that the schema refuses is missing on both sides.
            let _ = connection.execute_batch(sql);
            if connection.is_autocommit() {
                connection.execute_batch("BEGIN IMMEDIATE")?;
            }
        }
        connection.execute_batch("COMMIT").or_else(|_| connection.execute_batch("ROLLBACK"))
    }

    /// Opens the tables that the program uses. Gives those that were not open before.
    fn open_tables(&self, program: &Program, tables: &mut BTreeMap<usize, Table<Row>>) -> Vec<usize> {
        let used = program.commands.iter().flat_map(|sent| sent.command.handles());
        let mut new = Vec::new();
        for number in used {
            if !tables.contains_key(&number)
                && let Ok(table) = self.open_table(&program.handles[number])
            {
                tables.insert(number, table);
                new.push(number);
            }
        }
        new
    }

    fn open_table(&self, handle: &Handle) -> std::result::Result<Table<Row>, TableError> {
        let open = |revision: &Option<Revision>| {
            let mut builder = self.store.table::<Row>(handle.table.as_str());
            if handle.names_key {
                builder = builder.key(&handle.key);
            }
            let builder = match revision {
                None => builder,
                Some(Revision::Counter(column)) => builder.revision(column),
                Some(Revision::Sequence(column)) => builder.revision_by_sequence(column),
            };
            builder.open().wait()
        };
        match open(&handle.revision) {
            Err(TableError::NotARevision { .. }) => open(&None),
            other => other,
        }
    }

    /// Sends the commands while the writer is held, so that those between two pauses come into one group.
    fn in_groups<'c>(
        &self,
        handles: &Handles<'_>,
        commands: impl IntoIterator<Item = &'c Sent>,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut held = Held::hold_first(&self.store);
        for sent in commands {
            if sent.after_pause && !waiting.is_empty() {
                held.release();
                answers.extend(waiting.drain(..).map(Waiting::wait));
                held = Held::hold(&self.store);
            }
            waiting.push(handles.send(sent));
        }
        held.release();
        answers.extend(waiting.into_iter().map(Waiting::wait));
        answers
    }

    /// Sends each command when the one before is answered.
    fn one_by_one<'c>(
        &self,
        handles: &Handles<'_>,
        commands: impl IntoIterator<Item = &'c Sent>,
    ) -> Vec<Answer> {
        Held::hold_first(&self.store).release();
        let answer = |sent: &Sent| {
            let held = (sent.deadline == Deadline::Passed).then(|| Held::hold(&self.store));
            let waiting = handles.send(sent);
            held.into_iter().for_each(Held::release);
            waiting.wait()
        };
        commands.into_iter().map(answer).collect()
    }
}

/// Lets the writer meet new tables: what it has not met it carries out by itself.
fn meet(handles: &Handles<'_>, new: &[usize]) {
    let delete = |number: &usize| {
        let nobody = handles.handles[*number].key.iter().map(|_| "nobody".into()).collect();
        handles.send(&RowCall::new(*number, Op::Delete, nobody).into())
    };
    let sent: Vec<Waiting> = new.iter().map(delete).collect();
    // Where the schema is of the kind that refuses even this, both stores are refused.
    sent.into_iter().for_each(|waiting| drop(waiting.wait()));
}

/// The writer, waiting inside a closure.
struct Held {
    gate: Gate,
    closure: Pending<Applied<()>>,
}

impl Held {
    fn hold(store: &Store) -> Self {
        Self::hold_after(store, |_| ())
    }

    /// Before a program: the row that was inserted last on this connection is then the same in every run.
    fn hold_first(store: &Store) -> Self {
        Self::hold_after(store, |tx| {
            let insert = "INSERT OR REPLACE INTO l(rowid, first) VALUES (50, 'begin')";
            // A schema without a log shows nothing of it.
            let _ = tx.execute(insert, ());
        })
    }

    fn hold_after(store: &Store, work: impl Fn(&Tx<'_>) + Send + 'static) -> Self {
        let gate = Gate::new();
        let inside = gate.clone();
        let write = store.write(move |tx| {
            work(tx);
            inside.wait();
            Ok(())
        });
        let closure = write.ack(AckLevel::Committed).try_submit().unwrap();
        gate.wait_until_entered();
        Self { gate, closure }
    }

    fn release(self) {
        self.gate.open();
        self.closure.wait().unwrap();
    }
}

/// The last command of each program: what a closure sees of the connection.
fn last_look() -> Sent {
    let statements = vec!["SELECT last_insert_rowid()".to_owned()];
    Sent { deadline: Deadline::None, ..Command::Closure { statements, ending: Ending::Well }.into() }
}

/// Sequences grow in the order of admission, whatever was coalesced.
fn check_order(answers: &[Answer]) {
    let sequences: Vec<u64> = answers.iter().filter_map(|answer| answer.sequence).collect();
    assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]), "sequences that do not grow: {sequences:?}");
}

fn schema_version(connection: &Connection) -> i64 {
    connection.pragma_query_value(None, "schema_version", |row| row.get(0)).unwrap()
}

fn empty_tables(connection: &Connection) -> Result<()> {
    connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
    let sql = "SELECT 'DELETE FROM \"' || name || '\"' FROM sqlite_schema \
               WHERE type = 'table' AND name NOT IN ('walwright_sequence', 'sqlite_stat1')";
    let deletes: Vec<String> =
        connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    deletes.iter().try_for_each(|delete| connection.execute_batch(delete))?;
    connection.execute_batch("COMMIT")
}

fn drop_everything(connection: &Connection) -> Result<()> {
    let sql = "SELECT 'DROP ' || type || ' \"' || name || '\"' FROM sqlite_schema \
               WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' AND name <> 'walwright_sequence' \
               ORDER BY type DESC";
    let drops: Vec<String> =
        connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    drops.iter().try_for_each(|drop| connection.execute_batch(drop))
}

/// Functions and collations that a program could have registered: `boom` refuses some values, `counted` and
/// `noted` count their calls, FIRST compares first letters only.
fn add_functions(connection: &Connection, calls: &Arc<AtomicI64>) -> Result<()> {
    use walwright::rusqlite::types::Value as Given;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("boom", 1, flags | FunctionFlags::SQLITE_DETERMINISTIC, |call| {
        match call.get::<Given>(0)? {
            Given::Integer(13) => Err(walwright::rusqlite::Error::UserFunctionError("boom".into())),
            Given::Text(text) if text == "bad" => {
                Err(walwright::rusqlite::Error::UserFunctionError("boom".into()))
            }
            other => Ok(other),
        }
    })?;
    let counted = Arc::clone(calls);
    connection.create_scalar_function("counted", 0, flags, move |_| {
        Ok(counted.fetch_add(1, Ordering::SeqCst) + 1)
    })?;
    let noted = Arc::clone(calls);
    connection.create_scalar_function("noted", 1, flags, move |_| {
        noted.fetch_add(1, Ordering::SeqCst);
        Ok(1)
    })?;
    connection.create_collation("FIRST", |left, right| left.chars().next().cmp(&right.chars().next()))
}
