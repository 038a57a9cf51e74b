//! What a store does when nobody asks it for anything.

use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::time::Duration;
use walwright::Store;
use walwright_benches::Result;
use walwright_benches::place::Place;

/// What its threads used.
#[derive(Serialize)]
pub struct Idle {
    pub threads: usize,
    pub seconds: u64,
    pub cpu_ms: f64,
    pub wake_ups: u64,
}

/// What the system tells of one thread.
#[derive(Clone, Copy, Default)]
struct Used {
    cpu_nanos: u64,
    wake_ups: u64,
}

/// Opens a store, writes to it, lets it come to rest, and then watches its threads.
pub fn measure(place: &Place, seconds: u64) -> Result<Idle> {
    let before = threads()?;
    let store = Store::builder(place.folder("idle")?.join("db")).open().wait()?;
    store.execute("CREATE TABLE note (id INTEGER PRIMARY KEY)", ()).wait()?;
    store.execute("INSERT INTO note DEFAULT VALUES", ()).wait()?;
    // It has upkeep to do first.
    std::thread::sleep(Duration::from_secs(seconds.max(2)));
    let start = threads()?;
    std::thread::sleep(Duration::from_secs(seconds));
    let end = threads()?;
    store.close().wait()?;
    let mut idle = Idle { threads: 0, seconds, cpu_ms: 0.0, wake_ups: 0 };
    for (thread, used) in end.iter().filter(|(thread, _)| !before.contains_key(*thread)) {
        let earlier = start.get(thread).copied().unwrap_or_default();
        idle.threads += 1;
        idle.cpu_ms += (used.cpu_nanos - earlier.cpu_nanos) as f64 / 1e6;
        idle.wake_ups += used.wake_ups - earlier.wake_ups;
    }
    Ok(idle)
}

/// The threads of this process.
fn threads() -> Result<HashMap<String, Used>> {
    let mut threads = HashMap::new();
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?;
        let schedule = fs::read_to_string(task.path().join("schedstat"))?;
        let status = fs::read_to_string(task.path().join("status"))?;
        let cpu_nanos = schedule.split(' ').next().unwrap_or_default().parse()?;
        let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let wake_ups = switches.unwrap_or_default().trim().parse()?;
        threads.insert(task.file_name().to_string_lossy().into_owned(), Used { cpu_nanos, wake_ups });
    }
    Ok(threads)
}
