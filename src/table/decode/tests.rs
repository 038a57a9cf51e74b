use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Deserialize;
use serde::de::{Error, IgnoredAny};

use super::*;
use crate::table::Row;

/// A field's value from that of its column.
fn field<T: DeserializeOwned>(value: impl Into<Value>) -> Result<T, DecodeError> {
    #[derive(Deserialize)]
    struct Holder<T> {
        x: T,
    }
    decode::<Holder<T>>(&["x"], vec![value.into()]).map(|holder| holder.x)
}

/// What the error of a field says: that its value has this kind, where that was expected.
#[track_caller]
fn refused<T: DeserializeOwned>(value: impl Into<Value>, found: &str, expected: &str) {
    let error = field::<T>(value).err().unwrap();
    assert_eq!((error.column(), error.found(), error.expected()), (Some("x"), Some(found), Some(expected)));
    assert!(error.to_string().contains("column x holds"), "{error}");
}

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    Text,
    #[serde(rename = "img")]
    Image,
    Sized(u32),
}

#[test]
fn integers_are_checked_against_the_range_of_the_field() {
    assert_eq!(field::<i64>(i64::MIN), Ok(i64::MIN));
    assert_eq!(field::<u8>(255), Ok(255));
    assert_eq!(field::<u64>(i64::MAX), Ok(i64::MAX as u64));
    assert_eq!(field::<i128>(-1), Ok(-1));
    assert_eq!(field::<u128>(1), Ok(1));
    assert_eq!(field::<i32>(-5.0), Ok(-5));
    refused::<u8>(256, "an integer that does not fit", "u8");
    refused::<u64>(-1, "an integer that does not fit", "u64");
    refused::<u128>(-1, "an integer that does not fit", "u128");
    refused::<i64>(0.5, "a real number", "i64");
    refused::<i64>(f64::INFINITY, "a real number", "i64");
    refused::<i64>("12", "text", "i64");
    refused::<i64>(None::<i64>, "NULL", "i64");
}

#[test]
fn reals_and_bools() {
    assert_eq!(field::<f64>(f64::NEG_INFINITY), Ok(f64::NEG_INFINITY));
    assert!(field::<f64>(-0.0).is_ok_and(|real| real.to_bits() == (-0.0_f64).to_bits()));
    assert_eq!(field::<f64>(5), Ok(5.0));
    assert_eq!(field::<f32>(f64::from(0.1_f32)), Ok(0.1));
    refused::<f64>(i64::MAX, "an integer that no f64 is equal to", "f64");
    refused::<f64>("1.5", "text", "f64");
    assert_eq!((field::<bool>(1), field::<bool>(0), field::<bool>(1.0)), (Ok(true), Ok(false), Ok(true)));
    refused::<bool>(2, "an integer other than 0 and 1", "a boolean");
    refused::<bool>("true", "text", "a boolean");
}

#[test]
fn text_and_bytes() {
    assert_eq!(field::<String>("a\0b").as_deref(), Ok("a\0b"));
    assert_eq!(field::<Box<str>>("x").as_deref(), Ok("x"));
    assert_eq!(field::<char>("é"), Ok('é'));
    assert_eq!(field::<Ipv4Addr>("127.0.0.1"), Ok(Ipv4Addr::LOCALHOST));
    refused::<char>("ab", "text that does not fit", "a character");
    refused::<String>(*b"x", "a BLOB", "a string");
    refused::<String>(1, "an integer", "a string");

    assert_eq!(field::<Vec<u8>>([0_u8, 255]), Ok(vec![0, 255]));
    assert_eq!(field::<[u8; 2]>([1_u8, 2]), Ok([1, 2]));
    assert_eq!(field::<Vec<String>>([0_u8; 0]), Ok(Vec::new()));
    refused::<[u8; 2]>([1_u8], "a BLOB of another length", "an array of length 2");
    refused::<Vec<u8>>("ab", "text", "a sequence");
    assert_eq!(field::<[u8; 2]>([1_u8, 2, 3]).unwrap_err().found(), Some("a BLOB of another length"));

    struct Bytes(Vec<u8>);
    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct BytesVisitor;
            impl Visitor<'_> for BytesVisitor {
                type Value = Bytes;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("bytes")
                }
                fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                    Ok(Bytes(bytes))
                }
            }
            deserializer.deserialize_byte_buf(BytesVisitor)
        }
    }
    assert!(field::<Bytes>([1_u8, 2]).is_ok_and(|bytes| bytes.0 == [1, 2]));
    refused::<Bytes>("ab", "text", "bytes");
}

#[test]
fn options_enums_newtypes_and_values() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Id(u32);
    assert_eq!(field::<Option<Id>>(None::<i64>), Ok(None));
    assert_eq!(field::<Option<Id>>(7), Ok(Some(Id(7))));
    assert_eq!(field::<()>(None::<i64>), Ok(()));
    assert_eq!(field::<Kind>("Text"), Ok(Kind::Text));
    assert_eq!(field::<Kind>("img"), Ok(Kind::Image));
    refused::<Kind>("secret", "text that names none of its variants", "one of Text, img, Sized");
    refused::<Kind>("Sized", "text that names a variant without data", "newtype variant");
    refused::<Kind>(1, "an integer", "enum Kind");
    refused::<BTreeMap<String, Value>>("{}", "text", "a map");
    for value in [Value::Null, 1.into(), 1.5.into(), "x".into(), [1_u8].into()] {
        assert_eq!(field::<Value>(value.clone()), Ok(value.clone()));
        assert!(field::<IgnoredAny>(value.clone()).is_ok());
        assert_eq!(field::<Option<Value>>(value.clone()), Ok((!value.is_null()).then_some(value)));
    }
    assert_eq!(field::<serde_json::Value>(1.5), Ok(serde_json::json!(1.5)));
    assert_eq!(field::<serde_json::Value>(None::<i64>), Ok(serde_json::Value::Null));
}

#[derive(Debug, PartialEq, Deserialize)]
struct Session {
    id: String,
    #[serde(default, alias = "kind_of_it")]
    kind: u8,
    note: Option<String>,
}

#[test]
fn a_row_goes_by_the_names_of_its_columns() {
    let expected = Session { id: "a".into(), kind: 2, note: None };
    let columns = ["kind_of_it", "more", "id"].map(String::from);
    let values = || vec![2.into(), 5.into(), "a".into()];
    assert_eq!(decode::<Session>(&columns, values()), Ok(expected));
    assert_eq!(decode::<Option<Session>>(&["id"], vec!["a".into()]).unwrap().unwrap().kind, 0);
    let row = decode::<Row>(&columns, values()).unwrap();
    assert_eq!(row.iter().map(|(name, _)| name).collect::<Vec<_>>(), columns);
    assert_eq!(decode::<BTreeMap<String, Value>>(&columns, values()).unwrap()["more"], 5.into());
    assert_eq!(decode::<serde_json::Value>(&["a"], vec![1.into()]).unwrap(), serde_json::json!({"a": 1}));
}

#[test]
fn a_row_that_does_not_fit_is_named() {
    let error = decode::<Session>(&["kind"], vec![1.into()]).unwrap_err();
    assert_eq!((error.column(), error.found()), (Some("id"), None));
    assert!(error.to_string().contains("column id is not among"), "{error}");
    let error = decode::<Session>(&["id", "kind", "kind_of_it"], vec!["a".into(), 1.into(), 2.into()]);
    assert_eq!(error.unwrap_err().column(), Some("kind"));
    let error = decode::<i64>(&["id"], vec![1.into()]).unwrap_err();
    assert_eq!((error.column(), error.found()), (None, Some("a row of columns")));

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {}
    let error = decode::<Strict>(&["secretive"], vec!["secret".into()]).unwrap_err();
    assert_eq!(error.column(), Some("secretive"));
}

#[test]
fn flattened_rows_take_what_is_left() {
    #[derive(Debug, Deserialize)]
    struct Times {
        created: i64,
        name: Option<String>,
    }
    #[derive(Debug, Deserialize)]
    struct Open {
        revoked: bool,
        key: Vec<u8>,
        #[serde(flatten)]
        times: Times,
        #[serde(flatten)]
        rest: Row,
    }
    let columns = ["created", "key", "extra", "revoked", "name"];
    let values = vec![5.into(), [1_u8].into(), Value::Blob(vec![2]), 1.into(), Value::Null];
    let row: Open = decode(&columns, values).unwrap();
    assert_eq!((row.revoked, row.key, row.times.created, row.times.name), (true, vec![1], 5, None));
    assert_eq!(row.rest.value("extra"), Some(&Value::Blob(vec![2])));

    #[derive(Debug, Deserialize)]
    struct Flags {
        #[serde(rename = "revoked")]
        _revoked: bool,
    }
    #[derive(Debug, Deserialize)]
    struct Flattened {
        #[serde(flatten)]
        _flags: Flags,
    }
    let error = decode::<Flattened>(&["revoked"], vec![1.into()]).unwrap_err();
    assert!(error.to_string().contains("use an integer type"), "{error}");
}

#[test]
fn errors_never_show_the_value() {
    #[derive(Debug)]
    struct Picky;
    impl<'de> Deserialize<'de> for Picky {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(D::Error::custom(format!("{text} is not what I like")))
        }
    }
    let picky = field::<Picky>("secret").unwrap_err();
    assert_eq!(picky.message(), Some("secret is not what I like"));
    assert_eq!(picky.column(), Some("x"));
    let errors = [
        picky,
        field::<Kind>("secret").unwrap_err(),
        field::<i64>("secret").unwrap_err(),
        field::<char>("secret").unwrap_err(),
        field::<Ipv4Addr>("secret").unwrap_err(),
        field::<u8>(987_654).unwrap_err(),
    ];
    for error in errors {
        for shown in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
            assert!(!shown.contains("secret") && !shown.contains("987"), "{shown}");
            assert!(shown.contains("column x"), "{shown}");
        }
    }
}
