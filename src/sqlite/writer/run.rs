//! Row commands that are carried out together, so that those on one key can share a statement.

use super::command::{WriteCommand, WriteTask, WriteValue};
use super::growth::Reach;
use super::isolation::Isolation;
use super::recording::OwnChanges;
use super::rows::{self, RowEffect, RowFailure, TableDesk};
use super::transaction::{Done, Transaction};
use crate::board::Board;
use crate::coalescing::{Place, Plan, TableFacts};
use crate::error::WriteError;
use crate::protocol::storage::{Joined, TransactionLost};
use crate::row::{RowCommand, TableShape};
use crate::sqlite::session::Session;
use crate::sync::Arc;

/// What became of one command of a run.
type RunAnswer = Option<Joined<WriteCommand>>;

impl Transaction {
    /// Whether a command may be carried out together with others.
    pub(super) fn joins(&self, task: &WriteTask) -> bool {
        let WriteTask::Row(command) = task else { return false };
        self.desks.borrow().known_facts(&command.table, &self.state).is_some_and(|facts| facts.joins)
    }

    /// What a row command on this table may change beside the rows that it names.
    pub(super) fn reach(&self, table: &Arc<TableShape>) -> Reach {
        match self.desks.borrow().known_facts(table, &self.state) {
            Some(facts) if facts.is_quiet => Reach::Named,
            Some(facts) if !facts.acts_on_itself => Reach::OtherTables,
            _ => Reach::Anything,
        }
    }

    /// Carries out commands that all join.
    pub(super) fn apply_together(
        &mut self,
        commands: &mut [&mut WriteCommand],
        first_sequence: u64,
        board: &Board,
    ) -> Result<Vec<Joined<WriteCommand>>, TransactionLost> {
        let stop = self.start_clock();
        let answers = {
            let session = Session::new(&self.connection, &self.state);
            let run = Run::prepare(self, &session, board, commands, first_sequence);
            run.and_then(Run::carry_out)
        };
        let stopped = stop.disarm().is_some();
        let is_damaged = self.state.take_met_damage();
        match answers {
            Some(answers) if !stopped && !is_damaged && !self.connection.is_autocommit() => {
                self.record_run(commands, &answers, first_sequence);
                Ok(answers)
            }
            // Whose doing it was shows when they are carried out one after the other.
            _ => {
                if let Err(error) = self.abandon() {
                    tracing::error!(%error, "a transaction could not be rolled back");
                }
                Err(TransactionLost)
            }
        }
    }
}

impl Transaction {
    /// Each command's change as if it had been carried out by itself: all are on quiet tables.
    fn record_run(
        &self,
        commands: &[&mut WriteCommand],
        answers: &[Joined<WriteCommand>],
        first_sequence: u64,
    ) {
        if !self.recorder.is_on() {
            return;
        }
        for ((command, answer), sequence) in commands.iter().zip(answers).zip(first_sequence..) {
            if let WriteTask::Row(row) = &command.task
                && let Joined::Done { output, .. } = answer
                && let WriteValue::Row(effect) = &output.value
            {
                self.recorder.begin_command(sequence);
                self.recorder.record_own(&row.table, &OwnChanges::of(row, effect));
                self.recorder.end_command(true);
            }
        }
    }
}

struct Run<'r> {
    transaction: &'r Transaction,
    session: &'r Session<'r>,
    board: &'r Board,
    commands: Vec<&'r RowCommand>,
    plan: Plan,
    first_sequence: u64,
    /// With chains: what is answered already, which need not be the first ones.
    answers: Vec<RunAnswer>,
}

impl<'r> Run<'r> {
    /// `None`: the run cannot be carried out as one.
    fn prepare(
        transaction: &'r Transaction,
        session: &'r Session<'r>,
        board: &'r Board,
        commands: &'r [&mut WriteCommand],
        first_sequence: u64,
    ) -> Option<Self> {
        let mut all: Vec<&RowCommand> = Vec::with_capacity(commands.len());
        let plan = {
            let desks = transaction.desks.borrow();
            let mut rows: Vec<(&RowCommand, &TableFacts)> = Vec::with_capacity(commands.len());
            for command in commands {
                let WriteTask::Row(row) = &command.task else { return None };
                // Mostly on the same table as the one before.
                let facts = match rows.last() {
                    Some((before, facts)) if Arc::ptr_eq(&before.table, &row.table) => facts,
                    _ => desks.known_facts(&row.table, &transaction.state)?,
                };
                rows.push((row, facts));
                all.push(row);
            }
            Plan::of(&rows, first_sequence)
        };
        let (commands, answers) = (all, Vec::new());
        Some(Self { transaction, session, board, commands, plan, first_sequence, answers })
    }

    /// `None`: the transaction is gone.
    fn carry_out(mut self) -> Option<Vec<Joined<WriteCommand>>> {
        if self.plan.chains.is_empty() {
            let mut answers = Vec::with_capacity(self.commands.len());
            for at in 0..self.commands.len() {
                answers.push(self.one(at)?);
            }
            return Some(answers);
        }
        self.answers.resize_with(self.commands.len(), || None);
        for at in 0..self.commands.len() {
            match self.plan.places[at] {
                Place::Alone => self.answer(at)?,
                Place::Chain(chain) => {
                    if !self.chain(chain)? {
                        // Those before this place had to wait for it; those behind have places of their own.
                        for member in self.waiting(chain, at) {
                            self.answer(member)?;
                        }
                        self.answer(at)?;
                    }
                }
                // Answered by its chain already, or waiting for the place of it, unless the chain has failed.
                Place::Member(chain) => {
                    if self.answers[at].is_none() && self.is_over(chain, at) {
                        self.answer(at)?;
                    }
                }
            }
        }
        self.answers.into_iter().collect()
    }

    /// Carries out one command by itself and keeps its answer.
    fn answer(&mut self, at: usize) -> Option<()> {
        self.answers[at] = Some(self.one(at)?);
        Some(())
    }

    /// Carries out one command by itself.
    fn one(&self, at: usize) -> Option<Joined<WriteCommand>> {
        let (command, sequence) = (self.commands[at], self.first_sequence + at as u64);
        let result =
            self.isolated(&command.table, |run, desk| rows::carry_out(desk, run.session, command, sequence))?;
        if let Err(WriteError::DiskFull(_)) = &result
            && !self.plan.chains.is_empty()
        {
            // A chain writes the last of its images at the place of the first: one after the other there may be
            // room enough for this one.
            return None;
        }
        let deletes = self.session.take_deletes();
        Some(match result {
            Ok(effect) => joined(effect, sequence, deletes),
            Err(error) => Joined::Failed(error),
        })
    }

    /// Carries out a chain as one statement and gives whether that went well.
    fn chain(&mut self, chain: usize) -> Option<bool> {
        let chain = &self.plan.chains[chain];
        let head = self.commands[chain.members[0].command];
        let result = self.isolated(&head.table, |run, desk| {
            rows::carry_out_chain(desk, run.session, chain, head, run.first_sequence)
        })?;
        let deletes = self.session.take_deletes();
        let Ok(Some(answers)) = result else { return Some(false) };
        for (member, answer) in chain.members.iter().zip(answers) {
            let at = member.command;
            let sequence = self.first_sequence + at as u64;
            self.answers[at] = Some(match answer {
                Ok(effect) => joined(effect, sequence, deletes),
                Err(failure) => Joined::Failed(self.transaction.row_error(failure)),
            });
        }
        self.board.coalesced.add(chain.members.len() as u64 - 1);
        Some(true)
    }

    /// Runs one statement's work so that a failure leaves nothing of it behind. `None`: the transaction is gone.
    fn isolated<T>(
        &self,
        table: &Arc<TableShape>,
        work: impl FnOnce(&Self, &mut TableDesk) -> Result<T, RowFailure>,
    ) -> Option<Result<T, WriteError>> {
        self.board.statements.add(1);
        let isolation = Isolation::new(self.session, self.transaction);
        let result = isolation.on_desk(table, |desk| work(self, desk));
        let result = result.map_err(|failure| self.transaction.row_error(failure));
        let result = isolation.settle(result);
        // A statement that ends the transaction has failed: these are none that could end it otherwise.
        if result.is_err() && self.transaction.connection.is_autocommit() { None } else { Some(result) }
    }

    /// The members of a chain that stand before its place.
    fn waiting(&self, chain: usize, place: usize) -> Vec<usize> {
        let members = self.plan.chains[chain].members.iter().map(|member| member.command);
        members.filter(|member| *member < place).collect()
    }

    /// Whether the chain's place is before this one.
    fn is_over(&self, chain: usize, at: usize) -> bool {
        self.plan.places[..at].contains(&Place::Chain(chain))
    }
}

fn joined(effect: RowEffect, sequence: u64, deletes: bool) -> Joined<WriteCommand> {
    Joined::Done { output: Done::row(effect).output(sequence), deletes }
}
