//! Looking for text as it stands.

use crate::row::Value;

/// A pattern for `LIKE ? ESCAPE '\'` that finds texts which contain this one, literally.
///
/// `%`, `_` and `\` in the text stand for themselves. SQLite's LIKE ignores the case of the ASCII letters A to Z
/// and of no others: `é` does not find `É`. It reads a text up to its first NUL only, on both sides, and refuses
/// patterns of more than 50,000 bytes. Where that matters, use `instr(column, ?) > 0`, which compares each byte.
///
/// ```
/// use walwright::like_contains;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE note (text TEXT)", ()).wait()?;
/// # store.execute("INSERT INTO note VALUES ('up 50% today'), ('up 500 today')", ()).wait()?;
/// let found = "SELECT count(*) FROM note WHERE text LIKE ?1 ESCAPE '\\'";
/// let pattern = like_contains("UP 50%");
/// assert_eq!(pattern, r"%UP 50\%%");
/// let count: i64 = store.read(move |db| db.query_row(found, [&pattern], |row| row.get(0))).wait()?;
/// assert_eq!(count, 1);
/// # Ok(())
/// # }
/// ```
pub fn like_contains(text: &str) -> String {
    pattern("%", text)
}

/// A pattern for `LIKE ? ESCAPE '\'` that finds texts which start with this one, literally.
///
/// What is said of [`like_contains`] holds here, too. An exact comparison is `instr(column, ?) = 1`.
pub fn like_prefix(text: &str) -> String {
    pattern("", text)
}

fn pattern(before: &str, text: &str) -> String {
    let mut pattern = String::with_capacity(before.len() + text.len() + 1);
    pattern.push_str(before);
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// LIKE cannot look for it: the pattern would end at the NUL and find other texts, or be refused for its length.
fn is_beyond_like(pattern: &str) -> bool {
    // SQLITE_LIMIT_LIKE_PATTERN_LENGTH, as SQLite is compiled by default.
    pattern.len() > 50_000 || pattern.contains('\0')
}

/// A condition on a column, given as a quoted identifier, with one parameter.
pub(crate) type TextCondition = (String, Value);

/// The column contains the text, in any case of the ASCII letters. A text that LIKE cannot look for (with a NUL,
/// or of more than 50,000 bytes) is compared exactly.
pub(crate) fn contains(column_sql: &str, text: &str) -> TextCondition {
    like(column_sql, like_contains(text)).unwrap_or_else(|| contains_exactly(column_sql, text))
}

/// The column starts with the text; otherwise like [`contains`].
pub(crate) fn starts_with(column_sql: &str, text: &str) -> TextCondition {
    like(column_sql, like_prefix(text)).unwrap_or_else(|| starts_with_exactly(column_sql, text))
}

/// The column contains the text, byte for byte.
pub(crate) fn contains_exactly(column_sql: &str, text: &str) -> TextCondition {
    (format!("instr({column_sql}, ?) > 0"), Value::from(text))
}

/// The column starts with the text, byte for byte.
pub(crate) fn starts_with_exactly(column_sql: &str, text: &str) -> TextCondition {
    // Not substr(): it ends at a NUL.
    (format!("instr({column_sql}, ?) = 1"), Value::from(text))
}

fn like(column_sql: &str, pattern: String) -> Option<TextCondition> {
    (!is_beyond_like(&pattern)).then(|| (format!("{column_sql} LIKE ? ESCAPE '\\'"), Value::Text(pattern)))
}
