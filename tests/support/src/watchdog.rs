//! A time limit for a whole test.

use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Runs `body` on a thread of its own and returns what it returns, or panics as it panics.
///
/// # Panics
/// When `body` is not done within `limit`. Its thread is then left behind: the test has failed, and
/// a thread that hangs cannot be joined.
#[track_caller]
pub fn watchdog<T: Send + 'static>(limit: Duration, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, finished) = mpsc::channel();
    let runner = thread::Builder::new()
        .name(thread::current().name().unwrap_or("watched").to_owned())
        .spawn(move || {
            // Nobody listens any more when the limit has passed.
            let _ = done.send(body());
        })
        .expect("a thread can be started");
    match finished.recv_timeout(limit) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("not done within {limit:?}"),
        Err(RecvTimeoutError::Disconnected) => match runner.join() {
            Err(payload) => panic::resume_unwind(payload),
            Ok(()) => unreachable!("the body sends before it ends, or panics"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;

    #[test]
    fn returns_what_the_body_returns() {
        assert_eq!(watchdog(Duration::from_secs(30), || 7), 7);
    }

    #[test]
    #[should_panic(expected = "from the body")]
    fn panics_as_the_body_panics() {
        watchdog(Duration::from_secs(30), || panic!("from the body"));
    }

    #[test]
    #[should_panic(expected = "not done within")]
    fn panics_when_the_body_hangs() {
        let gate = Gate::new();
        watchdog(Duration::from_millis(20), move || gate.wait());
    }
}
