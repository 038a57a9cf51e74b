//! Which handles of a run speak of the same rows.

use crate::row::TableShape;
use crate::sync::Arc;

/// The tables of a run, as their handles know them. Few, so looking through all of them is the fastest way.
#[derive(Default)]
pub(super) struct Tables<'a> {
    known: Vec<Known<'a>>,
}

struct Known<'a> {
    shape: &'a Arc<TableShape>,
    /// The first handle of the run on a table of the same name.
    name: usize,
    /// The first handle of the run that knows the table's rows by the same key and revision.
    rows: usize,
    /// Of the first handle on a name: the chains of the table with heads before this command are closed.
    closed_before: usize,
    /// Of the first handle on a name: whose rows the last command spoke of.
    last_rows: usize,
}

/// A table in a run, as one handle knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Table {
    name: usize,
    /// Keys of different numbers have nothing to do with each other.
    pub(super) rows: usize,
}

impl<'a> Tables<'a> {
    /// The table of a command. If the one before on the same table came from a handle that knows it by another
    /// key or revision, all chains of the table are closed.
    pub(super) fn enter(&mut self, command: usize, shape: &'a Arc<TableShape>) -> Table {
        let found = self.known.iter().position(|known| Arc::ptr_eq(known.shape, shape));
        let at = found.unwrap_or_else(|| self.add(shape));
        let Some(known) = self.known.get(at) else { return Table { name: at, rows: at } };
        let table = Table { name: known.name, rows: known.rows };
        if let Some(first) = self.known.get_mut(table.name)
            && first.last_rows != table.rows
        {
            first.last_rows = table.rows;
            first.closed_before = command;
        }
        table
    }

    fn add(&mut self, shape: &'a Arc<TableShape>) -> usize {
        let at = self.known.len();
        let first = |same: &dyn Fn(&TableShape) -> bool| {
            self.known.iter().position(|known| same(known.shape)).unwrap_or(at)
        };
        let is_same_name = |other: &TableShape| other.name.eq_ignore_ascii_case(&shape.name);
        let name = first(&is_same_name);
        // The columns too: places in one shape must mean the same in the other.
        let rows = first(&|other| {
            is_same_name(other)
                && other.key == shape.key
                && other.revision == shape.revision
                && other.columns == shape.columns
        });
        self.known.push(Known { shape, name, rows, closed_before: 0, last_rows: rows });
        at
    }

    /// Closes all chains of the table that have begun before this command.
    pub(super) fn close(&mut self, command: usize, table: Table) {
        if let Some(first) = self.known.get_mut(table.name) {
            first.closed_before = command;
        }
    }

    /// Whether a chain of the table with this head is still open.
    pub(super) fn is_open(&self, head: usize, table: Table) -> bool {
        self.known.get(table.name).is_some_and(|first| head >= first.closed_before)
    }
}
