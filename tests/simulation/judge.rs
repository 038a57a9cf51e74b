//! Compares what is found with what the clients were told.

use std::collections::{BTreeMap, BTreeSet};

use walwright::Outcome;
use walwright::rusqlite::{Connection, Row};
use walwright_test_support::Probe;

use crate::model::{Answer, Entry, ROWS, State, id, possible_states};
use crate::program::CLIENTS;

/// The commands of each client, in its order.
pub type Logs = [Vec<Entry>; CLIENTS];

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub states: [State; CLIENTS],
    /// The client and the entry of each closure that was committed, in order.
    pub journal: Vec<(usize, usize)>,
}

impl Found {
    /// Looks into a file from outside, and checks that it is sound.
    pub fn in_file(probe: &Probe) -> Result<Self, String> {
        probe.integrity_check()?;
        Self::read(probe.connection()).map_err(|error| error.to_string())
    }

    fn read(connection: &Connection) -> walwright::rusqlite::Result<Self> {
        let mut statement = connection.prepare("SELECT id, value FROM item")?;
        let rows: BTreeMap<i64, u32> =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let mut statement = connection.prepare("SELECT client, entry FROM journal ORDER BY id")?;
        let place = |row: &Row<'_>| Ok((row.get::<_, i64>(0)? as usize, row.get::<_, i64>(1)? as usize));
        let journal = statement.query_map([], place)?.collect::<Result<_, _>>()?;
        Ok(Self { states: std::array::from_fn(|client| state_of(client, &rows)), journal })
    }
}

/// The client's part of the table.
pub fn state_of(client: usize, rows: &BTreeMap<i64, u32>) -> State {
    std::array::from_fn::<_, ROWS, _>(|row| rows.get(&id(client, row)).copied())
}

/// After everybody has heard what there is to hear, and the store was closed: each client's rows are in a
/// state that its answers allow.
pub fn after_close(begin: &[State; CLIENTS], logs: &Logs, found: &Found) -> Result<(), String> {
    for client in 0..CLIENTS {
        let states = possible_states(&begin[client], &logs[client])
            .map_err(|text| format!("client {client}: {text}"))?;
        let last = states.last().expect("the first state is there");
        if !last.contains(&found.states[client]) {
            return Err(format!("client {client}: found {:?}, possible {last:?}", found.states[client]));
        }
    }
    in_order(logs, found, None)
}

/// After a power cut: the file is what it was after some commit, the same for all clients, and not before
/// the last one that was acknowledged as durable.
pub fn after_power_cut(
    begin: &[State; CLIENTS],
    logs: &Logs,
    durable: u64,
    found: &Found,
) -> Result<(), String> {
    let states: Vec<_> = (0..CLIENTS)
        .map(|client| possible_states(&begin[client], &logs[client]))
        .collect::<Result<_, _>>()?;
    let sequences: BTreeSet<u64> = logs.iter().flatten().filter_map(sequence).collect();
    let cuts = [0].into_iter().chain(sequences).filter(|cut| *cut >= durable);
    let agrees = |cut: &u64| {
        (0..CLIENTS).all(|client| {
            let (least, most) = carried_out_by(&logs[client], *cut);
            states[client][least..=most].iter().any(|states| states.contains(&found.states[client]))
        }) && in_order(logs, found, Some(*cut)).is_ok()
    };
    match cuts.into_iter().find(agrees) {
        Some(_) => Ok(()),
        None => Err(format!("no commit at or after {durable} has left {found:?}")),
    }
}

/// How many of a client's entries are carried out when everything up to the sequence is: at least, at most.
fn carried_out_by(log: &[Entry], cut: u64) -> (usize, usize) {
    let up_to = |entry: &Entry| sequence(entry).is_some_and(|sequence| sequence <= cut);
    let beyond = |entry: &Entry| sequence(entry).is_some_and(|sequence| sequence > cut);
    let least = log.iter().rposition(up_to).map_or(0, |at| at + 1);
    (least, log.iter().position(beyond).unwrap_or(log.len()))
}

/// The journal holds the closures in the order of their sequences, all of them (up to the cut), once.
fn in_order(logs: &Logs, found: &Found, cut: Option<u64>) -> Result<(), String> {
    let once: BTreeSet<_> = found.journal.iter().collect();
    if once.len() != found.journal.len() {
        return Err(format!("a closure was carried out twice: {:?}", found.journal));
    }
    let sequences: Vec<u64> = found
        .journal
        .iter()
        .filter_map(|(client, entry)| logs[*client].get(*entry).and_then(sequence))
        .collect();
    if !sequences.is_sorted() {
        return Err(format!("the journal is not in the order of the sequences: {sequences:?}"));
    }
    for (client, log) in logs.iter().enumerate() {
        for (at, entry) in log.iter().enumerate().filter(|(_, entry)| entry.action.is_in_journal()) {
            let must = match entry.answer {
                Answer::Done { sequence } => Some(cut.is_none_or(|cut| sequence <= cut)),
                Answer::FailedByItself | Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => {
                    Some(false)
                }
                Answer::Failed(_) | Answer::None => None,
            };
            if must.is_some_and(|must| must != once.contains(&(client, at))) {
                return Err(format!("the closure {at} of client {client} and the journal: {entry:?}"));
            }
        }
    }
    Ok(())
}

pub fn sequence(entry: &Entry) -> Option<u64> {
    match entry.answer {
        Answer::Done { sequence } => Some(sequence),
        _ => None,
    }
}

/// The highest sequence that was acknowledged as durable.
pub fn durable(logs: &Logs) -> u64 {
    let durable = |entry: &&Entry| entry.action.is_durable_at(entry.level);
    logs.iter().flatten().filter(durable).filter_map(sequence).max().unwrap_or(0)
}
