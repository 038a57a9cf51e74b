//! A table of text.

use std::fmt;

/// Columns as wide as their widest cell: words to the left, figures to the right.
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
    group_columns: usize,
}

impl Table {
    pub fn new(headers: &[&str]) -> Self {
        Self {
            headers: headers.iter().copied().map(str::to_owned).collect(),
            rows: Vec::new(),
            group_columns: 0,
        }
    }

    /// Leaves a line free wherever one of the first `columns` cells changes.
    pub fn grouped_by(self, columns: usize) -> Self {
        Self { group_columns: columns, ..self }
    }

    /// Adds a row, with one cell for each header.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.headers.len());
        self.rows.push(cells.into());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells.chain([self.headers[column].chars().count()]).max().unwrap_or(0)
    }

    /// Whether the column holds figures, with or without a unit; some cells may say that there is none.
    fn is_numeric(&self, column: usize) -> bool {
        let figure = |cell: &str| cell.strip_suffix(" ms").unwrap_or(cell).parse::<f64>().is_ok();
        self.rows.iter().any(|row| figure(&row[column]))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<(usize, bool)> =
            (0..self.headers.len()).map(|column| (self.width(column), self.is_numeric(column))).collect();
        let print = |f: &mut fmt::Formatter<'_>, row: &[String]| {
            let cells = row.iter().zip(&columns).map(|(cell, &(width, numeric))| {
                if numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            writeln!(f, "  {}", cells.collect::<Vec<_>>().join("   ").trim_end())
        };

        print(f, &self.headers)?;
        let mut group = None;
        for row in &self.rows {
            let next = Some(&row[..self.group_columns]);
            if group.is_some() && group != next {
                writeln!(f)?;
            }
            group = next;
            print(f, row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_each_other() {
        let mut table = Table::new(&["store", "wall s"]).grouped_by(1);
        for (store, wall) in [("baseline", "12.345"), ("baseline", "-"), ("other", "0.012")] {
            table.row([store.to_owned(), wall.to_owned()]);
        }
        let lines = ["store      wall s", "baseline   12.345", "baseline        -", "", "other       0.012"];
        assert_eq!(table.to_string().lines().map(str::trim_start).collect::<Vec<_>>(), lines);
    }
}
