//! Which tables a statement may write, for those who watch what is committed.

use std::collections::HashSet;

use crate::sync::Arc;

/// What SQLite's authorizer was told of a statement's writes, triggers and foreign-key actions included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    pub tables: Vec<TableWrite>,
    /// The triggers that it may run.
    pub triggers: HashSet<String>,
    /// The statement itself says REPLACE: rows of any table that it inserts into or updates may have gone.
    pub replaces: bool,
}

/// How a statement writes one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableWrite {
    /// As in the schema.
    pub table: String,
    /// Rows are inserted or updated: in a table with `ON CONFLICT REPLACE` others may go for them.
    pub puts: bool,
    /// The same by a trigger: one that is run may say REPLACE.
    pub puts_by_trigger: bool,
    /// Columns that are updated; `ROWID` for the rowid under that name.
    pub columns: HashSet<String>,
    /// The table is made, dropped or altered.
    pub is_redefined: bool,
}

impl Writes {
    /// The entry of a table, made if there is none.
    pub fn table(&mut self, name: &str) -> &mut TableWrite {
        let at = match self.tables.iter().position(|of| of.table == name) {
            Some(at) => at,
            None => {
                self.tables.push(TableWrite { table: name.to_owned(), ..TableWrite::default() });
                self.tables.len() - 1
            }
        };
        &mut self.tables[at]
    }

    /// Adds what another statement may write.
    pub fn add(&mut self, other: &Self) {
        self.replaces |= other.replaces;
        self.triggers.extend(other.triggers.iter().cloned());
        for of in &other.tables {
            let into = self.table(&of.table);
            into.puts |= of.puts;
            into.puts_by_trigger |= of.puts_by_trigger;
            into.is_redefined |= of.is_redefined;
            into.columns.extend(of.columns.iter().cloned());
        }
    }

    /// What both may write, of which either may be unknown.
    pub fn both(one: Option<Arc<Self>>, other: Option<Arc<Self>>) -> Option<Arc<Self>> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => {
                let mut sum = (*one).clone();
                sum.add(&other);
                Some(Arc::new(sum))
            }
            (Some(one), _) => Some(one),
            (None, other) => other,
        }
    }
}

/// Whether REPLACE stands in a text as anything but the name of a function.
pub fn says_replace(text: &[u8]) -> bool {
    const WORD: &[u8] = b"REPLACE";
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.windows(WORD.len()).enumerate().any(|(at, window)| {
        let (before, after) = (&text[..at], &text[at + WORD.len()..]);
        let next = after.iter().find(|byte| !byte.is_ascii_whitespace());
        window.eq_ignore_ascii_case(WORD)
            && !before.last().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && !after.first().is_some_and(is_letter)
            && next != Some(&b'(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_called_replace_replaces_no_row() {
        for text in
            ["INSERT OR REPLACE INTO t", "replace into t", "a UNIQUE ON CONFLICT Replace, b", "REPLACE"]
        {
            assert!(says_replace(text.as_bytes()), "{text}");
        }
        for text in ["SELECT replace(a, 'b', 'c')", "REPLACE \n (a)", "irreplaceable", "replaced", "_replace"]
        {
            assert!(!says_replace(text.as_bytes()), "{text}");
        }
    }
}
