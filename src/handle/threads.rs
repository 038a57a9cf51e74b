//! The engine's threads: the writer, the log's copier, the readers, the alarm; how they start and how they end.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::blocking;
use super::engine::Engine;
use super::latch::Latch;
use super::open::{Options, Place};
use super::store::Store;
use crate::error::{CloseError, OpenError};
use crate::fixup::fixup_chore;
use crate::keeper::{Chore, KeepError, Keeper};
use crate::protocol::foreign_code::guarded;
use crate::retention::{self, SweepPlan};
use crate::settings::Settings;
use crate::sqlite::plan::Reclaim;
use crate::sqlite::reader::Reader;
use crate::sqlite::reason::Reason;
use crate::sqlite::writer::Writer;
use crate::sync::{Arc, thread};

type OpenLatch = Latch<Result<Store, OpenError>>;

/// Starts the writer's thread, which opens the file and answers through `opened`.
pub(crate) fn start(place: Place, options: Options, opened: Arc<OpenLatch>) -> Result<(), OpenError> {
    let path = options.plan.path.clone();
    spawn("walwright-write", move || writer_thread(place, options, opened))
        .map(drop)
        .map_err(no_thread(&path))
}

/// Gives the keeper a chore. Its thread starts with the first one.
pub(crate) fn keep(engine: &Arc<Engine>, chore: Box<dyn Chore>) -> Result<(), KeepError> {
    if engine.is_forked() {
        return Err(KeepError::Forked);
    }
    engine.keeper.add(chore, || {
        let keeper = Keeper::new(engine.clone());
        spawn("walwright-keep", move || keeper.run())
    })
}

fn writer_thread(place: Place, options: Options, opened: Arc<OpenLatch>) {
    let path = options.plan.path.clone();
    let started = guarded(|| Running::start(place, options))
        .unwrap_or_else(|message| Err(OpenError::Panicked { path, message }));
    match started {
        Ok((running, store)) => {
            opened.set(Ok(store));
            // If nobody waits for the store any more, it closes with this.
            drop(opened);
            running.run();
        }
        Err(error) => opened.set(Err(error)),
    }
}

/// Everything that runs, on the writer's thread.
struct Running {
    engine: Arc<Engine>,
    writer: Writer,
    threads: Vec<thread::JoinHandle<()>>,
    copier: Option<thread::JoinHandle<()>>,
    // Removed last, on this thread: removing a folder may block.
    folder: Option<TempDir>,
}

impl Running {
    fn start(place: Place, mut options: Options) -> Result<(Self, Store), OpenError> {
        let folder = match place {
            Place::At => None,
            Place::Temporary => {
                let folder = tempfile::Builder::new().prefix("walwright-").tempdir();
                let folder = folder.map_err(|source| {
                    OpenError::from_io(&std::env::temp_dir(), "creating a temporary folder", source)
                })?;
                options.plan.path = folder.path().join("store.db");
                Some(folder)
            }
        };
        let (writes, reads) = (options.write_queue, options.read_queue);
        let engine = Arc::new(Engine::new(writes, reads, options.readers, options.changes));
        let (writer, settings, sweeps) = Writer::open(&options.plan, options.writer, engine.clone())?;
        let mut running = Self { engine: engine.clone(), writer, threads: Vec::new(), copier: None, folder };
        match running.start_others(options.clone(), &settings, sweeps) {
            Ok(()) => Ok((
                running,
                Store::new(engine, settings, options.level, options.largest_value, options.clock),
            )),
            Err(error) => {
                engine.close();
                let _ = running.finish();
                Err(error)
            }
        }
    }

    fn start_others(
        &mut self,
        options: Options,
        settings: &Settings,
        sweeps: Vec<SweepPlan>,
    ) -> Result<(), OpenError> {
        let path = &settings.path;
        let gives_back = options.plan.reclaim != Reclaim::Off;
        let plan = Arc::new(options.plan);
        for seat in self.engine.roster.seats().to_vec() {
            let reader = Reader::open(plan.clone(), path.to_owned(), options.read, seat)?;
            let engine = self.engine.clone();
            let serve = move || reader.serve(&engine.reads, &engine.board);
            self.threads.push(spawn("walwright-read", serve).map_err(no_thread(path))?);
        }
        if let Some(copier) = self.writer.open_copier(&plan)? {
            self.copier = Some(spawn("walwright-copy", move || copier.serve()).map_err(no_thread(path))?);
        }
        let engine = self.engine.clone();
        let ring = move || engine.alarm.run(|now| engine.ring(now));
        self.threads.push(spawn("walwright-alarm", ring).map_err(no_thread(path))?);
        // At last: nothing may fail behind them, since a slice that is sent waits for a writer that serves.
        let mut chores: Vec<_> =
            sweeps.into_iter().map(|plan| retention::chore(plan, options.clock.clone())).collect();
        chores.extend(fixup_chore(&self.engine, plan.fixups.clone(), &settings.opening.fixups_done));
        if gives_back && settings.reclaims_space {
            chores.push(retention::space_chore());
        }
        for chore in chores {
            match keep(&self.engine, chore) {
                Err(KeepError::NoThread(source)) => return Err(no_thread(path)(source)),
                Ok(()) | Err(KeepError::Closed | KeepError::Forked) => {}
            }
        }
        Ok(())
    }

    fn run(mut self) {
        let end = self.writer.run();
        self.engine.changes.end(end.as_ref().err().and_then(Reason::failure).cloned());
        if let Err(reason) = end {
            if let Some(failure) = reason.failure() {
                self.engine.board.set_failure(failure.clone());
                tracing::error!(%failure, "the store has stopped; reads go on");
            }
            // Reads go on until the store is closed.
            self.engine.writes.wait_until_closing();
        }
        let engine = self.engine.clone();
        let result = self.finish();
        engine.board.set_closed();
        engine.closers.finish(result);
    }

    /// Ends the keeper and the readers, then the writer, then the alarm: a close may have to be told while the
    /// writer ends.
    fn finish(self) -> Result<(), CloseError> {
        let Self { engine, writer, mut threads, copier, folder } = self;
        engine.keeper.finish();
        engine.reads.close();
        let readers = engine.roster.seats().len().min(threads.len());
        for reader in threads.drain(..readers) {
            // A reader that panicked outside of any read has nothing left to release.
            let _ = reader.join();
        }
        writer.stop_copier();
        if let Some(copier) = copier {
            let _ = copier.join();
        }
        let result = writer.close();
        engine.alarm.finish();
        for alarm in threads {
            let _ = alarm.join();
        }
        drop(folder);
        result
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        blocking::enter_engine_thread();
        run();
    })
}

fn no_thread(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path: PathBuf = path.to_owned();
    move |source| OpenError::from_io(&path, "starting a thread", source)
}
