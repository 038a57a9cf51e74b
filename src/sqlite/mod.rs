//! SQLite behind the protocol's storage: files, sessions of users' SQL, the readers, the writer.

pub(crate) mod engine_statement;
pub(crate) mod files;
pub(crate) mod memory_statistics;
pub(crate) mod patience;
pub(crate) mod plan;
pub(crate) mod reader;
pub(crate) mod reason;
pub(crate) mod row_value;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod writer;

/// The engine's own table, in users' files: one row. `next`: the end of the commit sequences that are reserved.
/// `last`: that of the last commit, for as long as somebody wants to know where a snapshot stands.
pub(crate) const ENGINE_TABLE: &str = "walwright_sequence";
/// Another one, in files with search indexes: one row for each that is being built.
pub(crate) const SEARCH_TABLE: &str = "walwright_search";
/// Another one, in files that had fix-ups: where each stands.
pub(crate) const FIXUP_TABLE: &str = "walwright_fixup";

/// Whether a table is the engine's own. Users' SQL may read such tables, and not write them.
pub(crate) fn is_engine_table(name: &str) -> bool {
    let own = [ENGINE_TABLE, SEARCH_TABLE, FIXUP_TABLE];
    own.iter().any(|own| own.eq_ignore_ascii_case(name))
}
