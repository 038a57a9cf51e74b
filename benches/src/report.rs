//! What a benchmark tells: tables and bars for people, JSON for programs, a section of `RESULTS.md`.

use crate::Result;
use crate::machine;
use crate::options::Options;
use crate::place::Place;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use walwright_bench_workload::Bar;

/// Collects what was measured, and prints it as it comes.
pub struct Report {
    name: &'static str,
    json: bool,
    quick: bool,
    save: bool,
    markdown: String,
    json_lines: String,
}

impl Report {
    pub fn new(name: &'static str, options: &Options) -> Self {
        let Options { json, quick, save, .. } = *options;
        Self { name, json, quick, save, markdown: String::new(), json_lines: String::new() }
    }

    /// Says where and on what it is measured.
    pub fn measured_on(&mut self, place: &Place) {
        let sync = place.sync.as_secs_f64() * 1e3;
        let mut line = format!(
            "{}; {}, a sync takes {sync:.3} ms; SQLite {}; {}",
            machine::description(),
            place.filesystem,
            rusqlite::version(),
            machine::date(),
        );
        if self.quick {
            line += ". Rough figures, from a quick run";
        }
        self.text(&line);
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        self.line(text);
        self.line("");
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        self.line(&format!("### {text}\n"));
    }

    /// A table. Columns of figures are set to the right.
    pub fn table(&mut self, headers: &[&str], rows: &[Vec<String>]) {
        let widths: Vec<usize> = (0..headers.len())
            .map(|at| {
                let cells = rows.iter().map(|row| row[at].chars().count());
                cells.chain([headers[at].chars().count()]).max().unwrap_or(0)
            })
            .collect();
        let is_figure =
            |at: usize| rows.iter().all(|row| row[at].starts_with(|c: char| c.is_ascii_digit() || c == '-'));
        let print = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::from("|");
            for (at, cell) in cells.enumerate() {
                let width = widths[at];
                let _ = if is_figure(at) {
                    write!(line, " {cell:>width$} |")
                } else {
                    write!(line, " {cell:<width$} |")
                };
            }
            line
        };
        let mut lines = vec![print(&mut headers.iter().copied())];
        let rule = widths.iter().enumerate().map(|(at, width)| {
            let dashes = "-".repeat(width + 1);
            if is_figure(at) { format!("{dashes}:") } else { format!("-{dashes}") }
        });
        lines.push(format!("|{}|", rule.collect::<Vec<_>>().join("|")));
        lines.extend(rows.iter().map(|row| print(&mut row.iter().map(String::as_str))));
        for line in lines {
            self.line(&line);
        }
        self.line("");
    }

    /// A row for programs.
    pub fn row(&mut self, row: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(row)?;
        if self.json {
            println!("{line}");
        }
        self.json_lines += &line;
        self.json_lines.push('\n');
        Ok(())
    }

    /// Bars, each on a line of its own.
    pub fn bars(&mut self, bars: &[Bar]) -> Result<()> {
        self.heading("Bars");
        let rough = if self.quick { " (rough)" } else { "" };
        for bar in bars {
            self.row(bar)?;
            if !self.json {
                println!("{bar}{rough}");
            }
            let _ = writeln!(self.markdown, "- {bar}{rough}");
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if !self.json {
            println!("{line}");
        }
        self.markdown += line;
        self.markdown.push('\n');
    }

    /// Where this benchmark's plots go, if it is to leave any.
    pub fn plots(&self) -> Option<PathBuf> {
        self.save.then(|| benches().join("plots"))
    }

    /// Leaves the tables in `RESULTS.md` and the rows beside it, if it is to.
    pub fn finish(self) -> Result<()> {
        if !self.save {
            return Ok(());
        }
        let results = benches().join("results");
        fs::create_dir_all(&results)?;
        fs::write(results.join(format!("{}.jsonl", self.name)), &self.json_lines)?;
        let path = benches().join("RESULTS.md");
        let before = fs::read_to_string(&path).unwrap_or_else(|_| "# Results\n".to_owned());
        fs::write(path, with_section(&before, self.name, &self.markdown))?;
        Ok(())
    }
}

/// The folder of this package.
fn benches() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The page with the section of one benchmark replaced, or behind all others if it is new.
fn with_section(page: &str, name: &str, section: &str) -> String {
    let heading = format!("\n## {name}\n");
    let section = format!("{heading}\n{}\n", section.trim());
    let Some(begin) = page.find(&heading) else { return format!("{}\n{section}", page.trim_end()) };
    let behind = begin + heading.len();
    let end = page[behind..].find("\n## ").map_or(page.len(), |at| behind + at);
    format!("{}{section}{}", &page[..begin], &page[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_the_one_before() {
        let page = with_section("# Results\n", "burst", "fast");
        let page = with_section(&page, "read", "so so");
        let page = with_section(&page, "burst", "faster");
        assert_eq!(page, "# Results\n\n## burst\n\nfaster\n\n## read\n\nso so\n");
    }
}
