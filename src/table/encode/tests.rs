use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Serialize;

use super::*;
use crate::table::Row;

fn encoded(row: &impl Serialize) -> Vec<(String, Value)> {
    super::encoded(row).unwrap()
}

/// The value that a field becomes.
fn value(field: impl Serialize) -> Value {
    encoded(&BTreeMap::from([("x", field)])).remove(0).1
}

/// What refuses a field, or a row.
#[track_caller]
fn refused(row: &impl Serialize) -> (usize, Option<String>, String) {
    let error = super::encoded(row).unwrap_err();
    (error.position, error.name, error.reason)
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    PlainText,
    #[serde(rename = "img")]
    Image,
    Sized {
        width: u32,
    },
}

#[derive(Serialize)]
struct Id(u32);

#[derive(Serialize)]
struct Nothing;

#[derive(Serialize)]
struct Everything<'a> {
    id: Option<i64>,
    a: i8,
    b: u64,
    c: f32,
    d: bool,
    e: char,
    f: &'a str,
    g: Vec<u8>,
    h: [u8; 2],
    i: Kind,
    j: Option<Id>,
    k: Box<Cow<'a, str>>,
    l: (),
    m: Value,
    n: Ipv4Addr,
    o: Option<u8>,
    p: i128,
    q: Vec<String>,
    r: Nothing,
    s: (u8, u8),
}

#[test]
fn each_field_becomes_one_value() {
    let row = Everything {
        id: None,
        a: -1,
        b: i64::MAX as u64,
        c: 0.1,
        d: true,
        e: 'é',
        f: "a\0b",
        g: vec![0, 255],
        h: [1, 2],
        i: Kind::PlainText,
        j: Some(Id(7)),
        k: Box::new(Cow::Borrowed("k")),
        l: (),
        m: Value::Real(-0.0),
        n: Ipv4Addr::LOCALHOST,
        o: None,
        p: i128::from(i64::MIN),
        q: Vec::new(),
        r: Nothing,
        s: (3, 4),
    };
    let expected: Vec<(&str, Value)> = vec![
        ("id", Value::Null),
        ("a", (-1).into()),
        ("b", i64::MAX.into()),
        ("c", f64::from(0.1_f32).into()),
        ("d", 1.into()),
        ("e", "é".into()),
        ("f", "a\0b".into()),
        ("g", [0_u8, 255].into()),
        ("h", [1_u8, 2].into()),
        ("i", "plain_text".into()),
        ("j", 7.into()),
        ("k", "k".into()),
        ("l", Value::Null),
        ("m", Value::Real(-0.0)),
        ("n", "127.0.0.1".into()),
        ("o", Value::Null),
        ("p", i64::MIN.into()),
        ("q", Value::Blob(Vec::new())),
        ("r", Value::Null),
        ("s", [3_u8, 4].into()),
    ];
    let columns = super::encoded(&row).unwrap();
    let columns: Vec<(&str, Value)> = columns.iter().map(|(name, value)| (&**name, value.clone())).collect();
    assert_eq!(columns, expected);
}

#[test]
fn maps_newtypes_and_flattened_structs_are_rows() {
    #[derive(Serialize)]
    struct Times {
        created: i64,
        revoked: bool,
    }
    #[derive(Serialize)]
    struct Session {
        id: String,
        #[serde(flatten)]
        times: Times,
        #[serde(flatten)]
        rest: Row,
    }
    #[derive(Serialize)]
    struct Newtype(Session);
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Event {
        Opened { port: u16 },
    }

    let rest = Row::new().with("note", "x").unwrap();
    let session = Session { id: "a".into(), times: Times { created: 5, revoked: false }, rest };
    let expected = [
        ("id".to_owned(), "a".into()),
        ("created".to_owned(), 5.into()),
        ("revoked".to_owned(), 0.into()),
        ("note".to_owned(), "x".into()),
    ];
    assert_eq!(encoded(&session), expected);
    assert_eq!(encoded(&Some(Box::new(Newtype(session)))), expected);
    assert_eq!(encoded(&expected.iter().cloned().collect::<Row>()), expected);
    assert_eq!(
        encoded(&Event::Opened { port: 80 }),
        [("kind".to_owned(), "Opened".into()), ("port".to_owned(), 80.into())]
    );
    assert_eq!(encoded(&serde_json::json!({"a": null, "b": 1})).len(), 2);
    assert_eq!(encoded(&BTreeMap::from([('x', 1)])), [("x".to_owned(), 1.into())]);
}

#[test]
fn a_skipped_field_is_left_out_and_counted() {
    #[derive(Serialize)]
    struct Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<i64>,
        #[serde(skip)]
        _here_only: u8,
        load: f64,
    }
    let message = Message { id: None, _here_only: 0, load: 1.5 };
    assert_eq!(encoded(&message), [("load".to_owned(), 1.5.into())]);
    let (position, name, reason) = refused(&Message { load: f64::NAN, ..message });
    assert_eq!((position, name.as_deref()), (2, Some("load")));
    assert!(reason.contains("NaN"), "{reason}");
}

#[test]
fn what_sqlite_cannot_store_is_refused_with_the_fields_name() {
    fn reason(field: impl Serialize) -> String {
        let row = BTreeMap::from([("x", field)]);
        let error = super::encoded(&row).unwrap_err();
        assert_eq!((error.position, error.name.as_deref()), (1, Some("x")));
        assert!(error.to_string().contains(" x "), "{error}");
        error.reason
    }
    for reason in [reason(u64::MAX), reason(i128::MIN), reason(u128::MAX), reason(Some(i64::MAX as u64 + 1))]
    {
        assert!(reason.contains("i64"), "{reason}");
    }
    for reason in [reason(f64::NAN), reason(f32::NAN), reason(Value::Real(f64::NAN))] {
        assert!(reason.contains("NaN"), "{reason}");
    }
    assert!(reason(vec![1_u32]).contains("list"));
    assert!(reason(("secret", 1)).contains("list with text"));
    assert!(reason(vec![Some(1_u8)]).contains("list with an Option"));
    assert!(reason(BTreeMap::from([(1, 2)])).contains("a map"));
    assert!(reason(Kind::Sized { width: 1 }).contains("enum with data"));
    assert!(reason(Ok::<u8, u8>(1)).contains("enum with data"));
    assert!(reason(std::time::Duration::ZERO).contains("JSON"));
    assert_eq!(value(Kind::Image), "img".into());
    assert_eq!(value(vec![Some(vec![1_u8])].pop()), [1_u8].into());
}

#[test]
fn what_is_no_row_is_refused() {
    let reasons = [
        refused(&1),
        refused(&"secret"),
        refused(&None::<Id>),
        refused(&("secret", 1)),
        refused(&vec![1]),
        refused(&Id(1)),
        refused(&Kind::PlainText),
        refused(&Kind::Sized { width: 1 }),
        refused(&BTreeMap::from([(1, 1)])),
        refused(&BTreeMap::from([(Some("secret"), 1)])),
    ];
    for (position, name, reason) in reasons {
        assert_eq!((position, name), (0, None));
        assert!(!reason.contains("secret"), "{reason}");
    }
    assert!(
        super::encoded(&1).unwrap_err().to_string().starts_with("the row cannot be stored: it is an integer")
    );
}

#[test]
fn errors_of_the_type_itself_do_not_repeat_the_value() {
    struct Picky(&'static str);
    impl Serialize for Picky {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(ser::Error::custom(self.0))
        }
    }
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    let (_, name, reason) = refused(&BTreeMap::from([("x", Picky("secret"))]));
    assert_eq!(name.as_deref(), Some("x"));
    assert!(!reason.contains("secret"), "{reason}");
    assert_eq!(refused(&Picky("secret")).0, 0);
    assert_eq!(refused(&BTreeMap::from([("x", Broken)])).0, 1);
}

#[test]
fn a_length_that_is_a_lie_reserves_little() {
    struct Boastful;
    impl Serialize for Boastful {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            ser::SerializeSeq::end(serializer.serialize_seq(Some(usize::MAX))?)
        }
    }
    assert_eq!(value(Boastful), Value::Blob(Vec::new()));
}
