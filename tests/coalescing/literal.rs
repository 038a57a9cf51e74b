//! Values as SQL spells them.

use std::fmt;

use walwright::Value;

/// A value as SQL spells it; a NaN, which SQL cannot spell, as `NaN`.
pub struct Literal<'v>(pub &'v Value);

impl Literal<'_> {
    /// Several, with commas in between.
    pub fn list(values: &[Value]) -> String {
        let literals: Vec<String> = values.iter().map(|value| Literal(value).to_string()).collect();
        literals.join(", ")
    }
}

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("NULL"),
            Value::Integer(integer) => integer.fmt(f),
            Value::Real(real) => fmt::Debug::fmt(real, f),
            Value::Text(text) if text.contains('\0') => {
                write!(f, "CAST({} AS TEXT)", Literal(&Value::Blob(text.clone().into_bytes())))
            }
            Value::Text(text) if text.len() > 100 => {
                write!(f, "printf('%.{}c', {})", text.len(), Literal(&Value::Text(text[..1].to_owned())))
            }
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Blob(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}
