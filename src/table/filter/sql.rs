//! A look at SQL of the caller's that will stand between parentheses.

/// How many parameters (`?`) a condition takes; refuses one that could reach beyond its parentheses, or whose
/// parameters could be taken for those of others.
pub(super) fn parameters_of(sql: &str) -> Result<usize, &'static str> {
    let mut rest = sql.as_bytes();
    let (mut depth, mut parameters, mut is_empty) = (0_usize, 0_usize, true);
    while let Some((first, behind)) = rest.split_first() {
        let length = match first {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => 1,
            b'-' if behind.starts_with(b"-") => line_comment(rest),
            b'/' if behind.starts_with(b"*") => {
                2 + past(&rest[2..], b"*/").ok_or("a comment is not closed")?
            }
            _ => {
                is_empty = false;
                match first {
                    b'\'' | b'"' | b'`' => 1 + past(behind, &[*first]).ok_or("a quote is not closed")?,
                    b'[' => 1 + past(behind, b"]").ok_or("a quote is not closed")?,
                    b'(' => {
                        depth += 1;
                        1
                    }
                    b')' => {
                        depth = depth.checked_sub(1).ok_or("a parenthesis is closed that was not opened")?;
                        1
                    }
                    b'?' if behind.first().is_some_and(u8::is_ascii_digit) => {
                        return Err("parameters go by position: write ? without a number");
                    }
                    b'?' => {
                        parameters += 1;
                        1
                    }
                    b':' | b'@' | b'$' | b'#' => {
                        return Err("parameters go by position: write ?, not a name");
                    }
                    b';' => return Err("it holds a semicolon"),
                    0 => return Err("it holds a NUL"),
                    first if in_word(*first) => {
                        rest.iter().take_while(|byte| in_word(**byte) || **byte == b'$').count()
                    }
                    _ => 1,
                }
            }
        };
        rest = &rest[length..];
    }
    match (is_empty, depth) {
        (true, _) => Err("it is empty"),
        (_, 0) => Ok(parameters),
        _ => Err("a parenthesis is not closed"),
    }
}

/// To its end, which may be that of the text: what follows the text begins on a new line.
fn line_comment(text: &[u8]) -> usize {
    past(text, b"\n").unwrap_or(text.len())
}

/// How many bytes there are up to the end of `wanted`.
fn past(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted).map(|at| at + wanted.len())
}

/// Names, keywords and numbers, as SQLite takes them; `$` can be within one.
fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_parameters_outside_of_quotes_and_comments() {
        for (sql, parameters) in [
            ("a = ?", 1),
            ("a = ? AND (b > ? OR c IN (?, ?))", 4),
            ("a = '?;)' AND \"?(\" = `?` AND [?;] = ?", 1),
            ("a = 'it''s ?' -- ?", 0),
            ("a = ? -- the end)", 1),
            ("a /* ? ) ; */ = ?", 1),
            ("a - -1 > 5 / 2 AND b->>'$.x' = ? AND x'3f' <> ?", 2),
            ("größe$1 = ?", 1),
            ("-- only\n a", 0),
        ] {
            assert_eq!(parameters_of(sql), Ok(parameters), "{sql}");
        }
    }

    #[test]
    fn refuses_what_could_reach_further() {
        for (sql, reason) in [
            ("1) OR (1", "not opened"),
            ("(1", "not closed"),
            ("1; DROP TABLE t", "semicolon"),
            ("1 /* ", "comment"),
            ("1 /*/ ", "comment"),
            ("'it", "quote"),
            ("\"it", "quote"),
            ("[it", "quote"),
            ("a = ?1", "number"),
            ("a = :a", "name"),
            ("a = @a", "name"),
            ("a = $a", "name"),
            ("a = 1\0", "NUL"),
            ("", "empty"),
            (" -- nothing", "empty"),
            ("/**/", "empty"),
        ] {
            let refused = parameters_of(sql).unwrap_err();
            assert!(refused.contains(reason), "{sql}: {refused}");
        }
    }
}
