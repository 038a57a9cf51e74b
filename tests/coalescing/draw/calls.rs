//! Row commands on the table `t`, and on those around it.

use walwright::Value;

use super::Draw;
use super::hazard::Hazard;
use super::others::{C, O, P, SECOND, T};
use super::table::COLUMNS;
use super::values::text;
use crate::command::{Adjust, Op, RowCall};

impl Draw {
    /// Any row command on `t`.
    pub(super) fn call(&mut self) -> RowCall {
        let by_second = self.program.handles.len() > SECOND && self.chance(50);
        let handle = if by_second { SECOND } else { T };
        let by_name = self.program.handles[handle].key == ["name"];
        let mut op = self.op();
        let key = if by_name {
            if op != Op::Delete {
                op = Op::Update;
            }
            vec![self.pick(&[text("a"), text("b")])]
        } else {
            self.some_key()
        };
        let mut call = RowCall::new(handle, op, key);
        self.guard(&mut call, 25, 18);
        if op == Op::Delete {
            return call;
        }
        let is_whole = op != Op::Update || self.has(Hazard::SameValues) && self.chance(60) || self.chance(15);
        call.set = self.columns(is_whole);
        if by_name {
            call.set.retain(|(column, _)| column != "name");
        }
        self.finish(&mut call);
        self.adjust(&mut call, 12);
        let leaves_key = matches!(op, Op::Insert | Op::InsertOrIgnore | Op::Upsert) && !self.is_compound;
        if leaves_key && self.chance(if self.key_is_rowid() { 12 } else { 4 }) {
            call.key = None;
        }
        if op == Op::Update && handle == T && self.chance(3) {
            let key = self.keys.clone();
            call.set.push(("id".to_owned(), self.pick(&key)));
        }
        call
    }

    fn op(&mut self) -> Op {
        self.weighted(&[
            (Op::Insert, 8),
            (Op::Update, 12),
            (Op::Upsert, 5),
            (Op::Delete, 3),
            (Op::InsertOrIgnore, 2),
        ])
    }

    /// Values for some columns, or for most of them.
    fn columns(&mut self, is_whole: bool) -> Vec<(String, Value)> {
        let mut set = Vec::new();
        for column in COLUMNS {
            if self.chance(if is_whole { 85 } else { 40 }) {
                set.push((column.to_owned(), self.value(column)));
            }
        }
        set
    }

    /// An update must set something; names can be spelled in another case, and wrongly.
    fn finish(&mut self, call: &mut RowCall) {
        if call.set.is_empty() && call.op == Op::Update {
            call.set.push(("x".to_owned(), self.value("x")));
        }
        if self.has(Hazard::ColumnCase) && self.chance(50) {
            for (column, _) in &mut call.set {
                if self.rng.once_in(2) {
                    column.make_ascii_uppercase();
                }
            }
        }
        if self.chance(1) {
            call.set.push(("nowhere".to_owned(), Value::Integer(1)));
        }
        if self.chance(1) {
            call.set.push(("rev".to_owned(), Value::Integer(5)));
        }
    }

    /// Makes it an update that changes columns by what they hold, beside others that it sets or alone.
    fn adjust(&mut self, call: &mut RowCall, percent: usize) {
        if call.op != Op::Update || !self.chance(percent) {
            return;
        }
        if self.chance(60) {
            call.set.clear();
        }
        for _ in 0..self.pick(&[1, 1, 2]) {
            let column = self.pick(&["x", "x", "y", "z", "name"]);
            // What is changed in two ways is refused.
            if !self.chance(3) {
                call.set.retain(|(set, _)| !set.eq_ignore_ascii_case(column));
            }
            let adjust = if self.chance(50) {
                Adjust::Add(self.pick(&[1, 1, -1, 2, i64::MAX]))
            } else {
                Adjust::Raise(self.value(column))
            };
            call.adjust.push((column.to_owned(), adjust));
        }
        call.or_insert = call.if_revision.is_none() && call.only_if.is_none() && self.chance(30);
    }

    fn guard(&mut self, call: &mut RowCall, revision: usize, column: usize) {
        if !matches!(call.op, Op::Update | Op::Delete) {
            return;
        }
        if self.program.handles[call.handle].revision.is_some() && self.chance(revision) {
            call.if_revision = Some(self.pick(&[1, 2, 3, 1, 2]));
        }
        if self.chance(column) {
            let mut columns = COLUMNS.to_vec();
            if self.has(Hazard::Generated) {
                columns.push("g");
            }
            let column = if self.chance(4) { "rev" } else { self.pick(&columns) };
            let value = match column {
                "g" | "rev" => self.pick(&[Value::Integer(1), Value::Integer(2), Value::Null]),
                other => self.value(other),
            };
            call.only_if = Some((column.to_owned(), value));
        }
    }

    /// A row command on a table around `t`.
    pub(super) fn call_elsewhere(&mut self) -> RowCall {
        let parent = self.pick(&[1, 2]);
        let keys = self.keys.clone();
        let key = self.pick(&keys);
        let name = self.pick(&[text("a"), text("b"), Value::Null]);
        let other = self.pick(&["a", "b"]);
        let calls = [
            RowCall::new(P, Op::Delete, vec![parent.into()]),
            RowCall::new(P, Op::Update, vec![parent.into()]).with("n", 1),
            RowCall::new(P, Op::Insert, vec![self.pick(&[1, 2, 3]).into()]).with("n", 0),
            RowCall::new(P, Op::Update, vec![parent.into()]).with("id", self.pick(&[2, 3])),
            RowCall::new(P, Op::Upsert, vec![self.pick(&[1, 2, 9]).into()]).with("n", 3),
            RowCall::new(C, Op::Insert, vec![parent.into()]).with("tid", key.clone()).with("tn", name),
            RowCall::new(C, Op::Delete, vec![1.into()]),
            RowCall::new(C, Op::Update, vec![1.into()]).with("tid", key),
            RowCall::new(C, Op::Insert, vec![parent.into()]).with("x", 1),
            RowCall::new(C, Op::Update, vec![parent.into()]).with("x", 1),
            RowCall::new(O, Op::Insert, vec![other.into()]),
            RowCall::new(O, Op::Update, vec!["a".into()]).with("n", 1),
            RowCall::new(O, Op::Delete, vec!["a".into()]),
            RowCall::new(O, Op::Insert, vec!["c".into()]).with("n", 1),
        ];
        self.pick(&calls)
    }

    /// Commands on one key, mostly such as can be coalesced.
    pub(super) fn chain(&mut self) -> Vec<RowCall> {
        let key = self.some_key();
        let length = 2 + self.rng.below(3);
        let mut chain: Vec<RowCall> = Vec::new();
        let head = self.weighted(&[(Op::Insert, 4), (Op::Update, 4), (Op::Upsert, 2)]);
        if head == Op::Insert && self.chance(65) {
            chain.push(RowCall::new(T, Op::Delete, key.clone()));
        }
        for at in 0..length {
            let last = at == length - 1;
            let follower = [
                (Op::Update, 28),
                (Op::Upsert, 8),
                (Op::Delete, if last { 5 } else { 1 }),
                (Op::InsertOrIgnore, 2),
                (Op::Insert, 2),
            ];
            let op = if at == 0 { head } else { self.weighted(&follower) };
            let key = if self.chance(88) { key.clone() } else { self.some_key() };
            let mut call = RowCall::new(T, op, key);
            if op != Op::Delete {
                let is_whole = op != Op::Update || self.chance(30);
                call.set = self.columns(is_whole);
                self.finish(&mut call);
                self.adjust(&mut call, 8);
            }
            if at > 0 {
                self.follow(&mut call, chain.last(), at as i64);
            }
            chain.push(call);
        }
        chain
    }

    /// Makes a command fit the one before it: the same values again, guards that are likely to hold.
    fn follow(&mut self, call: &mut RowCall, before: Option<&RowCall>, at: i64) {
        let before: Vec<(String, Value)> = before.map(|call| call.set.clone()).unwrap_or_default();
        let same = if self.has(Hazard::SameValues) { 90 } else { 30 };
        if self.chance(same) {
            for (column, value) in &mut call.set {
                let known = before.iter().find(|(name, _)| name == column);
                if let Some((_, known)) = known
                    && self.chance(60)
                {
                    *value = known.clone();
                }
            }
        }
        if !matches!(call.op, Op::Update | Op::Delete) {
            return;
        }
        if self.program.handles[T].revision.is_some() && self.chance(30) {
            call.if_revision = Some(self.pick(&[at, at, at + 1, 1]));
        }
        if !before.is_empty() && self.chance(25) {
            let (column, known) = self.pick(&before);
            let value = if self.chance(50) { known } else { self.value(&column.to_ascii_lowercase()) };
            call.only_if = Some((column, value));
        }
    }
}
