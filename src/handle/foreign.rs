//! What belongs to a caller and may end on one of the engine's threads.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A caller's value, whose destructor is foreign code: if it panics, that must not end the engine's thread
/// that happens to drop it, nor the commands that share its group.
pub(crate) struct Foreign<T>(ManuallyDrop<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Gives the value back to its caller.
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped nor used again, so the value is taken once.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        // SAFETY: `into_inner` is the only other place that takes the value, and it forgets `self`.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { ManuallyDrop::drop(&mut self.0) }));
        if let Err(payload) = dropped {
            tracing::error!("a destructor of a caller's value panicked inside the store");
            // It may panic in its turn.
            std::mem::forget(payload);
        }
    }
}
