//! A second power cut, while the store recovers from the first.

use super::content;
use super::look::{Bench, Look, builder};
use super::rig::SYNC_TAKES;
use super::schema::Step;
use walwright::{AckLevel, Store};
use walwright_test_support::vfs::{DatabaseCreation, Event, Image};
use walwright_test_support::{Explorer, FaultVfs};

/// So many images are tried of one recovery.
const BUDGET: usize = 8;

/// What the engine does with an image, recorded.
struct Recovery {
    trace: Vec<Event>,
    /// The contents that were seen one after the other, each promised from the event on that its number marks.
    seen: Vec<u64>,
    sequence: u64,
}

/// A disk that the second cut left.
pub struct Second {
    pub look: Look,
    /// The contents that are allowed; `None`: those that the first cut may leave.
    pub allowed: Option<Vec<u64>>,
    /// A higher sequence than this must be handed out next.
    pub sequence: u64,
    /// Whether the first opening had returned, with all migrations.
    pub opened: bool,
    pub words: String,
}

/// Opens the image, writes to it and closes it, and cuts the power in the middle of that.
pub fn explore(vfs: &FaultVfs, bench: &Bench, image: &Image, steps: &[Step], seed: u64) -> Vec<Second> {
    bench.lay_out(image);
    let recovery = record(vfs, bench, steps);
    let mut seconds = Vec::new();
    Explorer::new(&recovery.trace, BUDGET, seed).explore(|wreck| {
        let Some(image) = wreck.image else { return };
        let look = bench.look(&image, steps);
        let marks =
            recovery.trace[..wreck.events].iter().filter(|event| matches!(event, Event::Mark(_))).count();
        // The next one may be there, too.
        let allowed =
            marks.checked_sub(1).map(|first| recovery.seen.iter().skip(first).take(2).copied().collect());
        let sequence = if marks > 1 { recovery.sequence } else { 0 };
        let words = format!("second cut after {} events, {:?}", wreck.events, wreck.choice);
        seconds.push(Second { look, allowed, sequence, opened: marks > 0, words });
    });
    seconds
}

fn record(vfs: &FaultVfs, bench: &Bench, steps: &[Step]) -> Recovery {
    vfs.set_sync_delay(SYNC_TAKES);
    vfs.start_recording(DatabaseCreation::WithDirectory);
    let mut seen = Vec::new();
    let mut sequence = 0;
    // An image that does not open has been reported by then.
    if let Ok(store) = builder(&bench.path(), steps).vfs(vfs.name()).open().wait() {
        let mut mark = |store: &Store| {
            vfs.mark(seen.len() as u64);
            seen.extend(store.read(|db| content::digest(db)).wait());
        };
        mark(&store);
        let first = store.execute("INSERT INTO tick VALUES (1)", ()).ack(AckLevel::Durable).wait();
        sequence = first.map_or(0, |receipt| receipt.sequence);
        mark(&store);
        // A store that does not close has been reported, too.
        let _ = store.close().wait();
    }
    Recovery { trace: vfs.stop_recording(), seen, sequence }
}
