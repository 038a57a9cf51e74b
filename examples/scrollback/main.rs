//! A chat daemon's scrollback: a file that has been there for years, on the store as it is usually first written and
//! on Walwright.
//!
//! ```text
//! cargo run --release --example scrollback
//! cargo run --release --example scrollback -- --rows 1000000 --sync-delay-ms 0
//! ```
//!
//! # What is modelled
//!
//! *The old file* is in rollback-journal mode, has no schema version, and holds the messages of 40 buffers with an
//! index for paging. Each store gets a copy of it.
//!
//! *The traffic.* 7 messages a second spread over all buffers and 20 a second into one come in one by one, each
//! durable before the next of its source. Four clients page backwards through the buffers, search for a text that is
//! in one message, and ask for the messages that mention somebody, with a rest of 20 ms between two reads. After
//! some seconds of that a bouncer comes back: backfills of 500 messages, one after the other, beside all the rest,
//! for as long again (the seed needs longer for its first one, and then that is all).
//!
//! *The stores.* `seed.rs` and `walwright_store.rs` say what each does. Both go through the same VFS, which adds the
//! same delay to every sync.
//!
//! *The figures* of an operation are over both parts of the load; the second table sets them side by side. In the end
//! Walwright sweeps: of each buffer the newest half stays, and the file gives the space back.

#[path = "../forward_gateway/folder.rs"]
mod folder;
#[path = "../forward_gateway/progress.rs"]
mod progress;
#[allow(dead_code, reason = "what the other example uses of it")]
#[path = "../forward_gateway/table.rs"]
mod table;

mod figures;
mod load;
mod message;
mod old_file;
mod options;
mod report;
mod scrollback_store;
mod seed;
mod walwright_store;

use crate::figures::Operation;
use crate::folder::Folder;
use crate::load::{Beside, Load};
use crate::options::{Command, HELP, Options};
use crate::progress::Progress;
use crate::report::Measured;
use crate::scrollback_store::ScrollbackStore;
use crate::seed::Seed;
use crate::walwright_store::WalwrightStore;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use walwright_test_support::FaultVfs;

/// Whatever went wrong, to be shown to a person.
pub type AnyError = Box<dyn Error + Send + Sync>;
/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, AnyError>;

/// What a shell expects of a program that Ctrl-C ended: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
/// The customary answer to a command line that makes no sense.
const BAD_OPTIONS: u8 = 2;
/// What a waiting person is told of.
const STEPS: usize = 9;

fn main() -> ExitCode {
    let options = match options::from_command_line() {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("scrollback: {problem}\nTry 'scrollback --help'.");
            return ExitCode::from(BAD_OPTIONS);
        }
    };
    match measure(&options) {
        Ok(Ending::Finished) => ExitCode::SUCCESS,
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("scrollback: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How a run that did not fail came to its end.
enum Ending {
    Finished,
    Interrupted,
}

fn measure(options: &Options) -> Result<Ending> {
    let folder = Folder::create(options.dir.as_deref(), "scrollback")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ending = runtime.block_on(async {
        tokio::select! {
            result = measure_in(&folder, options) => result.map(|()| Ending::Finished),
            signal = tokio::signal::ctrl_c() => signal.map(|()| Ending::Interrupted).map_err(AnyError::from),
        }
    });
    // The files may go only when nothing writes to them any more; this waits for blocking calls, too.
    drop(runtime);
    folder.remove()?;
    ending
}

async fn measure_in(folder: &Folder, options: &Options) -> Result<()> {
    let mut run = Run { options, progress: Progress::new(STEPS) };
    let disk = folder.disk()?;
    if disk.in_memory {
        run.progress.note(format_args!("{} is in memory: syncs cost nothing there", disk.filesystem));
    }
    let old = folder.new_database();
    run.progress.step(format_args!("the old file: {} messages", options.rows));
    old_file::make(&old, options.rows, &run.progress)?;
    let copy = || -> Result<PathBuf> {
        let path = folder.new_database();
        fs::copy(&old, &path)?;
        Ok(path)
    };
    let seed = run.seed(&copy()?).await?;
    let (walwright, swept) = run.walwright(&copy()?).await?;
    run.progress.clear();
    run.say(format_args!(
        "a sync of {} takes {:.2} ms here, and {} ms were added to each",
        disk.filesystem,
        milliseconds(disk.median_fsync),
        options.sync_delay_ms()
    ));
    report::print(options, &seed, &walwright)?;
    run.say(format_args!("{swept}"));
    Ok(())
}

/// A run on both stores.
struct Run<'r> {
    options: &'r Options,
    progress: Progress,
}

impl Run<'_> {
    async fn seed(&mut self, path: &Path) -> Result<Measured> {
        let (measured, vfs) = (Measured::new("seed"), self.vfs());
        self.progress.step(format_args!("seed: open"));
        let began = Instant::now();
        let store = Seed::open(path, vfs.name()).await?;
        // Nothing is read before somebody asks.
        store.backlog(message::BUSY_BUFFER, None).await?;
        measured.opening.record(Operation::Open, began.elapsed());
        self.load(measured, store).await
    }

    /// Gives what was measured, and what became of the sweep.
    async fn walwright(&mut self, path: &Path) -> Result<(Measured, String)> {
        let (measured, vfs) = (Measured::new("walwright"), self.vfs());
        self.progress.step(format_args!("walwright: open"));
        let began = Instant::now();
        let store = WalwrightStore::open(path, vfs.name()).await?;
        store.backlog(message::BUSY_BUFFER, None).await?;
        let took = began.elapsed();
        measured.opening.record(Operation::Open, took);
        self.say_opening(&store, took);
        self.progress.step(format_args!("walwright: the indexes for search and mentions"));
        store.ready().await?;
        self.say(format_args!("search ready {:.1} s after the opening began", began.elapsed().as_secs_f64()));

        let measured = self.load(measured, store.clone()).await?;
        store.close().await?;
        Ok((measured, self.sweep(path, vfs).await?))
    }

    /// Of each buffer the newest half stays. Gives what became of the rest, in words.
    async fn sweep(&mut self, path: &Path, vfs: &FaultVfs) -> Result<String> {
        let newest = u32::try_from(self.options.rows / message::BUFFERS.unsigned_abs() / 2)?;
        self.progress.step(format_args!("walwright: all but the newest {newest} messages of each buffer go"));
        let size = || fs::metadata(path).map(|file| megabytes(file.len()));
        let (size_before, began) = (size()?, Instant::now());
        let (before, after) = WalwrightStore::sweep(path, vfs.name(), newest).await?;
        Ok(format!(
            "swept {} of {before} messages in {:.1} s: the file had {size_before:.1} MB and has {:.1} MB",
            before - after,
            began.elapsed().as_secs_f64(),
            size()?
        ))
    }

    fn say_opening(&self, store: &WalwrightStore, took: Duration) {
        let settings = store.settings();
        let opening = &settings.opening;
        self.say(format_args!(
            "opened {:.1} MB in {:.1} ms; journal mode {} before, {} after; version {} before, {} after",
            megabytes(opening.pages_before * u64::from(settings.page_size)),
            milliseconds(took),
            opening.journal_mode_before.as_deref().unwrap_or("none"),
            settings.journal_mode,
            opening.user_version_before,
            settings.user_version
        ));
        for step in &opening.steps {
            self.say(format_args!("  {:<26} {:>8.1} ms", step.name, milliseconds(step.took)));
        }
    }

    /// Both parts of the load.
    async fn load<S: ScrollbackStore>(&mut self, mut measured: Measured, store: S) -> Result<Measured> {
        let (rows, time) = (self.options.rows, self.options.time);
        let now_ms = old_file::FIRST_AT_MS + i64::try_from(rows)? * old_file::STEP_MS;
        let load = Load { store, next: Arc::new(AtomicU64::new(rows)), now_ms };
        self.progress.step(format_args!("{}: messages one by one, and readers", measured.store));
        measured.quiet = load.run(time, Beside::Nothing).await?;
        self.progress.step(format_args!("{}: the same beside backfills", measured.store));
        measured.busy = load.run(time, Beside::Backfills).await?;
        Ok(measured)
    }

    fn vfs(&self) -> &'static FaultVfs {
        let vfs = FaultVfs::unique("scrollback");
        vfs.set_sync_delay(self.options.sync_delay);
        vfs
    }

    /// Says something that is no row: on the standard output, unless that is for rows alone.
    fn say(&self, what: std::fmt::Arguments<'_>) {
        if self.options.json {
            self.progress.note(what);
        } else {
            self.progress.clear();
            println!("{what}");
        }
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
