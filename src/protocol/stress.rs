//! The protocol with real threads, real panics and a real clock, under a watchdog.
//!
//! The models of `loom-tests` go through every order of a few steps; this goes through some orders of many
//! steps, and has what a model cannot have: destructors that run while a panic unwinds, timed
//! waits that time out, and parking_lot itself.
#![allow(clippy::panic)]

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::alarm::Alarm;
use super::answer::Ticket;
use super::ledger::Sequencer;
use super::level::AckLevel;
use super::limits::{GroupLimits, QueueLimits};
use super::queue::{CommandQueue, Entrance};
use super::storage::{
    Applied, CommitError, Committed, GroupReport, Interruption, Joined, Readiness, Storage, TransactionLost,
};
use super::work::{Answer, Command, Refusal, Work};
use super::writer_loop;

const DURATION: Duration = Duration::from_millis(2_500);
const SENDERS: u64 = 4;
const COMMANDS_EACH: u64 = 24;
/// A round takes milliseconds. One that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Random numbers that a seed repeats (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// True once in `times`.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

#[derive(Clone, Copy, Debug)]
struct Write {
    id: u64,
    level: AckLevel,
    bytes: usize,
    deletes: bool,
    /// Takes the transaction with it.
    culprit: bool,
    /// May be carried out together with its neighbours.
    joins: bool,
    /// How many transactions it takes, and how many it knows to be committed.
    pieces: usize,
    kept: usize,
}

/// Why a command failed.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// Nothing of it is on the disk.
    Undone,
    /// So many of its pieces are.
    Partly(usize),
}

impl Work for Write {
    /// How much of the log the result has seen.
    type Output = usize;
    type Error = Failure;
    type Reason = &'static str;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn lost() -> &'static str {
        "dropped"
    }
}

impl Command for Write {
    fn level(&self) -> AckLevel {
        self.level
    }

    fn keep_piece(&mut self) {
        self.kept += 1;
    }

    fn set_back(&self, answer: Answer<Self>) -> Answer<Self> {
        match answer {
            Answer::Failed(_) | Answer::NotStarted(_) if self.kept > 0 => {
                Answer::Failed(Failure::Partly(self.kept))
            }
            answer => answer,
        }
    }
}

/// What is on the disk: how many pieces of each command were committed, and the marks of the log.
#[derive(Default)]
struct Disk {
    carried_out: Mutex<HashMap<u64, usize>>,
    committed: AtomicUsize,
    synced: AtomicUsize,
    failed: AtomicBool,
    /// A piece was committed that was not the next one of its command.
    out_of_turn: AtomicBool,
}

struct RoughStorage {
    disk: Arc<Disk>,
    dice: Dice,
    /// Once in so many steps something goes wrong for good.
    fatal_in: u64,
    level: AckLevel,
    /// The commands that the transaction has carried out, and which piece of each.
    records: Vec<(u64, usize)>,
    next_sequence: u64,
}

impl RoughStorage {
    fn fails(&mut self) -> bool {
        let fails = self.dice.one_in(self.fatal_in);
        if fails {
            self.disk.failed.store(true, Ordering::SeqCst);
            if self.dice.one_in(2) {
                // A real panic, without the message of the hook.
                resume_unwind(Box::new("rough"));
            }
        }
        fails
    }
}

impl Storage for RoughStorage {
    type Command = Write;

    fn begin(&mut self, level: AckLevel) -> Result<(), Interruption<&'static str>> {
        if self.fails() {
            return Err(Interruption::Fatal("begin"));
        }
        if self.dice.one_in(30) {
            return Err(Interruption::Refused("busy"));
        }
        self.level = level;
        self.records.clear();
        Ok(())
    }

    fn apply(&mut self, command: &mut Write, _sequence: u64, _now: Instant) -> Applied<Write> {
        if self.dice.one_in(self.fatal_in) {
            self.disk.failed.store(true, Ordering::SeqCst);
            resume_unwind(Box::new("rough"));
        }
        let piece = command.kept;
        if command.culprit && piece + 1 == command.pieces {
            self.records.clear();
            return Applied::Lost(Failure::Undone);
        }
        if self.dice.one_in(20) {
            return Applied::Failed(Failure::Undone);
        }
        self.records.push((command.id, piece));
        if piece + 1 < command.pieces {
            return Applied::Piece { deletes: command.deletes };
        }
        let output = self.disk.committed.load(Ordering::SeqCst) + self.records.len();
        Applied::Done { output, deletes: command.deletes }
    }

    fn joins(&self, command: &Write) -> bool {
        command.joins
    }

    fn apply_together(
        &mut self,
        commands: &mut [&mut Write],
        first_sequence: u64,
        now: Instant,
    ) -> Result<Vec<Joined<Write>>, TransactionLost> {
        let mut joined = Vec::new();
        for (command, sequence) in commands.iter_mut().zip(first_sequence..) {
            joined.push(match self.apply(command, sequence, now) {
                Applied::Done { output, deletes } => Joined::Done { output, deletes },
                Applied::Failed(error) => Joined::Failed(error),
                Applied::Piece { .. } | Applied::Lost(_) => return Err(TransactionLost),
            });
        }
        if self.dice.one_in(20) {
            self.records.clear();
            return Err(TransactionLost);
        }
        Ok(joined)
    }

    fn commit(&mut self) -> Result<Committed, CommitError<Failure, &'static str>> {
        if self.dice.one_in(40) {
            self.records.clear();
            return Err(CommitError::NotApplied(Failure::Undone));
        }
        if self.fails() {
            return Err(CommitError::Unknown("commit"));
        }
        let wrote = !self.records.is_empty();
        let mut carried_out = self.disk.carried_out.lock();
        for (id, piece) in self.records.drain(..) {
            let pieces = carried_out.entry(id).or_default();
            if *pieces != piece {
                self.disk.out_of_turn.store(true, Ordering::SeqCst);
            }
            *pieces += 1;
            self.disk.committed.fetch_add(1, Ordering::SeqCst);
        }
        drop(carried_out);
        if wrote && self.level == AckLevel::Durable {
            self.disk.synced.store(self.disk.committed.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        if self.fails() {
            return Err(CommitError::Unknown("commit, but done"));
        }
        Ok(Committed { wrote, foreign: false })
    }

    fn sync(&mut self) -> Result<(), &'static str> {
        if self.fails() {
            return Err("sync");
        }
        self.disk.synced.store(self.disk.committed.load(Ordering::SeqCst), Ordering::SeqCst);
        Ok(())
    }

    fn reserve(&mut self) -> Result<Range<u64>, Interruption<&'static str>> {
        let first = self.next_sequence;
        self.next_sequence += 100;
        Ok(first..self.next_sequence)
    }

    fn upkeep(&mut self, _idle: bool) -> Result<Readiness, &'static str> {
        if self.fails() {
            return Err("upkeep");
        }
        let time = Duration::from_micros(self.dice.below(200));
        Ok(match self.dice.below(4) {
            0 => Readiness::Stalled(time),
            1 => Readiness::Ready { patience: None },
            _ => Readiness::Ready { patience: Some(time) },
        })
    }

    fn report(&mut self, _report: &GroupReport) {}

    fn panicked(_message: &str) -> &'static str {
        "panicked"
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    loop {
        if let Poll::Ready(value) = poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        thread::park();
    }
}

/// One engine with everything that can meet in it.
struct Round {
    queue: CommandQueue<Write>,
    alarm: Alarm,
    disk: Arc<Disk>,
}

impl Round {
    fn send_all(&self, sender: u64, mut dice: Dice) {
        let mut waiting = Vec::new();
        for index in 0..COMMANDS_EACH {
            let joins = dice.one_in(2);
            let write = Write {
                id: sender * 1_000 + index,
                joins,
                pieces: if !joins && dice.one_in(4) { 2 + dice.below(3) as usize } else { 1 },
                kept: 0,
                level: if dice.one_in(2) { AckLevel::Durable } else { AckLevel::Committed },
                bytes: dice.below(60) as usize,
                deletes: dice.one_in(4),
                culprit: dice.one_in(25),
            };
            let deadline = dice.one_in(3).then(|| Instant::now() + Duration::from_micros(dice.below(300)));
            let entrance = if dice.one_in(6) { Entrance::Try } else { Entrance::Wait };
            match self.queue.enter(write, deadline, entrance) {
                Ok(entered) => {
                    if let Some(deadline) = deadline {
                        self.alarm.set(deadline);
                    }
                    if dice.one_in(8) {
                        drop(entered.ticket);
                        self.queue.leave(entered.number);
                    } else {
                        waiting.push((write, entered.ticket));
                    }
                }
                Err(refusal) => assert!(!matches!(refusal, Refusal::Expired | Refusal::Begin(_))),
            }
            if dice.one_in(3) {
                self.hear_all(&mut waiting, &mut dice);
            }
        }
        self.hear_all(&mut waiting, &mut dice);
    }

    fn hear_all(&self, waiting: &mut Vec<(Write, Ticket<Write>)>, dice: &mut Dice) {
        for (write, mut ticket) in waiting.drain(..) {
            if dice.one_in(2) {
                wait(|context| ticket.poll_admitted(context));
            }
            let answer = wait(|context| ticket.poll_answer(context));
            let carried_out = self.disk.carried_out.lock().get(&write.id).copied().unwrap_or(0);
            match answer {
                Answer::Done(seen) => {
                    assert_eq!(carried_out, write.pieces, "{write:?} is done");
                    assert!(
                        self.disk.committed.load(Ordering::SeqCst) >= seen,
                        "{write:?}: before its commit"
                    );
                    if write.deletes || write.level == AckLevel::Durable {
                        assert!(
                            self.disk.synced.load(Ordering::SeqCst) >= seen,
                            "{write:?}: before its sync"
                        );
                    }
                }
                Answer::Failed(Failure::Partly(pieces)) => {
                    assert_eq!(carried_out, pieces, "{write:?} is partly there");
                }
                Answer::Failed(Failure::Undone) | Answer::NotStarted(_) => {
                    assert_eq!(carried_out, 0, "{write:?} is denied")
                }
                Answer::Unknown(_) => {
                    assert!(
                        self.disk.failed.load(Ordering::SeqCst),
                        "{write:?} is unknown without a failure"
                    );
                }
            }
            assert!(ticket.try_answer().is_none(), "{write:?} was answered twice");
        }
    }
}

/// Runs one engine from its start to its end. Returns only if nobody hangs.
fn run_round(seed: u64) {
    let mut dice = Dice(seed);
    let limits = QueueLimits { commands: 1 + dice.below(6) as usize, bytes: 60 + dice.below(60) as usize };
    let group = GroupLimits {
        commands: 1 + dice.below(6) as usize,
        bytes: 1 + dice.below(200) as usize,
        time: Duration::from_micros(dice.below(50)),
    };
    let fatal_in = [20, 100, 1_000_000_000][dice.below(3) as usize];
    let end = dice.below(5);
    let end_after = Duration::from_micros(dice.below(3_000));
    let disk = Arc::new(Disk::default());
    let round = Round { queue: CommandQueue::new(limits), alarm: Alarm::new(), disk: disk.clone() };
    let mut storage = RoughStorage {
        disk: disk.clone(),
        dice: Dice(dice.roll()),
        fatal_in,
        level: AckLevel::Durable,
        records: Vec::new(),
        next_sequence: 1,
    };
    thread::scope(|scope| {
        let clock = scope.spawn(|| round.alarm.run(|now| round.queue.expire(now)));
        let writer = scope.spawn(|| {
            let ended = writer_loop::run(&round.queue, &mut storage, group, Sequencer::new(0..0));
            if ended.is_err() {
                round.queue.wait_until_closing();
            }
        });
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let dice = Dice(dice.roll());
                let round = &round;
                scope.spawn(move || round.send_all(sender, dice))
            })
            .collect();
        thread::sleep(end_after);
        match end {
            0 => round.queue.close(),
            1 => round.queue.abandon(),
            2 => round.queue.stop("stopped"),
            _ => {}
        }
        let failures: Vec<_> = senders.into_iter().filter_map(|sender| sender.join().err()).collect();
        // Also after a failure: the others end only then.
        round.queue.close();
        let writer = writer.join();
        round.alarm.finish();
        assert!(clock.join().is_ok());
        if let Some(panic) = failures.into_iter().next() {
            resume_unwind(panic);
        }
        assert!(writer.is_ok(), "the writer's loop let a panic through");
        let depth = round.queue.depth();
        assert_eq!((depth.commands, depth.bytes, depth.waiting), (0, 0, 0));
    });
    assert!(!disk.out_of_turn.load(Ordering::SeqCst), "a piece was skipped or done twice");
}

/// Two threads share a queue as readers do, and panic with the work in their hands.
fn run_shared_round(seed: u64) {
    let mut dice = Dice(seed);
    let queue = CommandQueue::<Write>::new(QueueLimits { commands: 1 + dice.below(3) as usize, bytes: 100 });
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut dice = Dice(dice.roll());
            let queue = &queue;
            scope.spawn(move || {
                let mut more = true;
                while more {
                    // Unwind safe: only the answer slot is touched on the way.
                    let served = catch_unwind(AssertUnwindSafe(|| {
                        let Some(entry) = queue.take_one() else { return false };
                        if dice.one_in(4) {
                            resume_unwind(Box::new("rough"));
                        }
                        entry.responder.answer(Answer::Done(entry.bytes));
                        true
                    }));
                    more = served.unwrap_or(true);
                }
            });
        }
        let senders: Vec<_> = (0..SENDERS)
            .map(|_| {
                let mut dice = Dice(dice.roll());
                let queue = &queue;
                scope.spawn(move || {
                    for id in 0..COMMANDS_EACH {
                        let bytes = dice.below(60) as usize;
                        let write = Write {
                            id,
                            level: AckLevel::Committed,
                            bytes,
                            deletes: false,
                            culprit: false,
                            joins: false,
                            pieces: 1,
                            kept: 0,
                        };
                        let Ok(mut entered) = queue.enter(write, None, Entrance::Wait) else { return };
                        match wait(|context| entered.ticket.poll_answer(context)) {
                            Answer::Done(answered) => assert_eq!(answered, bytes),
                            Answer::Unknown(reason) => assert_eq!(reason, Write::lost()),
                            Answer::NotStarted(refusal) => assert!(matches!(refusal, Refusal::Closed)),
                            Answer::Failed(error) => panic!("nothing fails here: {error:?}"),
                        }
                    }
                })
            })
            .collect();
        if dice.one_in(3) {
            thread::sleep(Duration::from_micros(dice.below(300)));
            queue.close();
        }
        let failures: Vec<_> = senders.into_iter().filter_map(|sender| sender.join().err()).collect();
        queue.close();
        if let Some(panic) = failures.into_iter().next() {
            resume_unwind(panic);
        }
    });
}

/// Runs rounds until the time is over. A round that hangs ends the process, with its seed.
fn stress(name: &str, round: fn(u64)) {
    let seed = match std::env::var("WALWRIGHT_STRESS_SEED") {
        Ok(seed) => seed.parse().unwrap_or(1),
        Err(_) => 1,
    };
    println!("{name}: WALWRIGHT_STRESS_SEED={seed}");
    let (tell, told) = mpsc::channel();
    let runner = thread::spawn(move || {
        let (began, mut dice, mut rounds) = (Instant::now(), Dice(seed), 0);
        while began.elapsed() < DURATION {
            let seed = dice.roll();
            if let Err(panic) = catch_unwind(|| round(seed)) {
                eprintln!("the round with seed {seed:#x} failed");
                resume_unwind(panic);
            }
            rounds += 1;
            if tell.send(rounds).is_err() {
                return;
            }
        }
    });
    let mut rounds = 0;
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(count) => rounds = count,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // Not by a macro: the test harness would keep what they print, and lose it.
                let message = format!("{name}: hangs in round {} from seed {seed}\n", rounds + 1);
                let _ = std::io::stderr().write_all(message.as_bytes());
                std::process::abort();
            }
        }
    }
    if let Err(panic) = runner.join() {
        resume_unwind(panic);
    }
    println!("{name}: {rounds} rounds");
    assert!(rounds > 10, "only {rounds} rounds: the test has become too slow to mean anything");
}

#[test]
fn writers_senders_deadlines_and_ends_meet() {
    stress("writers_senders_deadlines_and_ends_meet", run_round);
}

#[test]
fn threads_that_share_a_queue_panic_with_work_in_their_hands() {
    stress("threads_that_share_a_queue_panic_with_work_in_their_hands", run_shared_round);
}
