//! The rows that were measured, as they come or as tables in the end.

use crate::Result;
use crate::delete;
use crate::folder::Disk;
use crate::load::{self, Load};
use crate::ratios;
use crate::rows::{DeleteRow, ForwardRow, milliseconds};
use crate::scene::Scene;
use crate::table::Table;
use crate::work::Work;
use serde::Serialize;
use std::io::{Write, stdout};

/// Collects what was measured; with `json` it prints every row at once, else [`Report::finish`] prints tables.
pub struct Report {
    disk: Disk,
    json: bool,
    forwards: Vec<ForwardRow>,
    deletes: Vec<DeleteRow>,
    journal_modes: Vec<(Scene, String)>,
}

impl Report {
    pub fn new(disk: Disk, json: bool) -> Self {
        Self { disk, json, forwards: Vec::new(), deletes: Vec::new(), journal_modes: Vec::new() }
    }

    /// Says on the standard error output if the figures will be worth nothing.
    pub fn warn_of_memory(&self) {
        if let Some(warning) = self.memory_warning() {
            eprintln!("{warning}");
        }
    }

    pub fn journal_mode(&mut self, scene: Scene, mode: String) {
        self.journal_modes.push((scene, mode));
    }

    pub fn forwarded(
        &mut self,
        scene: Scene,
        load: Load,
        measured: &load::Measured,
        work: Work,
    ) -> Result<()> {
        let row = ForwardRow::new(scene, load, measured, work);
        self.print_json(&row)?;
        self.forwards.push(row);
        Ok(())
    }

    pub fn deleted(&mut self, scene: Scene, measured: &delete::Measured) -> Result<()> {
        let row = DeleteRow::new(scene, measured);
        self.print_json(&row)?;
        self.deletes.push(row);
        Ok(())
    }

    /// Prints the tables, unless every row has been printed already.
    pub fn finish(&self) -> Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = stdout().lock();
        writeln!(out, "{}", self.disk_line())?;
        if let Some(warning) = self.memory_warning() {
            writeln!(out, "{warning}")?;
        }
        writeln!(out, "\nConnections\n\n{}", self.forward_table())?;
        writeln!(out, "Delete of a sandbox while others read\n\n{}", self.delete_table())?;
        writeln!(out, "Journal modes observed\n\n{}", self.journal_table())?;
        let ratios = ratios::table(&self.forwards, &self.deletes);
        if !ratios.is_empty() {
            writeln!(out, "Ratios\n\n{ratios}")?;
        }
        Ok(())
    }

    fn print_json(&self, row: &impl Serialize) -> Result<()> {
        if self.json {
            writeln!(stdout(), "{}", serde_json::to_string(row)?)?;
        }
        Ok(())
    }

    fn disk_line(&self) -> String {
        let fsync = milliseconds(self.disk.median_fsync);
        format!("Disk: {}, median fsync {fsync:.3} ms", self.disk.filesystem)
    }

    fn memory_warning(&self) -> Option<String> {
        self.disk.in_memory.then(|| {
            let filesystem = &self.disk.filesystem;
            format!(
                "Warning: {filesystem} is memory. Its syncs cost nothing; use --dir with a folder on a disk."
            )
        })
    }

    fn forward_table(&self) -> Table {
        let headers = [
            "sync delay",
            "store",
            "connections",
            "completed",
            "mean ms",
            "last response s",
            "wall s",
            "commands",
            "statements",
            "syncs",
        ];
        let mut table = Table::new(&headers).grouped_by(2);
        for row in &self.forwards {
            table.row([
                format!("{} ms", row.sync_delay_ms),
                row.store.to_string(),
                short(row.connections),
                row.completed.to_string(),
                or_dash(row.mean_ms.map(|mean| format!("{mean:.2}"))),
                format!("{:.4}", row.responses_s),
                format!("{:.4}", row.wall_s),
                or_dash(row.commands),
                or_dash(row.statements),
                row.syncs.to_string(),
            ]);
        }
        table
    }

    fn delete_table(&self) -> Table {
        let headers =
            ["sync delay", "store", "rows", "answered s", "wall s", "rows left at ack", "reads", "failed"];
        let mut table = Table::new(&headers);
        for row in &self.deletes {
            table.row([
                format!("{} ms", row.sync_delay_ms),
                row.store.to_string(),
                row.delete_rows.to_string(),
                format!("{:.4}", row.answered_s),
                format!("{:.4}", row.wall_s),
                row.rows_left_at_ack.to_string(),
                row.reads.to_string(),
                row.failed_reads.to_string(),
            ]);
        }
        table
    }

    fn journal_table(&self) -> Table {
        let mut table = Table::new(&["sync delay", "store", "journal mode"]);
        for (scene, mode) in &self.journal_modes {
            table.row([format!("{} ms", scene.sync_delay_ms()), scene.store.to_string(), mode.clone()]);
        }
        table
    }
}

fn or_dash(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

fn short(load: Load) -> String {
    match load {
        Load::Together(count) => count.to_string(),
        Load::Sequential => "sequential".to_owned(),
    }
}
