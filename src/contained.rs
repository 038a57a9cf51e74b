//! Values of callers on the engine's threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A value of a caller's type, or a closure with what it has captured. Whoever drops it runs the caller's
/// destructors, and that is often a thread of the engine: the writer after a group, the alarm after a
/// deadline. A panic in there must not take the thread along.
pub(crate) struct Contained<T>(Option<T>);

impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(crate) fn get(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("only a drop and `into_inner`, which take the whole, empty it"),
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(value) => value,
            None => unreachable!("only a drop and `into_inner`, which take the whole, empty it"),
        }
    }

    /// The value, to be dropped by the caller itself.
    pub(crate) fn into_inner(mut self) -> T {
        match self.0.take() {
            Some(value) => value,
            None => unreachable!("only a drop and `into_inner`, which take the whole, empty it"),
        }
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            // Unwind safe: nothing of the value is left.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
                discard(payload);
            }
        }
    }
}

/// Drops what a caller's panic carried, which may panic in turn.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // It could go on like this for ever.
        std::mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                std::panic::resume_unwind(Box::new(Bomb));
            }
        }
    }

    #[test]
    fn a_panicking_destructor_goes_no_further() {
        drop(Contained::new(Bomb));
        drop(Contained::new(vec![Bomb, Bomb]));
        discard(Box::new(Bomb));
    }

    #[test]
    fn what_is_taken_out_is_the_callers_own() {
        let bomb = Contained::new(Bomb).into_inner();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(bomb))).is_err_and(|payload| {
            discard(payload);
            true
        }));
    }
}
