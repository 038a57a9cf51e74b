//! Source files as the rules read them: without comments, without the text of literals, without tests.

use std::fs;
use std::path::{Path, PathBuf};

/// One file of Rust source.
pub struct Source {
    /// Its path from the root of the repository, with `/` between the parts.
    pub path: String,
    /// The text as it stands in the file.
    pub text: String,
    /// The text with comments and the contents of literals blanked out, line by line in the same places.
    pub code: String,
    /// The same, with everything blanked out that is compiled for tests only.
    pub shipped: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let code = blank_comments_and_literals(text);
        let shipped = if is_named_as_test(path) { blank(&code) } else { blank_tests(&code) };
        Self { path: path.to_owned(), text: text.to_owned(), code, shipped }
    }

    /// Numbers, from 1, of the lines of `code` or `shipped` that satisfy a test.
    pub fn lines(code: &str, holds: impl Fn(&str) -> bool) -> Vec<usize> {
        code.lines().enumerate().filter(|(_, line)| holds(line)).map(|(at, _)| at + 1).collect()
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads all Rust files under a folder of the repository.
pub fn read_all(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    paths.sort();
    let mut sources: Vec<Source> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            Source::new(&name, &fs::read_to_string(path).unwrap())
        })
        .collect();
    let test_modules: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        if test_modules.contains(&source.path) {
            source.shipped = blank(&source.code);
        }
    }
    sources
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

fn is_named_as_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// The files that a file declares as modules for tests.
fn test_modules(source: &Source) -> Vec<String> {
    let folder = match source.path.strip_suffix("/mod.rs").or(source.path.strip_suffix("/lib.rs")) {
        Some(folder) => folder,
        None => source.path.trim_end_matches(".rs"),
    };
    test_items(&source.code)
        .filter_map(|(_, item)| item.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name.trim()))
        .map(|name| format!("{folder}/{name}.rs"))
        .collect()
}

/// The items of `code` under a `cfg` that asks for a test, each from its attribute to its end.
fn test_items(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices("#[cfg(").filter_map(|(start, _)| {
        let attribute_end = start + code[start..].find(']')?;
        if !names(&code[start..attribute_end], "test") {
            return None;
        }
        let after = attribute_end + code[attribute_end..].find(['{', ';'])?;
        let end = if code[after..].starts_with(';') { after } else { after + closing_brace(&code[after..])? };
        Some((start, &code[start..=end]))
    })
}

fn closing_brace(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn blank_tests(code: &str) -> String {
    let mut shipped = code.to_owned();
    for (start, item) in test_items(code) {
        shipped.replace_range(start..start + item.len(), &blank(item));
    }
    shipped
}

fn blank(text: &str) -> String {
    // Byte for byte, so that places stay what they are.
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// Whether `word` stands in the text, and not as a part of a longer name.
pub fn names(text: &str, word: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].bytes().next_back().is_some_and(is_name)
            && !text[at + word.len()..].bytes().next().is_some_and(is_name)
    })
}

fn blank_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let follows_name = code.bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => literal(rest, 1),
            'r' if !follows_name && rest[1..].trim_start_matches('#').starts_with('"') => raw_literal(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push_str(&blank(&rest[..length]));
            rest = &rest[length..];
        }
    }
    code
}

fn literal(text: &str, from: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == text.as_bytes()[0] => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_literal(text: &str) -> usize {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let from = hashes + 2;
    text[from..].find(&end).map_or(text.len(), |at| from + at + end.len())
}

/// The length of a character literal, 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut characters = text[1..].chars();
    match (characters.next(), characters.next()) {
        (Some('\\'), _) => literal(text, 1),
        (Some(character), Some('\'')) => character.len_utf8() + 2,
        _ => 0,
    }
}

#[test]
fn comments_literals_and_tests_are_blanked_out() {
    let text = "let a = \"std::sync\"; // std::sync\nlet b = 'x'; /* std::thread */ fn f<'a>() {}\n\
                let c = r#\"a \"quoted\" loom\"#; let d = c\"x\\\"y\"; let e = '\\''; let g = '\"';\n\
                #[cfg(all(test, not(x)))]\n#[allow(y)]\nmod tests { fn g() { a.unwrap() } }\nlet z = 1;\n";
    let source = Source::new("src/x.rs", text);
    assert_eq!(source.code.len(), text.len());
    assert_eq!(source.code.lines().count(), text.lines().count());
    for gone in ["std::sync", "std::thread", "loom", "quoted", "x\\"] {
        assert!(!source.code.contains(gone), "{gone}: {}", source.code);
    }
    for kept in ["let a = ", "fn f<'a>() {}", "let d = c", "let g = ", "unwrap"] {
        assert!(source.code.contains(kept), "{kept}: {}", source.code);
    }
    assert!(
        !source.shipped.contains("unwrap") && source.shipped.contains("let z = 1;"),
        "{}",
        source.shipped
    );
    assert_eq!(test_modules(&Source::new("src/a/mod.rs", "#[cfg(test)]\nmod stress;")), ["src/a/stress.rs"]);
    assert!(test_modules(&Source::new("src/a/mod.rs", "#[cfg(unix)]\nmod latest;")).is_empty());
    assert!(Source::new("src/a/tests/b.rs", "x.unwrap()").shipped.trim().is_empty());
}
