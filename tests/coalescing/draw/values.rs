//! Values, most of which hurt.

use walwright::Value;

use super::hazard::Hazard;
use super::{Draw, KeyKind};

/// 2^53 + 1, the first integer that no real number is.
const BEYOND_REALS: i64 = 9_007_199_254_740_993;

pub(super) fn text(text: &str) -> Value {
    Value::from(text)
}

impl Draw {
    /// How the key is declared, and the values that keys are made of.
    pub(super) fn key(&mut self) {
        if self.has(Hazard::KeyKind) || self.chance(15) {
            self.key = self.pick(&[
                KeyKind::Text,
                KeyKind::Integer,
                KeyKind::Int,
                KeyKind::Blob,
                KeyKind::None,
                KeyKind::Real,
                KeyKind::Numeric,
                KeyKind::Any,
                KeyKind::NoCase,
                KeyKind::RTrim,
                KeyKind::First,
            ]);
        } else if self.chance(25) {
            self.key = KeyKind::Integer;
        }
        if self.has(Hazard::AutoIncrement) {
            self.key = KeyKind::AutoIncrement;
        }
        self.is_compound = self.has(Hazard::CompoundKey) && !self.key_is_rowid();
        if self.has(Hazard::KeyByUnique) && !self.is_compound {
            self.key = KeyKind::Unique;
        }
        self.is_strict = self.has(Hazard::Strict) || self.chance(8);
        if self.is_strict {
            self.key = match self.key {
                KeyKind::None => KeyKind::Any,
                KeyKind::Numeric => KeyKind::Int,
                other => other,
            };
        }
        let key = self.key;
        self.keys = match key {
            KeyKind::NoCase if self.chance(30) => vec![text("a\0b"), text("a\0c"), text("a")],
            KeyKind::NoCase => vec![text("a"), text("A"), text("b")],
            KeyKind::RTrim => vec![text("a"), text("a "), text("b")],
            KeyKind::First => vec![text("ab"), text("ac"), text("b")],
            KeyKind::Text | KeyKind::Unique => vec![text("a"), text("b"), text("c")],
            KeyKind::Numeric => vec![text("1"), text("01"), text("a")],
            KeyKind::Blob if self.is_strict => vec![Value::Blob(b"a".to_vec()), Value::Blob(b"b".to_vec())],
            KeyKind::Blob | KeyKind::None | KeyKind::Any => {
                vec![Value::Blob(b"a".to_vec()), text("a"), Value::Integer(1), Value::Real(1.0)]
            }
            KeyKind::Integer | KeyKind::AutoIncrement | KeyKind::Int | KeyKind::Real => {
                vec![Value::Integer(1), Value::Integer(2), Value::Integer(3)]
            }
        };
        if self.has(Hazard::HurtingValues) || self.has(Hazard::KeyKind) && self.chance(60) {
            self.keys.truncate(2);
            for _ in 0..3 {
                let key = self.hurting_key();
                self.keys.push(key);
            }
        }
    }

    pub(super) fn key_is_rowid(&self) -> bool {
        matches!(self.key, KeyKind::Integer | KeyKind::AutoIncrement)
    }

    fn hurting_key(&mut self) -> Value {
        self.pick(&[
            Value::Integer(1),
            text("1"),
            Value::Real(1.0),
            text("a"),
            text("A"),
            Value::Null,
            Value::Blob(b"a".to_vec()),
            text(" 1"),
            text("1e0"),
            text("1.0"),
            Value::Real(0.5),
            Value::Real(f64::NAN),
            Value::Integer(BEYOND_REALS),
            Value::Real(9_007_199_254_740_992.0),
            text("a\0b"),
            text("a\0c"),
            // Behind the greatest rowid SQLite chooses at random.
            Value::Integer(i64::MAX - 1000),
        ])
    }

    /// A key of the table `t`, with as many parts as it has.
    pub(super) fn some_key(&mut self) -> Vec<Value> {
        let keys = self.keys.clone();
        let key = self.pick(&keys);
        self.whole_key(key)
    }

    pub(super) fn whole_key(&self, key: Value) -> Vec<Value> {
        if self.is_compound { vec![text("q"), key] } else { vec![key] }
    }

    /// A value for a column of the table `t`.
    pub(super) fn value(&mut self, column: &str) -> Value {
        match column {
            "name" if self.chance(90) => {
                self.pick(&[text("a"), text("b"), text("A"), Value::Null, text("a")])
            }
            "pid" if self.has(Hazard::ForeignKeySelf) => {
                let keys = self.keys.clone();
                if self.chance(25) { Value::Null } else { self.pick(&keys) }
            }
            "pid" if self.chance(85) => {
                self.pick(&[Value::Integer(1), Value::Integer(2), Value::Null, Value::Integer(1)])
            }
            "pid" => Value::Integer(9),
            "z" => self.pick(&[Value::Integer(0), Value::Integer(1), Value::Null]),
            _ => self.any_value(),
        }
    }

    fn any_value(&mut self) -> Value {
        let hurts = [
            Hazard::HurtingValues,
            Hazard::Strict,
            Hazard::ColumnCollation,
            Hazard::KeyKind,
            Hazard::DefaultLiteral,
        ];
        if self.has_any(&hurts) || self.chance(10) {
            return self.hurting_value();
        }
        let parses = [
            Hazard::Generated,
            Hazard::ExpressionIndex,
            Hazard::PartialIndex,
            Hazard::ApplicationFunction,
            Hazard::DefaultExpression,
        ];
        if self.has_any(&parses) {
            return self.pick(&[
                Value::Integer(1),
                Value::Integer(2),
                Value::Integer(13),
                text("bad"),
                text("{}"),
                text(r#"{"a":1}"#),
            ]);
        }
        self.pick(&[
            Value::Integer(0),
            Value::Integer(1),
            Value::Integer(2),
            Value::Integer(3),
            text("a"),
            text("b"),
            Value::Null,
        ])
    }

    fn hurting_value(&mut self) -> Value {
        self.pick(&[
            Value::Null,
            Value::Integer(0),
            Value::Integer(1),
            Value::Integer(2),
            Value::Integer(13),
            Value::Integer(-1),
            text("0"),
            text("1"),
            text("12"),
            Value::Integer(12),
            text("a"),
            text("A"),
            text("b"),
            text("a "),
            text("bad"),
            text("{}"),
            text(r#"{"a":1}"#),
            Value::Real(1.0),
            Value::Real(0.5),
            Value::Real(-0.0),
            Value::Real(f64::NAN),
            Value::Real(f64::INFINITY),
            Value::Blob(b"a".to_vec()),
            Value::Blob(b"1".to_vec()),
            text("1e3"),
            text("a\0b"),
            text("a\0c"),
            Value::Integer(BEYOND_REALS),
            Value::Real(9_007_199_254_740_992.0),
            Value::Integer(i64::MAX),
            Value::Integer(i64::MIN),
            Value::Text("x".repeat(3000)),
        ])
    }
}
