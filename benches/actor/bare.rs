//! What the actor is held against: a channel, and a oneshot for each answer.

use crate::callers::Actor;
use crossbeam_channel::Sender;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;

/// As many as a store's queue holds.
const ROOM: usize = 64 * 1024;

pub struct Bare {
    commands: Sender<(u64, oneshot::Sender<u64>)>,
    thread: JoinHandle<()>,
}

impl Bare {
    pub fn start() -> Self {
        let (commands, received) = crossbeam_channel::bounded::<(u64, oneshot::Sender<u64>)>(ROOM);
        let thread = thread::spawn(move || {
            for (command, answer) in received {
                // Nobody who waits for it is no failure.
                let _ = answer.send(command);
            }
        });
        Self { commands, thread }
    }
}

/// The wait for an answer.
struct Wait(oneshot::Receiver<u64>);

impl Future for Wait {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.expect("the actor answers"))
    }
}

impl Actor for Bare {
    fn send(&self, command: u64) -> impl Future<Output = u64> + Unpin {
        let (answer, wait) = oneshot::channel();
        self.commands.send((command, answer)).expect("the actor runs");
        Wait(wait)
    }

    fn end(self) {
        drop(self.commands);
        self.thread.join().expect("the actor ends");
    }
}
