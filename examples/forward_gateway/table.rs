//! A table of text.

use std::fmt;

/// Columns as wide as their widest cell: words to the left, figures to the right.
pub struct Table {
    headers: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headers: &[&'static str]) -> Self {
        Self { headers: headers.to_vec(), rows: Vec::new() }
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

    /// Whether the column holds figures; some of its cells may be empty or say that there is none.
    fn is_numeric(&self, column: usize) -> bool {
        let figure = |cell: &str| cell.starts_with(|first: char| first.is_ascii_digit());
        self.rows.iter().any(|row| figure(&row[column]))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<(usize, bool)> =
            (0..self.headers.len()).map(|column| (self.width(column), self.is_numeric(column))).collect();
        let headers = self.headers.iter().map(|header| (*header).to_owned()).collect();
        for row in [&headers].into_iter().chain(&self.rows) {
            let line: Vec<String> = row
                .iter()
                .zip(&columns)
                .map(
                    |(cell, &(width, numeric))| {
                        if numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                    },
                )
                .collect();
            writeln!(f, "  {}", line.join("   ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_each_other() {
        let mut table = Table::new(&["store", "wall s"]);
        table.row(["baseline".to_owned(), "12.345".to_owned()]);
        table.row(["other".to_owned(), "0.012".to_owned()]);
        assert_eq!(table.to_string(), "  store      wall s\n  baseline   12.345\n  other       0.012\n");
    }
}
