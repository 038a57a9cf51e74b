//! Threads that keep an actor busy.

use crate::block_on::Blocking;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How busy.
#[derive(Clone, Copy)]
pub struct Load {
    pub threads: usize,
    /// Of each thread.
    pub in_flight: usize,
}

/// Something with a thread that answers commands.
pub trait Actor: Sync + Sized {
    /// Sends a command, and gives the wait for its answer.
    fn send(&self, command: u64) -> impl Future<Output = u64> + Unpin;

    /// Ends the actor's thread.
    fn end(self);

    /// Commands a second under a load.
    fn measure(self, load: Load, time: Duration) -> f64 {
        let over = AtomicBool::new(false);
        let began = Instant::now();
        let commands: u64 = thread::scope(|scope| {
            let callers: Vec<_> =
                (0..load.threads).map(|_| scope.spawn(|| keep_busy(&self, load.in_flight, &over))).collect();
            thread::sleep(time);
            over.store(true, Ordering::Relaxed);
            callers.into_iter().map(|caller| caller.join().expect("a caller does not panic")).sum()
        });
        let rate = commands as f64 / began.elapsed().as_secs_f64();
        self.end();
        rate
    }
}

/// Always waits for the oldest command, and sends another when it is answered.
fn keep_busy(actor: &impl Actor, in_flight: usize, over: &AtomicBool) -> u64 {
    let blocking = Blocking::new();
    let mut waits = VecDeque::with_capacity(in_flight);
    let (mut sent, mut answered) = (0, 0);
    while !over.load(Ordering::Relaxed) {
        while waits.len() < in_flight {
            waits.push_back((sent, actor.send(sent)));
            sent += 1;
        }
        if let Some((command, wait)) = waits.pop_front() {
            assert_eq!(blocking.on(wait), command, "each gets its own answer");
            answered += 1;
        }
    }
    for (_, wait) in waits {
        blocking.on(wait);
        answered += 1;
    }
    answered
}
