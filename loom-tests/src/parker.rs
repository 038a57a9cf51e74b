//! How a model's caller waits: a future's waker over a condition variable of loom.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Condvar, Mutex};

/// Wakes one waiting caller.
struct Parker {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        *self.woken.lock() = true;
        self.changed.notify_one();
    }
}

/// Waits until `poll` is ready.
pub(crate) fn block_on<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let parker = Arc::new(Parker { woken: Mutex::new(false), changed: Condvar::new() });
    let waker = Waker::from(parker.clone());
    loop {
        if let Poll::Ready(value) = poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        let mut woken = parker.woken.lock();
        while !*woken {
            parker.changed.wait(&mut woken);
        }
        *woken = false;
    }
}

/// Polls once with a waker that reaches nobody, as the task does that polled a future before it moved.
pub(crate) fn poll_elsewhere<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    poll(&mut Context::from_waker(Waker::noop()))
}
