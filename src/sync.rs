//! The one module that names concurrency primitives.
//!
//! Two back ends with one interface: parking_lot for the crate that ships, loom for the model checker. The
//! package `loom-tests` compiles the protocol's own source a second time with `walwright_model` set, so
//! what is checked is what runs.

pub(crate) use std::sync::Arc;

#[cfg(not(walwright_model))]
pub(crate) use real::*;

#[cfg(walwright_model)]
pub(crate) use model::{Condvar, Mutex, MutexGuard, atomic, linger, look_out, nap, now};

#[cfg(not(walwright_model))]
mod real {
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::{OnceLock, atomic};
    pub(crate) use std::thread;

    /// The clock of deadlines and limits: monotonic, so a stepped wall clock changes nothing.
    pub(crate) fn now() -> std::time::Instant {
        std::time::Instant::now()
    }

    /// Looks again and again, for as long as `limit`, whether something has come. To sleep and be woken takes
    /// longer than what is likely to come at once. Others that could run on this core go first.
    pub(crate) fn look_out(limit: std::time::Duration, has_come: impl FnMut() -> bool) {
        look_again(limit, has_come, thread::yield_now);
    }

    /// Like [`look_out`] for a wait that is much shorter than what letting others go first may take.
    pub(crate) fn linger(limit: std::time::Duration, has_come: impl FnMut() -> bool) {
        look_again(limit, has_come, std::hint::spin_loop);
    }

    /// Sleeps for as long as `limit`, a little at a time, until something has come. Nobody has to wake it for that.
    pub(crate) fn nap(limit: std::time::Duration, has_come: impl FnMut() -> bool) {
        const NAP: std::time::Duration = std::time::Duration::from_micros(50);
        look_again(limit, has_come, || thread::sleep(NAP));
    }

    fn look_again(limit: std::time::Duration, mut has_come: impl FnMut() -> bool, pause: impl Fn()) {
        let until = now() + limit;
        while !has_come() && now() < until {
            pause();
        }
    }
}

#[cfg(walwright_model)]
mod model {
    pub(crate) use loom::sync::atomic;
    use std::ops::{Deref, DerefMut};
    use std::sync::OnceLock;
    use std::time::Instant;

    /// parking_lot's interface (no poison, guards by reference) over loom's mutex.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    /// The inner guard is out while a condition variable waits with it, hence the `Option`.
    pub(crate) struct MutexGuard<'a, T> {
        mutex: &'a Mutex<T>,
        inner: Option<loom::sync::MutexGuard<'a, T>>,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        #[track_caller]
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard { mutex: self, inner: Some(self.lock_inner()) }
        }

        #[track_caller]
        fn lock_inner(&self) -> loom::sync::MutexGuard<'_, T> {
            match self.0.lock() {
                Ok(guard) => guard,
                Err(poisoned) => poisoned.into_inner(),
            }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            match &self.inner {
                Some(guard) => guard,
                None => unreachable!("the guard is only out while its owner waits"),
            }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            match &mut self.inner {
                Some(guard) => guard,
                None => unreachable!("the guard is only out while its owner waits"),
            }
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    /// What parking_lot's timed wait answers.
    pub(crate) struct TimedOut(bool);

    impl TimedOut {
        pub(crate) fn timed_out(&self) -> bool {
            self.0
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        #[track_caller]
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            if let Some(inner) = guard.inner.take() {
                guard.inner = Some(match self.0.wait(inner) {
                    Ok(inner) => inner,
                    Err(poisoned) => poisoned.into_inner(),
                });
            }
        }

        /// loom has no time, and here it stands still. A wait for a moment that has come times out, but gives
        /// the mutex away in between, so that others may do anything meanwhile; a wait for a later moment
        /// ends only when it is notified.
        #[track_caller]
        pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> TimedOut {
            if until > now() {
                self.wait(guard);
                return TimedOut(false);
            }
            guard.inner = None;
            guard.inner = Some(guard.mutex.lock_inner());
            TimedOut(true)
        }

        #[track_caller]
        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        #[track_caller]
        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// Time stands still in a model: whoever looks out looks once, and others may do anything before and after that.
    pub(crate) fn look_out(_: std::time::Duration, mut has_come: impl FnMut() -> bool) {
        has_come();
    }

    /// So does who naps.
    pub(crate) fn nap(limit: std::time::Duration, has_come: impl FnMut() -> bool) {
        look_out(limit, has_come);
    }

    /// And who lingers.
    pub(crate) fn linger(limit: std::time::Duration, has_come: impl FnMut() -> bool) {
        look_out(limit, has_come);
    }

    /// Time stands still in a model, so that every run of one schedule is the same.
    pub(crate) fn now() -> Instant {
        static START: OnceLock<Instant> = OnceLock::new();
        *START.get_or_init(Instant::now)
    }
}
