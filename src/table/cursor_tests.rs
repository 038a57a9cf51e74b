//! Cursors survive their journey, and nothing else passes for one.

use super::*;
use crate::row::{Affinity, ColumnShape};

fn shape(name: &str, columns: &[&str]) -> TableShape {
    let column = |name: &&str| ColumnShape {
        name: (*name).to_owned(),
        declared_type: String::new(),
        affinity: Affinity::Blob,
        not_null: true,
        is_generated: false,
        default: None,
    };
    TableShape {
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        key: vec![0],
        primary_key: vec![0],
        key_is_rowid: false,
        rowid_column: None,
        rowid_name: Some("rowid"),
        is_strict: false,
        revision: None,
    }
}

fn order(terms: &[(usize, bool)]) -> Vec<OrderTerm> {
    let term = |(column, descending): &(usize, bool)| OrderTerm {
        of: RowPart::Column(*column),
        descending: *descending,
        nullable: true,
    };
    terms.iter().map(term).collect()
}

fn values() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Integer(i64::MIN),
        Value::Real(-0.0),
        Value::Real(f64::INFINITY),
        Value::Text("ab\0cé".to_owned()),
        Value::Text(String::new()),
        Value::Blob(vec![0xff, 0]),
    ]
}

fn cursor(table: &TableShape, order: &[OrderTerm]) -> Cursor {
    Cursor::new(table, order, &values().iter().collect::<Vec<_>>())
}

const SEVEN: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn seven() -> (TableShape, Vec<OrderTerm>) {
    (shape("t", &SEVEN), order(&[0, 1, 2, 3, 4, 5, 6].map(|column| (column, false))))
}

#[test]
fn gives_back_every_value() {
    let (table, order) = seven();
    let sent = cursor(&table, &order);
    let text = sent.to_string();
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
    let arrived: Cursor = text.parse().unwrap();
    assert_eq!(arrived, sent);
    let given = arrived.values(&table, &order).unwrap();
    // Bit by bit: -0.0 equals 0.0.
    assert_eq!(format!("{given:?}"), format!("{:?}", values()));

    let json = serde_json::to_string(&sent).unwrap();
    assert_eq!(json, format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<Cursor>(&json).unwrap(), sent);
    assert!(serde_json::from_str::<Cursor>("\"AAAA\"").is_err());
    assert!(!format!("{sent:?}").contains("ab"));
}

#[test]
fn every_damage_is_noticed() {
    let (table, order) = seven();
    let text = cursor(&table, &order).to_string();
    let refused = |damaged: &str| match damaged.parse::<Cursor>() {
        Err(error @ ReadError::InvalidCursor { .. }) => assert!(!error.is_retryable()),
        other => panic!("{damaged}: {other:?}"),
    };
    for at in 0..text.len() {
        refused(&text[..at]);
        refused(&format!("{}{}", &text[..at], &text[at + 1..]));
        refused(&format!("{}A{}", &text[..at], &text[at..]));
        for letter in (0..128_u8).filter(|letter| *letter != text.as_bytes()[at]) {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = letter;
            refused(str::from_utf8(&damaged).unwrap());
        }
    }
    refused(&text.repeat(2));
    refused("é");
}

/// Whoever makes a cursor of their own can make the checksum too.
#[test]
fn made_up_bytes_are_refused_or_are_values() {
    let (table, order) = seven();
    let whole = cursor(&table, &order).bytes;
    let sign = |bytes: &[u8]| {
        let signed = [bytes, &Fnv::of(bytes).to_le_bytes()].concat();
        base64url::encode(&signed).parse::<Cursor>()
    };
    for at in 0..whole.len() {
        if let Ok(short) = sign(&whole[..at]) {
            assert!(short.values(&table, &order).is_err());
        }
        for byte in 0..=255 {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            if let Ok(made_up) = sign(&bytes)
                && let Ok(values) = made_up.values(&table, &order)
            {
                assert_eq!(values.len(), order.len());
            }
        }
    }
    let nan = [&whole[..HEAD], &[2], &f64::NAN.to_bits().to_le_bytes()].concat();
    assert!(sign(&nan).is_err());
    let huge = [&whole[..HEAD], &[3], &u64::MAX.to_le_bytes()].concat();
    assert!(sign(&huge).is_err());
}

#[test]
fn belongs_to_its_table_order_and_key() {
    let (table, asked) = seven();
    let sent = cursor(&table, &asked);
    assert!(sent.values(&shape("T", &["A", "b", "c", "d", "e", "f", "g", "new"]), &asked).is_ok());
    let mut other_key = table.clone();
    other_key.key = vec![1];
    let other_order = order(&[0, 1, 2, 3, 4, 5, 6].map(|column| (column, column == 6)));
    let shorter = &asked[..6];
    for (table, order) in [
        (&shape("u", &SEVEN), &asked[..]),
        (&shape("t", &["x", "b", "c", "d", "e", "f", "g"]), &asked),
        (&other_key, &asked),
        (&table, &other_order),
        (&table, shorter),
    ] {
        assert!(matches!(sent.values(table, order), Err(ReadError::InvalidCursor { .. })));
    }
}
