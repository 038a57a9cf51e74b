//! Code of callers that an engine thread runs: closures and wakers. It may panic; the thread must not.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Runs code of a caller. A panic comes back as its message.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    // The model checker reports what it finds by panics: they must come through.
    if cfg!(walwright_model) {
        return Ok(run());
    }
    // Unwind safe: whoever calls this undoes or gives up what the code may have left half done.
    catch_unwind(AssertUnwindSafe(run)).map_err(panic_message)
}

/// Wakes everybody, whoever's waker panics. Waking may run a caller's code at once: never under a lock.
pub(crate) fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        let _ = guarded(|| waker.wake());
    }
}

/// The text of a panic, if it has one.
pub(crate) fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    // Its destructor is the caller's code too, and may panic in turn: rather lose its memory.
    std::mem::forget(payload);
    "a panic without a message".to_owned()
}
