//! Commands that are drawn by a seed. No two of them leave the same content, unless they change nothing.

use super::command::{Call, Command, Shape, call};
use super::schema::ACCOUNTS;
use rusqlite::types::Value;
use walwright::AckLevel;
use walwright_test_support::Rng;

/// Draws commands.
pub struct Script<'rng> {
    pub rng: &'rng mut Rng,
    /// The last number that was used, for keys and texts.
    last: i64,
}

impl<'rng> Script<'rng> {
    pub fn new(rng: &'rng mut Rng) -> Self {
        Self { rng, last: 0 }
    }

    /// With keys of its own, so that several scripts can write to one store.
    pub fn from(rng: &'rng mut Rng, last: i64) -> Self {
        Self { rng, last }
    }

    /// Some command at some level.
    pub fn any(&mut self) -> Command {
        let command = match self.rng.below(12) {
            0..=3 => self.insert(),
            4 => self.update(),
            5 => self.move_away(),
            6 => self.delete(),
            7 => self.replace(),
            8 | 9 => self.transfer(),
            10 => self.overdraw(),
            _ => self.change_mind(),
        };
        let level = self.level();
        command.at(level)
    }

    /// Between one and so many commands.
    pub fn some(&mut self, most: usize) -> Vec<Command> {
        (0..=self.rng.below(most)).map(|_| self.any()).collect()
    }

    pub fn level(&mut self) -> AckLevel {
        *self.rng.pick(&[AckLevel::Committed, AckLevel::Committed, AckLevel::Durable])
    }

    /// A new note.
    pub fn insert(&mut self) -> Command {
        let id = self.next();
        Command::new(Shape::Statement, vec![self.insertion(id)])
    }

    /// A change of a note, of which there may be none.
    pub fn update(&mut self) -> Command {
        let (id, body) = (self.earlier(), self.body());
        Command::statement("UPDATE note SET body = ?2, text = text || '+' WHERE id = ?1", [id.into(), body])
    }

    /// A note goes away without a delete.
    pub fn move_away(&mut self) -> Command {
        let id = self.earlier();
        Self::move_away_from(id)
    }

    pub fn move_away_from(id: i64) -> Command {
        Command::statement("UPDATE note SET id = id + 1000000000 WHERE id = ?1", [id.into()])
    }

    pub fn delete(&mut self) -> Command {
        let id = self.earlier();
        Self::delete_at(id)
    }

    pub fn delete_at(id: i64) -> Command {
        Command::statement("DELETE FROM note WHERE id = ?1", [id.into()]).deleting()
    }

    /// A statement that deletes without saying so.
    pub fn replace(&mut self) -> Command {
        let (id, text, body) = (self.earlier(), self.text(), self.body());
        let sql = "INSERT OR REPLACE INTO note (id, text, body) VALUES (?1, ?2, ?3)";
        Command::statement(sql, [id.into(), text, body]).deleting()
    }

    /// Money from one account to another, in some shape.
    pub fn transfer(&mut self) -> Command {
        let cents = 1 + self.rng.below(20) as i64;
        let shape = if self.rng.once_in(2) { Shape::Batch } else { Shape::Closure };
        let mut calls = self.payment(cents);
        // So that no two transfers leave the same content.
        let id = self.next();
        calls.insert(1, self.insertion(id));
        Command::new(shape, calls)
    }

    /// A transfer whose second half is refused: nothing of it may stay.
    pub fn overdraw(&mut self) -> Command {
        let shape = if self.rng.once_in(2) { Shape::Batch } else { Shape::Closure };
        let mut calls = self.payment(1_000_000);
        calls.reverse();
        Command::new(shape, calls)
    }

    /// A closure that fails after all its work.
    pub fn change_mind(&mut self) -> Command {
        let id = self.next();
        let mut calls = self.payment(3);
        calls.push(self.insertion(id));
        Command::new(Shape::FailingClosure, calls)
    }

    /// A folder with files.
    pub fn fill_folder(&mut self, folder: i64) -> Command {
        let mut calls =
            vec![call("INSERT OR IGNORE INTO folder (id, name) VALUES (?1, 'f' || ?1)", [folder.into()])];
        for _ in 0..=self.rng.below(4) {
            let (id, body) = (self.next(), self.body());
            calls.push(call("INSERT INTO file VALUES (?1, ?2, ?3)", [id.into(), folder.into(), body]));
        }
        Command::new(Shape::Batch, calls)
    }

    /// A folder goes, and its files with it, which a trigger buries.
    pub fn delete_folder(folder: i64) -> Command {
        Command::statement("DELETE FROM folder WHERE id = ?1", [folder.into()]).deleting()
    }

    /// An insert whose trigger deletes.
    pub fn remember(&mut self) -> Command {
        let (id, text) = (self.next(), self.text());
        Command::statement("INSERT INTO recent VALUES (?1, ?2)", [id.into(), text]).deleting()
    }

    /// A command that changes nothing and yet promises something when it is durable.
    pub fn nothing(&mut self) -> Command {
        Command::statement("UPDATE note SET text = 'never' WHERE id = -1", [])
    }

    /// Notes on many pages.
    pub fn fill(&mut self) -> Command {
        let first = self.next();
        self.last += 300;
        let sql = "WITH n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
                   INSERT INTO note (id, text, body)
                   SELECT ?1 + i, 'row ' || ((i * 37) % 300) || ' of ' || ?1, zeroblob(200) FROM n";
        Command::statement(sql, [first.into()])
    }

    /// A change of many notes on as many pages, in the table and in its index.
    pub fn sweep(&mut self) -> Command {
        let stamp = self.text();
        Command::statement("UPDATE note SET text = text || ', ' || ?1 WHERE id % 9 = 4", [stamp])
    }

    /// The last key that was used.
    pub fn last(&self) -> i64 {
        self.last
    }

    fn payment(&mut self, cents: i64) -> Vec<Call> {
        let from = self.rng.below(ACCOUNTS);
        let to = (from + 1 + self.rng.below(ACCOUNTS - 1)) % ACCOUNTS;
        let account = |number: usize| Value::from(number as i64 + 1);
        vec![
            call("UPDATE account SET cents = cents - ?2 WHERE id = ?1", [account(from), cents.into()]),
            call("UPDATE account SET cents = cents + ?2 WHERE id = ?1", [account(to), cents.into()]),
        ]
    }

    fn insertion(&mut self, id: i64) -> Call {
        let (text, body) = (self.text(), self.body());
        call("INSERT INTO note (id, text, body) VALUES (?1, ?2, ?3)", [id.into(), text, body])
    }

    pub fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// A key that may be there.
    fn earlier(&mut self) -> i64 {
        (self.last - self.rng.below(12) as i64).max(1)
    }

    pub fn text(&mut self) -> Value {
        format!("note {}", self.next()).into()
    }

    fn body(&mut self) -> Value {
        let length = *self.rng.pick(&[0, 20, 200, 900, 6_000]);
        vec![(self.last % 251) as u8; length].into()
    }
}
