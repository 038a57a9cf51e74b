//! The row that is written, about 200 bytes: the session record of a gateway.

use serde::{Deserialize, Serialize};

/// The table's name.
pub const TABLE: &str = "session";
/// The table. Its key is a text, as such tables have it.
pub const SCHEMA: &str = "
    CREATE TABLE session (
        id               TEXT    NOT NULL PRIMARY KEY,
        sandbox_id       TEXT    NOT NULL,
        token            TEXT    NOT NULL,
        created_at_ms    INTEGER NOT NULL,
        expires_at_ms    INTEGER NOT NULL,
        revoked          INTEGER NOT NULL,
        resource_version INTEGER NOT NULL
    )";
/// Inserts one row; its parameters are the fields of a [`Session`] in their order.
pub const INSERT: &str = "
    INSERT INTO session (id, sandbox_id, token, created_at_ms, expires_at_ms, revoked, resource_version)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// Updates one row, by its key.
pub const REVOKE: &str = "
    UPDATE session SET revoked = 1, resource_version = resource_version + 1 WHERE id = ?1";

/// What all tokens begin with: they only have to be long.
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwiaWF0IjoxNTE2MjM5MDIyfQ.";
const HOUR_MS: i64 = 60 * 60 * 1000;
/// Any moment will do; the same one makes runs alike.
const START_MS: i64 = 1_750_000_000_000;

/// The permission to forward one connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub sandbox_id: String,
    pub token: String,
    pub created_at_ms: i64,
    pub expires_at_ms: i64,
    pub revoked: bool,
    pub resource_version: i64,
}

impl Session {
    /// The `number`-th session. Ids grow with the number, as those made from a time do.
    pub fn new(number: u64) -> Self {
        let created_at_ms = START_MS + number as i64;
        Self {
            id: format!("{created_at_ms:012x}-{number:012x}"),
            sandbox_id: format!("sandbox-{:04}", number % 100),
            token: format!("{TOKEN}{number:012x}"),
            created_at_ms,
            expires_at_ms: created_at_ms + HOUR_MS,
            revoked: false,
            resource_version: 1,
        }
    }

    /// Which one it is.
    pub fn number(&self) -> u64 {
        (self.created_at_ms - START_MS) as u64
    }
}
