//! Values of callers on the engine's threads.

use crate::protocol::foreign_code::guarded;

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
            let _ = guarded(|| drop(value));
        }
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
    }

    #[test]
    fn what_is_taken_out_is_the_callers_own() {
        let bomb = Contained::new(Bomb).into_inner();
        assert!(guarded(|| drop(bomb)).is_err());
    }
}
