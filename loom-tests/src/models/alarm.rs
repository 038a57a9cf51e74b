//! The alarm: whoever sets a deadline is answered, however the setting meets the ring.

use std::sync::Arc;

use crate::bench::{Bench, join, over};
use crate::command::Write;
use crate::explore::{Exploration, explore};
use crate::judge::Outcome;
use crate::protocol::alarm::Alarm;

/// A deadline is set while the clock's thread sleeps, rings, or goes to sleep: it rings for it. Without a
/// writer nothing else answers.
#[test]
fn a_deadline_that_is_set_while_it_rings_rings_again() {
    explore("a_deadline_that_is_set_while_it_rings_rings_again", || {
        let bench = Bench::new(1);
        let alarm = Arc::new(Alarm::new());
        let clock = {
            let (bench, alarm) = (bench.clone(), alarm.clone());
            loom::thread::spawn(move || alarm.run(|now| bench.queue.expire(now)))
        };
        for id in [1, 2] {
            let sent = bench.send_overdue(Write::committed(id));
            alarm.set(over());
            assert_eq!(sent.wait(), Outcome::Expired);
        }
        alarm.finish();
        join(clock);
        bench.judge.adjourn();
    });
}

/// Two callers set deadlines, one of them far away: the near one is not lost behind it.
#[test]
fn a_near_deadline_is_not_lost_behind_a_far_one() {
    let mut exploration = Exploration::new("a_near_deadline_is_not_lost_behind_a_far_one");
    for near_first in [true, false] {
        exploration.case(if near_first { "near first" } else { "far first" }, move || {
            let bench = Bench::new(2);
            let alarm = Arc::new(Alarm::new());
            let clock = {
                let (bench, alarm) = (bench.clone(), alarm.clone());
                loom::thread::spawn(move || alarm.run(|now| bench.queue.expire(now)))
            };
            let far = over() + std::time::Duration::from_secs(60);
            let send_far = move |bench: &Bench, alarm: &Alarm| {
                let entered = bench.enter(Write::committed(1), Some(far));
                alarm.set(far);
                assert!(entered.is_ok());
            };
            let send_near = |bench: &Bench, alarm: &Alarm| {
                let sent = bench.send_overdue(Write::committed(2));
                alarm.set(over());
                assert_eq!(sent.wait(), Outcome::Expired);
            };
            let other = {
                let (bench, alarm) = (bench.clone(), alarm.clone());
                loom::thread::spawn(move || {
                    if near_first { send_far(&bench, &alarm) } else { send_near(&bench, &alarm) }
                })
            };
            if near_first {
                send_near(&bench, &alarm)
            } else {
                send_far(&bench, &alarm)
            }
            join(other);
            alarm.finish();
            join(clock);
        });
    }
    exploration.finish();
}

/// Finishing ends the thread, whatever it is doing.
#[test]
fn finishing_ends_the_clocks_thread() {
    explore("finishing_ends_the_clocks_thread", || {
        let alarm = Arc::new(Alarm::new());
        let clock = {
            let alarm = alarm.clone();
            loom::thread::spawn(move || alarm.run(|_| None))
        };
        alarm.set(over());
        alarm.finish();
        join(clock);
    });
}
