//! The protocol over a storage that does nothing.

use crate::callers::Actor;
use crate::protocol::answer::Ticket;
use crate::protocol::ledger::Sequencer;
use crate::protocol::level::AckLevel;
use crate::protocol::limits::{GroupLimits, QueueLimits};
use crate::protocol::queue::{CommandQueue, Entrance};
use crate::protocol::storage::{
    Applied, CommitError, Committed, GroupReport, Interruption, Joined, Readiness, Storage, TransactionLost,
};
use crate::protocol::work::{Answer, Command, Work};
use crate::protocol::writer_loop;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The defaults of a store.
const QUEUE: QueueLimits = QueueLimits { commands: 64 * 1024, bytes: 64 << 20 };
const GROUP: GroupLimits = GroupLimits { commands: 256, bytes: 1 << 20, time: Duration::from_millis(100) };
/// What a small command counts in a store.
const COMMAND_BYTES: usize = 512;

/// A command that is answered with its number.
pub struct Number(u64);

impl Work for Number {
    type Output = u64;
    type Error = ();
    type Reason = ();

    fn bytes(&self) -> usize {
        COMMAND_BYTES
    }

    fn lost() {}
}

impl Command for Number {
    fn level(&self) -> AckLevel {
        AckLevel::Durable
    }
}

struct Nothing {
    next: u64,
}

impl Storage for Nothing {
    type Command = Number;

    fn begin(&mut self, _: AckLevel) -> Result<(), Interruption<()>> {
        Ok(())
    }

    fn apply(&mut self, command: &mut Number, _: u64, _: Instant) -> Applied<Number> {
        Applied::Done { output: command.0, deletes: false }
    }

    /// As row commands do.
    fn joins(&self, _: &Number) -> bool {
        true
    }

    fn apply_together(
        &mut self,
        commands: &mut [&mut Number],
        _: u64,
        _: Instant,
    ) -> Result<Vec<Joined<Number>>, TransactionLost> {
        Ok(commands.iter().map(|command| Joined::Done { output: command.0, deletes: false }).collect())
    }

    fn commit(&mut self) -> Result<Committed, CommitError<(), ()>> {
        Ok(Committed { wrote: true, foreign: false })
    }

    fn sync(&mut self) -> Result<(), ()> {
        Ok(())
    }

    fn reserve(&mut self) -> Result<Range<u64>, Interruption<()>> {
        const RANGE: u64 = 1_000_000;
        self.next += RANGE;
        Ok(self.next - RANGE..self.next)
    }

    fn upkeep(&mut self, _: bool) -> Result<Readiness, ()> {
        Ok(Readiness::Ready { patience: None })
    }

    fn report(&mut self, _: &GroupReport) {}

    fn panicked(_: &str) {}
}

/// The protocol with a writer's thread.
pub struct Protocol {
    queue: Arc<CommandQueue<Number>>,
    thread: JoinHandle<()>,
}

impl Protocol {
    pub fn start() -> Self {
        let queue = Arc::new(CommandQueue::new(QUEUE));
        let served = Arc::clone(&queue);
        let thread = thread::spawn(move || {
            let ended = writer_loop::run(&served, &mut Nothing { next: 0 }, GROUP, Sequencer::new(0..0));
            assert!(ended.is_ok(), "nothing here can fail");
        });
        Self { queue, thread }
    }
}

/// The wait for an answer.
struct Wait(Ticket<Number>);

impl Future for Wait {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        match ready!(self.0.poll_answer(context)) {
            Answer::Done(number) => Poll::Ready(number),
            _ => panic!("nothing here can fail"),
        }
    }
}

impl Actor for Protocol {
    fn send(&self, command: u64) -> impl Future<Output = u64> + Unpin {
        match self.queue.enter(Number(command), None, Entrance::Wait) {
            Ok(entered) => Wait(entered.ticket),
            Err(_) => panic!("the queue is open and has room"),
        }
    }

    fn end(self) {
        self.queue.close();
        self.thread.join().expect("the writer ends");
    }
}
