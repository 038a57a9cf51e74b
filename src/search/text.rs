//! What somebody typed, as a query in which nothing is an operator.

use super::definition::SearchMode;
use crate::row::quoted;

/// As many characters can be looked for. FTS5 looks every three of them up, in one go that cannot be stopped.
const LONGEST_TEXT: usize = 1_000;
/// Fewer characters are no trigram.
const SHORTEST_SUBSTRING: usize = 3;

/// A text to search for: what [`SearchIndex::find`](super::SearchIndex::find) takes. Plain strings are texts too.
///
/// Every character in it means itself: quotes, `*`, `-`, `%`, `_`, `AND`, `NEAR`, `column:`. There is nothing that
/// could be a mistake in it, and nothing that searches for something else than it says.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = walwright::Store::temporary().open().wait()?;
/// # store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", ()).wait()?;
/// # store.execute("INSERT INTO note VALUES (1, 'a walk in the park'), (2, 'park here')", ()).wait()?;
/// use walwright::{Row, SearchText};
///
/// let notes = store.table::<Row>("note").open().wait()?;
/// let index = notes.search_index("note_search").columns(["text"]).words().open().wait()?;
/// # index.ready().wait()?;
/// assert_eq!(index.find("park walk").wait()?.rows.len(), 1);
/// assert_eq!(index.find("par").wait()?.rows.len(), 0);
/// assert_eq!(index.find(SearchText::typing("walk par")).wait()?.rows.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SearchText {
    text: String,
    goes_on: bool,
}

impl SearchText {
    /// What somebody has typed so far: in an index of words, the last word may be the beginning of a longer one.
    pub fn typing(text: impl Into<String>) -> Self {
        Self { text: text.into(), goes_on: true }
    }
}

impl From<String> for SearchText {
    fn from(text: String) -> Self {
        Self { text, goes_on: false }
    }
}

impl From<&str> for SearchText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for SearchText {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl std::fmt::Debug for SearchText {
    // Hand-written: what people search for stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchText").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// What to do about a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SearchPlan {
    /// Ask the index this, in the language of FTS5.
    Ask(String),
    /// Look for this in the rows themselves: the index knows nothing that short.
    Look(String),
    /// There is nothing to find.
    Nothing,
    TooLong,
}

impl SearchText {
    pub(super) fn plan(&self, mode: SearchMode) -> SearchPlan {
        // The tokenizers pass NUL over, and the text of a query ends at one.
        match mode {
            SearchMode::Words => self.words(),
            SearchMode::Substrings => self.substring(),
        }
    }

    /// Every word, as a string of FTS5's. One that holds no letter or digit finds nothing and hinders nothing.
    fn words(&self) -> SearchPlan {
        let words = || {
            let words = self.text.split(|of: char| of.is_whitespace() || of == '\0');
            words.filter(|word| word.contains(char::is_alphanumeric))
        };
        if words().map(|word| word.chars().count() + 1).sum::<usize>() > LONGEST_TEXT {
            return SearchPlan::TooLong;
        }
        // FTS5's strings are quoted as names are: all but a quote means itself in them.
        let mut query = words().map(quoted).collect::<Vec<_>>().join(" ");
        if query.is_empty() {
            return SearchPlan::Nothing;
        }
        if self.goes_on && !self.text.ends_with(char::is_whitespace) {
            query += " *";
        }
        SearchPlan::Ask(query)
    }

    /// The whole text as one string, blanks and all.
    fn substring(&self) -> SearchPlan {
        let text: String = self.text.chars().filter(|of| *of != '\0').collect();
        match text.chars().count() {
            0 => SearchPlan::Nothing,
            count if count > LONGEST_TEXT => SearchPlan::TooLong,
            _ if text.trim().is_empty() => SearchPlan::Nothing,
            count if count < SHORTEST_SUBSTRING => SearchPlan::Look(text),
            _ => SearchPlan::Ask(quoted(&text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> SearchPlan {
        SearchText::from(text).plan(SearchMode::Words)
    }

    fn substring(text: &str) -> SearchPlan {
        SearchText::from(text).plan(SearchMode::Substrings)
    }

    fn ask(query: &str) -> SearchPlan {
        SearchPlan::Ask(query.to_owned())
    }

    #[test]
    fn every_word_is_a_string() {
        assert_eq!(words("  one\ttwo "), ask("\"one\" \"two\""));
        assert_eq!(words("one AND -two* NEAR(a b)"), ask("\"one\" \"AND\" \"-two*\" \"NEAR(a\" \"b)\""));
        assert_eq!(words("say \"hi\" body:x"), ask("\"say\" \"\"\"hi\"\"\" \"body:x\""));
        assert_eq!(words("a\0b"), ask("\"a\" \"b\""));
        assert_eq!(words("one - two"), ask("\"one\" \"two\""));
    }

    #[test]
    fn the_last_word_goes_on_where_it_is_typed() {
        let typing = |text| SearchText::typing(text).plan(SearchMode::Words);
        assert_eq!(typing("one tw"), ask("\"one\" \"tw\" *"));
        assert_eq!(typing("one two "), ask("\"one\" \"two\""));
        assert_eq!(typing(" "), SearchPlan::Nothing);
        assert_eq!(SearchText::typing("abc").plan(SearchMode::Substrings), ask("\"abc\""));
    }

    #[test]
    fn a_substring_is_one_string_or_too_short_for_the_index() {
        assert_eq!(substring("a \"b\" OR c"), ask("\"a \"\"b\"\" OR c\""));
        assert_eq!(substring("a\0bc"), ask("\"abc\""));
        assert_eq!(substring("%_"), SearchPlan::Look("%_".to_owned()));
        assert_eq!(substring("äß"), SearchPlan::Look("äß".to_owned()));
        assert_eq!(substring("äßü"), ask("\"äßü\""));
        assert_eq!(substring("🦀🦀"), SearchPlan::Look("🦀🦀".to_owned()));
    }

    #[test]
    fn nothing_finds_nothing_and_too_much_is_refused() {
        for text in ["", " ", "  \t\n   ", "\0", "\0\0\0\0"] {
            assert_eq!(
                (words(text), substring(text)),
                (SearchPlan::Nothing, SearchPlan::Nothing),
                "{text:?}"
            );
        }
        assert_eq!(words("-- ** ''"), SearchPlan::Nothing);
        let long = "a".repeat(100_000);
        assert_eq!((words(&long), substring(&long)), (SearchPlan::TooLong, SearchPlan::TooLong));
        assert_eq!(words(&"a ".repeat(50_000)), SearchPlan::TooLong);
    }

    #[test]
    fn the_text_stays_out_of_logs() {
        assert!(!format!("{:?}", SearchText::from("secret")).contains("secret"));
    }
}
