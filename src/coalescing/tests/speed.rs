//! What planning costs.

use std::time::Instant;

use super::*;

/// Prints the time for a command; run with `--ignored --nocapture`, in release mode.
#[test]
#[ignore = "measures, and asserts nothing"]
fn planning_takes_this_long() {
    let t = Handle::new();
    let row = |n: usize| [(X, int(n as i64)), (Y, text("some text of a row")), (ANY, text("and some more"))];
    let key = |n: usize| format!("0192f0c1-7a2b-7000-8000-{n:012}");
    let apart: Vec<_> = (0..256).map(|n| t.insert(&key(n), row(n))).collect();
    let pairs: Vec<_> = (0..256)
        .map(|n| if n < 128 { t.insert(&key(n), row(n)) } else { t.update(&key(n - 128), [(X, int(1))]) })
        .collect();
    for (name, run) in [("apart", &apart), ("pairs", &pairs)] {
        let commands: Vec<_> = run.iter().map(|sent| (&sent.command, &sent.facts)).collect();
        let rounds = 10_000;
        let start = Instant::now();
        let chains: usize = (0..rounds).map(|_| Plan::of(&commands, FIRST).chains.len()).sum();
        let each = start.elapsed() / rounds / 256;
        println!("{name}: {each:?} a command, {} chains", chains / rounds as usize);
    }
}
