//! Orders to end a call that is running, from any thread, which never end another one.
//!
//! A call is begun and ended, and looks for orders, on one thread. Whoever gives an order names the call that he means,
//! and may come late: that call may be over by then and the next one running.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The lower bits of an order say why. The call stands above them.
const REASON_BITS: u32 = 8;

/// The running call of one thread, and the last order.
pub(crate) struct StopOrders {
    /// Raised at both ends of a call: odd while one is running.
    call: AtomicU64,
    order: AtomicU64,
}

impl StopOrders {
    pub(crate) fn new() -> Self {
        Self { call: AtomicU64::new(0), order: AtomicU64::new(0) }
    }

    /// Begins a call, and gives what names it. One that was not ended is over.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        let last = self.call.load(Ordering::Relaxed);
        let call = last.wrapping_add(if is_running(last) { 2 } else { 1 });
        self.call.store(call, Ordering::Release);
        call
    }

    /// Ends the call.
    #[inline]
    pub(crate) fn end(&self) {
        let call = self.call.load(Ordering::Relaxed);
        if is_running(call) {
            self.call.store(call.wrapping_add(1), Ordering::Release);
        }
    }

    /// Orders a call to end. False if it is over or was ordered to end before.
    pub(crate) fn give(&self, call: u64, reason: u8) -> bool {
        let wanted = (call << REASON_BITS) | u64::from(reason);
        let mut order = self.order.load(Ordering::Acquire);
        loop {
            if self.call.load(Ordering::Acquire) != call || order >> REASON_BITS >= call {
                return false;
            }
            // An order for a call that ends meanwhile names that call, and the next one ignores it.
            match self.order.compare_exchange_weak(order, wanted, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => order = now,
            }
        }
    }

    /// The reason for which the running call was ordered to end. For the thread of the call.
    #[inline]
    pub(crate) fn given(&self) -> Option<u8> {
        let order = self.order.load(Ordering::Acquire);
        let call = self.call.load(Ordering::Relaxed);
        let is_meant = is_running(call) && order >> REASON_BITS == call;
        is_meant.then_some((order & ((1 << REASON_BITS) - 1)) as u8)
    }

    /// Whether a call is running. For the thread of the call.
    #[inline]
    pub(crate) fn has_call(&self) -> bool {
        is_running(self.call.load(Ordering::Relaxed))
    }

    /// What names the running call.
    pub(crate) fn running(&self) -> Option<u64> {
        Some(self.call.load(Ordering::Acquire)).filter(|call| is_running(*call))
    }
}

fn is_running(call: u64) -> bool {
    call & 1 == 1
}
