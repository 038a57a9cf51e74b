//! What every model is built on: a queue, a disk, a judge, and a writer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loom::thread::JoinHandle;

use crate::command::Write;
use crate::judge::{Judge, Sent};
use crate::model_storage::{Disk, Line, ModelStorage};
use crate::protocol::ledger::Sequencer;
use crate::protocol::limits::{GroupLimits, QueueLimits};
use crate::protocol::queue::{CommandQueue, Entrance};
use crate::protocol::work::Refusal;
use crate::protocol::writer_loop;

/// One engine without its threads.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) queue: Arc<CommandQueue<Write>>,
    pub(crate) disk: Arc<Disk>,
    pub(crate) judge: Arc<Judge>,
}

/// Groups of at most `commands` commands, and of any size and length.
pub(crate) fn groups_of(commands: usize) -> GroupLimits {
    GroupLimits { commands, bytes: usize::MAX, time: Duration::from_secs(1) }
}

/// Groups whose time is up after their first command.
pub(crate) fn hurried_groups_of(commands: usize) -> GroupLimits {
    GroupLimits { time: Duration::ZERO, ..groups_of(commands) }
}

/// A deadline that is over. Nobody has noticed yet.
pub(crate) fn over() -> Instant {
    crate::sync::now()
}

impl Bench {
    /// An engine whose queue holds `commands` commands of any size.
    pub(crate) fn new(commands: usize) -> Self {
        Self::with_limits(commands, 1_000)
    }

    pub(crate) fn with_limits(commands: usize, bytes: usize) -> Self {
        let disk = Arc::new(Disk::new());
        Self {
            queue: Arc::new(CommandQueue::new(QueueLimits { commands, bytes })),
            judge: Arc::new(Judge::new(disk.clone())),
            disk,
        }
    }

    /// Sends a command that must be accepted; it waits for room if there is none.
    pub(crate) fn send(&self, write: Write) -> Sent {
        match self.enter(write, None) {
            Ok(sent) => sent,
            Err(refusal) => panic!("{write:?} was refused: {refusal:?}"),
        }
    }

    /// Sends a command that must be accepted and whose deadline is over.
    pub(crate) fn send_overdue(&self, write: Write) -> Sent {
        match self.enter(write, Some(over())) {
            Ok(sent) => sent,
            Err(refusal) => panic!("{write:?} was refused: {refusal:?}"),
        }
    }

    /// Sends a command that may be refused.
    pub(crate) fn enter(
        &self,
        write: Write,
        deadline: Option<Instant>,
    ) -> Result<Sent, Refusal<&'static str>> {
        let entered = self.queue.enter(write, deadline, Entrance::Wait)?;
        Ok(self.judge.sent(write, entered))
    }

    /// Sends a command if there is room at once.
    pub(crate) fn try_enter(&self, write: Write) -> Result<Sent, Refusal<&'static str>> {
        let entered = self.queue.enter(write, None, Entrance::Try)?;
        Ok(self.judge.sent(write, entered))
    }

    /// Runs the writer in this thread until it ends.
    pub(crate) fn write(&self, limits: GroupLimits, script: &[Line]) -> Result<(), &'static str> {
        let mut storage = ModelStorage::new(self.disk.clone(), script);
        // Without sequences: the first group reserves them.
        writer_loop::run(&self.queue, &mut storage, limits, Sequencer::new(0..0))
    }

    /// Starts a thread with the writer.
    pub(crate) fn spawn_writer(
        &self,
        limits: GroupLimits,
        script: &[Line],
    ) -> JoinHandle<Result<(), &'static str>> {
        let (bench, script) = (self.clone(), script.to_vec());
        loom::thread::spawn(move || bench.write(limits, &script))
    }

    /// Starts a thread.
    pub(crate) fn spawn(&self, run: impl FnOnce(Self) + 'static) -> JoinHandle<()> {
        let bench = self.clone();
        loom::thread::spawn(move || run(bench))
    }

    /// Closes the queue, waits for a writer that has nothing to fail on, and judges the whole.
    pub(crate) fn close(&self, writer: JoinHandle<Result<(), &'static str>>) {
        self.queue.close();
        assert_eq!(join(writer), Ok(()));
        self.judge.adjourn();
    }
}

/// The result of a thread of the model.
pub(crate) fn join<T>(thread: JoinHandle<T>) -> T {
    match thread.join() {
        Ok(value) => value,
        Err(_) => panic!("a thread of the model panicked"),
    }
}
