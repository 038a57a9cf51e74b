//! The traffic of the daemon, and the clients that read meanwhile.

use crate::Result;
use crate::figures::{Figures, Operation};
use crate::message::{BUFFERS, BUSY_BUFFER, Dice, ME, Message, token};
use crate::scrollback_store::{PAGE, ScrollbackStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until};

/// Messages a second over all buffers, and into the busy one.
const SPREAD_A_SECOND: u32 = 7;
const BUSY_A_SECOND: u32 = 20;
/// Messages of a backfill.
pub const BACKFILL: usize = 500;
/// Who reads, and how long each rests between two reads: a person scrolls, and does not race for the processors.
const CLIENTS: u64 = 4;
const REST: Duration = Duration::from_millis(20);
/// Pages that a client goes back before it begins at the newest again.
const PAGES_BACK: usize = 20;

/// The traffic on a store.
pub struct Load<S> {
    pub store: S,
    /// Messages that are stored: the number of the next one.
    pub next: Arc<AtomicU64>,
    pub now_ms: i64,
}

/// Which operations run beside the messages that come in one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// One backfill after the other, at least one.
    Backfills,
}

impl<S: ScrollbackStore> Load<S> {
    /// Runs it for this long, and until the last backfill is done, and gives what was measured.
    pub async fn run(&self, time: Duration, beside: Beside) -> Result<Figures> {
        let (figures, stopping) = (Figures::default(), Arc::new(AtomicBool::new(false)));
        let mut tasks = JoinSet::new();
        for (rate, buffer) in [(SPREAD_A_SECOND, None), (BUSY_A_SECOND, Some(BUSY_BUFFER))] {
            tasks.spawn(self.client(&figures, &stopping, u64::from(rate)).append(rate, buffer));
        }
        for number in 0..CLIENTS {
            tasks.spawn(self.client(&figures, &stopping, number).read());
        }
        let end = tokio::time::Instant::now() + time;
        if beside == Beside::Backfills {
            let mut client = self.client(&figures, &stopping, CLIENTS);
            loop {
                client.backfill().await?;
                if tokio::time::Instant::now() >= end {
                    break;
                }
            }
        } else {
            sleep_until(end).await;
        }
        stopping.store(true, Ordering::Relaxed);
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(figures)
    }

    fn client(&self, figures: &Figures, stopping: &Arc<AtomicBool>, seed: u64) -> Client<S> {
        Client {
            store: self.store.clone(),
            next: self.next.clone(),
            now_ms: self.now_ms,
            figures: figures.clone(),
            stopping: stopping.clone(),
            dice: Dice(seed),
        }
    }
}

struct Client<S> {
    store: S,
    next: Arc<AtomicU64>,
    now_ms: i64,
    figures: Figures,
    stopping: Arc<AtomicBool>,
    dice: Dice,
}

impl<S: ScrollbackStore> Client<S> {
    fn goes_on(&self) -> bool {
        !self.stopping.load(Ordering::Relaxed)
    }

    fn message(&mut self, buffer_id: Option<i64>) -> Message {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let buffer_id = buffer_id.unwrap_or_else(|| 1 + self.dice.below(BUFFERS as u64) as i64);
        Message::numbered(number, buffer_id, self.now_ms + number as i64)
    }

    async fn measured<T>(&self, operation: Operation, work: impl Future<Output = Result<T>>) -> Result<T> {
        let began = Instant::now();
        let result = work.await?;
        self.figures.record(operation, began.elapsed());
        Ok(result)
    }

    /// Messages at their own times: one that has to wait makes the next ones come late, and not fewer.
    async fn append(mut self, a_second: u32, buffer_id: Option<i64>) -> Result<()> {
        let mut ticks = interval(Duration::from_secs(1) / a_second);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while self.goes_on() {
            ticks.tick().await;
            let message = self.message(buffer_id);
            self.measured(Operation::Append, self.store.append(message)).await?;
        }
        Ok(())
    }

    async fn backfill(&mut self) -> Result<()> {
        let buffer = 1 + self.dice.below(BUFFERS as u64) as i64;
        let messages: Vec<_> = (0..BACKFILL).map(|_| self.message(Some(buffer))).collect();
        self.measured(Operation::Backfill, self.store.backfill(messages)).await
    }

    async fn read(mut self) -> Result<()> {
        let (mut buffer, mut place, mut pages) = (BUSY_BUFFER, None, 0);
        while self.goes_on() {
            for _ in 0..3 {
                let is_newest = place.is_none();
                let (page, next) =
                    self.measured(Operation::Backlog, self.store.backlog(buffer, place.take())).await?;
                // Behind a full page there may be nothing: the seed does not look ahead.
                let is_missing = is_newest && page.is_empty();
                if is_missing || page.windows(2).any(|pair| pair[0].at_ms < pair[1].at_ms) {
                    return Err("a page of the backlog is empty or out of order".into());
                }
                (place, pages) = (next, pages + 1);
                if page.len() < PAGE || place.is_none() || pages == PAGES_BACK {
                    buffer = 1 + self.dice.below(BUFFERS as u64) as i64;
                    (place, pages) = (None, 0);
                }
                sleep(REST).await;
            }
            let number = self.dice.below(self.next.load(Ordering::Relaxed));
            self.measured(Operation::Search, self.store.search(token(number))).await?;
            sleep(REST).await;
            let mentions = self.measured(Operation::Mentions, self.store.mentions(ME)).await?;
            if mentions.iter().any(|message| message.mentions.as_deref() != Some(ME)) {
                return Err("a message for somebody else is among the mentions".into());
            }
            sleep(REST).await;
        }
        Ok(())
    }
}
