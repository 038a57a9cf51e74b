//! Names of tables and columns in SQL text.

/// The name as an identifier of SQL: in double quotes, with those inside doubled. It then means itself, whatever
/// it holds: blanks, quotes, keywords.
pub(crate) fn quoted(name: &str) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    sql.push('"');
    for part in name.split_inclusive('"') {
        sql.push_str(part);
        if part.ends_with('"') {
            sql.push('"');
        }
    }
    sql.push('"');
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_itself() {
        assert_eq!(quoted("id"), "\"id\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted("\"\""), "\"\"\"\"\"\"");
        assert_eq!(quoted("select 1; --"), "\"select 1; --\"");
    }
}
