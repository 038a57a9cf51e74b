//! The bars that the closed loop can tell about.

use crate::closed::Row;
use crate::contender::Contender;
use walwright_bench_workload::{Bar, Pattern};

/// Bars whose rows were measured.
pub fn of_closed_loop(rows: &[Row]) -> Vec<Bar> {
    let per_second = |contender: Contender, sync_delay_ms: u64, pattern: Pattern, clients: usize| {
        let wanted = |row: &&Row| {
            row.contender == contender
                && row.sync_delay_ms == sync_delay_ms
                && row.pattern == pattern
                && row.clients == clients
        };
        rows.iter().find(wanted).map(|row| row.per_second.median)
    };
    let times = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    let (engine, thread) = (Contender::Walwright, Contender::WalwrightThread);
    let (limit, rollback) = (Contender::Limit, Contender::BaselineRollback);
    let (insert, pipelined) = (Pattern::Insert, Pattern::Pipelined);
    [
        times(per_second(limit, 0, insert, 1), per_second(thread, 0, insert, 1)).map(|figure| {
            Bar::at_most(
                "one client, a thread, time of a durable insert against autocommit by hand",
                figure,
                1.25,
            )
        }),
        times(per_second(limit, 0, insert, 1), per_second(engine, 0, insert, 1)).map(|figure| {
            Bar::at_most("one client, a task of tokio, the same against autocommit by hand", figure, 1.25)
        }),
        times(per_second(engine, 0, pipelined, 64), per_second(limit, 0, pipelined, 64))
            .map(|figure| Bar::at_least("64 clients, pipelined pairs against the limit", figure, 0.8)),
        times(per_second(engine, 5, pipelined, 64), per_second(rollback, 5, pipelined, 64)).map(|figure| {
            Bar::at_least("64 clients, pipelined pairs at 5 ms a sync against the baseline", figure, 100.0)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
