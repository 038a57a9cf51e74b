//! The commands of a program.

use walwright::AckLevel;

use super::hazard::Hazard;
use super::others::T;
use super::{Draw, KeyKind};
use crate::command::{
    Bulk, BulkCall, Change, Command, Deadline, Ending, ModifyCall, Op, Part, RowCall, Sent,
};
use crate::program::Revision;

impl Draw {
    pub(super) fn commands(&mut self) {
        let count = 1 + self.rng.below(4);
        let mut commands: Vec<Sent> = (0..count).map(|_| self.sent()).collect();
        for _ in 0..self.pick(&[0, 1, 1, 2, 2]) {
            let at = self.rng.below(commands.len() + 1);
            let mut chain = Vec::new();
            for call in self.chain() {
                chain.push(self.wrapped(Command::Row(call)));
                if self.chance(25) {
                    chain.push(self.sent());
                }
            }
            commands.splice(at..at, chain);
        }
        if self.chance(15) {
            let at = self.rng.below(commands.len());
            commands[at].after_pause = true;
        }
        self.program.commands = commands;
    }

    fn sent(&mut self) -> Sent {
        let command = self.command();
        self.wrapped(command)
    }

    fn wrapped(&mut self, command: Command) -> Sent {
        let mut sent = Sent::from(command);
        if self.chance(15) {
            sent.level = AckLevel::Durable;
        }
        sent.deadline = self.weighted(&[(Deadline::None, 94), (Deadline::Far, 4), (Deadline::Passed, 2)]);
        sent
    }

    fn command(&mut self) -> Command {
        let statements = if self.has(Hazard::Statements) { 20 } else { 4 };
        match self.rng.below(100) {
            0..=79 if self.chance(statements) => Command::Statement(self.statement()),
            0..=79 => Command::Row(self.call()),
            80..=89 => Command::Row(self.call_elsewhere()),
            90..=91 => Command::Batch(self.parts()),
            92..=93 => Command::Bulk(self.bulk()),
            94..=95 => Command::Modify(self.modify()),
            96..=97 => self.closure(),
            _ => Command::Row(self.call()),
        }
    }

    fn parts(&mut self) -> Vec<Part> {
        let count = 1 + self.rng.below(3);
        (0..count)
            .map(|_| if self.chance(20) { Part::Statement(self.statement()) } else { Part::Row(self.call()) })
            .collect()
    }

    fn bulk(&mut self) -> BulkCall {
        let column = self.pick(&["x", "y", "z"]);
        let (value, to) = (self.value(column), self.value("x"));
        let set = ("x".to_owned(), to);
        let work = match self.rng.below(5) {
            0 => Bulk::DeleteMany(vec![self.some_key(), self.some_key()]),
            1 => Bulk::DeleteWhere(column.to_owned(), value),
            2 => Bulk::UpdateMany(vec![self.some_key(), self.some_key()], set),
            3 => Bulk::UpdateWhere(column.to_owned(), value, set),
            _ => {
                let op = self.pick(&[Op::Insert, Op::InsertOrIgnore, Op::Upsert]);
                let calls: Vec<RowCall> = (0..3).map(|_| self.call()).collect();
                let calls = calls.into_iter().filter(|call| call.handle == T && call.op != Op::Delete);
                Bulk::InsertMany(op, calls.collect())
            }
        };
        BulkCall { handle: T, work, is_atomic: self.chance(30) }
    }

    fn modify(&mut self) -> ModifyCall {
        let column = self.pick(&["x", "y"]).to_owned();
        let value = self.value(&column);
        let change = self.weighted(&[
            (Change::Set(value), 4),
            (Change::Count, 4),
            (Change::Nothing, 1),
            (Change::Fail, 1),
            (Change::Panic, 1),
        ]);
        ModifyCall { handle: T, key: self.some_key(), column, change }
    }

    fn closure(&mut self) -> Command {
        let mut statements = vec![self.statement()];
        if self.chance(50) {
            statements.push("SELECT count(*) FROM t".to_owned());
        }
        if self.chance(30) {
            statements.push("SELECT last_insert_rowid()".to_owned());
        }
        let ending = self.weighted(&[(Ending::Well, 6), (Ending::Error, 2), (Ending::Panic, 1)]);
        Command::Closure { statements, ending }
    }

    fn statement(&mut self) -> String {
        // Numbers that are made of sequences would differ with how many were used before.
        let by_sequence = matches!(self.program.handles[T].revision, Some(Revision::Sequence(_)));
        let key = if self.key == KeyKind::Text { "'a'" } else { "1" };
        let counted = if by_sequence { "count(rev)" } else { "total(rev)" };
        let rev = if by_sequence { "rev" } else { "rev + 1" };
        let statements = [
            "UPDATE t SET x = coalesce(x, 0) || 's'".to_owned(),
            "INSERT INTO l SELECT x, y, rev FROM t".to_owned(),
            "DELETE FROM t WHERE x = 1".to_owned(),
            format!("INSERT INTO l SELECT count(*), {counted}, last_insert_rowid() FROM t"),
            "UPDATE t SET x = 5 WHERE rev = 2".to_owned(),
            format!("UPDATE t SET y = 6, rev = {rev} WHERE id = {key}"),
            format!("INSERT INTO t(id, x) VALUES ({key}, 3)"),
            format!("REPLACE INTO t(id, x, rev) VALUES ({key}, 3, 1)"),
            "UPDATE o SET n = 2".to_owned(),
            "DELETE FROM p WHERE id = 2".to_owned(),
            "SELECT nothing FROM nowhere".to_owned(),
            "ALTER TABLE t ADD COLUMN w DEFAULT 5".to_owned(),
            "ALTER TABLE t RENAME COLUMN z TO zz".to_owned(),
            "ALTER TABLE t RENAME TO tt".to_owned(),
            "CREATE UNIQUE INDEX IF NOT EXISTS made_x ON t(x)".to_owned(),
            "CREATE UNIQUE INDEX IF NOT EXISTS made_name ON t(name) WHERE y = 1".to_owned(),
            "CREATE INDEX IF NOT EXISTS made_plain ON t(y, x)".to_owned(),
            "CREATE INDEX IF NOT EXISTS made_json ON t(json_extract(x, '$.a'))".to_owned(),
            "CREATE TRIGGER IF NOT EXISTS made_t AFTER UPDATE ON t BEGIN \
             INSERT INTO l VALUES ('made', new.x, new.rev); END"
                .to_owned(),
            "CREATE TRIGGER IF NOT EXISTS made_o AFTER INSERT ON o BEGIN UPDATE t SET x = 77; END".to_owned(),
            "CREATE TEMP TRIGGER made_temp AFTER UPDATE ON t BEGIN INSERT INTO l VALUES (1, 2, 3); END"
                .to_owned(),
            "DROP INDEX IF EXISTS made_x".to_owned(),
            "CREATE TABLE made(a REFERENCES t ON DELETE CASCADE, b REFERENCES t(name))".to_owned(),
            "DROP TABLE c".to_owned(),
        ];
        self.pick(&statements)
    }
}
