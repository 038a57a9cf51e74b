//! What a command was answered, so that the answers of two runs can be compared.

use std::collections::BTreeMap;

use walwright::{Applied, BulkReceipt, Modified, Receipt, RowReceipt, WriteError};

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
#[derive(Default)]
pub struct Sequences(BTreeMap<i64, usize>);

impl Sequences {
    /// Those of the answers in the order of their commands.
    pub fn of(answers: &[Answer]) -> Self {
        let numbers = answers.iter().enumerate().filter_map(|(command, answer)| {
            let sequence = answer.sequence?;
            Some((i64::try_from(sequence).ok()?, command))
        });
        Self(numbers.collect())
    }

    /// A number of the program's, or the name of the command whose commit sequence it is.
    pub fn show(&self, number: i64) -> String {
        match self.0.get(&number) {
            Some(command) => format!("<sequence of {command}>"),
            None => number.to_string(),
        }
    }
}

/// What successful writes give.
pub trait Success {
    /// `columns` are those whose values the database may have filled in.
    fn answer(self, columns: &[String]) -> Answer;
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

    fn add_receipt(&mut self, receipt: &RowReceipt, columns: &[String]) {
        self.add(format!("rows: {}", receipt.rows_changed));
        self.add_revision(receipt.revision);
        if receipt.created {
            self.add(", created".to_owned());
        }
        if let Some(rowid) = receipt.rowid {
            self.add(format!(", rowid {rowid}"));
        }
        for column in columns {
            if let Some(value) = receipt.filled(column) {
                self.add(format!(", {column} filled with {value:?}"));
            }
        }
    }

    /// The answer in words.
    pub fn show(&self, sequences: &Sequences) -> String {
        let show = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Revision(revision) => sequences.show(*revision),
        };
        self.parts.iter().map(show).collect()
    }
}

impl Success for RowReceipt {
    fn answer(self, columns: &[String]) -> Answer {
        let mut answer = Answer::done(self.sequence, String::new());
        answer.add_receipt(&self, columns);
        answer
    }
}

impl Success for Receipt {
    fn answer(self, _: &[String]) -> Answer {
        Answer::done(self.sequence, format!("rows: {}", self.rows_changed))
    }
}

impl Success for BulkReceipt {
    fn answer(self, _: &[String]) -> Answer {
        Answer::done(self.sequence, format!("rows: {}", self.rows_changed))
    }
}

impl Success for Applied<String> {
    fn answer(self, _: &[String]) -> Answer {
        let Self { value, receipt, .. } = self;
        Answer::done(receipt.sequence, format!("rows: {}, {value}", receipt.rows_changed))
    }
}

impl Success for Option<Modified<String>> {
    fn answer(self, columns: &[String]) -> Answer {
        let Some(Modified { value, receipt, .. }) = self else { return Answer::note("no such row") };
        let mut answer = Answer::done(receipt.sequence, format!("{value}, "));
        answer.add_receipt(&receipt, columns);
        answer
    }
}
