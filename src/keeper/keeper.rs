//! The keeper's loop.

use std::time::{Duration, Instant};

use super::chore::{Chore, ChoreStep};
use super::inbox::News;
use super::policy::{self, KeeperPolicy};
use crate::contained::Contained;
use crate::error::WriteError;
use crate::handle::{Engine, block_on, settle};
use crate::protocol::foreign_code::guarded;
use crate::protocol::level::AckLevel;
use crate::protocol::queue::Entrance;
use crate::sqlite::writer::{WriteCommand, WriteOutput, WriteTask};
use crate::sync::{Arc, now};

/// Sends the slices of chores, one at a time.
///
/// It holds no handle of the store, so it keeps none open. A closing store refuses its slices, and then it ends.
pub(crate) struct Keeper {
    engine: Arc<Engine>,
    kept: Vec<Kept>,
    policy: KeeperPolicy,
    /// No slice before this moment.
    resting_until: Instant,
    /// Counts turns, so that chores take them in turns.
    turn: u64,
    /// Commands that the writer had carried out after the last slice, of whomever.
    commands: u64,
}

/// A chore with its place in time.
struct Kept {
    chore: Contained<Box<dyn Chore>>,
    name: String,
    due: Due,
    /// Somebody called for it since its last slice was sent.
    woken: bool,
    last_turn: u64,
    failures: u32,
    working_since: Option<Instant>,
    reported_behind: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Now,
    At(Instant),
    WhenWoken,
}

/// What became of a turn.
enum Turn {
    Taken,
    /// The chore is over.
    Over,
    /// The store takes no more commands.
    StoreEnds,
}

impl Keeper {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let commands = engine.board.commands.get();
        let now = now();
        Self {
            engine,
            kept: Vec::new(),
            policy: KeeperPolicy::new(now),
            resting_until: now,
            turn: 0,
            commands,
        }
    }

    /// Keeps the chores until the store ends.
    pub(crate) fn run(mut self) {
        while let Some(news) = self.engine.keeper.listen(self.next_moment()) {
            self.take_in(news);
            let Some(at) = self.first_due(now()) else { continue };
            match self.take_turn(at) {
                Turn::Taken => {}
                Turn::Over => drop(self.kept.remove(at)),
                Turn::StoreEnds => break,
            }
        }
        self.engine.keeper.close();
    }

    fn take_in(&mut self, news: News) {
        for chore in news.chores {
            let name = chore.name().to_owned();
            self.kept.push(Kept {
                chore: Contained::new(chore),
                name,
                due: Due::Now,
                woken: false,
                last_turn: 0,
                failures: 0,
                working_since: None,
                reported_behind: None,
            });
        }
        for kept in &mut self.kept {
            // Who rests after a failure is not to be woken, or every command could make it fail again.
            if kept.failures == 0 && (news.all_woken || news.woken.contains(&kept.name)) {
                kept.due = Due::Now;
                kept.woken = true;
            }
        }
    }

    /// When there may be something to do, if nobody says anything.
    fn next_moment(&self) -> Option<Instant> {
        let due = self.kept.iter().filter_map(|kept| match kept.due {
            Due::Now => Some(self.resting_until),
            Due::At(at) => Some(at.max(self.resting_until)),
            Due::WhenWoken => None,
        });
        due.min()
    }

    /// The chore whose turn it is: of those that are due the one whose last turn is longest ago.
    fn first_due(&self, now: Instant) -> Option<usize> {
        if now < self.resting_until {
            return None;
        }
        let is_due = |kept: &Kept| kept.due == Due::Now || matches!(kept.due, Due::At(at) if at <= now);
        let due = self.kept.iter().enumerate().filter(|(_, kept)| is_due(kept));
        due.min_by_key(|(_, kept)| kept.last_turn).map(|(at, _)| at)
    }

    fn take_turn(&mut self, at: usize) -> Turn {
        let now = now();
        let depth = self.engine.writes.depth();
        if let Some(wait) = self.policy.put_off(depth.commands + depth.waiting, now) {
            self.resting_until = now + wait;
            return Turn::Taken;
        }
        let time = self.policy.slice_time(Duration::from_nanos(self.engine.board.piece_nanos.get()), now);
        self.turn += 1;
        let kept = &mut self.kept[at];
        kept.last_turn = self.turn;
        let step = match guarded(|| kept.chore.get_mut().next(time, now)) {
            Ok(step) => step,
            Err(panic) => return self.give_up(at, panic),
        };
        match step {
            ChoreStep::Slice(task) => self.take_slice(at, task),
            ChoreStep::Rest(time) => self.pause(at, now.checked_add(time).map_or(Due::WhenWoken, Due::At)),
            ChoreStep::Sleep => self.pause(at, Due::WhenWoken),
            ChoreStep::Over => {
                self.engine.keeper.reports.remove(&self.kept[at].name);
                Turn::Over
            }
        }
    }

    /// The chore has nothing to do for now.
    fn pause(&mut self, at: usize, due: Due) -> Turn {
        let kept = &mut self.kept[at];
        kept.due = due;
        kept.working_since = None;
        kept.reported_behind = None;
        // Told to look anew since it was last asked: then it is asked once more.
        if std::mem::take(&mut kept.woken) {
            kept.due = Due::Now;
        }
        self.engine.keeper.reports.working(&kept.name, None, None);
        Turn::Taken
    }

    /// Sends a slice, waits for its answer, and rests in proportion.
    fn take_slice(&mut self, at: usize, task: WriteTask) -> Turn {
        let sent = now();
        let kept = &mut self.kept[at];
        kept.working_since.get_or_insert(sent);
        kept.woken = false;
        let command = if kept.chore.get_mut().is_of_program() {
            WriteCommand::new(task, AckLevel::Durable)
        } else {
            WriteCommand::of_keeper(task)
        };
        let result = self.send(command);
        if matches!(&result, Err(error) if is_final(error)) {
            return Turn::StoreEnds;
        }
        self.rest(sent);
        self.note(at, &result);
        let kept = &mut self.kept[at];
        let chore = kept.chore.get_mut();
        match guarded(|| {
            chore.done(result);
            chore.behind()
        }) {
            Ok(behind) => {
                self.engine.keeper.reports.working(&kept.name, kept.working_since, behind);
                Turn::Taken
            }
            Err(panic) => self.give_up(at, panic),
        }
    }

    fn send(&self, command: WriteCommand) -> Result<WriteOutput, WriteError> {
        let mut entered =
            self.engine.writes.enter(command, None, Entrance::Wait).map_err(WriteError::from)?;
        let answer = block_on(std::future::poll_fn(|context| entered.ticket.poll_answer(context)));
        settle(answer, Ok)
    }

    /// Rests after a slice that was sent then.
    fn rest(&mut self, sent: Instant) {
        let (now, commands) = (now(), self.engine.board.commands.get());
        // The slice itself is one of them.
        let others = commands.saturating_sub(self.commands) > 1;
        self.commands = commands;
        self.resting_until = now + self.policy.rest(now.saturating_duration_since(sent), others, now);
    }

    /// Tells how a slice ended, and whether there are too many of them.
    fn note(&mut self, at: usize, result: &Result<WriteOutput, WriteError>) {
        let (kept, reports) = (&mut self.kept[at], &self.engine.keeper.reports);
        let now = now();
        match result {
            Ok(output) => {
                kept.failures = 0;
                kept.due = Due::Now;
                reports.slice(&kept.name, kept.chore.get_mut().rows(output));
            }
            Err(error) => {
                kept.failures = kept.failures.saturating_add(1);
                let rest = policy::retry_after(kept.failures);
                kept.due = Due::At(now + rest);
                tracing::warn!(chore = kept.name, %error, again_in = ?rest, "work in the background failed");
                reports.failure(&kept.name, error.to_string());
            }
        }
        let working = kept.working_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let reported = kept.reported_behind.map(|at| now.saturating_duration_since(at));
        if policy::is_behind(working, reported) {
            kept.reported_behind = Some(now);
            tracing::warn!(chore = kept.name, ?working, "work in the background does not keep up");
        }
    }

    /// A chore that panicked is over. Its line stays in the reports.
    fn give_up(&mut self, at: usize, panic: String) -> Turn {
        let name = &self.kept[at].name;
        tracing::error!(
            chore = name,
            panic,
            "work in the background panicked and is given up; please report this"
        );
        self.engine.keeper.reports.failure(name, format!("it panicked and was given up: {panic}"));
        self.engine.keeper.reports.working(name, None, None);
        self.engine.board.panics.add(1);
        Turn::Over
    }
}

/// Whether the store takes no further command after this error.
fn is_final(error: &WriteError) -> bool {
    matches!(
        error,
        WriteError::Closed | WriteError::CloseTimedOut | WriteError::Stopped(_) | WriteError::Unknown(_)
    )
}
