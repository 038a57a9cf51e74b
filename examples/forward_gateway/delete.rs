//! The deletion of a sandbox that has many sessions, while others read.

use crate::Result;
use crate::observer::Observer;
use crate::session::Session;
use crate::session_store::SessionStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How many sessions the deleted sandbox has, as in the report that this is modelled on.
pub const ROWS: usize = 542;
const DELETED: &str = "sandbox-to-delete";
const KEPT: &str = "sandbox-to-keep";
const KEPT_ROWS: usize = 8;

const READERS: usize = 4;
/// Between two reads of a reader, so that they are a load and not a race for the processors.
const READ_INTERVAL: Duration = Duration::from_millis(1);
/// How long the readers read before the delete and after it.
const MARGIN: Duration = Duration::from_millis(100);

/// What came of the delete.
pub struct Measured {
    /// Until the delete was answered.
    pub answered: Duration,
    /// Until the rows were gone.
    pub wall: Duration,
    /// The deleted sandbox's rows when the delete was answered.
    pub rows_left_at_ack: i64,
    pub reads: usize,
    pub failed_reads: usize,
    /// Why the first failed read failed.
    pub first_failure: Option<String>,
}

/// Fills two sandboxes and deletes the larger one while the smaller one is read.
pub async fn run<S: SessionStore>(store: &S, observer: &Observer) -> Result<Measured> {
    let doomed = (0..ROWS).map(|_| Session::new(DELETED));
    let kept = (0..KEPT_ROWS).map(|_| Session::new(KEPT));
    store.insert_all(doomed.chain(kept).collect()).await?;

    let readers = Readers::start(store);
    sleep(MARGIN).await;
    let start = Instant::now();
    store.delete_sandbox(DELETED).await?;
    let answered = start.elapsed();
    let rows_left_at_ack = observer.sessions_of(DELETED)?;
    store.finish_deletes().await?;
    let wall = if rows_left_at_ack == 0 { answered } else { start.elapsed() };
    sleep(MARGIN).await;
    let reads = readers.stop().await?;

    let left = observer.sessions_of(DELETED)?;
    if left != 0 {
        return Err(format!("{left} sessions of a deleted sandbox are still there").into());
    }
    Ok(Measured {
        answered,
        wall,
        rows_left_at_ack,
        reads: reads.made,
        failed_reads: reads.failed,
        first_failure: reads.first_failure,
    })
}

/// Tasks that read until they are stopped.
struct Readers {
    tasks: JoinSet<Reads>,
    stopping: Arc<AtomicBool>,
}

#[derive(Default)]
struct Reads {
    made: usize,
    failed: usize,
    first_failure: Option<String>,
}

impl Readers {
    fn start<S: SessionStore>(store: &S) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let tasks = (0..READERS).map(|_| read_on(store.clone(), stopping.clone())).collect();
        Self { tasks, stopping }
    }

    async fn stop(mut self) -> Result<Reads> {
        self.stopping.store(true, Ordering::Relaxed);
        let mut all = Reads::default();
        while let Some(reads) = self.tasks.join_next().await {
            let reads = reads?;
            all.made += reads.made;
            all.failed += reads.failed;
            all.first_failure = all.first_failure.or(reads.first_failure);
        }
        Ok(all)
    }
}

async fn read_on<S: SessionStore>(store: S, stopping: Arc<AtomicBool>) -> Reads {
    let mut reads = Reads::default();
    while !stopping.load(Ordering::Relaxed) {
        let failure = match store.list(KEPT).await {
            Ok(sessions) if sessions.len() == KEPT_ROWS => None,
            Ok(sessions) => Some(format!("{} sessions listed instead of {KEPT_ROWS}", sessions.len())),
            Err(error) => Some(error.to_string()),
        };
        reads.made += 1;
        reads.failed += usize::from(failure.is_some());
        reads.first_failure = reads.first_failure.or(failure);
        sleep(READ_INTERVAL).await;
    }
    reads
}
