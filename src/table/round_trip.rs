//! Rows through a real SQLite: what is read is what was stored, byte for byte, or nothing is stored.

use std::fmt::Debug;

use rusqlite::types::Value as SqliteValue;
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use super::decode::decode;
use super::encode::encoded;
use super::text::{TextCondition, contains, contains_exactly, starts_with, starts_with_exactly};
use super::*;
use crate::row::{Value, quoted};
use crate::sqlite::row_value::Bound;

fn read(value: SqliteValue) -> Value {
    match value {
        SqliteValue::Null => Value::Null,
        SqliteValue::Integer(integer) => Value::Integer(integer),
        SqliteValue::Real(real) => Value::Real(real),
        SqliteValue::Text(text) => Value::Text(text),
        SqliteValue::Blob(bytes) => Value::Blob(bytes),
    }
}

fn insert(connection: &Connection, row: &[(impl AsRef<str>, Value)]) {
    let names: Vec<String> = row.iter().map(|(name, _)| quoted(name.as_ref())).collect();
    let sql = format!("INSERT INTO t ({}) VALUES ({})", names.join(","), vec!["?"; row.len()].join(","));
    let values = row.iter().map(|(_, value)| Bound(value));
    connection.prepare_cached(&sql).unwrap().execute(params_from_iter(values)).unwrap();
}

/// The columns and values of the row with the greatest rowid.
fn newest(connection: &Connection) -> (Vec<String>, Vec<Value>) {
    let mut statement = connection.prepare("SELECT * FROM t ORDER BY rowid DESC LIMIT 1").unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = columns.len();
    let values = |row: &rusqlite::Row<'_>| (0..count).map(|at| row.get(at).map(read)).collect();
    let values = statement.query_row([], values).unwrap();
    (columns, values)
}

/// xorshift64*: random enough, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn text(&mut self) -> String {
        let parts = [
            "",
            "\0",
            "'",
            "\"",
            "\\",
            "%",
            "_",
            "a",
            "Z",
            "é",
            "🦀",
            "\u{10ffff}",
            "\r\n",
            "NULL",
            "0x12",
            "12",
            "1e5",
            " ",
        ];
        (0..self.below(6)).map(|_| self.one_of(&parts)).collect()
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(9)).map(|_| self.next() as u8).collect()
    }

    fn integer(&mut self) -> i64 {
        let edge = self.one_of(&[0, 1, -1, 127, 128, 1 << 31, 1 << 47, 1 << 53, i64::MIN, i64::MAX]);
        if self.below(2) == 0 { edge } else { edge.wrapping_add(self.next() as i64 >> self.below(64)) }
    }

    fn real(&mut self) -> f64 {
        let edges = [
            0.0,
            -0.0,
            1.0,
            -5.0,
            0.1,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        // Any bits: whole numbers, subnormals, and now and then a NaN.
        if self.below(2) == 0 { self.one_of(&edges) } else { f64::from_bits(self.next()) }
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Plain,
    #[serde(rename = "it's \"quoted\"")]
    Quoted,
}

#[derive(Debug, Serialize, Deserialize)]
struct Token(String);

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    id: Option<i64>,
    token: Token,
    #[serde(rename = "a \"name\" with blanks")]
    named: Option<String>,
    small: i16,
    wide: u64,
    load: f64,
    single: f32,
    flag: bool,
    letter: char,
    payload: Vec<u8>,
    digest: [u8; 4],
    kind: Kind,
    any: Value,
}

/// Each column has a type that keeps what its field holds.
const TABLE: &str = r#"CREATE TABLE t (
    id INTEGER PRIMARY KEY, token TEXT NOT NULL, "a ""name"" with blanks" TEXT, small INTEGER, wide NUMERIC,
    load REAL, single REAL, flag BOOLEAN, letter TEXT, payload BLOB, digest BLOB NOT NULL, kind TEXT, "any")"#;

impl Record {
    fn random(random: &mut Random) -> Self {
        let any = match random.below(5) {
            0 => Value::Null,
            1 => random.integer().into(),
            2 => random.real().into(),
            3 => random.text().into(),
            _ => random.bytes().into(),
        };
        Self {
            id: None,
            token: Token(random.text()),
            named: (random.below(3) > 0).then(|| random.text()),
            small: random.integer() as i16,
            wide: random.integer() as u64 >> usize::from(random.below(8) > 0),
            load: random.real(),
            single: random.real() as f32,
            flag: random.below(2) == 0,
            letter: random.one_of(&['\0', 'x', '\'', 'é', '🦀']),
            payload: random.bytes(),
            digest: (random.next() as u32).to_le_bytes(),
            kind: if random.below(2) == 0 { Kind::Plain } else { Kind::Quoted },
            any,
        }
    }

    /// The fields that hold what SQLite cannot store, in their order.
    fn unstorable(&self) -> Vec<&'static str> {
        let any_is_nan = self.any.as_f64().is_some_and(f64::is_nan);
        let checks = [
            ("wide", i64::try_from(self.wide).is_err()),
            ("load", self.load.is_nan()),
            ("single", self.single.is_nan()),
            ("any", any_is_nan),
        ];
        checks.into_iter().filter(|(_, refused)| *refused).map(|(name, _)| name).collect()
    }

    /// Everything but the id, which the database makes. -0.0 is unlike 0.0, but not in the REAL columns, which
    /// store it as 0.
    fn exactly(&self) -> impl PartialEq + Debug + use<> {
        let any = format!("{:?} {:?}", self.any, self.any.as_f64().map(f64::to_bits));
        let texts = (self.token.0.clone(), self.named.clone(), self.letter, format!("{:?}", self.kind));
        let numbers =
            (self.small, self.wide, (self.load + 0.0).to_bits(), (self.single + 0.0).to_bits(), self.flag);
        (texts, numbers, (self.payload.clone(), self.digest), any)
    }
}

#[test]
fn what_is_read_is_what_was_stored() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLE).unwrap();
    let seed = std::env::var("WALWRIGHT_SEED").map_or(0x5eed, |seed| seed.parse().unwrap());
    let mut random = Random(seed);
    let (mut stored, mut refused) = (0, 0);
    for round in 0..5_000 {
        let at = || format!("WALWRIGHT_SEED={seed}, round {round}");
        let record = Record::random(&mut random);
        match encoded(&record) {
            Ok(row) => {
                assert_eq!(record.unstorable(), [""; 0], "{}", at());
                insert(&connection, &row);
                stored += 1;
                let (columns, values) = newest(&connection);
                let read: Record =
                    decode(&columns, values.clone()).unwrap_or_else(|e| panic!("{}: {e}", at()));
                assert_eq!(read.id, Some(stored), "{}", at());
                assert_eq!(read.exactly(), record.exactly(), "{}", at());

                let untyped: Row = decode(&columns, values.clone()).unwrap();
                let again: Vec<Value> =
                    encoded(&untyped).unwrap().into_iter().map(|(_, value)| value).collect();
                assert_eq!(again, values, "{}", at());
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.name.as_deref(), record.unstorable().first().copied(), "{}", at());
            }
        }
    }
    assert!(stored > 3_000 && refused > 100, "{stored} stored, {refused} refused");
}

/// What the documentation of [`IntoValue`](crate::IntoValue) says of -0.0, infinities and the limits of `i64`.
#[test]
fn columns_keep_or_convert_numbers_as_documented() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE t (plain, blob BLOB, r REAL, i INTEGER, n NUMERIC, x TEXT)")
        .unwrap();
    let columns = ["plain", "blob", "r", "i", "n", "x"];
    let stored = |value: Value| {
        insert(&connection, &columns.map(|column| (column, value.clone())));
        newest(&connection).1
    };
    let bits = |values: Vec<Value>| -> Vec<Option<u64>> {
        values.iter().map(|value| value.as_f64().map(f64::to_bits)).collect()
    };
    let minus_zero = bits(stored((-0.0).into()));
    assert_eq!(minus_zero[..2], [Some((-0.0_f64).to_bits()); 2]);
    // 0.0; then the integer 0, twice; then a text.
    assert_eq!(minus_zero[2..], [Some(0.0_f64.to_bits()), None, None, None]);
    for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(stored(infinity.into())[..5], [(); 5].map(|()| Value::Real(infinity)));
    }
    for limit in [i64::MIN, i64::MAX] {
        let values = stored(limit.into());
        let integer = Value::Integer(limit);
        let kept = [&integer, &integer, &Value::Real(limit as f64), &integer, &integer];
        assert_eq!(values[..5].iter().collect::<Vec<_>>(), kept);
    }
}

#[test]
fn an_id_of_none_is_made_by_the_database_and_a_default_takes_a_field_that_is_left_out() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        id: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        note: Option<String>,
    }
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, kind TEXT DEFAULT 'text', note TEXT DEFAULT 'n')",
        )
        .unwrap();
    insert(&connection, &encoded(&Message { id: None, kind: None, note: None }).unwrap());
    let (columns, values) = newest(&connection);
    let expected = Message { id: Some(1), kind: Some("text".to_owned()), note: None };
    assert_eq!(decode::<Message>(&columns, values), Ok(expected));
}

#[test]
fn text_is_found_as_it_stands() {
    let connection = Connection::open_in_memory().unwrap();
    let texts =
        ["", "50% off", "50 off", "a_b", "aXb", r"c:\d", "c:/d", "ÉCOLE", "école", "up\0down", "UP", "It's"];
    connection.execute_batch("CREATE TABLE t (\"te\"\"xt\" TEXT)").unwrap();
    for text in texts {
        insert(&connection, &[("te\"xt", text.into())]);
    }
    insert(&connection, &[("te\"xt", Value::Null)]);
    let found = |(condition, param): TextCondition| -> Vec<String> {
        let sql = format!("SELECT * FROM t WHERE {condition} ORDER BY rowid");
        let mut statement = connection.prepare(&sql).unwrap();
        statement.query_map([Bound(&param)], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let column = quoted("te\"xt");
    assert_eq!(found(contains(&column, "0% O")), ["50% off"]);
    assert_eq!(found(contains(&column, "_")), ["a_b"]);
    assert_eq!(found(contains(&column, r"\")), [r"c:\d"]);
    assert_eq!(found(contains(&column, "it's")), ["It's"]);
    assert_eq!(found(contains(&column, "É")), ["ÉCOLE"]);
    assert_eq!(found(contains(&column, "")).len(), texts.len());
    assert_eq!(found(starts_with(&column, "A_")), ["a_b"]);
    assert_eq!(found(starts_with(&column, "up")), ["up\0down", "UP"]);
    assert_eq!(found(starts_with(&column, "%")), [""; 0]);
    assert_eq!(found(contains_exactly(&column, "up")), ["up\0down"]);
    assert_eq!(found(contains_exactly(&column, "wn")), ["up\0down"]);
    assert_eq!(found(starts_with_exactly(&column, "U")), ["UP"]);
    assert_eq!(found(starts_with_exactly(&column, "")).len(), texts.len());
    // As documented: LIKE sees a text up to its first NUL, and cannot look for one.
    assert_eq!(found(contains(&column, "down")), [""; 0]);
    assert_eq!(found(contains(&column, "p\0d")), ["up\0down"]);
    assert_eq!(found(starts_with(&column, "up\0d")), ["up\0down"]);
    assert_eq!(found(starts_with(&column, "p\0d")), [""; 0]);
    // As long as a pattern may be, and one byte longer.
    for length in [49_998, 49_999, 60_000] {
        assert_eq!(found(contains(&column, &"x".repeat(length))), [""; 0]);
    }
}
