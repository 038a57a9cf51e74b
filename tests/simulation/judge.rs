//! Compares what is found with what the clients were told.

use std::collections::{BTreeMap, BTreeSet};

use walwright::Outcome;
use walwright::rusqlite::{Connection, Row};
use walwright_test_support::Probe;

use crate::crowd::{self, Crowd, Possible};
use crate::item::{Item, ROWS, State, id, item};
use crate::model::{Action, Answer, Entry, possible_states};
use crate::program::CLIENTS;

/// What one client has sent and heard, in its order.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub entries: Vec<Entry>,
    /// The work that is done in pieces, which has rows of its own.
    pub crowd: Vec<crowd::Entry>,
}

pub type Logs = [Log; CLIENTS];

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub states: [State; CLIENTS],
    pub crowds: [Crowd; CLIENTS],
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
        let mut statement = connection.prepare("SELECT id, value, note, revision FROM item")?;
        let row = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)));
        let items: BTreeMap<i64, StoredItem> = statement.query_map([], row)?.collect::<Result<_, _>>()?;
        let mut statement = connection.prepare("SELECT id, value FROM crowd")?;
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let crowd: BTreeMap<i64, u32> = statement.query_map([], row)?.collect::<Result<_, _>>()?;
        let mut statement = connection.prepare("SELECT client, entry FROM journal ORDER BY id")?;
        let place = |row: &Row<'_>| Ok((row.get::<_, i64>(0)? as usize, row.get::<_, i64>(1)? as usize));
        let journal = statement.query_map([], place)?.collect::<Result<_, _>>()?;
        Ok(Self {
            states: std::array::from_fn(|client| state_of(client, &items)),
            crowds: std::array::from_fn(|client| crowd_of(client, &crowd)),
            journal,
        })
    }
}

/// Value, note and revision.
pub type StoredItem = (u32, Option<i64>, i64);

/// The client's part of the table.
pub fn state_of(client: usize, rows: &BTreeMap<i64, StoredItem>) -> State {
    let row = |row| -> Option<Item> {
        rows.get(&id(client, row)).map(|(value, note, revision)| item(client, *value, *note, *revision))
    };
    std::array::from_fn::<_, ROWS, _>(row)
}

pub fn crowd_of(client: usize, rows: &BTreeMap<i64, u32>) -> Crowd {
    std::array::from_fn(|row| rows.get(&crowd::id(client, row)).copied())
}

/// After everybody has heard what there is to hear, and the store was closed: each client's rows are in a
/// state that its answers allow.
pub fn after_close(begin: &Found, logs: &Logs, found: &Found) -> Result<(), String> {
    for (client, log) in logs.iter().enumerate() {
        let of_client = |text| format!("client {client}: {text}");
        let states = possible_states(&begin.states[client], &log.entries).map_err(of_client)?;
        let last = states.last().expect("the first state is there");
        if !last.contains(&found.states[client]) {
            return Err(format!("client {client}: found {:?}, possible {last:?}", found.states[client]));
        }
        let crowd = Possible::of(&begin.crowds[client], &log.crowd).map_err(of_client)?;
        if !crowd.allows_at_the_end(&found.crowds[client]) {
            return Err(format!("client {client}: found the crowd {:?}", found.crowds[client]));
        }
    }
    in_order(logs, found, None)
}

/// After a power cut: the file is what it was after some commit, the same for all clients, and not before
/// the last one that was acknowledged as durable by then, as `at_cut` has it.
pub fn after_power_cut(begin: &Found, logs: &Logs, at_cut: &Logs, found: &Found) -> Result<(), String> {
    let mut possible = Vec::new();
    for (client, log) in logs.iter().enumerate() {
        let states = possible_states(&begin.states[client], &log.entries)?;
        possible.push((states, Possible::of(&begin.crowds[client], &log.crowd)?));
    }
    let durable = durable(at_cut);
    let cuts: BTreeSet<u64> = [0].into_iter().chain(sequences(logs)).filter(|cut| *cut >= durable).collect();
    let agrees = |cut: &u64| {
        let client_agrees = |client: usize| {
            let (states, crowd) = &possible[client];
            let log = &logs[client];
            let (least, most) = carried_out_by(&log.entries, place, *cut);
            let (crowd_least, crowd_most) = carried_out_by(&log.crowd, crowd::Entry::sequence, *cut);
            let crowd_promised = at_cut[client].crowd.iter().rposition(crowd::Entry::is_durable);
            let crowd_least = crowd_least.max(crowd_promised.map_or(0, |at| at + 1));
            states[least..=most].iter().any(|states| states.contains(&found.states[client]))
                && crowd_least <= crowd_most
                && crowd.allows(&found.crowds[client], crowd_least, crowd_most)
        };
        (0..CLIENTS).all(client_agrees) && in_order(logs, found, Some(*cut)).is_ok()
    };
    match cuts.into_iter().find(agrees) {
        Some(_) => Ok(()),
        None => Err(format!("no commit at or after {durable} has left {found:?}")),
    }
}

/// How many of a client's entries are carried out when everything up to the sequence is: at least, at most.
fn carried_out_by<E>(log: &[E], sequence: fn(&E) -> Option<u64>, cut: u64) -> (usize, usize) {
    let up_to = |entry: &E| sequence(entry).is_some_and(|sequence| sequence <= cut);
    let beyond = |entry: &E| sequence(entry).is_some_and(|sequence| sequence > cut);
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
        .filter_map(|(client, entry)| logs[*client].entries.get(*entry).and_then(sequence))
        .collect();
    if !sequences.is_sorted() {
        return Err(format!("the journal is not in the order of the sequences: {sequences:?}"));
    }
    for (client, log) in logs.iter().enumerate() {
        let closures = log.entries.iter().enumerate().filter(|(_, entry)| entry.action.is_in_journal());
        for (at, entry) in closures {
            let must = match entry.answer {
                Answer::Done { sequence, .. } => {
                    Some(cut.is_none_or(|cut| sequence.is_some_and(|sequence| sequence <= cut)))
                }
                Answer::FailedByItself(_) | Answer::Failed(Outcome::NotStarted | Outcome::NotApplied) => {
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

/// Where an entry stands in the order of what was carried out, if its sequence tells. A flush may have waited for
/// work in pieces, and what was sent behind it does not wait.
fn place(entry: &Entry) -> Option<u64> {
    sequence(entry).filter(|_| !matches!(entry.action, Action::Flush))
}

fn sequence(entry: &Entry) -> Option<u64> {
    match entry.answer {
        Answer::Done { sequence, .. } => sequence,
        _ => None,
    }
}

/// All sequences that were handed out.
pub fn sequences(logs: &Logs) -> impl Iterator<Item = u64> {
    let of_client = |log: &'_ Log| -> Vec<u64> {
        let crowd = log.crowd.iter().filter_map(crowd::Entry::sequence);
        log.entries.iter().filter_map(sequence).chain(crowd).collect()
    };
    logs.iter().flat_map(of_client).collect::<Vec<_>>().into_iter()
}

/// The highest sequence that was acknowledged as durable.
fn durable(logs: &Logs) -> u64 {
    let of_client = |log: &Log| {
        let durable = |entry: &&Entry| entry.action.is_durable_at(entry.level);
        let entries = log.entries.iter().filter(durable).filter_map(sequence).max();
        let crowd = log.crowd.iter().filter(|entry| entry.is_durable());
        entries.max(crowd.filter_map(crowd::Entry::sequence).max())
    };
    logs.iter().filter_map(of_client).max().unwrap_or(0)
}

/// Sequences grow in each client's order, and none is used twice.
pub fn check_sequences(logs: &Logs, before: u64) {
    for log in logs {
        let mut last = 0;
        for entry in &log.entries {
            assert!(sequence(entry).is_none_or(|sequence| sequence > last), "a client's sequences: {log:#?}");
            last = place(entry).unwrap_or(last);
        }
        let crowd: Vec<u64> = log.crowd.iter().filter_map(crowd::Entry::sequence).collect();
        assert!(crowd.is_sorted(), "a client's sequences of work in pieces: {crowd:?}");
    }
    let mut all: Vec<u64> = sequences(logs).collect();
    all.sort_unstable();
    assert!(all.first().is_none_or(|first| *first > before), "sequence {all:?} after {before}");
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "a sequence was used twice: {all:?}");
}
