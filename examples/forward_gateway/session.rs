//! The session record, and the SQL that both stores are given.

use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const SCHEMA: &str = "
    CREATE TABLE ssh_session (
        id            TEXT    NOT NULL PRIMARY KEY,
        sandbox_id    TEXT    NOT NULL,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER NOT NULL,
        revoked       INTEGER NOT NULL
    );
    CREATE INDEX ssh_session_of_sandbox ON ssh_session (sandbox_id);";
pub const INSERT: &str = "
    INSERT INTO ssh_session (id, sandbox_id, created_at_ms, expires_at_ms, revoked)
    VALUES (?1, ?2, ?3, ?4, ?5)";
pub const FIND: &str = "
    SELECT id, sandbox_id, created_at_ms, expires_at_ms, revoked FROM ssh_session WHERE id = ?1";
pub const REVOKE: &str = "UPDATE ssh_session SET revoked = 1 WHERE id = ?1";
pub const COUNT_IN_SANDBOX: &str = "SELECT count(*) FROM ssh_session WHERE sandbox_id = ?1";

/// How long a session is good for, unless it is revoked before.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The permission to forward one connection to one sandbox.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: String,
    pub sandbox_id: String,
    pub created_at_ms: i64,
    pub expires_at_ms: i64,
    pub revoked: bool,
}

impl Session {
    /// A new session of a sandbox. Its id is a time and a number, so that ids grow.
    pub fn new(sandbox_id: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let created_at_ms = now_ms();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id: format!("{created_at_ms:012x}-{number:08x}"),
            sandbox_id: sandbox_id.to_owned(),
            created_at_ms,
            expires_at_ms: created_at_ms + i64::try_from(LIFETIME.as_millis()).unwrap_or(i64::MAX),
            revoked: false,
        }
    }

    /// The values of [`INSERT`], in its order.
    pub fn into_values(self) -> (String, String, i64, i64, bool) {
        (self.id, self.sandbox_id, self.created_at_ms, self.expires_at_ms, self.revoked)
    }

    /// A row of [`FIND`].
    pub fn from_row(row: &rusqlite::Row) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            sandbox_id: row.get(1)?,
            created_at_ms: row.get(2)?,
            expires_at_ms: row.get(3)?,
            revoked: row.get(4)?,
        })
    }

    /// Whether the session permits a connection to `sandbox_id` now.
    pub fn check(&self, sandbox_id: &str) -> Result<()> {
        let problem = if self.sandbox_id != sandbox_id {
            "belongs to another sandbox"
        } else if self.revoked {
            "is revoked"
        } else if self.expires_at_ms <= now_ms() {
            "has expired"
        } else {
            return Ok(());
        };
        Err(format!("session {} {problem}", self.id).into())
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_session_of_the_sandbox_passes() {
        let session = Session::new("box");
        assert!(session.check("box").is_ok());
        assert!(session.check("other").is_err());
        assert!(Session { revoked: true, ..session.clone() }.check("box").is_err());
        assert!(Session { expires_at_ms: now_ms(), ..session }.check("box").is_err());
    }
}
