//! Who may block, and how: the threads of the engine and of async runtimes must not.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Arc, thread};

thread_local! {
    static ON_ENGINE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Why a thread must not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MustNotWait {
    /// It is one of a store's own threads: a closure would wait for itself, or for another store that
    /// waits for this one.
    EngineThread,
    /// It drives the tasks of an async runtime.
    RuntimeThread,
}

/// Marks the present thread as one of a store's own.
pub(crate) fn enter_engine_thread() {
    ON_ENGINE_THREAD.with(|mark| mark.set(true));
}

/// Whether the present thread is one of a store's own.
pub(crate) fn is_engine_thread() -> bool {
    ON_ENGINE_THREAD.with(Cell::get)
}

/// Whether the present thread may block.
pub(crate) fn may_wait() -> Result<(), MustNotWait> {
    if is_engine_thread() {
        Err(MustNotWait::EngineThread)
    } else if drives_tokio_tasks() {
        Err(MustNotWait::RuntimeThread)
    } else {
        Ok(())
    }
}

/// Blocks the thread until the future is ready. Ask [`may_wait`] first.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

/// Whether tokio is polling a task on this thread.
///
/// A runtime handle alone does not say so: it is there in `spawn_blocking` too, where blocking is fine. But
/// tokio gives every task that it polls a budget, and none to blocking threads; a budget shows by running
/// out. The guards give back what they took when they are dropped.
fn drives_tokio_tasks() -> bool {
    /// tokio's budget of a task is 128 units.
    const MORE_THAN_A_BUDGET: usize = 256;
    if tokio::runtime::Handle::try_current().is_err() {
        return false;
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut guards = Vec::with_capacity(MORE_THAN_A_BUDGET);
    let mut has_budget = false;
    for _ in 0..MORE_THAN_A_BUDGET {
        match tokio::task::coop::poll_proceed(&mut context) {
            Poll::Ready(guard) => guards.push(guard),
            Poll::Pending => {
                has_budget = true;
                break;
            }
        }
    }
    // Each guard restores the budget as it was before it: the first one must be dropped last.
    while guards.pop().is_some() {}
    has_budget
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_thread_may_wait() {
        assert_eq!(may_wait(), Ok(()));
    }

    #[test]
    fn a_task_may_not_wait_and_a_blocking_thread_may() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            assert_eq!(may_wait(), Err(MustNotWait::RuntimeThread), "the root future");
            let task = tokio::spawn(async { (may_wait(), tokio::task::coop::has_budget_remaining()) });
            assert_eq!(
                task.await.unwrap(),
                (Err(MustNotWait::RuntimeThread), true),
                "a task keeps its budget"
            );
            let blocking = tokio::task::spawn_blocking(may_wait);
            assert_eq!(blocking.await.unwrap(), Ok(()), "a blocking thread");
            let in_place = tokio::spawn(async { tokio::task::block_in_place(may_wait) });
            assert_eq!(in_place.await.unwrap(), Ok(()), "block_in_place");
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { assert_eq!(may_wait(), Err(MustNotWait::RuntimeThread)) });
        let _guard = runtime.enter();
        assert_eq!(may_wait(), Ok(()), "a thread that only entered the runtime");
    }
}
