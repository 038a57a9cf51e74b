//! The table `t`, on which most happens.

use super::hazard::Hazard;
use super::{Draw, KeyKind};
use crate::literal::Literal;
use crate::program::Column;

/// Columns that are neither key nor revision nor generated.
pub(super) const COLUMNS: [&str; 5] = ["name", "pid", "x", "y", "z"];

impl Draw {
    pub(super) fn table(&mut self) {
        let mut rest: Vec<Column> = COLUMNS.into_iter().map(|name| self.column(name)).collect();
        rest.extend(self.generated_columns());
        rest.push(self.revision_column());
        self.rng.shuffle(&mut rest);
        let mut columns = self.key_columns();
        columns.append(&mut rest);
        self.program.schema.columns = columns;
        self.constraints();
        let is_without_rowid = self.has(Hazard::WithoutRowid) || self.chance(4);
        if is_without_rowid && !matches!(self.key, KeyKind::AutoIncrement | KeyKind::Unique) {
            self.program.schema.options.push("WITHOUT ROWID");
        }
        if self.is_strict {
            self.program.schema.options.push("STRICT");
        }
    }

    fn key_columns(&mut self) -> Vec<Column> {
        let kind = match self.key {
            KeyKind::Text | KeyKind::Unique => "TEXT",
            KeyKind::Integer | KeyKind::AutoIncrement => "INTEGER",
            KeyKind::Int => "INT",
            KeyKind::Blob => "BLOB",
            KeyKind::None => "",
            KeyKind::Real => "REAL",
            KeyKind::Numeric => "NUMERIC",
            KeyKind::Any => "ANY",
            KeyKind::NoCase => "TEXT COLLATE NOCASE",
            KeyKind::RTrim => "TEXT COLLATE RTRIM",
            KeyKind::First => "TEXT COLLATE FIRST",
        };
        let mut clauses = vec![kind.to_owned()];
        if self.chance(8) && !self.is_strict && !self.key_is_rowid() {
            clauses.push(self.pick(&["DEFAULT 'a'", "DEFAULT 1"]).to_owned());
        }
        if self.is_compound {
            self.program.schema.constraints.push("PRIMARY KEY(k, id)".to_owned());
        } else {
            let key = self.key;
            clauses.push(match key {
                KeyKind::Unique => "UNIQUE".to_owned(),
                KeyKind::AutoIncrement => "PRIMARY KEY AUTOINCREMENT".to_owned(),
                _ if self.has(Hazard::Conflict) && self.chance(30) => {
                    format!("PRIMARY KEY ON CONFLICT {}", self.pick(&["REPLACE", "IGNORE"]))
                }
                _ => "PRIMARY KEY".to_owned(),
            });
        }
        let id = Column { name: "id".to_owned(), clauses };
        if !self.is_compound {
            return vec![id];
        }
        let kind = if self.is_strict { "TEXT" } else { "" };
        vec![Column { name: "k".to_owned(), clauses: vec![kind.to_owned()] }, id]
    }

    fn column(&mut self, name: &str) -> Column {
        let mut clauses = vec![self.type_of(name).to_owned()];
        if name == "x" && self.has(Hazard::ColumnCollation) {
            clauses.push("COLLATE NOCASE".to_owned());
        }
        clauses.extend(self.not_null(name));
        clauses.extend(self.default(name));
        clauses.extend(self.unique(name));
        if name == "x" && self.has(Hazard::Check) {
            clauses.push(
                self.pick(&[
                    "CHECK(x > 0)",
                    "CHECK(x <> 1)",
                    "CHECK(typeof(x) = 'integer')",
                    "CHECK(x IS NOT NULL)",
                    "CHECK(length(x) < 2)",
                    "CHECK(json_valid(x))",
                ])
                .to_owned(),
            );
        }
        if name == "x" && self.has(Hazard::ApplicationFunction) && self.chance(50) {
            clauses.push(self.pick(&["CHECK(noted(x))", "CHECK(boom(x) IS NOT 7)"]).to_owned());
        }
        clauses.extend(self.reference(name));
        Column { name: name.to_owned(), clauses }
    }

    fn type_of(&mut self, name: &str) -> &'static str {
        if self.is_strict {
            return match name {
                "name" => "TEXT",
                "pid" | "z" => "INTEGER",
                _ => self.pick(&["ANY", "ANY", "INTEGER", "TEXT", "REAL", "BLOB"]),
            };
        }
        if self.chance(75) {
            return "";
        }
        self.pick(&["INTEGER", "TEXT", "REAL", "BLOB", "NUMERIC", "ANY", "VARCHAR(9)"])
    }

    fn not_null(&mut self, name: &str) -> Option<String> {
        let may = matches!(name, "name" | "x" | "y");
        let is =
            self.has(Hazard::NotNull) && self.chance(50) || self.has(Hazard::Conflict) && self.chance(20);
        if !may || !is {
            return None;
        }
        Some(if self.has(Hazard::Conflict) && self.chance(50) {
            format!("NOT NULL ON CONFLICT {}", self.pick(&["IGNORE", "REPLACE", "ROLLBACK", "FAIL"]))
        } else {
            "NOT NULL".to_owned()
        })
    }

    fn default(&mut self, name: &str) -> Option<String> {
        if !matches!(name, "name" | "x" | "y") {
            return None;
        }
        if self.has(Hazard::DefaultExpression) && name != "name" && self.chance(60) {
            let expression = self.pick(&[
                "(abs(-9223372036854775808))",
                "(1 + 1)",
                "(json('bad'))",
                "(NULL)",
                "('a' || 'b')",
            ]);
            return Some(format!("DEFAULT {expression}"));
        }
        if self.has(Hazard::ApplicationFunction) && name == "x" && self.chance(60) {
            return Some("DEFAULT (counted())".to_owned());
        }
        if self.has(Hazard::ChangesFunction) && name == "x" && self.chance(50) {
            return Some(self.pick(&["DEFAULT (changes())", "DEFAULT (last_insert_rowid())"]).to_owned());
        }
        let is = self.has(Hazard::DefaultLiteral) && self.chance(60)
            || self.has(Hazard::NotNull) && self.chance(20);
        is.then(|| format!("DEFAULT {}", self.pick(&["1", "'a'", "NULL", "-1", "'d'", "2.5", "x'61'"])))
    }

    fn unique(&mut self, name: &str) -> Option<String> {
        if name != "name" {
            return None;
        }
        if self.has(Hazard::Conflict) && self.chance(50) {
            return Some(format!(
                "UNIQUE ON CONFLICT {}",
                self.pick(&["REPLACE", "IGNORE", "ROLLBACK", "FAIL"])
            ));
        }
        let unique = [Hazard::Unique, Hazard::ForeignKeyOfUnique, Hazard::SameValues];
        let is_key = self.has(Hazard::SecondHandle) && self.chance(50);
        (is_key || self.has_any(&unique)).then(|| "UNIQUE".to_owned())
    }

    fn reference(&mut self, name: &str) -> Option<String> {
        if name != "pid" {
            return None;
        }
        if self.has(Hazard::ForeignKeyToParent) {
            return Some(format!("REFERENCES p{}{}", self.pick(&["", "(id)"]), self.actions()));
        }
        if self.has(Hazard::ForeignKeySelf) && !self.is_compound {
            return Some(format!("REFERENCES t(id){}", self.actions()));
        }
        None
    }

    /// What a foreign key does.
    pub(super) fn actions(&mut self) -> String {
        let mut actions = String::new();
        if self.chance(65) {
            let action =
                self.pick(&["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION", "CASCADE"]);
            actions += &format!(" ON DELETE {action}");
        }
        if self.chance(35) {
            actions +=
                &format!(" ON UPDATE {}", self.pick(&["CASCADE", "SET NULL", "RESTRICT", "NO ACTION"]));
        }
        if self.chance(25) {
            actions += " DEFERRABLE INITIALLY DEFERRED";
        }
        actions
    }

    fn generated_columns(&mut self) -> Vec<Column> {
        let kind = if self.is_strict { "ANY" } else { "" };
        let mut columns = Vec::new();
        let mut add = |name: &str, expression: String, rest: &str| {
            let clauses = vec![kind.to_owned(), format!("AS ({expression})"), rest.to_owned()];
            columns.push(Column { name: name.to_owned(), clauses });
        };
        if self.has(Hazard::Generated) {
            let expression = self.pick(&["x", "json_extract(x, '$.a')", "boom(x)", "x || y", "abs(x)"]);
            add("g", expression.to_owned(), self.pick(&["STORED", "VIRTUAL"]));
        }
        if self.has(Hazard::GeneratedNotNull) {
            add("gn", self.pick(&["nullif(x, 1)", "nullif(rev, 2)"]).to_owned(), "NOT NULL");
        }
        if self.has(Hazard::GeneratedUnique) {
            add("gu", self.pick(&["x", "y", "rev"]).to_owned(), "UNIQUE");
        }
        columns
    }

    fn revision_column(&mut self) -> Column {
        let kind = if self.has(Hazard::RevisionDeclared) {
            let any = if self.is_strict { "ANY" } else { "" };
            self.pick(&["INTEGER", any, "TEXT", "INT NOT NULL", "REAL", "INTEGER DEFAULT 5"])
        } else {
            "INTEGER"
        };
        Column { name: "rev".to_owned(), clauses: vec![kind.to_owned()] }
    }

    fn constraints(&mut self) {
        let mut constraints = Vec::new();
        if self.has(Hazard::CheckOfRow) {
            constraints.push(self.pick(&[
                "CHECK(x IS NULL OR y IS NULL OR x <= y)",
                "CHECK(x IS NOT y)",
                "CHECK(coalesce(x, 0) + coalesce(z, 0) < 4)",
                "CHECK(name IS NULL OR x IS NOT NULL)",
            ]));
        }
        if self.has(Hazard::CheckOfRevision) {
            constraints.push(self.pick(&["CHECK(rev <> 2)", "CHECK(rev < 3)", "CHECK(rev <> 3 OR x = 1)"]));
        }
        if self.has(Hazard::UniqueWithRevision) {
            constraints.push(self.pick(&["UNIQUE(name, rev)", "UNIQUE(rev)", "UNIQUE(x, rev)"]));
        }
        if self.chance(4) {
            constraints.push("UNIQUE(x, y)");
        }
        self.program.schema.constraints.extend(constraints.into_iter().map(str::to_owned));
    }

    /// Rows that are there before the program begins.
    pub(super) fn rows(&mut self) {
        let mut rows = vec!["INSERT INTO p VALUES (1, 0, 1), (2, 0, 1)".to_owned()];
        for key in self.keys.clone() {
            if !self.chance(45) {
                continue;
            }
            let mut names: Vec<&str> = if self.is_compound { vec!["k", "id"] } else { vec!["id"] };
            let mut values = self.whole_key(key);
            for column in COLUMNS {
                if self.chance(85) {
                    names.push(column);
                    values.push(self.value(column));
                }
            }
            let literals = Literal::list(&values).replace("NaN", "NULL").replace("inf", "9e999");
            rows.push(format!("INSERT INTO t({}, rev) VALUES ({literals}, 1)", names.join(", ")));
        }
        let has_children = self.has_any(&[Hazard::ForeignKeyOfOthers, Hazard::ForeignKeyOfUnique]);
        if has_children && self.chance(30) {
            rows.push("INSERT INTO c(id, tid, tn, rev) SELECT 1, id, name, 1 FROM t LIMIT 1".to_owned());
        }
        let planted = if self.has_any(&[Hazard::RevisionPlanted, Hazard::RevisionDeclared]) { 70 } else { 4 };
        if self.chance(planted) {
            let revision = self.pick(&[
                "9223372036854775806",
                "9223372036854775805",
                "9223372036854775807",
                "9007199254740992.0",
                "NULL",
                "1.5",
                "'5'",
                "'abc'",
                "0",
                "-1",
            ]);
            rows.push(format!("UPDATE t SET rev = {revision}"));
        }
        self.program.schema.rows = rows;
    }
}
