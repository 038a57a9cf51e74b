//! Messages of made-up words, the same in every run.

use serde::{Deserialize, Serialize};

/// So many different words there are. Their frequencies fall like those of a language: the second half as often as
/// the first, the third a third as often.
const WORDS: usize = 20_000;
/// One message of so many has a word that no other has.
const RARE: i64 = 1_000;

#[derive(Serialize, Deserialize)]
pub struct Message {
    pub id: i64,
    pub buffer: i64,
    pub at: i64,
    pub body: String,
}

pub struct Chat {
    next_id: i64,
    random: u64,
    words: Vec<String>,
    /// How likely it is that a word is not behind this one.
    shares: Vec<f64>,
}

impl Chat {
    pub fn new() -> Self {
        let mut chat = Self { next_id: 1, random: 1, words: Vec::new(), shares: Vec::new() };
        let mut sum = 0.0;
        for at in 0..WORDS {
            let syllables = 1 + chat.below(4);
            let word = (0..syllables).map(|_| chat.syllable()).collect();
            chat.words.push(word);
            sum += 1.0 / (at + 2) as f64;
            chat.shares.push(sum);
        }
        chat.shares.iter_mut().for_each(|share| *share /= sum);
        chat
    }

    pub fn message(&mut self) -> Message {
        let id = self.next_id;
        self.next_id += 1;
        let count = 3 + self.below(22);
        let mut body: Vec<String> = (0..count).map(|_| self.word()).collect();
        if id % RARE == 0 {
            body.push(format!("needle{}", id / RARE));
        }
        Message { id, buffer: 1 + self.below(40) as i64, at: 1_600_000_000 + id / 3, body: body.join(" ") }
    }

    /// What to search for: a name for it, the text, and whether fewer than a page of messages have it.
    pub fn searches(&self) -> Vec<(&'static str, String, bool)> {
        let word = |at: usize| self.words[at].clone();
        // Long words that are rare and not a part of many others.
        let long =
            |from: usize| self.words[from..].iter().find(|word| word.len() >= 8).cloned().unwrap_or_default();
        let middle = long(WORDS / 2);
        vec![
            ("one message", "needle77".to_owned(), true),
            ("in other case", "NEEDLE77".to_owned(), true),
            ("no message", "needle with a blank".to_owned(), true),
            ("a part of a rare word", middle[2..].to_owned(), false),
            ("a rare word", long(WORDS - 100), false),
            ("two words that meet", format!("{} {}", word(40), word(60)), false),
            ("a common word", format!(" {} ", word(20)), false),
            ("in most messages", word(0).chars().chain(" ".chars()).collect(), false),
        ]
    }

    fn word(&mut self) -> String {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let at = self.shares.partition_point(|of| *of < share);
        self.words[at.min(WORDS - 1)].clone()
    }

    fn syllable(&mut self) -> String {
        let consonants = b"bcdfghjklmnprstvwz";
        let (first, second) = (self.below(consonants.len()), self.below(5));
        [consonants[first] as char, b"aeiou"[second] as char].iter().collect()
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
