//! One pass over a run of commands.

use super::chain::{Candidate, OpenChain, starts_chain};
use super::facts::TableFacts;
use super::keys::{Keys, sure_key};
use super::plan::{Place, Plan};
use super::tables::Tables;
use crate::row::{RowCommand, RowOp};

/// A command that carries more is in no chain, in bytes.
const LARGEST: usize = 64 * 1024;

/// What was last said of a key.
#[derive(Clone, Copy, Default)]
enum Last<'a> {
    /// Nothing that a command can join.
    #[default]
    Closed,
    /// A command that starts a chain as soon as another one joins it.
    Head(Candidate<'a>),
    /// A chain and the command that is its head, by their numbers.
    Chain { head: usize, chain: usize },
}

impl Last<'_> {
    /// After a command has joined this chain.
    fn after(self, chain: usize, joined: Option<&OpenChain<'_>>) -> Self {
        match self {
            _ if joined.is_none_or(OpenChain::is_ended) => Self::Closed,
            Self::Head(head) => Self::Chain { head: head.number, chain },
            Self::Chain { .. } | Self::Closed => self,
        }
    }
}

impl Plan {
    /// Plans a run of commands, all on quiet tables. The first has the commit sequence `first_sequence`, and each
    /// has one more than the one before.
    pub(crate) fn of(commands: &[(&RowCommand, &TableFacts)], first_sequence: u64) -> Self {
        if commands.len() < 2 || !commands.iter().any(|(_, facts)| facts.coalesces) {
            return Self { places: vec![Place::Alone; commands.len()], chains: Vec::new() };
        }
        // Rows that come in the order of their keys, as inserts mostly do: no two commands are on one key.
        if commands.is_sorted_by(|(one, _), (next, _)| key_bytes(one) < key_bytes(next)) {
            return Self { places: vec![Place::Alone; commands.len()], chains: Vec::new() };
        }
        let chains = open_chains(commands, first_sequence);
        let mut places = vec![Place::Alone; commands.len()];
        for (number, chain) in chains.iter().enumerate() {
            let place = chain.place();
            for member in chain.members() {
                if let Some(of_member) = places.get_mut(member) {
                    let is_here = place == Some(member);
                    *of_member = if is_here { Place::Chain(number) } else { Place::Member(number) };
                }
            }
        }
        Self { places, chains: chains.into_iter().map(OpenChain::finish).collect() }
    }
}

/// The chains of a run, each of at least two commands.
fn open_chains<'a>(commands: &[(&'a RowCommand, &'a TableFacts)], first_sequence: u64) -> Vec<OpenChain<'a>> {
    let mut tables = Tables::default();
    let mut keys: Keys<'a, Last<'a>> = Keys::with_capacity(commands.len());
    let mut chains: Vec<OpenChain<'a>> = Vec::new();
    for (number, &(command, facts)) in commands.iter().enumerate() {
        let table = tables.enter(number, &command.table);
        let key = sure_key(command).filter(|_| facts.coalesces && !changes_key(command));
        let Some(last) = key.and_then(|key| keys.entry(table.rows, key)) else {
            // It may be about any row, whichever keys the chains have.
            tables.close(number, table);
            continue;
        };
        if !fits_a_chain(command) {
            *last = Last::Closed;
            continue;
        }
        let sequence = first_sequence.checked_add(number as u64).and_then(|own| i64::try_from(own).ok());
        let here = Candidate { number, command, facts, sequence };
        let joined = match *last {
            Last::Head(head) if tables.is_open(head.number, table) => {
                let chain = OpenChain::of_head(head).and_then(|mut chain| chain.join(here).then_some(chain));
                chain.map(|chain| {
                    chains.push(chain);
                    chains.len() - 1
                })
            }
            Last::Chain { head, chain } if tables.is_open(head, table) => {
                chains.get_mut(chain).is_some_and(|chain| chain.join(here)).then_some(chain)
            }
            _ => None,
        };
        *last = match joined {
            Some(chain) => last.after(chain, chains.get(chain)),
            None if starts_chain(command.op) => Last::Head(here),
            None => Last::Closed,
        };
    }
    chains
}

fn key_bytes(command: &RowCommand) -> &[u8] {
    command.values.key().as_bytes()
}

/// Whether the command changes the key of its row, or makes a row whose key it does not tell.
fn changes_key(command: &RowCommand) -> bool {
    command.table.key.iter().any(|part| command.values.sets(*part))
}

/// Whether the command can be a part of any chain.
fn fits_a_chain(command: &RowCommand) -> bool {
    let shape = &command.table;
    let sets_revision = || shape.revision.is_some_and(|of| command.values.sets(of.column));
    let guards_revision = || {
        let of_column = command.guard.column.as_ref().map(|column| column.0);
        shape.revision.is_some_and(|revision| of_column == Some(revision.column))
            || (shape.revision.is_none() && command.guard.revision.is_some())
    };
    let may_be_guarded = matches!(command.op, RowOp::Update | RowOp::Delete);
    let is_guarded = command.guard.revision.is_some() || command.guard.column.is_some();
    let sets_nothing = command.values.set().is_empty() && matches!(command.op, RowOp::Update | RowOp::Upsert);
    !sets_nothing
        && command.adjust.is_none()
        && !sets_revision()
        && (!is_guarded || (may_be_guarded && !guards_revision()))
        // Mostly the memory that it takes already says so.
        && (command.heap_bytes() <= LARGEST || command.text_bytes() <= LARGEST)
}
