//! Random runs on random tables, carried out as planned and one after the other: answers and rows must be the same.

mod carry_out;
mod programs;

use rusqlite::Connection;

use super::super::{Place, Plan, TableFacts};
use crate::row::{RevisionKind, RowCommand, TableShape};
use crate::sqlite::schema::{read_facts, read_shape};
use crate::sync::Arc;
use carry_out::{Answer, carry_out_chain, carry_out_one};
use programs::{Program, Random};

/// How many programs an ordinary run of the tests tries, and where the first begins. `WALWRIGHT_PROGRAMS` and
/// `WALWRIGHT_SEED` ask for more and for others.
const PROGRAMS: u64 = 400;

/// A table as one handle knows it.
#[derive(Clone)]
struct Handle {
    shape: Arc<TableShape>,
    facts: TableFacts,
}

impl Handle {
    /// `None` if the schema does not allow this key or revision.
    fn open(
        connection: &Connection,
        table: &str,
        key: Option<&str>,
        revision: Option<RevisionKind>,
    ) -> Option<Self> {
        let key = key.map(|key| vec![key.to_owned()]);
        let revision = revision.map(|kind| ("rev", kind));
        let shape = read_shape(connection, table, key.as_deref(), revision).ok()?;
        let facts = read_facts(connection, &shape).unwrap();
        Some(Self { shape: Arc::new(shape), facts })
    }
}

/// What became of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    answers: Vec<Answer>,
    rows: Vec<String>,
}

fn one_after_the_other(connection: &Connection, commands: &[(RowCommand, TableFacts)]) -> Outcome {
    let one = |(number, (command, _)): (usize, &(RowCommand, _))| {
        carry_out_one(connection, command, super::FIRST + number as u64, true)
    };
    Outcome { answers: commands.iter().enumerate().map(one).collect(), rows: dump(connection) }
}

/// Also gives how many commands shared a statement with another.
fn as_planned(connection: &Connection, commands: &[(RowCommand, TableFacts)]) -> (Outcome, usize) {
    let mut answers = vec![None; commands.len()];
    let mut saved = 0;
    let mut start = 0;
    while start < commands.len() {
        let is_quiet = |(_, facts): &(_, TableFacts)| facts.is_quiet;
        let quiet = commands[start..].iter().take_while(|command| is_quiet(command)).count();
        let run = &commands[start..start + quiet.max(1)];
        let borrowed: Vec<_> = run.iter().map(|(command, facts)| (command, facts)).collect();
        let first = super::FIRST + start as u64;
        let plan = if quiet == 0 {
            Plan { places: vec![Place::Alone], chains: vec![] }
        } else {
            Plan::of(&borrowed, first)
        };
        super::check(&plan, run.len());
        let mut one = |number: usize| {
            let (command, facts) = &run[number];
            let answer = carry_out_one(connection, command, first + number as u64, facts.needs_savepoint);
            answers[start + number] = Some(answer);
        };
        let mut failed = vec![false; plan.chains.len()];
        let mut of_chains = Vec::new();
        for (number, place) in plan.places.iter().enumerate() {
            match *place {
                Place::Alone => one(number),
                Place::Member(chain) if failed[chain] => one(number),
                Place::Member(_) => {}
                Place::Chain(at) => {
                    let chain = &plan.chains[at];
                    let done = carry_out_chain(connection, chain, run, first);
                    failed[at] = done.is_none();
                    match done {
                        Some(done) => {
                            saved += chain.members.len() - 1;
                            of_chains.extend(done);
                        }
                        None => {
                            let before = chain.members.iter().filter(|member| member.command < number);
                            before.for_each(|member| one(member.command));
                            one(number);
                        }
                    }
                }
            }
        }
        for (number, answer) in of_chains {
            assert_eq!(answers[start + number].replace(answer), None, "answered twice");
        }
        start += run.len();
    }
    let answers = answers.into_iter().map(|answer| answer.expect("answered")).collect();
    (Outcome { answers, rows: dump(connection) }, saved)
}

/// Every row of every table, with its rowid.
fn dump(connection: &Connection) -> Vec<String> {
    let strings = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    let rows = |table: &String| {
        let sql = format!("SELECT 'quote(\"' || name || '\")' FROM pragma_table_xinfo('{table}')");
        let columns = strings(&sql).join(" || ',' || ");
        let with_rowid = format!("SELECT rowid || ': ' || {columns} FROM {table} ORDER BY 1");
        let is_rowid_table = connection.prepare(&with_rowid).is_ok();
        let sql =
            if is_rowid_table { with_rowid } else { format!("SELECT {columns} FROM {table} ORDER BY 1") };
        strings(&sql).into_iter().map(|row| format!("{table} {row}")).collect::<Vec<_>>()
    };
    tables.iter().flat_map(rows).collect()
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn nobody_can_tell_a_plan_from_one_after_the_other() {
    let programs = number("WALWRIGHT_PROGRAMS", PROGRAMS);
    let first = number("WALWRIGHT_SEED", 1);
    let (mut tried, mut saved) = (0, 0);
    for seed in first..first + programs {
        let program = Program::random(&mut Random::new(seed));
        let (Some(planned), Some(serial)) = (program.database(), program.database()) else { continue };
        let Some(commands) = program.commands(&planned) else { continue };
        tried += 1;
        let expected = one_after_the_other(&serial, &commands);
        let (found, saved_here) = as_planned(&planned, &commands);
        saved += saved_here;
        let sent = || commands.iter().map(|(command, _)| programs::describe(command)).collect::<Vec<_>>();
        assert_eq!(found, expected, "seed {seed}\n{}\n{:#?}", program.schema, sent());
    }
    assert!(tried > programs / 2, "only {tried} of {programs} schemas could be made");
    assert!(saved as u64 > tried / 4, "only {saved} statements were saved in {tried} programs");
}
