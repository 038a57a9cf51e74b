//! What the text of a DEFAULT clause can do to an insert.

/// A DEFAULT clause that gives NULL, as a missing one does.
pub(super) fn is_null(default: Option<&str>) -> bool {
    default.is_none_or(|text| text.trim().eq_ignore_ascii_case("null"))
}

/// A DEFAULT clause that can neither fail nor give NULL nor call a function. What is not surely one is none.
pub(super) fn is_literal(default: &str) -> bool {
    let text = default.trim();
    is_number(text) || is_string(text) || is_blob(text) || is_constant(text)
}

fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    match text.split_once('.') {
        None => digits(text),
        Some((whole, part)) => digits(whole) && digits(part),
    }
}

fn is_string(text: &str) -> bool {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace("''", "").contains('\''))
}

fn is_blob(text: &str) -> bool {
    let digits = text.strip_prefix(['x', 'X']).and_then(|text| text.strip_prefix('\''));
    let digits = digits.and_then(|text| text.strip_suffix('\''));
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_constant(text: &str) -> bool {
    let constants = ["true", "false", "current_time", "current_date", "current_timestamp"];
    constants.iter().any(|constant| text.eq_ignore_ascii_case(constant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_expressions() {
        for literal in ["0", " -12 ", "+1.5", "''", "'it''s'", "x'00fF'", "TRUE", "current_timestamp"] {
            assert!(is_literal(literal), "{literal}");
        }
        for other in
            ["", "1e3", "0x10", ".5", "1.", "-", "'a' || 'b'", "abs(1)", "null", "name", "'", "x'0g'"]
        {
            assert!(!is_literal(other), "{other}");
        }
    }

    #[test]
    fn a_null_default_is_the_same_as_none() {
        assert!(is_null(None) && is_null(Some("NULL")) && is_null(Some(" null ")));
        assert!(!is_null(Some("'null'")) && !is_null(Some("0")));
    }
}
