//! The messages of the daemon, and the schema that they are kept in.

use serde::{Deserialize, Serialize};

/// The schema of the old file. Nothing in it says a version.
pub const OLD_SCHEMA: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        buffer_id INTEGER NOT NULL,
        sender TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        mentions TEXT,
        body TEXT NOT NULL
    );
    CREATE INDEX message_buffer ON message (buffer_id, at_ms);";

/// Buffers that the quiet traffic is spread over: channels and queries.
pub const BUFFERS: i64 = 40;
/// The one that is busy all the time.
pub const BUSY_BUFFER: i64 = 1;
/// Who is asked about when somebody looks for mentions.
pub const ME: &str = "ann";

/// A message of one of the buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `None` before it is stored: the database numbers them.
    pub id: Option<i64>,
    pub buffer_id: i64,
    pub sender: String,
    pub at_ms: i64,
    /// The nick that is addressed, if one is.
    pub mentions: Option<String>,
    pub body: String,
}

const NICKS: [&str; 8] = ["ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hana"];
const WORDS: [&str; 32] = [
    "the", "build", "is", "green", "again", "who", "has", "seen", "my", "keyboard", "lunch", "at", "noon",
    "in", "kitchen", "please", "review", "that", "patch", "before", "release", "it", "fails", "on", "one",
    "machine", "only", "thanks", "sorry", "later", "maybe", "tomorrow",
];
/// One in so many messages is for somebody.
const MENTION_EVERY: u64 = 50;

impl Message {
    /// The message of this number: always the same one, and unlike the others.
    pub fn numbered(number: u64, buffer_id: i64, at_ms: i64) -> Self {
        let mut dice = Dice(number);
        let sender = dice.pick(&NICKS).to_owned();
        let mentions = (dice.below(MENTION_EVERY) == 0).then(|| dice.pick(&NICKS).to_owned());
        let mut body = mentions.as_ref().map_or_else(String::new, |nick| format!("{nick}: "));
        for _ in 0..8 + dice.below(12) {
            body += dice.pick(&WORDS);
            body += " ";
        }
        body += &token(number);
        Self { id: None, buffer_id, sender, at_ms, mentions, body }
    }
}

/// What stands in the message of this number, and in no other one.
pub fn token(number: u64) -> String {
    format!("#{:06x}", Dice(number ^ 0x5eed).below(1 << 24))
}

/// Random numbers that a seed repeats (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_repeat_and_differ() {
        let message = |number| Message::numbered(number, 1, 5);
        assert_eq!(message(7), message(7));
        assert_ne!(message(7).body, message(8).body);
        assert!(message(7).body.ends_with(&token(7)));
        let mentions = (0..5_000).filter(|number| message(*number).mentions.is_some()).count();
        assert!((50..150).contains(&mentions), "{mentions}");
    }
}
