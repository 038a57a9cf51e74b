//! What stands around the table `t`: other tables, indexes, triggers, and the handles.

use super::Draw;
use super::hazard::Hazard;
use crate::program::{Handle, Revision};

/// The handles of a program, by their numbers.
pub(super) const T: usize = 0;
pub(super) const P: usize = 1;
pub(super) const C: usize = 2;
pub(super) const O: usize = 3;
/// A second handle of `t`, which not every program has.
pub(super) const SECOND: usize = 4;

impl Draw {
    /// A parent of `t`, a child of it, another table, and a log that triggers and statements write.
    pub(super) fn other_tables(&mut self) {
        let mut child = "CREATE TABLE c(id INTEGER PRIMARY KEY, tid".to_owned();
        if self.has(Hazard::ForeignKeyOfOthers) && !self.is_compound {
            child += " REFERENCES t(id)";
            child += &self.actions();
        }
        child += ", tn";
        if self.has(Hazard::ForeignKeyOfUnique) {
            child += " REFERENCES t(name)";
            child += &self.actions();
        }
        child += ", x, rev INTEGER)";
        let counted = if self.has(Hazard::ChangesFunction) {
            self.pick(&[" DEFAULT (changes())", " DEFAULT (last_insert_rowid())", ""])
        } else if self.has(Hazard::ApplicationFunction) {
            self.pick(&[" DEFAULT (counted())", ""])
        } else {
            ""
        };
        self.program.schema.others.extend([
            "CREATE TABLE l(first, second, third)".to_owned(),
            "CREATE TABLE p(id INTEGER PRIMARY KEY, n, rev INTEGER)".to_owned(),
            child,
            format!("CREATE TABLE o(id TEXT PRIMARY KEY, n{counted}, rev INTEGER)"),
        ]);
    }

    pub(super) fn indexes(&mut self) {
        let mut indexes = Vec::new();
        let mut add = |text: String| indexes.push(text);
        if self.has(Hazard::UniquePartial) {
            let columns = self.pick(&["name", "y", "x, name"]);
            let condition =
                self.pick(&["z = 0", "z IS NULL", "z", "z IN (0, 1) AND x IS NOT NULL", "rev < 3"]);
            add(format!("CREATE UNIQUE INDEX unique_partial ON t({columns}) WHERE {condition}"));
        }
        if self.has(Hazard::UniqueExpression) {
            let expression = self.pick(&[
                "lower(name)",
                "x + 0",
                "coalesce(x, y)",
                "name COLLATE NOCASE, abs(x)",
                "rev + coalesce(x, 0)",
            ]);
            add(format!("CREATE UNIQUE INDEX unique_expression ON t({expression})"));
        }
        if self.has(Hazard::UniqueNoCase) {
            let column = self.pick(&["name", "x"]);
            add(format!("CREATE UNIQUE INDEX unique_nocase ON t({column} COLLATE NOCASE)"));
        }
        if self.has(Hazard::ExpressionIndex) {
            let expression = self.pick(&["json_extract(x, '$.a')", "boom(x)", "abs(y)", "x ->> '$.a'"]);
            add(format!("CREATE INDEX of_expression ON t({expression})"));
        }
        if self.has(Hazard::PartialIndex) {
            let condition = self.pick(&[
                "boom(x)",
                "x ->> '$.a' = 1",
                "json_extract(x, '$') IS NULL",
                "x = 1",
                "abs(x) > 1",
                "z IS NULL",
                "rev > 1",
            ]);
            add(format!("CREATE INDEX partial ON t(y) WHERE {condition}"));
        }
        if self.has(Hazard::PlainIndex) || self.chance(20) {
            let columns = self.pick(&["x", "y", "x, y", "y COLLATE NOCASE", "rev", "name, x DESC"]);
            add(format!("CREATE INDEX plain ON t({columns})"));
        }
        self.program.schema.others.append(&mut indexes);
    }

    pub(super) fn triggers(&mut self) {
        let mut triggers = Vec::new();
        if self.has(Hazard::Trigger) {
            for number in 0..self.pick(&[1, 2]) {
                triggers.push(self.trigger(&format!("on_t{number}"), "t"));
            }
        }
        if self.has(Hazard::TriggerElsewhere) {
            let table = self.pick(&["o", "p", "c"]);
            triggers.push(self.trigger("elsewhere", table));
        }
        if self.has(Hazard::ChangesFunction) && self.chance(50) {
            triggers.push(
                "CREATE TRIGGER counts AFTER INSERT ON o BEGIN \
                 INSERT INTO l VALUES (changes(), NULL, last_insert_rowid()); END"
                    .to_owned(),
            );
        }
        self.program.schema.others.append(&mut triggers);
    }

    fn trigger(&mut self, name: &str, table: &str) -> String {
        let of_columns = if table == "t" { "UPDATE OF x" } else { "UPDATE" };
        let event = self.pick(&["INSERT", "UPDATE", "DELETE", of_columns, "INSERT"]);
        let moment = self.pick(&["BEFORE", "AFTER", "AFTER"]);
        let row = if event == "DELETE" { "old" } else { "new" };
        let raise = self.pick(&["ABORT, 'no'", "IGNORE", "ROLLBACK, 'no'", "FAIL, 'no'"]);
        let body = self.pick(&[
            format!("INSERT INTO l SELECT '{event}', {row}.id, count(*) || total(x) FROM t"),
            "UPDATE t SET x = 7".to_owned(),
            "UPDATE t SET y = coalesce(y, 0) || 't'".to_owned(),
            "DELETE FROM t WHERE x = 1".to_owned(),
            "UPDATE t SET z = 1 WHERE id = 'a' OR id = 1".to_owned(),
            "INSERT INTO l SELECT x, y, rev FROM t".to_owned(),
            format!("SELECT RAISE({raise}) WHERE (SELECT count(*) FROM t WHERE x = 1) > 0"),
            format!("SELECT RAISE({raise}) WHERE {row}.rev = 2"),
        ]);
        format!("CREATE TRIGGER {name} {moment} {event} ON {table} BEGIN {body}; END")
    }

    pub(super) fn handles(&mut self) {
        let key: &[&str] = if self.is_compound { &["k", "id"] } else { &["id"] };
        let mut handle = Handle::new("t", key);
        handle.names_key = self.key == super::KeyKind::Unique;
        if self.has(Hazard::RevisionSequence) || self.chance(15) {
            handle.revision = Some(Revision::Sequence("rev".to_owned()));
        } else if self.chance(7) {
            handle.revision = None;
        }
        let second = self.second_handle(&handle);
        self.program.handles =
            vec![handle, Handle::new("p", &["id"]), Handle::new("c", &["id"]), Handle::new("o", &["id"])];
        self.program.handles.extend(second);
    }

    fn second_handle(&mut self, first: &Handle) -> Option<Handle> {
        if !self.has(Hazard::SecondHandle) {
            return None;
        }
        let name_is_unique = self.program.schema.columns.iter().any(|column| {
            column.name == "name" && column.clauses.iter().any(|clause| clause.starts_with("UNIQUE"))
        });
        let mut second = Handle { table: "T".to_owned(), ..first.clone() };
        if name_is_unique && self.chance(60) {
            second.key = vec!["name".to_owned()];
            second.names_key = true;
        } else if self.chance(60) {
            second.revision = match first.revision {
                None => Some(Revision::Counter("rev".to_owned())),
                Some(_) => None,
            };
        }
        Some(second)
    }
}
