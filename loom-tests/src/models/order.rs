//! Order: what one sender sends is applied in its order, and answered in the order of the commits.

use crate::bench::{Bench, groups_of, hurried_groups_of, join};
use crate::command::{Deed, Write};
use crate::explore::{Exploration, explore};
use crate::model_storage::{Fault, Step};
use crate::protocol::level::AckLevel::{Committed, Durable};

/// Once the last command of one sender is done, all before it have their answers; the log and the
/// sequences have the order of the line. In one group, in two, and in groups that ran out of time.
#[test]
fn one_senders_commands_are_applied_and_answered_in_its_order() {
    let mut exploration = Exploration::new("one_senders_commands_are_applied_and_answered_in_its_order");
    for (case, limits) in [
        ("groups of three", groups_of(3)),
        ("groups of one", groups_of(1)),
        ("groups without time", hurried_groups_of(3)),
    ] {
        exploration.case(case, move || {
            let bench = Bench::new(2);
            let writer = bench.spawn_writer(limits, &[]);
            let sent = [Write::durable(1), Write::committed(2), Write::durable(3)].map(|write| bench.send(write));
            let [first, second, third] = sent;
            assert!(third.wait().is_done());
            assert!(second.expect_answered("a later one of the same sender has").is_done());
            assert!(first.expect_answered("a later one of the same sender has").is_done());
            bench.close(writer);
        });
    }
    exploration.finish();
}
