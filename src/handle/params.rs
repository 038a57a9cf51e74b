//! The parameters of a statement command, as values that travel to the writer.

use std::error::Error;
use std::fmt;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::packed::{PackedIter, PackedValues};

/// Bytes of text that each parameter is given room for at first.
const TEXT_ROOM: usize = 32;

/// The parameters of a statement: by position (`?1`, `?`) or by name (`:name`, `@name`, `$name`).
///
/// Made from what [`IntoParams`] takes: a tuple, an array, a `Vec`, `rusqlite::params![]`,
/// `rusqlite::named_params!{}`, or one of the functions here. It owns copies of the values, which travel to the
/// thread that runs the statement.
///
/// ```
/// use walwright::Params;
/// use walwright::rusqlite::named_params;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE t (a, b)", ()).wait()?;
/// store.execute("INSERT INTO t VALUES (?1, ?2)", (1, "x")).wait()?;
/// store.execute("INSERT INTO t VALUES (:a, :b)", named_params! {":a": 2, ":b": "y"}).wait()?;
/// store.execute("INSERT INTO t VALUES (?, ?)", Params::positional([3, 4])?).wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Params {
    values: PackedValues,
    /// As many as values, or none when they go by position. Boxed: they are rare, and a command is moved often.
    names: Option<Box<[String]>>,
}

impl Params {
    /// Parameters by position, the first for `?1`. A statement takes exactly as many as it has.
    ///
    /// # Errors
    /// [`InvalidValue`] for the first value that SQLite could not store as it is.
    pub fn positional<I>(values: I) -> Result<Self, InvalidValue>
    where
        I: IntoIterator,
        I::Item: ToSql,
    {
        let values = values.into_iter();
        let mut params = Self::with_capacity(values.size_hint().0);
        for value in values {
            params.push(&value).map_err(|reason| params.refused(reason))?;
        }
        Ok(params)
    }

    /// Parameters by name. A name without `:`, `@` or `$` before it means `:name`.
    ///
    /// All parameters of the statement have to be given.
    ///
    /// # Errors
    /// [`InvalidValue`] for the first value that SQLite could not store as it is.
    pub fn named<I, N, V>(values: I) -> Result<Self, InvalidValue>
    where
        I: IntoIterator<Item = (N, V)>,
        N: Into<String>,
        V: ToSql,
    {
        let mut params = Self::default();
        let mut names = Vec::new();
        for (name, value) in values {
            let name = name.into();
            if let Err(reason) = params.push(&value) {
                return Err(InvalidValue { name: Some(name), ..params.refused(reason) });
            }
            names.push(name);
        }
        params.names = (!names.is_empty()).then(|| names.into_boxed_slice());
        Ok(params)
    }

    fn with_capacity(values: usize) -> Self {
        // Small ones find room without moving.
        Self { values: PackedValues::with_capacity(values, TEXT_ROOM), names: None }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the values and names take, in bytes; about right, for the limits of queues.
    pub fn bytes(&self) -> usize {
        // By capacity: what was made step by step has room to spare.
        let names = self.names.as_ref().map_or(0, |names| {
            let texts: usize = names.iter().map(String::len).sum();
            size_of_val(&**names) + texts
        });
        self.values.heap_bytes() + names
    }

    /// The size of the largest text or BLOB among the values, in bytes.
    pub fn largest_value(&self) -> usize {
        self.values.largest()
    }

    /// Whether they go by position.
    pub(crate) fn are_positional(&self) -> bool {
        self.names.is_none()
    }

    /// The values, if they go by position and a statement has as many parameters.
    pub(crate) fn values_for(&self, parameters: usize) -> Option<PackedIter<'_>> {
        (self.are_positional() && self.len() == parameters).then(|| self.values.iter())
    }

    /// Binds each value. Fails if the statement has another number of parameters or other names.
    pub(crate) fn bind(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {
        let expected = statement.parameter_count();
        let Some(names) = &self.names else {
            if self.len() != expected {
                return Err(rusqlite::Error::InvalidParameterCount(self.len(), expected));
            }
            for (at, value) in self.values.iter().enumerate() {
                statement.raw_bind_parameter(at + 1, Bound(value))?;
            }
            return Ok(());
        };
        let mut given = vec![false; expected];
        for (name, value) in names.iter().zip(self.values.iter()) {
            let missing = || rusqlite::Error::InvalidParameterName(name.clone());
            let at = statement.parameter_index(&prefixed(name))?.ok_or_else(missing)?;
            statement.raw_bind_parameter(at, Bound(value))?;
            if let Some(given) = given.get_mut(at - 1) {
                *given = true;
            }
        }
        // SQLite takes NULL for a parameter that was not bound.
        match given.iter().filter(|given| **given).count() {
            all if all == expected => Ok(()),
            some => Err(rusqlite::Error::InvalidParameterCount(some, expected)),
        }
    }

    /// Puts a value behind the others, or says why SQLite could not store it as it is.
    #[inline]
    fn push<T: ToSql + ?Sized>(&mut self, value: &T) -> Result<(), &'static str> {
        with_value(value, |value| self.values.push(value))
    }

    /// What is told of the value that comes next.
    #[cold]
    fn refused(&self, reason: &str) -> InvalidValue {
        InvalidValue { position: self.len() + 1, name: None, reason: reason.to_owned() }
    }
}

impl fmt::Debug for Params {
    // Hand-written: values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("count", &self.len())
            .field("names", &self.names.as_deref().unwrap_or_default())
            .field("bytes", &self.bytes())
            .finish()
    }
}

fn prefixed(name: &str) -> String {
    if name.starts_with([':', '@', '$']) { name.to_owned() } else { format!(":{name}") }
}

/// What a text or BLOB holds, in bytes; other values are part of their `Value`.
pub(super) fn value_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Gives the value to `take`, where it lies.
#[inline]
fn with_value<T: ToSql + ?Sized>(
    value: &T,
    take: impl FnOnce(crate::row::ValueRef<'_>),
) -> Result<(), &'static str> {
    use crate::row::ValueRef as Taken;
    // The cause may repeat the value.
    let value = value.to_sql().map_err(|_| "it does not fit any type of SQLite")?;
    let value = match &value {
        ToSqlOutput::Owned(value) => value.into(),
        ToSqlOutput::Borrowed(value) => *value,
        _ => return Err("it is not a plain value"),
    };
    take(match value {
        ValueRef::Null => Taken::Null,
        ValueRef::Integer(integer) => Taken::Integer(integer),
        ValueRef::Real(real) if real.is_nan() => return Err("SQLite would store NULL for a NaN"),
        ValueRef::Real(real) => Taken::Real(real),
        ValueRef::Text(text) if !is_utf8(text) => return Err("the text is not UTF-8"),
        ValueRef::Text(text) => Taken::Text(text),
        ValueRef::Blob(bytes) => Taken::Blob(bytes),
    });
    Ok(())
}

/// Whether it is UTF-8. Nearly always it is ASCII, and that is sooner seen.
fn is_utf8(text: &[u8]) -> bool {
    is_ascii(text) || str::from_utf8(text).is_ok()
}

/// Looks at eight bytes at once. Those at the end, fewer, are seen together with some before them.
fn is_ascii(text: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = text.as_chunks::<8>();
    let Some(last) = text.last_chunk::<8>() else { return rest.is_ascii() };
    let seen = words.iter().fold(u64::from_ne_bytes(*last), |seen, word| seen | u64::from_ne_bytes(*word));
    seen & HIGH_BITS == 0
}

/// A value of ours as rusqlite binds it.
struct Bound<'v>(crate::row::ValueRef<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        use crate::row::ValueRef as Ours;
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Ours::Null => ValueRef::Null,
            Ours::Integer(integer) => ValueRef::Integer(integer),
            Ours::Real(real) => ValueRef::Real(real),
            Ours::Text(text) => ValueRef::Text(text),
            Ours::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A parameter, or a field of a row, that SQLite could not store as it is.
///
/// NaN is refused, because SQLite stores NULL for it; infinities and -0.0 are stored. Integers beyond the
/// range of `i64` are refused (see [`IntoParams`] for `u64` and `usize` as parameters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    /// Its place among the parameters, the fields or the values of a key, from 1; 0 if the row as a whole is
    /// none that could be stored.
    pub position: usize,
    /// The name of the parameter, if the parameters have names, or of the field.
    pub name: Option<String>,
    /// Why it cannot be stored.
    pub reason: String,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "the value of {name} cannot be stored: {}", self.reason),
            None if self.position == 0 => write!(f, "the row cannot be stored: {}", self.reason),
            None => write!(f, "value {} cannot be stored: {}", self.position, self.reason),
        }
    }
}

impl Error for InvalidValue {}

/// What can be given as the parameters of a statement.
///
/// `()` and `[]` for none, tuples of up to 12 values of any types, arrays of up to 32 values and a `Vec` of
/// one type, `rusqlite::params![]`, `rusqlite::named_params!{}`, and [`Params`].
///
/// A value is anything that implements [`rusqlite::ToSql`](crate::rusqlite::ToSql). `u64` and `usize` do not,
/// since SQLite's integers are those of `i64`: cast them, or turn on the feature `fallible_uint` of rusqlite.
pub trait IntoParams {
    /// Copies the values. Fails for a value that SQLite could not store as it is.
    fn into_params(self) -> Result<Params, InvalidValue>;
}

impl IntoParams for Params {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Ok(self)
    }
}

impl IntoParams for () {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Ok(Params::default())
    }
}

// One type for the empty array, so that `[]` needs no annotation.
impl IntoParams for [&dyn ToSql; 0] {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Ok(Params::default())
    }
}

impl<T: ToSql> IntoParams for Vec<T> {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Params::positional(self)
    }
}

impl IntoParams for &[&dyn ToSql] {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Params::positional(self)
    }
}

impl IntoParams for &[(&str, &dyn ToSql)] {
    fn into_params(self) -> Result<Params, InvalidValue> {
        Params::named(self.iter().map(|(name, value)| (*name, *value)))
    }
}

macro_rules! arrays {
    ($($length:literal)+) => {$(
        impl<T: ToSql> IntoParams for [T; $length] {
            fn into_params(self) -> Result<Params, InvalidValue> {
                Params::positional(self)
            }
        }
        impl<T: ToSql> IntoParams for &[T; $length] {
            fn into_params(self) -> Result<Params, InvalidValue> {
                Params::positional(self)
            }
        }
    )+};
}

arrays!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

macro_rules! tuples {
    ($($type:ident)+) => {
        impl<$($type: ToSql),+> IntoParams for ($($type,)+) {
            #[expect(non_snake_case, reason = "the values take the names of their types")]
            fn into_params(self) -> Result<Params, InvalidValue> {
                let ($($type,)+) = self;
                let mut params = Params::with_capacity([$(stringify!($type)),+].len());
                $(params.push(&$type).map_err(|reason| params.refused(reason))?;)+
                Ok(params)
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;
    use rusqlite::{Connection, named_params, params};

    use super::*;

    fn count(given: impl IntoParams) -> usize {
        given.into_params().unwrap().len()
    }

    #[test]
    fn takes_what_rusqlite_takes() {
        assert_eq!(count(()), 0);
        assert_eq!(count([]), 0);
        assert_eq!(count((1,)), 1);
        assert_eq!(count((1, "x")), 2);
        assert_eq!(count((1, "x", 2.5, None::<i64>, vec![1_u8], true, 7, 8, 9, 10, 11, 12)), 12);
        assert_eq!(count(["a", "b", "c"]), 3);
        let pair = &["a", "b"];
        assert_eq!(count(pair), 2);
        assert_eq!(count(vec![1_i64, 2]), 2);
        assert_eq!(count(params![1, "x", [1_u8, 2].as_slice()]), 3);
        assert_eq!(count(named_params! {":a": 1, ":b": "x"}), 2);
    }

    #[test]
    fn values_arrive_byte_for_byte_or_are_refused() {
        let connection = Connection::open_in_memory().unwrap();
        let given = [
            Value::Text("ab\0cd".into()),
            Value::Text(String::new()),
            Value::Blob(vec![]),
            Value::Real(f64::INFINITY),
            Value::Real(-0.0),
            Value::Integer(i64::MIN),
            Value::Null,
        ];
        let values = Params::positional(given.clone()).unwrap();
        let mut statement = connection.prepare("SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7").unwrap();
        values.bind(&mut statement).unwrap();
        let mut rows = statement.raw_query();
        let row = rows.next().unwrap().unwrap();
        for (at, value) in given.iter().enumerate() {
            assert_eq!(&row.get::<_, Value>(at).unwrap(), value);
        }

        let refused = (1, f64::NAN).into_params().unwrap_err();
        assert_eq!((refused.position, refused.name.as_deref()), (2, None));
        let refused = named_params! {":x": f32::NAN}.into_params().unwrap_err();
        assert_eq!(refused.name.as_deref(), Some(":x"));
        struct Huge;
        impl ToSql for Huge {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let error = i64::try_from(u64::MAX).unwrap_err();
                Err(rusqlite::Error::ToSqlConversionFailure(error.into()))
            }
        }
        assert_eq!([Huge].into_params().unwrap_err().position, 1);
        let bad = ToSqlOutput::Borrowed(ValueRef::Text(&[0xff]));
        assert!([bad].into_params().unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn every_text_of_utf8_is_taken_and_no_other() {
        for length in 0..40 {
            let plain = "x".repeat(length);
            for at in 0..=length {
                let mut text = plain.clone();
                text.insert(at, 'é');
                assert_eq!(count((text.as_str(),)), 1);
                let mut bad = text.into_bytes();
                bad.remove(at);
                let bad = ToSqlOutput::Borrowed(ValueRef::Text(&bad));
                assert!([bad].into_params().is_err(), "{length} {at}");
            }
        }
    }

    #[test]
    fn every_parameter_must_be_given() {
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("SELECT :a, :b").unwrap();
        let bind = |given: &[(&str, &dyn ToSql)], statement: &mut rusqlite::Statement<'_>| {
            given.into_params().unwrap().bind(statement)
        };
        bind(&[("b", &1), (":a", &2)], &mut statement).unwrap();
        assert!(matches!(
            bind(&[("a", &1)], &mut statement),
            Err(rusqlite::Error::InvalidParameterCount(1, 2))
        ));
        assert!(matches!(
            bind(&[("a", &1), ("c", &1)], &mut statement),
            Err(rusqlite::Error::InvalidParameterName(_))
        ));
        assert!((1,).into_params().unwrap().bind(&mut statement).is_err());
        assert!((1, 2, 3).into_params().unwrap().bind(&mut statement).is_err());
    }

    #[test]
    fn counts_its_memory_and_shows_no_values() {
        let params = ("secret", vec![0_u8; 1000], 1).into_params().unwrap();
        assert_eq!(params.largest_value(), 1000);
        // What is beside texts and BLOBs, and room for more.
        assert!((1006..2 * 1006 + 256).contains(&params.bytes()));
        assert!(!format!("{params:?}").contains("secret"));
    }
}
