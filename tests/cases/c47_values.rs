//! C47. Values that do not survive: text that ends at its first NUL, NaN that becomes NULL, integers beyond `i64` that
//! wrap or turn into floats (rusqlite/rusqlite#657 and #1632; also WiseLibs/better-sqlite3#1088,
//! simolus3/sqlite3.dart#142, transact-rs/sqlx#3179, p2panda/p2panda#1021).
//!
//! What must hold: what is stored is read back byte for byte, or it is refused before it is queued, with an error that
//! names the field, and the others of its group are not affected. Of what lies at the edges (infinities, -0.0, the
//! limits of `i64`) the documentation of `IntoValue` says what happens.

use serde::{Deserialize, Serialize};
use walwright::rusqlite::types::Value as Stored;
use walwright::{Migration, Pending, Row, RowReceipt, Store, Table, Value, WriteError};
use walwright_test_support::{Probe, Rng, Scratch, watchdog};

use crate::support_write::{LIMIT, hold, not_started};

const SCHEMA: &str = "CREATE TABLE record (id TEXT PRIMARY KEY, kind TEXT NOT NULL, payload BLOB NOT NULL, \
                      load REAL, wide INTEGER, raw, note TEXT, version INTEGER NOT NULL)";

#[derive(Serialize, Deserialize, Clone, Debug)]
struct Record {
    id: String,
    kind: String,
    payload: Vec<u8>,
    load: f64,
    wide: u64,
    raw: f64,
    note: Option<String>,
}

impl Record {
    /// Everything, to the bit; the version is the engine's.
    fn bits(&self) -> (&str, &str, &[u8], u64, u64, u64, Option<&str>) {
        // A column that is declared REAL stores a whole number as an integer, which has one zero.
        let load = if self.load == 0.0 { 0.0 } else { self.load };
        (
            &self.id,
            &self.kind,
            &self.payload,
            load.to_bits(),
            self.wide,
            self.raw.to_bits(),
            self.note.as_deref(),
        )
    }

    /// The field that cannot be stored.
    fn refused(&self) -> Option<&'static str> {
        let checks = [
            ("load", self.load.is_nan()),
            ("wide", i64::try_from(self.wide).is_err()),
            ("raw", self.raw.is_nan()),
        ];
        checks.into_iter().find(|(_, is_wrong)| *is_wrong).map(|(field, _)| field)
    }
}

fn open(scratch: &Scratch) -> (Store, Table<Record>) {
    let builder = Store::builder(scratch.join("store.db")).migrations(&[Migration::sql(SCHEMA)]);
    let store = builder.open().wait().unwrap();
    let records = store.table("record").revision("version").open().wait().unwrap();
    (store, records)
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\0\0end",
    "'",
    "''; DROP TABLE record; --",
    "\"",
    "`",
    "?1",
    "%_\\",
    "🦀",
    "e\u{301}",
    "\u{feff}bom",
    "\u{10ffff}",
    "\r\n",
    "12",
    "1e5",
    "NULL",
    "x'00'",
    "ß",
    "İ",
];
const REALS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    f64::MIN,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    f64::EPSILON,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
    1e300,
];
const WIDE: &[u64] = &[0, 1, 255, 1 << 53, (1 << 53) + 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];

fn text(random: &mut Rng) -> String {
    (0..random.below(4)).map(|_| *random.pick(TEXTS)).collect()
}

fn record(random: &mut Rng, number: u64) -> Record {
    Record {
        id: format!("{number}{}", text(random)),
        kind: text(random),
        payload: (0..random.below(40)).map(|_| random.below(256) as u8).collect(),
        load: *random.pick(REALS),
        wide: *random.pick(WIDE),
        raw: *random.pick(REALS),
        note: (!random.once_in(3)).then(|| text(random)),
    }
}

#[test]
fn c47_records_are_read_as_they_were_written_or_refused() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (store, records) = open(&scratch);
        let mut random = Rng::new(47);
        let mut stored: Vec<Record> = Vec::new();
        let mut refused = 0;
        for round in 0..20 {
            let gate = hold(&store);
            let mut sent: Vec<(Record, Pending<RowReceipt>)> = Vec::new();
            let mut updated: Vec<Pending<RowReceipt>> = Vec::new();
            for number in 0..30 {
                let new = record(&mut random, round * 30 + number);
                match (new.refused(), records.insert(&new).try_submit()) {
                    (None, pending) => sent.push((new, pending.unwrap())),
                    (Some(field), Err(WriteError::InvalidValue(error))) => {
                        assert_eq!(error.name.as_deref(), Some(field));
                        refused += 1;
                    }
                    (Some(field), other) => panic!("{field}: {:?}", other.err()),
                }
                // Some are changed right away, so that values travel through coalescing as well.
                if let Some((last, _)) = sent.last_mut()
                    && random.once_in(3)
                {
                    let changed = Record { id: last.id.clone(), ..record(&mut random, 0) };
                    match records.update(&last.id).set_row(&changed).try_submit() {
                        Ok(pending) => {
                            *last = changed;
                            updated.push(pending);
                        }
                        Err(error) => drop(not_started::<()>(Err(error))),
                    }
                }
            }
            gate.open();
            for pending in updated {
                assert!(pending.wait().unwrap().revision > Some(1));
            }
            for (record, pending) in sent {
                assert_eq!(pending.wait().unwrap().rows_changed, 1);
                stored.push(record);
            }
        }
        assert!(refused > 50 && stored.len() > 150, "{refused} refused, {} stored", stored.len());
        assert_eq!(
            records.count().wait().unwrap(),
            stored.len() as u64,
            "nothing of a refused one is stored"
        );
        for record in &stored {
            let found = records.get(&record.id).wait().unwrap().expect("a stored record is found by its key");
            assert_eq!(found.bits(), record.bits());
        }
        Probe::open(scratch.join("store.db")).unwrap().integrity_check().unwrap();
    });
}

/// What the documentation says of values at the edges, seen from outside.
#[test]
fn c47_the_edges_are_as_documented() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (store, _) = open(&scratch);
        let rows = store.table::<Row>("record").revision("version").open().wait().unwrap();
        let zero = Stored::Real(0.0);
        let cases: [(&str, Value, Stored); 10] = [
            ("raw", f64::INFINITY.into(), Stored::Real(f64::INFINITY)),
            ("load", f64::NEG_INFINITY.into(), Stored::Real(f64::NEG_INFINITY)),
            ("raw", (-0.0).into(), Stored::Real(-0.0)),
            ("load", (-0.0).into(), zero),
            ("wide", (-0.0).into(), Stored::Integer(0)),
            ("wide", i64::MAX.into(), Stored::Integer(i64::MAX)),
            ("wide", i64::MIN.into(), Stored::Integer(i64::MIN)),
            ("load", 5.into(), Stored::Real(5.0)),
            ("note", "a\0b".into(), Stored::Text("a\0b".to_owned())),
            ("note", "".into(), Stored::Text(String::new())),
        ];
        for (id, (column, value, expected)) in cases.into_iter().enumerate() {
            let id = format!("row {id}");
            let row = Row::from_iter([("id", Value::from(&id)), ("kind", "".into()), (column, value)]);
            rows.insert(&row.with("payload", Vec::new()).unwrap()).wait().unwrap();
            let probe = Probe::open(scratch.join("store.db")).unwrap();
            let sql = format!("SELECT {column} FROM record WHERE id = ?1");
            let found: Stored = probe.connection().query_row(&sql, [id], |row| row.get(0)).unwrap();
            assert!(is_same(&found, &expected), "{column}: {found:?}, not {expected:?}");
        }
        for refused in [rows.update("row 0").set("raw", f64::NAN), rows.update("row 0").set("wide", u64::MAX)]
        {
            assert!(matches!(not_started(refused.wait()), WriteError::InvalidValue(_)));
        }
    });
}

fn is_same(one: &Stored, other: &Stored) -> bool {
    match (one, other) {
        (Stored::Real(one), Stored::Real(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

/// A column would turn some values into others: text that looks like a number, an integer that a float cannot hold.
/// They are refused like those that no column can hold.
#[test]
fn c47_what_a_column_would_convert_is_refused() {
    watchdog(LIMIT, || {
        let scratch = Scratch::new();
        let (store, _) = open(&scratch);
        let rows = store.table::<Row>("record").revision("version").open().wait().unwrap();
        let cases: [(&str, Value); 5] = [
            ("wide", "12".into()),
            ("load", " 1e5 ".into()),
            ("load", i64::MAX.into()),
            ("note", 5.into()),
            ("kind", 1.5.into()),
        ];
        for (column, value) in cases {
            let row = Row::from_iter([("id", Value::from("a")), (column, value.clone())]);
            for error in [
                not_started(rows.insert(&row).wait()),
                not_started(rows.update("a").set(column, value).wait()),
            ] {
                match error {
                    WriteError::InvalidValue(error) => assert_eq!(error.name.as_deref(), Some(column)),
                    error => panic!("{error}"),
                }
            }
        }
        assert_eq!(rows.count().wait().unwrap(), 0);
    });
}
