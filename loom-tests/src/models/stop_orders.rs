//! Orders to end a call: each ends the call that it names, or none.

use std::sync::Arc;

use loom::thread::JoinHandle;

use crate::bench::join;
use crate::explore::explore;
use crate::protocol::stop_orders::StopOrders;

const FIRST: u8 = 1;
const SECOND: u8 = 2;

/// Gives an order on a thread of its own.
fn give(orders: &Arc<StopOrders>, call: u64, reason: u8) -> JoinHandle<bool> {
    let orders = orders.clone();
    loom::thread::spawn(move || orders.give(call, reason))
}

/// An order for the first call is given while that call is running, is over, or the second one is running.
#[test]
fn a_late_order_never_ends_the_next_call() {
    explore("a_late_order_never_ends_the_next_call", || {
        let orders = Arc::new(StopOrders::new());
        let first = orders.begin();
        let other = give(&orders, first, FIRST);
        let seen = orders.given();
        assert!(seen.is_none_or(|reason| reason == FIRST));
        orders.end();
        assert_eq!(orders.given(), None, "between two calls there is nothing to end");
        let second = orders.begin();
        assert_eq!(orders.given(), None, "it named another call");
        let was_given = join(other);
        assert!(was_given || seen.is_none(), "what was seen was given");
        assert_eq!(orders.given(), None);
        assert!(orders.give(second, SECOND));
        assert_eq!(orders.given(), Some(SECOND));
    });
}

/// One order is for the first call and comes late, another one for the second: the late one does not undo it.
#[test]
fn an_order_for_an_earlier_call_does_not_undo_the_present_one() {
    explore("an_order_for_an_earlier_call_does_not_undo_the_present_one", || {
        let orders = Arc::new(StopOrders::new());
        let first = orders.begin();
        let late = give(&orders, first, FIRST);
        orders.end();
        let second = orders.begin();
        let timely = give(&orders, second, SECOND);
        join(late);
        assert!(join(timely), "its call was running, and nobody else meant it");
        assert_eq!(orders.given(), Some(SECOND));
    });
}

/// Two order the same call to end: one of them has, and its reason is the one that is seen.
#[test]
fn one_of_two_orders_for_a_call_is_accepted() {
    explore("one_of_two_orders_for_a_call_is_accepted", || {
        let orders = Arc::new(StopOrders::new());
        let call = orders.begin();
        let (one, other) = (give(&orders, call, FIRST), give(&orders, call, SECOND));
        let seen = orders.given();
        let (one, other) = (join(one), join(other));
        assert!(one != other, "one of them ends it");
        let reason = if one { FIRST } else { SECOND };
        assert_eq!(orders.given(), Some(reason));
        assert!(seen.is_none_or(|seen| seen == reason), "a reason that was seen stays");
    });
}
