//! Opening a search index, which makes what is missing.

use super::definition::{IndexDefinition, SearchMode};
use super::index::SearchIndex;
use super::request::SearchIndexRequest;
use super::schema;
use super::state::SearchIndexes;
use crate::error::SearchIndexError;
use crate::sync::Arc;
use crate::table::Table;

/// A name gets suffixes, and some of it has to be left for FTS5's.
const LONGEST_NAME: usize = 200;

/// A search index that was not opened yet, made by [`Table::search_index`]. [`open`](Self::open) opens it, and makes
/// it if it is not there.
#[must_use = "a search index has to be opened"]
pub struct SearchIndexBuilder<T> {
    table: Table<T>,
    name: String,
    columns: Vec<String>,
    mode: SearchMode,
    replace: bool,
}

impl<T: 'static> SearchIndexBuilder<T> {
    pub(crate) fn new(table: Table<T>, name: String) -> Self {
        Self { table, name, columns: Vec::new(), mode: SearchMode::Words, replace: false }
    }

    /// The columns that are searched. A row is found if all of the text, or each of its words, stands in any of them.
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Finds whole words, in any case and with or without accents on Latin letters (FTS5's `unicode61`): a row has to
    /// have all that are searched for, in any order. Letters and digits make words, and all else, emoji too, stands
    /// between them: `it's` is `it` and then `s`. This is the default, and about a fifth of the size of the other.
    pub fn words(mut self) -> Self {
        self.mode = SearchMode::Words;
        self
    }

    /// Finds the text wherever it stands, also within words, blanks and signs included, in any case (FTS5's `trigram`).
    ///
    /// Case is that of Unicode, unlike with SQLite's LIKE: `é` finds `É`. A text of one or two characters is too short
    /// for the index: rows are then looked at one after the other, as [`Filter::contains`](crate::Filter::contains)
    /// does, in any case of A to Z only. So give such searches a filter that an index of the table serves.
    pub fn substrings(mut self) -> Self {
        self.mode = SearchMode::Substrings;
        self
    }

    /// If an index of another definition is there under the name, or one whose triggers somebody has changed, drops it
    /// and builds this one. Default: [`SearchIndexError::Differs`].
    pub fn replace_other(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Opens the index: makes what is missing, or compares what is there. So the second time changes nothing of it; like
    /// every write it takes a commit sequence.
    ///
    /// An index of a table that has rows is built behind the running store: see [`SearchIndex::ready`].
    ///
    /// # Errors
    /// See [`SearchIndexError`]. After any of them the file is as it was, and there is never half an index.
    pub fn open(self) -> SearchIndexRequest<SearchIndex<T>> {
        let index = match self.definition() {
            Ok(index) => Arc::new(index),
            Err(error) => return SearchIndexRequest::refused(error),
        };
        let (wanted, replace) = (Arc::clone(&index), self.replace);
        let write = self.table.store().write(move |tx| schema::open(tx, &wanted, replace));
        let table = self.table;
        SearchIndexRequest::new(write, move |is_waiting| {
            let state = SearchIndexes::keep(table.store(), &index, is_waiting)?;
            Ok(SearchIndex::new(table, index, state))
        })
    }

    fn definition(&self) -> Result<IndexDefinition, SearchIndexError> {
        let (name, table) = (self.name.clone(), self.table.shape());
        if let Some(reason) = refused_name(&name) {
            return Err(SearchIndexError::InvalidName { index: name, reason });
        }
        let Some(key) = table.rowid_column else {
            return Err(SearchIndexError::NoLastingRowid { table: table.name.clone() });
        };
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let Some(place) = table.column(column) else {
                let (table, column) = (table.name.clone(), column.clone());
                return Err(SearchIndexError::UnknownColumn { table, column });
            };
            if !columns.contains(&place) {
                columns.push(place);
            }
        }
        if columns.is_empty() {
            return Err(SearchIndexError::NoColumns { index: name });
        }
        Ok(IndexDefinition { name, table: Arc::clone(table), columns, mode: self.mode, key })
    }
}

fn refused_name(name: &str) -> Option<&'static str> {
    let starts = |with: &str| name.get(..with.len()).is_some_and(|of| of.eq_ignore_ascii_case(with));
    if name.is_empty() {
        Some("it is empty")
    } else if name.contains('\0') {
        Some("it holds a NUL")
    } else if name.len() > LONGEST_NAME {
        Some("it is longer than 200 bytes")
    } else if starts("sqlite_") || starts("walwright_") {
        Some("names that begin like this belong to SQLite or to the engine")
    } else {
        None
    }
}
