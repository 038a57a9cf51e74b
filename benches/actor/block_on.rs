//! Blocking a thread on a future, the same way for both actors.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// A thread that blocks on futures. Its waker is made once.
pub struct Blocking(Waker);

impl Blocking {
    /// For the present thread.
    pub fn new() -> Self {
        Self(Arc::new(Unpark(thread::current())).into())
    }

    pub fn on<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(&self.0);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
            thread::park();
        }
    }
}
