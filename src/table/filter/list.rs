//! A column that holds one of many values.

use std::fmt::Write;

use crate::row::{Condition, Value};

/// Lists up to this long are parameters each; SQLite takes 32,766 in one statement.
const LONGEST_PLAIN: usize = 100;
/// Values of the kinds that have to be parameters, at most.
const MOST_PARAMETERS: usize = 10_000;

/// The condition; the column is given as SQL. Refuses too many values that cannot be sent in another way.
///
/// Long lists are sent as one text in JSON. It has no bytes, no real number that is sure to arrive to the last bit,
/// and no NUL in a text: bytes go as hexadecimal digits, the others as parameters.
pub(super) fn any_of(column: &str, values: &[Value]) -> Result<Condition, &'static str> {
    let (mut numbers_and_texts, mut blobs) = (Array::default(), Array::default());
    let (mut plain, mut with_null) = (Vec::new(), false);
    for value in values {
        match value {
            Value::Null => with_null = true,
            value if values.len() <= LONGEST_PLAIN => plain.push(value.clone()),
            Value::Integer(integer) => numbers_and_texts.push_number(*integer),
            Value::Text(text) if !text.contains('\0') => numbers_and_texts.push_text(text),
            Value::Blob(bytes) => blobs.push_hexadecimal(bytes),
            value => plain.push(value.clone()),
        }
    }
    if plain.len() > MOST_PARAMETERS {
        return Err("a list holds more than 10,000 real numbers or texts with NUL");
    }
    let mut tests = Vec::new();
    let mut params = plain;
    if !params.is_empty() {
        tests.push(format!("{column} IN ({})", vec!["?"; params.len()].join(", ")));
    }
    // The plus takes the affinity of `value` away: that of the column decides, as it does for parameters.
    for (array, each) in [(numbers_and_texts, "+value"), (blobs, "unhex(value)")] {
        if let Some(json) = array.into_json() {
            tests.push(format!("{column} IN (SELECT {each} FROM json_each(?))"));
            params.push(Value::Text(json));
        }
    }
    if with_null {
        tests.push(format!("{column} IS NULL"));
    }
    // Nothing is one of none.
    let sql = if tests.is_empty() { "0".to_owned() } else { tests.join(" OR ") };
    Ok(Condition { sql, params })
}

/// The inside of an array in JSON.
#[derive(Default)]
struct Array(String);

impl Array {
    fn next(&mut self) -> &mut String {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        &mut self.0
    }

    fn push_number(&mut self, number: i64) {
        self.next().push_str(&number.to_string());
    }

    fn push_text(&mut self, text: &str) {
        let json = self.next();
        json.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => json.extend(['\\', character]),
                // Writing to a text does not fail.
                '\0'..' ' => {
                    let _ = write!(json, "\\u{:04x}", u32::from(character));
                }
                _ => json.push(character),
            }
        }
        json.push('"');
    }

    fn push_hexadecimal(&mut self, bytes: &[u8]) {
        let json = self.next();
        json.push('"');
        for byte in bytes {
            // Writing to a text does not fail.
            let _ = write!(json, "{byte:02x}");
        }
        json.push('"');
    }

    fn into_json(self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("[{}]", self.0))
    }
}
