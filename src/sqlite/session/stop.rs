//! When SQL that runs has to end: its deadline, its age, its run limit, or an order from another thread.
//!
//! SQLite's interrupt flag belongs to the connection and could hit the next call. Here an order names the call that it
//! means, and the progress handler looks.

use std::fmt;
use std::time::Instant;

use rusqlite::Connection;

use crate::protocol::stop_orders::StopOrders;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::tick::Tick;

/// Virtual-machine steps between two looks of the progress handler.
const STEPS_BETWEEN_LOOKS: u16 = 1_000;
/// Rows between two looks at the clock; orders from other threads are seen at every row.
const ROWS_BETWEEN_LOOKS: u32 = 16;
/// As many looks as a call without an allowance has.
const UNLIMITED: u64 = u64::MAX;

/// Why the store ended SQL that was running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The deadline that the caller set has passed.
    Deadline,
    /// A read has held its snapshot for longer than the greatest age of reads.
    TooOld,
    /// A write has run for longer than the run limit of writes.
    RunLimit,
    /// The store is being closed and its time is up.
    Closing,
    /// The WAL has grown past its limit and the read keeps it from being emptied.
    WalPressure,
}

impl StopReason {
    fn to_code(self) -> u8 {
        match self {
            Self::Deadline => 1,
            Self::TooOld => 2,
            Self::RunLimit => 3,
            Self::Closing => 4,
            Self::WalPressure => 5,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Deadline),
            2 => Some(Self::TooOld),
            3 => Some(Self::RunLimit),
            4 => Some(Self::Closing),
            5 => Some(Self::WalPressure),
            _ => None,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "its deadline has passed",
            Self::TooOld => "it has held its snapshot for longer than reads may",
            Self::RunLimit => "it has run for longer than writes may",
            Self::Closing => "the store is closing",
            Self::WalPressure => "the WAL has reached its limit and this read holds it",
        })
    }
}

/// What a closure's calls answer once the store has told the closure to end.
///
/// Return it: whatever a closure answers after this, its caller gets the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store stopped this call: {}", self.reason)
    }
}

impl std::error::Error for Stopped {}

/// The limits of one read. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopLimits {
    /// The caller's deadline.
    pub deadline: Option<Instant>,
    /// When a read becomes too old.
    pub too_old_at: Option<Instant>,
}

/// Decides whether the call that a connection is running must end. Clones share one state: one stays
/// with the connection's thread, others give orders from elsewhere.
#[derive(Clone)]
pub struct StopCheck {
    state: Arc<State>,
}

struct State {
    /// What other threads share. The rest belongs to the connection's thread.
    orders: StopOrders,
    /// The tick at which the earliest limit is reached, and the code of its reason.
    limit_at: AtomicU64,
    limit_reason: AtomicU8,
    fired: AtomicU8,
    rows: AtomicU32,
    /// So many more looks of the progress handler are allowed.
    looks_left: AtomicU64,
}

impl Default for StopCheck {
    fn default() -> Self {
        Self::new()
    }
}

impl StopCheck {
    /// A check that is not armed and not yet on a connection.
    pub fn new() -> Self {
        Self {
            state: Arc::new(State {
                orders: StopOrders::new(),
                limit_at: AtomicU64::new(Tick::NEVER.0),
                limit_reason: AtomicU8::new(0),
                fired: AtomicU8::new(0),
                rows: AtomicU32::new(0),
                looks_left: AtomicU64::new(UNLIMITED),
            }),
        }
    }

    /// Puts the progress handler onto a connection, where it stays.
    pub fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let check = self.clone();
        let interrupts = move || check.look().is_some() || check.is_overdrawn();
        connection.progress_handler(STEPS_BETWEEN_LOOKS.into(), Some(interrupts))
    }

    /// Allows what runs from now on so many steps of the virtual machine, give or take those between two looks.
    /// SQLite interrupts what goes on, and that is no stop of the call. `None`: as many as it takes.
    pub fn allow(&self, steps: Option<u64>) {
        let looks = steps.map_or(UNLIMITED, |steps| steps / u64::from(STEPS_BETWEEN_LOOKS));
        self.state.looks_left.store(looks, Ordering::Relaxed);
    }

    /// Starts a call with these limits. The answer names the call in [`stop`](Self::stop).
    ///
    /// Only the connection's own thread arms, disarms and looks.
    pub fn arm(&self, limits: StopLimits) -> u64 {
        let limit = |at: Option<Instant>| at.map_or(Tick::NEVER, Tick::of);
        let (deadline, too_old_at) = (limit(limits.deadline), limit(limits.too_old_at));
        if deadline <= too_old_at {
            self.arm_until(deadline, StopReason::Deadline)
        } else {
            self.arm_until(too_old_at, StopReason::TooOld)
        }
    }

    /// The same with one limit, and why it ends the call.
    #[inline]
    pub fn arm_until(&self, at: Tick, reason: StopReason) -> u64 {
        let state = &*self.state;
        state.limit_at.store(at.0, Ordering::Relaxed);
        state.limit_reason.store(reason.to_code(), Ordering::Relaxed);
        state.fired.store(0, Ordering::Relaxed);
        state.rows.store(0, Ordering::Relaxed);
        self.allow(None);
        state.orders.begin()
    }

    /// Ends the call. The answer is the reason if the call was stopped; an order or a limit that came too
    /// late to stop anything is forgotten.
    pub fn disarm(&self) -> Option<StopReason> {
        let state = &*self.state;
        state.orders.end();
        state.limit_at.store(Tick::NEVER.0, Ordering::Relaxed);
        StopReason::from_code(state.fired.swap(0, Ordering::Relaxed))
    }

    /// Orders this call to end, from any thread. Does nothing, and answers false, if it is over or was ordered to end
    /// before.
    pub fn stop(&self, call: u64, reason: StopReason) -> bool {
        self.state.orders.give(call, reason.to_code())
    }

    /// The call that is running: what [`stop`](Self::stop) takes. `None` between calls.
    pub fn running(&self) -> Option<u64> {
        self.state.orders.running()
    }

    /// Whether the call must end, by its limits or by an order. Reads the clock if there is a limit.
    pub fn look(&self) -> Option<StopReason> {
        let state = &*self.state;
        let ordered = self.ordered();
        if ordered.is_some() {
            return ordered;
        }
        let limit_at = Tick(state.limit_at.load(Ordering::Relaxed));
        if limit_at == Tick::NEVER || !state.orders.has_call() || Tick::now() < limit_at {
            return None;
        }
        let code = state.limit_reason.load(Ordering::Relaxed);
        state.fired.store(code, Ordering::Relaxed);
        StopReason::from_code(code)
    }

    /// The same for one step of rows: orders are seen at once, limits within a few rows.
    pub fn look_at_row(&self) -> Option<StopReason> {
        let rows = self.state.rows.load(Ordering::Relaxed).wrapping_add(1);
        self.state.rows.store(rows, Ordering::Relaxed);
        if rows.is_multiple_of(ROWS_BETWEEN_LOOKS) { self.look() } else { self.ordered() }
    }

    /// The reason if the call has been stopped already.
    pub fn fired(&self) -> Option<StopReason> {
        StopReason::from_code(self.state.fired.load(Ordering::Relaxed))
    }

    /// One look more. Whether it is one too many.
    fn is_overdrawn(&self) -> bool {
        match self.state.looks_left.load(Ordering::Relaxed) {
            UNLIMITED => false,
            0 => true,
            left => {
                self.state.looks_left.store(left - 1, Ordering::Relaxed);
                false
            }
        }
    }

    fn ordered(&self) -> Option<StopReason> {
        let state = &*self.state;
        let fired = self.fired();
        if fired.is_some() {
            return fired;
        }
        let code = state.orders.given()?;
        state.fired.store(code, Ordering::Relaxed);
        StopReason::from_code(code)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_late_stop_never_hits_the_next_call() {
        let check = StopCheck::new();
        let other = check.clone();
        let (send, receive) = std::sync::mpsc::sync_channel::<u64>(16);
        let late = std::thread::spawn(move || {
            let mut accepted = 0_u64;
            while let Ok(generation) = receive.recv() {
                accepted += u64::from(other.stop(generation, StopReason::Deadline));
            }
            accepted
        });
        let mut hit = 0_u64;
        for _ in 0..20_000 {
            let generation = check.arm(StopLimits::default());
            send.send(generation).unwrap();
            check.look();
            hit += u64::from(check.disarm().is_some());
            check.arm(StopLimits::default());
            for _ in 0..8 {
                assert_eq!(check.look(), None, "an order hit a call that it did not mean");
            }
            assert_eq!(check.disarm(), None);
        }
        drop(send);
        assert!(hit <= late.join().unwrap());
    }

    #[test]
    fn an_order_for_an_earlier_call_does_not_undo_the_present_one() {
        let check = StopCheck::new();
        let first = check.arm(StopLimits::default());
        assert_eq!(check.disarm(), None);
        let second = check.arm(StopLimits::default());
        assert!(check.stop(second, StopReason::Closing));
        assert!(!check.stop(first, StopReason::Deadline));
        assert!(!check.stop(second, StopReason::Deadline), "the first reason stays");
        assert_eq!(check.look(), Some(StopReason::Closing));
        assert_eq!(check.disarm(), Some(StopReason::Closing));
        assert_eq!(check.disarm(), None);
        assert!(!check.stop(second, StopReason::Closing), "the call is over");
    }

    #[test]
    fn the_earliest_limit_names_the_reason() {
        let check = StopCheck::new();
        let now = Instant::now();
        let later = now + Duration::from_secs(3600);
        check.arm(StopLimits { deadline: Some(later), too_old_at: Some(now) });
        assert_eq!(check.look(), Some(StopReason::TooOld));
        assert_eq!(check.disarm(), Some(StopReason::TooOld));
        check.arm(StopLimits { deadline: Some(later), ..StopLimits::default() });
        assert_eq!(check.look(), None);
        assert_eq!(check.disarm(), None);
        assert_eq!(check.look(), None, "no limit outlives its call");
    }

    #[test]
    fn an_order_that_nothing_noticed_did_not_stop_the_call() {
        let check = StopCheck::new();
        let generation = check.arm(StopLimits::default());
        assert_eq!(check.running(), Some(generation));
        assert!(check.stop(generation, StopReason::WalPressure));
        assert_eq!(check.disarm(), None);
        assert_eq!(check.running(), None);
    }

    #[test]
    fn an_allowance_is_used_up_and_outlives_no_call() {
        let check = StopCheck::new();
        let mut connection = Connection::open_in_memory().unwrap();
        check.install(&mut connection).unwrap();
        let count = |connection: &Connection, to: u32| {
            let sql =
                "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT count(*) FROM n";
            connection.query_row(sql, [to], |row| row.get::<_, u32>(0))
        };
        check.arm(StopLimits::default());
        check.allow(Some(20_000));
        assert_eq!(count(&connection, 100), Ok(100));
        let interrupted = count(&connection, 100_000).unwrap_err();
        assert_eq!(interrupted.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
        assert!(count(&connection, 100_000).is_err(), "it is for all together");
        assert_eq!(check.disarm(), None, "that is no stop");
        check.arm(StopLimits::default());
        assert_eq!(count(&connection, 100_000), Ok(100_000));
        check.allow(Some(2_000));
        check.allow(None);
        assert_eq!(count(&connection, 100_000), Ok(100_000));
    }
}
