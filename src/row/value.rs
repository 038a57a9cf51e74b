//! One value of a row.

/// One value, of one of the five kinds that SQLite stores.
///
/// Made with `From` of integers up to 64 bits that fit, `f64`, `bool` (1 or 0), text, bytes, and `Option` of
/// each. `Debug` shows it; the `Debug` of rows and commands does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed integer of 64 bits.
    Integer(i64),
    /// A floating-point number. SQLite has no NaN: it is refused wherever a value is sent.
    Real(f64),
    /// Text in UTF-8, which may hold NUL.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// The size of a text or BLOB, in bytes; 0 for others, which are part of the value itself.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}
