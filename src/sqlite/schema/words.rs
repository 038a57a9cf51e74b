//! Words in the schema's text.

use rusqlite::Row;

/// A text of the schema, which need not be valid UTF-8. (A cast to BLOB would give UTF-16 in such a database.)
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(column)?.as_bytes()?.to_vec())
}

/// The words of a text: the longest runs of what SQLite takes for letters of a name, quoted or not.
///
/// Since a keyword is always such a run, none is missed. Words in strings and comments are given too.
pub(super) fn words(sql: &[u8]) -> impl Iterator<Item = &[u8]> {
    sql.split(|byte| !is_of_name(*byte)).filter(|word| !word.is_empty())
}

/// How often a word stands in a text, in any case.
pub(super) fn count_word(sql: &[u8], word: &str) -> usize {
    words(sql).filter(|found| found.eq_ignore_ascii_case(word.as_bytes())).count()
}

/// Whether a word stands in a text, in any case.
pub(super) fn has_word(sql: &[u8], word: &str) -> bool {
    words(sql).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a column of this name is one word wherever it is named. Others can be spelled in more than one way.
pub(super) fn is_one_word(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_as_sqlite_parts_them() {
        let sql = "a\"b\"[c]/*d*/'e''f',_g,h1,i$j,\u{e4}k,2l ON/**/CONFLICT".as_bytes();
        let found: Vec<_> = words(sql).map(|word| std::str::from_utf8(word).unwrap()).collect();
        let all = ["a", "b", "c", "d", "e", "f", "_g", "h1", "i$j", "\u{e4}k", "2l", "ON", "CONFLICT"];
        assert_eq!(found, all);
    }

    #[test]
    fn words_are_counted_in_any_case_and_whole() {
        assert_eq!(count_word(b"x X xx x_ x1 y.x \"x\"", "x"), 4);
        assert!(has_word(b"NOT NULL on Conflict fail", "conflict"));
        assert!(!has_word(b"conflicting", "conflict"));
    }

    #[test]
    fn names_of_one_word_are_told_from_others() {
        assert!(is_one_word("_a1") && is_one_word("A"));
        for name in ["", "1a", "a b", "a\"b", "\u{e4}", "a$"] {
            assert!(!is_one_word(name), "{name}");
        }
    }
}
