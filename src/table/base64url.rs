//! Bytes as text that needs no escaping in URLs: base64url of RFC 4648 without padding.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut bits = 0_u32;
        for (at, byte) in chunk.iter().enumerate() {
            bits |= u32::from(*byte) << (16 - 8 * at);
        }
        // One letter more than bytes: two for one, four for three.
        for at in 0..=chunk.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]));
        }
    }
    text
}

/// The bytes of a text; `None` for a text that no bytes give.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for (at, letter) in chunk.iter().enumerate() {
            bits |= u32::from(value(*letter)?) << (18 - 6 * at);
        }
        let count = chunk.len().checked_sub(1).filter(|count| *count > 0)?;
        let [_, decoded @ ..] = bits.to_be_bytes();
        // What is left of the last letter is zero, so that each text is that of other bytes.
        if decoded[count..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(&decoded[..count]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_it_was_given() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        for length in 0..bytes.len() {
            let text = encode(&bytes[..length]);
            assert_eq!(decode(&text).as_deref(), Some(&bytes[..length]), "{text}");
        }
        assert_eq!(encode(b"\xfb\xff\xfe!"), "-__-IQ");
    }

    #[test]
    fn takes_no_other_text() {
        for text in ["A", "AAAAA", "AB", "AAB", "AA==", "A+", "A/", "A ", "é", "AA\n"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
