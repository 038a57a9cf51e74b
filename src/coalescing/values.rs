//! What SQLite makes of a value.

use crate::row::{Affinity, ColumnShape, ValueRef};

/// Whether a column of this affinity stores the value exactly as it was sent.
pub(super) fn is_kept(value: ValueRef<'_>, affinity: Affinity) -> bool {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => true,
        ValueRef::Integer(_) => matches!(affinity, Affinity::Integer | Affinity::Numeric | Affinity::Blob),
        ValueRef::Real(_) => matches!(affinity, Affinity::Real | Affinity::Blob),
        ValueRef::Text(_) => matches!(affinity, Affinity::Text | Affinity::Blob),
    }
}

/// Whether NOT NULL and the types of a STRICT table surely let the value in.
pub(super) fn is_possible(value: ValueRef<'_>, column: &ColumnShape, is_strict: bool) -> bool {
    let declared = column.declared_type.as_str();
    match value {
        ValueRef::Null => !column.not_null,
        _ if !is_strict || declared == "any" => true,
        ValueRef::Integer(_) => matches!(declared, "int" | "integer"),
        ValueRef::Real(_) => declared == "real",
        ValueRef::Text(_) => declared == "text",
        ValueRef::Blob(_) => declared == "blob",
    }
}

/// Whether `stored IS asked` holds for two values that are kept as they are; `None` if it is not sure.
pub(super) fn is_equal(stored: ValueRef<'_>, asked: ValueRef<'_>, is_binary: bool) -> Option<bool> {
    match (stored, asked) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => Some(stored.is_null() && asked.is_null()),
        (ValueRef::Integer(stored), ValueRef::Integer(asked)) => Some(stored == asked),
        (ValueRef::Blob(stored), ValueRef::Blob(asked)) => Some(stored == asked),
        (ValueRef::Text(stored), ValueRef::Text(asked)) if is_binary => Some(stored == asked),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;

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
        let kept =
            |value: Value| all.into_iter().filter(|of| is_kept((&value).into(), *of)).collect::<Vec<_>>();
        assert_eq!(kept(Value::Null), all);
        assert_eq!(kept(Value::Blob(vec![1])), all);
        assert_eq!(kept(Value::Integer(1)), [Integer, Numeric, Blob]);
        assert_eq!(kept(Value::Real(1.5)), [Real, Blob]);
        assert_eq!(kept(Value::Text("1".to_owned())), [Text, Blob]);
    }

    #[test]
    fn strict_types_and_not_null_are_held() {
        let text = ValueRef::Text(b"a");
        assert!(is_possible(text, &column("int", false), false));
        assert!(!is_possible(text, &column("int", false), true));
        assert!(is_possible(text, &column("any", false), true));
        assert!(is_possible(ValueRef::Integer(1), &column("integer", true), true));
        assert!(!is_possible(ValueRef::Integer(1), &column("real", true), true), "it is converted");
        assert!(!is_possible(ValueRef::Null, &column("any", true), true));
        assert!(is_possible(ValueRef::Null, &column("int", false), true));
    }

    #[test]
    fn equality_is_answered_only_where_it_is_sure() {
        use ValueRef::{Blob, Integer, Null, Real, Text};
        assert_eq!(is_equal(Text(b"a"), Text(b"A"), true), Some(false));
        assert_eq!(is_equal(Text(b"a"), Text(b"A"), false), None);
        assert_eq!(is_equal(Integer(1), Real(1.0), true), None);
        assert_eq!(is_equal(Real(1.0), Real(1.0), true), None);
        assert_eq!(is_equal(Null, Null, true), Some(true));
        assert_eq!(is_equal(Text(b""), Null, false), Some(false));
        assert_eq!(is_equal(Blob(&[0]), Blob(&[0]), true), Some(true));
    }
}
