//! What SQLite makes of a value.

use crate::row::{Affinity, ColumnShape, Value};

/// Whether a column of this affinity stores the value exactly as it was sent.
pub(super) fn is_kept(value: &Value, affinity: Affinity) -> bool {
    match value {
        Value::Null | Value::Blob(_) => true,
        Value::Integer(_) => matches!(affinity, Affinity::Integer | Affinity::Numeric | Affinity::Blob),
        Value::Real(_) => matches!(affinity, Affinity::Real | Affinity::Blob),
        Value::Text(_) => matches!(affinity, Affinity::Text | Affinity::Blob),
    }
}

/// Whether NOT NULL and the types of a STRICT table surely let the value in.
pub(super) fn is_possible(value: &Value, column: &ColumnShape, is_strict: bool) -> bool {
    let declared = column.declared_type.as_str();
    match value {
        Value::Null => !column.not_null,
        _ if !is_strict || declared == "any" => true,
        Value::Integer(_) => matches!(declared, "int" | "integer"),
        Value::Real(_) => declared == "real",
        Value::Text(_) => declared == "text",
        Value::Blob(_) => declared == "blob",
    }
}

/// Whether two values are the same to the last bit.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

/// Whether `stored IS asked` holds for two values that are kept as they are; `None` if it is not sure.
pub(super) fn is_equal(stored: &Value, asked: &Value, is_binary: bool) -> Option<bool> {
    match (stored, asked) {
        (Value::Null, _) | (_, Value::Null) => Some(stored.is_null() && asked.is_null()),
        (Value::Integer(stored), Value::Integer(asked)) => Some(stored == asked),
        (Value::Blob(stored), Value::Blob(asked)) => Some(stored == asked),
        (Value::Text(stored), Value::Text(asked)) if is_binary => Some(stored == asked),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(declared_type: &str, not_null: bool) -> ColumnShape {
        let declared_type = declared_type.to_owned();
        let affinity = Affinity::Blob;
        ColumnShape {
            name: "x".to_owned(),
            declared_type,
            affinity,
            not_null,
            is_generated: false,
            default: None,
        }
    }

    #[test]
    fn affinity_keeps_what_it_need_not_convert() {
        use Affinity::{Blob, Integer, Numeric, Real, Text};
        let all = [Integer, Real, Numeric, Text, Blob];
        let kept = |value: Value| all.into_iter().filter(|of| is_kept(&value, *of)).collect::<Vec<_>>();
        assert_eq!(kept(Value::Null), all);
        assert_eq!(kept(Value::Blob(vec![1])), all);
        assert_eq!(kept(Value::Integer(1)), [Integer, Numeric, Blob]);
        assert_eq!(kept(Value::Real(1.5)), [Real, Blob]);
        assert_eq!(kept(Value::Text("1".to_owned())), [Text, Blob]);
    }

    #[test]
    fn strict_types_and_not_null_are_held() {
        let text = Value::Text("a".to_owned());
        assert!(is_possible(&text, &column("int", false), false));
        assert!(!is_possible(&text, &column("int", false), true));
        assert!(is_possible(&text, &column("any", false), true));
        assert!(is_possible(&Value::Integer(1), &column("integer", true), true));
        assert!(!is_possible(&Value::Integer(1), &column("real", true), true), "it is converted");
        assert!(!is_possible(&Value::Null, &column("any", true), true));
        assert!(is_possible(&Value::Null, &column("int", false), true));
    }

    #[test]
    fn equality_is_answered_only_where_it_is_sure() {
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(is_equal(&text("a"), &text("A"), true), Some(false));
        assert_eq!(is_equal(&text("a"), &text("A"), false), None);
        assert_eq!(is_equal(&Value::Integer(1), &Value::Real(1.0), true), None);
        assert_eq!(is_equal(&Value::Real(1.0), &Value::Real(1.0), true), None);
        assert_eq!(is_equal(&Value::Null, &Value::Null, true), Some(true));
        assert_eq!(is_equal(&text(""), &Value::Null, false), Some(false));
        assert_eq!(is_equal(&Value::Blob(vec![0]), &Value::Blob(vec![0]), true), Some(true));
    }

    #[test]
    fn zeros_of_both_signs_are_not_the_same() {
        assert!(!is_same(&Value::Real(0.0), &Value::Real(-0.0)));
        assert!(is_same(&Value::Real(1.5), &Value::Real(1.5)));
        assert!(!is_same(&Value::Integer(1), &Value::Real(1.0)));
    }
}
