//! Code of callers that an engine thread runs: closures, destructors, wakers. It may panic; the thread must
//! not.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::answer::Responder;
use super::work::{Answer, Work};

/// Runs code of a caller. A panic comes back as its message.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    // The model checker reports what it finds by panics: they must come through.
    if cfg!(walwright_model) {
        return Ok(run());
    }
    // Unwind safe: whoever calls this undoes or gives up what the code may have left half done.
    catch_unwind(AssertUnwindSafe(run)).map_err(panic_message)
}

/// Answers, and drops the work. A waker runs the caller's code, and so do the destructors of what a closure
/// has captured or of a result that nobody waits for any more.
pub(crate) fn deliver<W: Work>(responder: Responder<W>, answer: Answer<W>, work: W) {
    // A panic here is the caller's own affair: the answer was stored before anybody was woken.
    let _ = guarded(move || responder.answer(answer));
    discard(work);
}

/// Drops a value of a caller.
pub(crate) fn discard<T>(value: T) {
    let _ = guarded(move || drop(value));
}

/// The text of a panic, if it has one.
pub(crate) fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => {
            // Its destructor is the caller's code too, and nothing would catch a panic in it.
            std::mem::forget(payload);
            "a panic without a message".to_owned()
        }
    }
}
