//! The session record, and its table.

use crate::Result;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const SCHEMA: &str = "
    CREATE TABLE ssh_session (
        id               TEXT    NOT NULL PRIMARY KEY,
        sandbox_id       TEXT    NOT NULL,
        created_at_ms    INTEGER NOT NULL,
        expires_at_ms    INTEGER NOT NULL,
        revoked          INTEGER NOT NULL,
        resource_version INTEGER NOT NULL
    );
    -- With the id behind it, a sandbox's sessions are listed by id without being sorted.
    CREATE INDEX ssh_session_of_sandbox ON ssh_session (sandbox_id, id);";

/// The version of a record that nobody has changed since it was inserted.
pub const FIRST_VERSION: i64 = 1;

/// How long a session is good for, unless it is revoked before.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The permission to forward one connection to one sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub sandbox_id: String,
    pub created_at_ms: i64,
    pub expires_at_ms: i64,
    pub revoked: bool,
    /// Rises with every change of the record.
    pub resource_version: i64,
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
            resource_version: FIRST_VERSION,
        }
    }

    /// Whether the session permits a connection to `sandbox_id` now.
    pub fn check(&self, sandbox_id: &str) -> Result<()> {
        if self.revoked {
            return Err(format!("session {} is revoked", self.id).into());
        }
        self.check_for_its_revoker(sandbox_id)
    }

    /// The same for the connection that has itself revoked the session, or is about to: for all others.
    pub fn check_for_its_revoker(&self, sandbox_id: &str) -> Result<()> {
        let problem = if self.sandbox_id != sandbox_id {
            "belongs to another sandbox"
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
        let revoked = Session { revoked: true, ..session.clone() };
        assert!(revoked.check("box").is_err());
        assert!(revoked.check_for_its_revoker("box").is_ok());
        assert!(revoked.check_for_its_revoker("other").is_err());
        assert!(Session { expires_at_ms: now_ms(), ..session }.check("box").is_err());
    }
}
