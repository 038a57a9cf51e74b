//! Stopping SQL that runs.

use std::time::{Duration, Instant};

use super::super::{SessionError, StopLimits, StopReason, Stopped};
use super::*;

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

fn soon() -> StopLimits {
    StopLimits { deadline: Some(Instant::now() + Duration::from_millis(20)), ..StopLimits::default() }
}

fn reason(error: &ClosureError) -> StopReason {
    error.downcast_ref::<Stopped>().unwrap_or_else(|| panic!("another error: {error}")).reason
}

#[test]
fn an_endless_query_a_loop_of_short_ones_and_a_loop_of_rows_all_end() {
    for bench in [Bench::writer("CREATE TABLE t(a)"), Bench::reader("CREATE TABLE t(a)")] {
        let stop = bench.state.stop_check();
        stop.arm(soon());
        let failed = bench.session().run_statement(ENDLESS, &Params::default(), None).unwrap_err();
        assert!(matches!(failed, SessionError::Stopped(StopReason::Deadline)));
        assert_eq!(stop.disarm(), Some(StopReason::Deadline));

        stop.arm(soon());
        let failed = bench.closure(|tx| {
            loop {
                tx.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?;
            }
            #[expect(unreachable_code, reason = "gives the closure its type")]
            Ok(())
        });
        assert_eq!(reason(&failed.unwrap_err()), StopReason::Deadline);
        assert_eq!(stop.disarm(), Some(StopReason::Deadline));

        stop.arm(soon());
        let failed = bench.closure(|tx| {
            let mut statement = tx.prepare(ROWS)?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        });
        assert_eq!(reason(&failed.unwrap_err()), StopReason::Deadline);
        assert_eq!(stop.disarm(), Some(StopReason::Deadline));

        // The next call is untouched, and the transaction still open.
        stop.arm(StopLimits::default());
        bench.run("SELECT 1");
        assert_eq!(stop.disarm(), None);
        assert!(!bench.connection.is_autocommit() && !bench.connection.is_busy());
    }
}

#[test]
fn an_order_from_another_thread_ends_the_call_that_it_names() {
    let bench = Bench::reader("CREATE TABLE t(a)");
    let stop = bench.state.stop_check().clone();
    let generation = stop.arm(StopLimits::default());
    let other = stop.clone();
    let order = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        other.stop(generation, StopReason::WalPressure)
    });
    let failed = bench.session().run_statement(ENDLESS, &Params::default(), None).unwrap_err();
    assert!(matches!(failed, SessionError::Stopped(StopReason::WalPressure)));
    assert!(order.join().unwrap());
    assert_eq!(stop.disarm(), Some(StopReason::WalPressure));
}

#[test]
fn a_closure_that_ignores_its_stop_runs_nothing_more() {
    let bench = Bench::writer("CREATE TABLE t(a)");
    let stop = bench.state.stop_check();
    let generation = stop.arm(StopLimits::default());
    bench
        .closure(|tx| {
            tx.execute("INSERT INTO t VALUES (1)", [])?;
            assert!(stop.stop(generation, StopReason::Closing));
            for _ in 0..3 {
                assert_eq!(
                    reason(&tx.execute("INSERT INTO t VALUES (2)", []).unwrap_err()),
                    StopReason::Closing
                );
                assert_eq!(reason(&tx.execute_batch("SELECT 1").unwrap_err()), StopReason::Closing);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(stop.disarm(), Some(StopReason::Closing));
    assert_eq!(bench.one("SELECT count(*) FROM t WHERE a = 2"), 0);
}

#[test]
fn twenty_thousand_plain_reads_beside_late_orders_never_fail() {
    let bench = Bench::reader("CREATE TABLE t(a); INSERT INTO t VALUES (1);");
    let stop = bench.state.stop_check().clone();
    let (send, receive) = std::sync::mpsc::sync_channel::<u64>(4);
    let other = stop.clone();
    let late = std::thread::spawn(move || {
        while let Ok(generation) = receive.recv() {
            other.stop(generation, StopReason::Deadline);
        }
    });
    for _ in 0..20_000 {
        let generation = stop.arm(StopLimits::default());
        send.send(generation).unwrap();
        let first = bench.session().run_statement("SELECT a FROM t", &Params::default(), None);
        assert_eq!(first.is_err(), stop.disarm().is_some(), "the answer and the engine's view agree");
        stop.arm(StopLimits::default());
        bench.run("SELECT a FROM t");
        assert_eq!(stop.disarm(), None);
    }
    drop(send);
    late.join().unwrap();
}
