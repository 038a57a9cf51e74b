//! Whatever somebody types is looked for as it stands: never a mistake, never an operator. (C39)

use walwright::{Filter, ReadError, SearchText};

use crate::bed::{Bed, ids, run};

/// Texts that would be operators, or mistakes, in the language of FTS5, of LIKE or of SQL.
const TYPED: &[&str] = &[
    "",
    " ",
    "\t\n",
    "\"",
    "\"\"",
    "\"\"\"",
    "'",
    "''",
    "*",
    "**",
    "-",
    "--",
    "+",
    "^",
    "(",
    ")",
    "()",
    "{",
    "}",
    "[",
    "]",
    ":",
    "%",
    "%%%",
    "_",
    "___",
    "\\",
    "\\\\\\",
    "?",
    "?1",
    ";",
    ",",
    ".",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(",
    "NEAR(a b, 2)",
    "a AND",
    "OR b",
    "NOT x",
    "a NOT b",
    "c0:a",
    "body:a",
    "body : a",
    "{body}: a",
    "- body : a",
    "rowid:1",
    "rank",
    "abc*",
    "\"abc\"*",
    "abc\"",
    "\"abc",
    "a + b",
    "^abc",
    "a\"b\"c",
    "x'00'",
    "\0",
    "abc\0def",
    "\0abc",
    "a\0",
    "--comment",
    "/* x */",
    "'; DROP TABLE message; --",
    "🦀",
    "🦀🦀🦀",
    "é",
    "ÉÉÉ",
    "ﷺﷺﷺ",
    "\u{feff}abc",
    "\u{301}\u{301}\u{301}",
    "\u{202e}abc",
    "\u{10ffff}",
    "İ",
    "ß",
    "ſſſ",
];

#[test]
fn nothing_that_is_typed_is_a_mistake() {
    run(|| {
        let bed = Bed::new(&["abc", "a b", "plain text"]);
        for index in [bed.substrings(), bed.words()] {
            for text in TYPED {
                for (what, page) in [
                    ("found", index.find(*text)),
                    ("ranked", index.find_ranked(*text)),
                    ("typing", index.find(SearchText::typing(*text))),
                    ("newest", index.find(*text).order_by_desc("at").filter(Filter::eq("buffer", 1))),
                ] {
                    let found = page.wait();
                    assert!(found.is_ok(), "{} {what} {text:?}: {found:?}", index.name());
                }
            }
        }
    });
}

#[test]
fn a_substring_finds_what_holds_it_and_nothing_else() {
    run(|| {
        let bed = Bed::new(&[
            "a_b",
            "axb",
            "a%b",
            "a\\b",
            "a*b",
            "a\"b",
            "a'b",
            "a-b",
            "a b AND c",
            "NEAR(a b)",
            "say: \"hi\"",
            "100%_",
            "a[b]c",
            "a?b",
        ]);
        let index = bed.substrings();
        for (id, text) in [
            (1, "a_b"),
            (3, "a%b"),
            (4, "a\\b"),
            (5, "a*b"),
            (6, "a\"b"),
            (7, "a'b"),
            (8, "a-b"),
            (9, " AND "),
            (10, "NEAR("),
            (11, "say: \"hi\""),
            (12, "%_"),
            (12, "00%"),
            (13, "[b]"),
            (14, "a?b"),
            (12, "_"),
            (14, "?"),
        ] {
            let found = ids(index.find(text));
            assert!(found.contains(&id), "{text:?} in {found:?}");
            let same = ids(bed.messages.page().filter(Filter::contains("body", text)));
            assert_eq!(found, same, "{text:?}");
        }
    });
}

#[test]
fn every_word_has_to_be_there_and_only_whole_ones_count() {
    run(|| {
        let bed = Bed::new(&[
            "one two",
            "two, one!",
            "one",
            "ONE Two three",
            "ones twos",
            "it's one-two",
            "naïve Ünder",
        ]);
        let index = bed.words();
        assert_eq!(ids(index.find("one two")), [1, 2, 4, 6]);
        assert_eq!(ids(index.find("TWO   one")), [1, 2, 4, 6]);
        assert_eq!(ids(index.find("one AND two")), [0_i64; 0], "a word like any other");
        assert_eq!(ids(index.find("one OR three")), [0_i64; 0]);
        assert_eq!(ids(index.find("one -two")), [1, 2, 4, 6], "a sign is no word");
        assert_eq!(ids(index.find("on*")), [0_i64; 0]);
        assert_eq!(ids(index.find(SearchText::typing("tw"))), [1, 2, 4, 5, 6]);
        assert_eq!(ids(index.find(SearchText::typing("on tw"))), [0_i64; 0], "only the last goes on");
        assert_eq!(ids(index.find("naive under")), [7], "accents of Latin letters");
        assert_eq!(ids(index.find("it's")), [6], "its parts stand one behind the other");
        assert_eq!(ids(index.find("one-two")), [1, 4, 6]);
    });
}

#[test]
fn case_is_unicodes_and_for_short_texts_only_that_of_a_to_z() {
    run(|| {
        let bed = Bed::new(&["Crème BRÛLÉE", "creme brulee", "ΣΊΣΥΦΟΣ", "🦀 Crab 🦀"]);
        let index = bed.substrings();
        assert_eq!(ids(index.find("crème brûlée")), [1]);
        assert_eq!(ids(index.find("CREME")), [2]);
        assert_eq!(ids(index.find("σίσυφος")), [3]);
        assert_eq!(ids(index.find("🦀 crab")), [4]);
        assert_eq!(ids(index.find("BR")), [1, 2]);
        assert_eq!(ids(index.find("🦀")), [4]);
        assert_eq!(ids(index.find("È")), [0_i64; 0], "as Filter::contains says");
    });
}

#[test]
fn nul_is_passed_over_and_nothing_is_found_by_nothing() {
    run(|| {
        let bed = Bed::new(&["abc", "a\0bc", "   "]);
        let index = bed.substrings();
        assert_eq!(ids(index.find("abc")), [1, 2]);
        assert_eq!(ids(index.find("ab\0c")), [1, 2]);
        for text in ["", " ", "   ", "\0\0\0\0"] {
            assert_eq!(ids(index.find(text)), [0_i64; 0], "{text:?}");
            assert_eq!(ids(index.find_ranked(text)), [0_i64; 0], "{text:?}");
        }
    });
}

#[test]
fn a_text_may_be_long_but_not_endless() {
    run(|| {
        let long: String = ('a'..='z').cycle().take(1_000).collect();
        let bed = Bed::new(&[&long, "other"]);
        let index = bed.substrings();
        assert_eq!(ids(index.find(long.as_str())), [1]);
        let words = bed.words();
        assert_eq!(ids(words.find("x ".repeat(500))), [0_i64; 0]);
        for index in [index, words] {
            let refused = index.find("x".repeat(100_000)).wait();
            assert!(matches!(refused, Err(ReadError::SearchTooLong)), "{refused:?}");
        }
    });
}
