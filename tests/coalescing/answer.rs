//! What a command was answered, so that the answers of two runs can be compared.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use walwright::{Applied, BulkReceipt, Modified, Receipt, RowReceipt, WriteError};

/// Columns that the database may fill in.
const FILLED: [&str; 8] = ["id", "k", "name", "pid", "x", "y", "z", "n"];

/// An answer in words, but for the numbers that depend on what was written before.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The command's place in the order of all writes, if it succeeded.
    pub sequence: Option<u64>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// A revision, which may be the commit sequence of a command.
    Revision(i64),
}

/// Which command has which commit sequence.
pub struct Sequences {
    commands: BTreeMap<i64, usize>,
    /// All that were given out while the program ran, also to commands that failed.
    given_out: RangeInclusive<i64>,
}

impl Sequences {
    /// Those of the answers in the order of their commands.
    pub fn of(answers: &[Answer], before: u64) -> Self {
        let numbers = answers.iter().enumerate().filter_map(|(command, answer)| {
            let sequence = answer.sequence?;
            Some((sequence as i64, command))
        });
        let commands: BTreeMap<i64, usize> = numbers.collect();
        let last = commands.keys().next_back().copied().unwrap_or(0);
        Self { commands, given_out: before as i64 + 1..=last }
    }

    /// A number of the program's, or the name of the command whose commit sequence it is. `at` is the command that
    /// saw it; a number that none before it has was its own, if it failed.
    pub fn show(&self, number: i64, at: usize) -> String {
        match self.commands.get(&number) {
            Some(command) if *command <= at => format!("<sequence of {command}>"),
            _ if self.given_out.contains(&number) => "<a sequence of its own>".to_owned(),
            _ => number.to_string(),
        }
    }
}

/// What successful writes give.
pub trait Success {
    fn answer(self) -> Answer;
}

impl Answer {
    fn done(sequence: u64, text: String) -> Self {
        Self { sequence: Some(sequence), parts: vec![Part::Text(text)] }
    }

    /// An answer without a write behind it.
    pub fn note(text: impl Into<String>) -> Self {
        Self { sequence: None, parts: vec![Part::Text(text.into())] }
    }

    pub fn failed(error: &WriteError) -> Self {
        let mut answer = Self { sequence: None, parts: Vec::new() };
        answer.add_error(error);
        answer
    }

    fn add_error(&mut self, error: &WriteError) {
        self.add(format!("{:?}: ", error.outcome()));
        match error {
            WriteError::Conflict(conflict) => {
                self.add(format!("conflict, exists: {}", conflict.exists));
                self.add_revision(conflict.revision);
            }
            WriteError::Partial { rows, source } => {
                self.add(format!("{rows} rows, then "));
                self.add_error(source);
            }
            other => self.add(format!("{other:?}")),
        }
    }

    fn add(&mut self, text: String) {
        self.parts.push(Part::Text(text));
    }

    fn add_revision(&mut self, revision: Option<i64>) {
        match revision {
            None => self.add(", no revision".to_owned()),
            Some(revision) => {
                self.add(", revision ".to_owned());
                self.parts.push(Part::Revision(revision));
            }
        }
    }

    fn add_receipt(&mut self, receipt: &RowReceipt) {
        self.add(format!("rows: {}", receipt.rows_changed));
        self.add_revision(receipt.revision);
        if receipt.created {
            self.add(", created".to_owned());
        }
        if let Some(rowid) = receipt.rowid {
            self.add(format!(", rowid {rowid}"));
        }
        for column in FILLED {
            if let Some(value) = receipt.filled(column) {
                self.add(format!(", {column} filled with {value:?}"));
            }
        }
    }

    /// The answer to the command `at` in words.
    pub fn show(&self, sequences: &Sequences, at: usize) -> String {
        let show = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Revision(revision) => sequences.show(*revision, at),
        };
        self.parts.iter().map(show).collect()
    }
}

impl Success for RowReceipt {
    fn answer(self) -> Answer {
        let mut answer = Answer::done(self.sequence, String::new());
        answer.add_receipt(&self);
        answer
    }
}

impl Success for Receipt {
    fn answer(self) -> Answer {
        Answer::done(self.sequence, format!("rows: {}", self.rows_changed))
    }
}

impl Success for BulkReceipt {
    fn answer(self) -> Answer {
        Answer::done(self.sequence, format!("rows: {}", self.rows_changed))
    }
}

impl Success for Applied<String> {
    fn answer(self) -> Answer {
        let Self { value, receipt, .. } = self;
        Answer::done(receipt.sequence, format!("rows: {}, {value}", receipt.rows_changed))
    }
}

impl Success for Option<Modified<String>> {
    fn answer(self) -> Answer {
        let Some(Modified { value, receipt, .. }) = self else { return Answer::note("no such row") };
        let mut answer = Answer::done(receipt.sequence, format!("{value}, "));
        answer.add_receipt(&receipt);
        answer
    }
}
